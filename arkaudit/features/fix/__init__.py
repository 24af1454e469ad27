"""Correct citations in files: what to write, where in the source it may be written, and how a file is replaced."""

COMMANDS = {
    "fix": ("command", "Correct citations in texts: broken line ends, look-alike hyphens, invisible characters.")
}
