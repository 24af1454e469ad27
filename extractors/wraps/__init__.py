"""Decide whether an ARK continues after a line wrap: evidence and rules."""
