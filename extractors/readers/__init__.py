"""One reader for each family of formats: bytes in, blocks of text with their provenance out."""
