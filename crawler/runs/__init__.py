"""What is decided on all of a run: doubtful mentions, readings, verdicts; and what the run before it took."""
