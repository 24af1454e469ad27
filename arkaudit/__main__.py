"""The command, also as ``python -m arkaudit``."""

import sys
from pathlib import Path

from arkaudit.exits import EXIT_INTERRUPTED, INTERRUPTED, heed_at_once

#: How a process of our own is begun: -P, since a folder named like a package of ours may lie in the working directory.
OWN_PROCESS = (sys.executable, "-P", "-m", "arkaudit")


def main() -> None:
    """Run the command; interrupted while it is still being read, it ends as at any other moment."""
    try:
        heed_at_once()  # before anything else is imported, which takes a second
        from arkaudit.cli import main as command

        command()
    except KeyboardInterrupt:  # between two imports
        sys.stderr.write(f"arkaudit: {INTERRUPTED}\n")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    # ``python -m`` looks in the working directory first; it is none of ours unless this file lies there.
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != Path(__file__).resolve().parents[1]:
        del sys.path[0]
    main()
