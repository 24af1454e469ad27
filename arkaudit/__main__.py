"""The command, also as ``python -m arkaudit``."""

import sys
from pathlib import Path

#: How a process of our own is begun: -P, since a folder named like a package of ours may lie in the working directory.
OWN_PROCESS = (sys.executable, "-P", "-m", "arkaudit")


def main() -> None:
    """Run the command; interrupted while it is still being read, it ends as at any other moment."""
    try:
        from arkaudit.cli import main as command
    except KeyboardInterrupt:
        sys.exit(130)
    command()


if __name__ == "__main__":
    # ``python -m`` looks in the working directory first; it is none of ours unless this file lies there.
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != Path(__file__).resolve().parents[1]:
        del sys.path[0]
    main()
