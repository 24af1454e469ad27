"""What somebody should do: failures by their cause, citations to mend, pairs that should be one."""
