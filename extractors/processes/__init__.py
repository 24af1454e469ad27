"""Killable processes, their sandbox and their messages."""
