"""The facts in an answer: its text, its record, the ARK that it is about, and its excuses."""
