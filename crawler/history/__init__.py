"""The life of ARKs over time: status and events, from the verdicts of all runs."""
