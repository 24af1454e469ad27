"""HTML and XML: runs of text, links with their visible text, attributes that may hold an ARK."""
