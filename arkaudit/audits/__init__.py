"""Audits and their parts: checks, extractions, conformance tests, resumption and forecasts."""
