"""Features beside the audit: each is a folder of its own, and imports only the core."""
