"""The commands of `arkaudit`, a module each, imported when it is called. They decide nothing."""
