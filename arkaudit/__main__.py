"""The command, also as ``python -m arkaudit``."""

import sys
from pathlib import Path

from arkaudit.output.exits import INTERRUPTED, handle_signals_early
from extractors.model.errors import EXIT_INTERRUPTED


def main() -> None:
    """Run the command, and exit with 130 if it is interrupted while its modules are imported."""
    try:
        # First, because the import below takes a second.
        handle_signals_early()
        from arkaudit.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write(f"arkaudit: {INTERRUPTED}\n")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    # ``python -m`` looks in the working directory first, which may hold other packages of the same names.
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != Path(__file__).resolve().parents[1]:
        del sys.path[0]
    main()
