"""Maintenance: stores, triage files, the NAAN registry, and the self-test of the installation."""
