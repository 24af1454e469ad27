"""The store: everything observed, and everything still to be asked for, in one SQLite file."""
