"""Sources: what a document is as a source, what it leads to, and which of that is asked for."""
