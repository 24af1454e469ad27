"""When the named audits of a configuration run: never two of one at once, a missed one once, a crashed one first."""
