"""Features: each is a folder with its commands and all that only they need. Without the folder, the rest works.

A feature imports the core, but no other feature. Its package is a plug-in: it implements hooks (`arkaudit.hooks`).
"""
