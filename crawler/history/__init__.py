"""What became of ARKs over time: standing and events, from the verdicts of all runs."""
