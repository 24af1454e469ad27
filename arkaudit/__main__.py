"""The command, also as ``python -m arkaudit``."""

import sys


def main() -> None:
    """Run the command; interrupted while it is still being read, it ends as at any other moment."""
    try:
        from arkaudit.cli import main as command
    except KeyboardInterrupt:
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
