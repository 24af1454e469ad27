"""Exit codes, messages, logs, progress and the rows that commands print."""
