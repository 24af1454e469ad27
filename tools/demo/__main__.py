"""Run the demo: `python -m tools.demo [--out DIR] [--lang LANG]`, as `make demo` does."""

import sys
from pathlib import Path

import click
from rich.console import Console

from tools.demo.show import show


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("demo-report"), show_default=True)
@click.option("--lang", help="Language of the report.")
def main(out: Path, lang: str | None) -> None:
    """Run a whole audit of real documents on servers on this machine's loopback, without a network."""
    sys.exit(show(out, Console(), lang=lang))


main()
