"""Requests and answers on the wire, and the addresses that may be reached."""
