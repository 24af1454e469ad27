"""Coverage-guided fuzzing; see `targets.py`."""
