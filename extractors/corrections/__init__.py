"""Corrections of citations where they stand: what to write, where it is in the source, and the proof by reading again."""
