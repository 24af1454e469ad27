"""Readers of HTML and XML."""
