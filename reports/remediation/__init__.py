"""Causes of failures, corrections of citations, and comparison with an institution's expectations."""
