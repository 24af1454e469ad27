"""The front door: one command, its verbs, its configuration and its progress bar."""

__version__ = "0.1.0"
