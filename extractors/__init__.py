"""A document goes in, mentions of ARKs come out. No network, no database, no clock."""
