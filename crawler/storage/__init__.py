"""What is kept, and what is still to be asked for: one SQLite file."""
