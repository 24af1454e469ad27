"""Politeness: how often a host is asked, and when it is left alone."""
