"""Show the whole audit at work on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from arkaudit.options import lang_option
from extractors.model.errors import UserMistake


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo-report"),
    show_default=True,
    help="Where the report goes.",
)
@lang_option
def demo(out: Path, lang: str | None) -> None:
    """Run the whole audit on real documents over a web on this machine's loopback; no network is needed.

    \b
    pip install 'arkaudit[demo]'
    arkaudit demo
    """
    try:
        from arkaudit.demo.show import show
    except ModuleNotFoundError as missing:
        raise UserMistake(f"the demo needs {missing.name}: pip install 'arkaudit[demo]'") from None
    from rich.console import Console

    sys.exit(show(out, Console(), lang=lang))
