"""Verdicts on the three services, decided by rules without a network."""
