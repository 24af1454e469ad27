"""Read mentions forward and backward from a label, and group the mentions of a document into citations."""
