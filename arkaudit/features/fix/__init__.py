"""Correct citations in files: what to write, where in the source it may be written, and how a file is replaced."""
