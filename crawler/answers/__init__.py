"""What an answer holds: its text, its record, which ARK it is about, and what it excuses itself with."""
