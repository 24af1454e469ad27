"""``python -m arkaudit`` is the command."""

from arkaudit.cli import main

if __name__ == "__main__":
    main()
