"""Remediation: failures by their cause, citations to fix, pairs that should be one."""
