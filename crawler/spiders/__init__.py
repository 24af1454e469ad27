"""The spiders: documents in, mentions out; ARKs in, observations out. They decide nothing about meaning."""
