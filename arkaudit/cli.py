"""The command and its verbs. They decide nothing: each hands its words to the package that knows."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console

from arkaudit import __version__
from arkaudit.config import ConfigError
from arkaudit.exits import EXIT_INTERRUPTED, EXIT_MISTAKE, INTERRUPTED, end, end_for, errors, exit_on, say
from arkaudit.options import config_of, crawl_options, fail_on_option, request_options, resume_option
from arkaudit.seeds import Seeds, UserMistake
from crawler.observations import DocumentRecord
from crawler.sources.gate import ABOUT_LINKS
from extractors.documents import ABOUT_CITATIONS, Finding


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="arkaudit")
def cli() -> None:
    """Find ARKs in documents, resolve them, and tell which of them persist.

    \b
    arkaudit demo                                 see it at work, without a network
    arkaudit extract report.pdf                   the ARKs that a document cites
    arkaudit check ark:12148/btv1b8449691v        the three services of one ARK
    arkaudit run https://www.example.org/ --out report
    """


@cli.command(short_help="The ARKs that documents cite, repaired, and where.")
@click.argument("places", metavar="PATH|URL…", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["jsonl", "csv", "table"]), default="jsonl", show_default=True)
@click.option(
    "--findings",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what went wrong with documents here, as JSON Lines.",
)
@request_options
def extract(
    places: tuple[str, ...], form: str, findings: Path | None, config_file: Path | None, **options: Any
) -> None:
    """Print the ARKs that documents cite, repaired, with where and how they are written.

    Files, folders, URLs, or - for standard input.

    \b
    arkaudit extract thesis.pdf
    arkaudit extract --format csv papers/ > arks.csv
    """
    from arkaudit import rows
    from arkaudit.extracting import documents

    config = config_of(config_file, options)
    seeds = Seeds.of(place for place in places if place != "-")
    with ExitStack() as stack:
        to_findings = stack.enter_context(_writable(findings)) if findings else None

        def mentions() -> Iterator[dict[str, Any]]:
            for read in documents(seeds, standard_input="-" in places, config=config, console=errors):
                _report_findings(read.name, read.findings, to_findings)
                yield from (rows.mention_row(read.name, mention) for mention in read.mentions)

        if form == "jsonl":
            rows.write_jsonl(mentions(), sys.stdout)
        elif form == "csv":
            rows.write_mentions_csv(mentions(), sys.stdout)
        else:
            rows.print_mentions(mentions(), Console())


@cli.command(short_help="The three services of ARKs: object, metadata, commitment.")
@click.argument("arks", metavar="ARK|URL…", nargs=-1)
@click.option(
    "--from",
    "from_file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Read them from a file, one a line.",
)
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "table"]), help="[default: jsonl; plain text with --explain]"
)
@click.option("--explain", is_flag=True, help="Tell each step: what was asked, what came back, what it means.")
@click.option("--conformance", is_flag=True, help="Ask each resolver for one ARK in up to eight other forms as well.")
@click.option("--store", "store_file", type=click.Path(path_type=Path), help="Keep every request and answer here.")
@resume_option
@fail_on_option
@request_options
def check(
    arks: tuple[str, ...],
    from_file: Path | None,
    form: str | None,
    explain: bool,
    conformance: bool,
    store_file: Path | None,
    resume: bool | None,
    fail_on: str,
    config_file: Path | None,
    **options: Any,
) -> None:
    """Resolve ARKs and test the three services: the object, its metadata, the provider's commitment.

    \b
    arkaudit check ark:12148/btv1b8449691v
    arkaudit check ark:12148/btv1b8449691v --explain --conformance
    arkaudit check --from arks.txt --format table --store audit.db
    """  # fmt: skip
    from arkaudit.checking import Check, checked
    from arkaudit.explaining import print_explanations
    from arkaudit.rows import print_verdicts, write_jsonl

    if explain and form == "table":
        raise UserMistake("an explanation does not fit into a table: give --explain alone, or with --format jsonl")
    config = config_of(config_file, {**options, "conformance": conformance, "conformance_from": 1})
    asked = [*arks, *_lines(from_file)]
    if not asked:
        raise UserMistake("nothing to check: give ARKs, or --from FILE")
    done: Check = checked(asked, config, store_file, explain=explain, resume=resume, console=errors)
    if form == "table":
        print_verdicts(done.rows, Console())
    elif explain and form is None:
        print_explanations(done.rows, Console())
    else:
        write_jsonl(done.rows, sys.stdout)
    if done.was_interrupted:
        end(EXIT_INTERRUPTED, INTERRUPTED)
    exit_on(fail_on, (row["object"]["outcome"] for row in done.rows))


@cli.command(short_help="Crawl documents and record the ARKs that they cite.")
@click.argument("seeds", metavar="[SEED…]", nargs=-1)
@click.option("--store", "store_file", type=click.Path(path_type=Path), default=Path("audit.db"), show_default=True)
@resume_option
@crawl_options
@request_options
def crawl(
    seeds: tuple[str, ...], store_file: Path, resume: bool | None, config_file: Path | None, **options: Any
) -> None:
    """Crawl documents and record the ARKs that they cite, without resolving any.

    A seed is a URL, crawled within its site; a source, which is a list of documents: a sitemap, an OAI-PMH repository,
    an Atom or RSS feed, a IIIF collection or manifest, a list of URLs; or a file, a folder or a WARC. Its content tells
    what it is; page:, sitemap:, oai:, feed:, iiif: or list: before it orders how it is read. A crawl that did not
    finish is gone on with by the same command, or by --resume.

    \b
    arkaudit crawl https://www.example.org/ --store audit.db
    arkaudit crawl oai:https://repository.example.org/oai --oai-set maps
    arkaudit crawl list:urls.txt --max-time 2h
    """
    from arkaudit import audits
    from arkaudit.resuming import opened

    config = config_of(config_file, options)
    seeds = seeds or tuple(config.seeds)
    named = _seeds(seeds, resume=resume)
    with opened("crawl", seeds, config, store_file, resume=resume) as begun:
        run_id = begun.finished
        if run_id is None:
            run_id, _ = audits.audit(
                begun.config,
                begun.store,
                command="crawl",
                seeds=begun.seeds(named),
                resolve=False,
                decision=begun.decision,
                on_start=_watch_findings,
                console=errors,
            )
        counts = begun.store.counts(run_id)
    say(f"{counts['documents']} documents, {counts['read']} read, {counts['mentions']} citations, in {store_file}")


@cli.command(short_help="The whole audit: crawl, resolve, report.")
@click.argument("seeds", metavar="[SEED…]", nargs=-1)
@click.option(
    "--store",
    "store_file",
    type=click.Path(path_type=Path),
    help="Where everything is kept.  [default: audit.db]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write the report into this folder.")
@resume_option
@fail_on_option
@crawl_options
@request_options
def run(
    seeds: tuple[str, ...],
    store_file: Path | None,
    out: Path | None,
    resume: bool | None,
    fail_on: str,
    config_file: Path | None,
    **options: Any,
) -> None:
    """The whole audit: crawl documents, resolve every ARK that they cite, report.

    An audit that did not finish, whatever ended it, is gone on with by the same command, or by --resume.

    \b
    arkaudit run https://www.example.org/ --contact you@example.org --out report
    arkaudit run -c arkaudit.toml
    """
    from arkaudit import audits
    from arkaudit.resuming import opened
    from reports.exports import check_out

    config = config_of(config_file, options)
    seeds = seeds or tuple(config.seeds)
    named = _seeds(seeds, resume=resume)
    store_file = store_file or config.store or Path("audit.db")
    out = out or config.out
    if out:
        check_out(out)
    with opened("run", seeds, config, store_file, resume=resume) as begun:
        if not (config.politeness.contact or config.politeness.user_agent):
            say("hosts can't tell who asks: give --contact, so that an operator can write to you")
        run_id = begun.finished
        if run_id is None:
            run_id, _ = audits.audit(
                begun.config,
                begun.store,
                command="run",
                seeds=begun.seeds(named),
                decision=begun.decision,
                on_start=_watch_findings,
                console=errors,
            )
    exit_on(fail_on, _report(store_file, out, run_id))


@cli.command(short_help="Tables and a page from a store.")
@click.option("--store", "store_file", type=click.Path(path_type=Path), default=Path("audit.db"), show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Write index.html and the tables (CSV) into this folder.")
@click.option("--run", "run_id", type=int, help="The run to report.  [default: the newest]")
@fail_on_option
def report(store_file: Path, out: Path | None, run_id: int | None, fail_on: str) -> None:
    """Tables and a page from a store: by NAAN, by resolver, by document, every ARK and its evidence.

    \b
    arkaudit report --store audit.db --out report
    """
    outcomes = _report(store_file, out, run_id)
    exit_on(fail_on, outcomes)


@cli.group(short_help="Who assigns ARKs under a NAAN, and where they resolve.")
def registry() -> None:
    """Who assigns ARKs under a NAAN or shoulder, and where they resolve: a copy of the public NAAN registry.

    \b
    arkaudit registry update                      fetch the newest copy
    arkaudit registry show 12148                  what it says of a NAAN
    """


@registry.command("update", short_help="Fetch the newest copy of the NAAN registry.")
@click.argument("source", metavar="[URL|FILE]", required=False)
@request_options
def registry_update(source: str | None, config_file: Path | None, **options: Any) -> None:
    """Bring the copy in the user's cache up to date, from the public registry or from a URL or file.

    What is no registry never replaces the copy. The environment variable ARKAUDIT_CACHE says where else to keep it.

    \b
    arkaudit registry update
    arkaudit registry update naan_records.json
    """
    from arkaudit.naan_registry import bring_up_to_date

    bring_up_to_date(source, config_of(config_file, options))


@registry.command("show", short_help="What the registry says of a NAAN, a shoulder or an ARK.")
@click.argument("asked", metavar="NAAN|NAAN/SHOULDER|ARK")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def registry_show(asked: str, form: str) -> None:
    """Print who assigns under a NAAN or shoulder since when, where it resolves, and how old that knowledge is.

    Exits with 1 when the registry has nothing about it. Without a copy, a few well-known NAANs are built in.

    \b
    arkaudit registry show 12148
    arkaudit registry show 99166/w6
    arkaudit registry show ark:/12148/btv1b8449691v --format json
    """
    from arkaudit.naan_registry import show

    show(asked, form, Console())


@cli.command(short_help="The whole audit at work on this machine's loopback.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo-report"),
    show_default=True,
    help="Where the report goes.",
)
def demo(out: Path) -> None:
    """Run the whole audit on real documents over a web on this machine's loopback; no network is needed.

    \b
    pip install 'arkaudit[demo]'
    arkaudit demo
    """
    try:
        from arkaudit.demo.show import show
    except ModuleNotFoundError as missing:
        raise UserMistake(f"the demo needs {missing.name}: pip install 'arkaudit[demo]'") from None
    sys.exit(show(out, Console()))


# -- what verbs share


def _report(store_file: Path, out: Path | None, run_id: int | None) -> list[str]:
    """Print the main table of a run and write its report into *out*; returns the objects' outcomes."""
    from reports.exports import write_report
    from reports.frames import load_frames
    from reports.terminal import main_table, summary_lines

    frames = load_frames(store_file, run_id=run_id)
    paths = write_report(frames, out) if out else None
    console = Console()
    for line in summary_lines(frames):
        console.print(line, highlight=False, markup=False)
    console.print(main_table(frames))
    if paths:
        say(f"the report is at {paths.index}")
    return [str(outcome) for outcome in frames.verdicts["object"]]


def _watch_findings(crawler: Any) -> None:
    """Say at once what went wrong with a document; the store has it too."""
    from scrapy import signals

    def said(item: object) -> None:
        if isinstance(item, DocumentRecord):
            _report_findings(item.url, item.findings, None)

    crawler.signals.connect(said, signal=signals.item_scraped, weak=False)


def _report_findings(document: str, findings: Sequence[Finding], to: TextIO | None) -> None:
    for finding in findings:
        if to is not None:
            row = {"document": document, "kind": finding.kind, "detail": finding.detail}
            to.write(json.dumps(row, ensure_ascii=False) + "\n")
            to.flush()
        if finding.kind not in ABOUT_CITATIONS | ABOUT_LINKS:
            say(f"{document}: {finding.kind}: {finding.detail}")


def _seeds(texts: Sequence[str], *, resume: bool | None) -> Seeds:
    """The seeds that *texts* name; none at all only where a run is gone on with, which has its own."""
    if not texts and not resume:
        raise UserMistake("nothing to crawl: give a SEED, or seeds in the configuration")
    return Seeds.of(texts)


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text("utf-8-sig", "replace")
    except OSError as problem:
        raise UserMistake(f"{path} can't be read: {problem.strerror}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _writable(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as problem:
        raise UserMistake(f"{path} can't be written: {problem.strerror}") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command.

    Exit codes: 0 done; 1 done, with a finding at or above ``--fail-on``; 2 the user's mistake; 3 unfinished;
    130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files may hold what no text can
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(arguments, prog_name="arkaudit", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.ctx.get_help() if shown.ctx else "", err=True)
        sys.exit(EXIT_MISTAKE)
    except click.ClickException as mistake:
        end(EXIT_MISTAKE, mistake.format_message().replace("\n", " "))
    except (UserMistake, ConfigError) as mistake:
        end(EXIT_MISTAKE, str(mistake))
    except (KeyboardInterrupt, click.Abort):
        end(EXIT_INTERRUPTED, INTERRUPTED)
    except Exception as failure:
        end_for(failure)
