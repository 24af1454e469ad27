"""Sources: the kind of a source, its links, and the links that are followed."""
