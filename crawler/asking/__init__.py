"""The choice of the next question, and of the names that can't exist for comparison."""
