"""Causes of failures, with corrections of citations, and new targets of resolvers."""
