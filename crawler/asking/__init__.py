"""What is asked next, and beside which names that can't exist."""
