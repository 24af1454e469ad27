"""The demo: a document site, a real resolver and some odd ones on this machine's loopback, and the whole audit."""
