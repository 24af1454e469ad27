"""The commands of `arkaudit`: thin modules, each imported when its command is called."""
