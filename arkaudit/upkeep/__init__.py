"""Maintenance: stores, the NAAN registry, and the self-test of the installation."""
