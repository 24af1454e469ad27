"""A report as one self-contained page: no network, no other file, and text from the web always escaped."""
