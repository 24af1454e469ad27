"""Tells people what a run has changed, and nothing where nothing has. The only sender besides `crawler`."""
