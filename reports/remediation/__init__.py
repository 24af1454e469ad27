"""Causes of failures, corrections of citations, and new targets of resolvers."""
