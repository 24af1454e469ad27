"""A report as one page that needs nothing else: no network, no other file, no trust in what came from the web."""
