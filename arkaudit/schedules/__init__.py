"""Schedules of named audits: never two of one at once, a missed one once, crashed ones first."""
