"""Readers, one for each family of formats, from bytes to text blocks with their position."""
