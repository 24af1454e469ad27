"""The history of ARKs: their status and events, derived from the verdicts of all runs."""
