"""Report from a store: `report` and `history`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console

from arkaudit.exits import EXIT_FINDING, exit_on, say
from arkaudit.options import (
    GroupedCommand,
    audit_option,
    choice_options,
    config_of,
    fail_on_option,
    format_option,
    inventory_option,
    lang_option,
    store_option,
)
from arkaudit.output_rows import whole, write
from extractors.model.ark import Ark
from extractors.model.errors import UserMistake
from extractors.model.normalize import NotAnArk
from reports.ark_history import SPARKS, Checked, Life, LifeAtUrl, life
from reports.languages import Spoken
from reports.languages.display import escaped
from reports.tables.filters import Choice


@click.command(cls=GroupedCommand)
@store_option
@click.option(
    "--dataset",
    metavar="FOLDER",
    help="Report on what a dataset cites (extract --out): tables alone, as csv or parquet.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the report into this folder; - for standard output."
)
@click.option("--run", "run_id", type=int, help="One run alone.  [default: the audit as it is now]")
@click.option("--since", type=int, metavar="RUN", help="A run to compare with.  [default: the one before]")
@choice_options
@inventory_option
@format_option
@lang_option
@fail_on_option
@click.option(
    "-c", "--config", "config_file", type=click.Path(path_type=Path), help="Take store, inventory and language from it."
)
@audit_option
@click.pass_context
def report(
    context: click.Context,
    store_file: Path,
    dataset: str | None,
    out: Path | None,
    run_id: int | None,
    since: int | None,
    naans: tuple[str, ...],
    documents: tuple[str, ...],
    only: tuple[str, ...],
    inventory: Path | None,
    formats: tuple[str, ...],
    lang: str | None,
    fail_on: tuple[str, ...],
    config_file: Path | None,
    audit: str | None,
) -> None:
    """Tables and a page from a store: what to act on, by NAAN, by host, by document, every ARK and its evidence.

    It is about the audit as it is now: the newest finished run that has read documents, with every later check of
    its ARKs; --run shows one run alone.

    \b
    arkaudit report --store audit.db --out report
    arkaudit report --since 3 --only broke --format md --out -
    arkaudit report --naan 12148 --fail-on confirmed-broken
    arkaudit report --inventory ours.csv --out report --lang fr
    arkaudit report --dataset dataset/ --out report
    """
    if dataset is not None:
        _report_on_dataset(context, dataset, out, formats, lang)
        return
    from arkaudit.commands.triage_command import tell_idle_in
    from arkaudit.reporting import report_on

    config = None
    if config_file is not None or audit is not None:
        config = config_of(config_file, {}, audit=audit)
        is_given = context.get_parameter_source("store_file") is not ParameterSource.DEFAULT
        store_file = store_file if is_given else config.store or store_file
        inventory = inventory or config.inventory
        lang = lang or config.report.lang
    choice = Choice(naans=naans, documents=documents, only=only)
    summary = report_on(
        store_file,
        out,
        formats=formats,
        run_id=run_id,
        since=since,
        choice=choice,
        inventory=inventory,
        spoken=Spoken.of(lang),
    )
    tell_idle_in(store_file, config, is_read_only=True)
    exit_on(fail_on, summary.tokens, is_whole=summary.is_whole)


def _report_on_dataset(
    context: click.Context, dataset: str, out: Path | None, formats: tuple[str, ...], lang: str | None
) -> None:
    """Report on a dataset, for which no option about a store means anything."""
    from arkaudit.datasets.report_tables import report_on_dataset

    given = [
        option.opts[0]
        for option in context.command.params
        if option.name not in ("dataset", "out", "formats", "lang")
        and context.get_parameter_source(option.name or "") not in (None, ParameterSource.DEFAULT)
    ]
    if given:
        raise UserMistake(f"{given[0]} is about a store: it can't be given with --dataset")
    if out == Path("-"):
        raise UserMistake("a report on a dataset is more than one file: name a folder with --out")
    is_default = context.get_parameter_source("formats") in (None, ParameterSource.DEFAULT)
    report_on_dataset(dataset, out, ("csv",) if is_default else formats, Spoken.of(lang).language)


@click.command()
@click.argument("ark", metavar="ARK|URL")
@store_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def history(ark: str, store_file: Path, form: str) -> None:
    """Show where an ARK is cited, what each check found, what happened to it, and its status.

    Exits with 1 when the store has never seen it.

    \b
    arkaudit history ark:12148/btv1b8449691v --store audit.db
    """
    try:
        meant = Ark.parse(ark)
    except NotAnArk:
        raise UserMistake(f"not an ARK: {escaped(repr(ark))}") from None
    history = life(store_file, meant)
    if history is None:
        say(escaped(f"{store_file} has never seen {meant}"))
        sys.exit(EXIT_FINDING)
    if form == "json":
        write(json.dumps(as_row(history), ensure_ascii=False, indent=2) + "\n", sys.stdout)
        return
    console = Console()
    is_unicode = (console.encoding or "").lower().startswith("utf")
    with whole(console):
        for line in lines(history, is_unicode=is_unicode):
            console.print(escaped(line), highlight=False, markup=False, soft_wrap=True)


# The life of one ARK, for people and for programs.


def as_row(history: Life) -> dict[str, Any]:
    """The life as plain values, the spark lines included."""
    row = asdict(history)
    for url, at_url in zip(row["urls"], history.urls, strict=True):
        url["spark"] = at_url.spark(is_unicode=False)
    return row


def lines(history: Life, *, is_unicode: bool) -> Iterator[str]:
    """The life in lines for people."""
    yield history.ark
    yield ""
    if not history.citations:
        yield "No document cites it."
    for cited in history.citations:
        count = "1 citation" if cited.citations == 1 else f"{cited.citations} citations"
        span = (
            _day(cited.first_at)
            if _day(cited.first_at) == _day(cited.last_at)
            else (f"{_day(cited.first_at)} to {_day(cited.last_at)}")
        )
        yield f"cited in {cited.document}: {count}, {span}"
    for at_url in history.urls:
        yield ""
        yield from _at_url(at_url, is_unicode=is_unicode)
    signs = ", ".join(f"{sparks[not is_unicode]} {family}" for family, sparks in SPARKS.items())
    yield ""
    yield f"({signs})"


def _at_url(history: LifeAtUrl, *, is_unicode: bool) -> Iterator[str]:
    yield history.request_url
    yield f"  {history.state} since {_day(history.since)}: {history.reason}"
    if history.gone_at:
        yield f"  gone from the documents since {_day(history.gone_at)}"
    if history.checks:
        yield f"  {history.spark(is_unicode=is_unicode)}"
    before = [None, *(check.state for check in history.checks)]
    lines = [(check.at, 0, _checked(check, was)) for was, check in zip(before, history.checks, strict=False)]
    lines += [
        (event.at, 1, f"  {event.event}{f': {event.detail}' if event.detail else ''}") for event in history.events
    ]
    lines += [(decision.at, 2, f"  {decision.detail}") for decision in history.decisions]
    for at, _, words in sorted(lines):
        yield f"  {at[:16].replace('T', ' ')}  {words}"


def _checked(check: Checked, was: str | None) -> str:
    state = check.state if was in (None, check.state) else f"{was} > {check.state}"
    status = f" {check.status}" if check.status is not None else ""
    suspect = " [in a suspect run]" if check.is_suspect else ""
    landed = f"  {check.final_url}" if check.final_url else ""
    words = f"  ({check.words})" if check.words else ""
    return f"{state}: {check.object}{status}{suspect}{landed}{words}"


def _day(at: str) -> str:
    return at[:10]
