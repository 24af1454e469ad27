"""Observations go in, tables, charts and pages come out. Reads the store; never the network."""
