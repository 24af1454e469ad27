"""The demo: a whole audit of a document site, a real resolver and invented ones on this machine's loopback."""
