"""The command and its verbs. They decide nothing: each hands its words to the package that knows."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import click
from click.core import ParameterSource
from rich.console import Console

from arkaudit import __version__
from arkaudit.config import Config, ConfigError
from arkaudit.dry_run import tell_of_check, tell_of_due, tell_of_run
from arkaudit.exits import (
    EXIT_FINDING,
    EXIT_INTERRUPTED,
    EXIT_MISTAKE,
    INTERRUPTED,
    NEVER,
    end,
    end_for,
    end_unread,
    errors,
    exit_on,
    heed_signals,
    open_streams,
    say,
)
from arkaudit.options import (
    audit_option,
    choice_options,
    config_of,
    crawl_options,
    dry_run_option,
    fail_on_option,
    format_option,
    inventory_option,
    request_options,
    resume_option,
)
from crawler.history.triage import TriageAction, TriageTarget
from crawler.observations import DocumentOutcome, DocumentRecord
from crawler.seeds import Seeds, UserMistake
from crawler.sources.gate import ABOUT_LINKS
from extractors.document_model import ABOUT_CITATIONS, Finding

#: How many more objects than before make Python look for those that nobody can reach. Its own first threshold, 700, is
#: passed several times in each document, and so takes a tenth of a crawl's time; this many take some megabytes.
_COLLECTIONS = (20_000, 10, 10)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="arkaudit")
def cli() -> None:
    """Find ARKs in documents, resolve them, and report which of them persist.

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
@click.option(
    "--fail-on",
    type=click.Choice([NEVER, DocumentOutcome.UNREADABLE.value]),
    multiple=True,
    help="Exit with 1 when a document could not be read.",
)
@request_options
def extract(
    places: tuple[str, ...],
    form: str,
    findings: Path | None,
    fail_on: tuple[str, ...],
    config_file: Path | None,
    **options: Any,
) -> None:
    """Print the ARKs that documents cite, repaired, with where and how they are written.

    Files, folders, URLs, or - for standard input. Exits with 3 when nothing of all that could be read.

    \b
    arkaudit extract thesis.pdf
    arkaudit extract --format csv papers/ > arks.csv
    """
    from arkaudit import output_rows as rows
    from arkaudit.extracting import documents

    config = config_of(config_file, options)
    seeds = Seeds.of(place for place in places if place != "-")
    unread: list[str] = []
    is_read = False
    with ExitStack() as stack:
        to_findings = stack.enter_context(_writable(findings)) if findings else None

        def mentions() -> Iterator[dict[str, Any]]:
            nonlocal is_read
            for read in documents(seeds, standard_input="-" in places, config=config, console=errors):
                _report_findings(read.name, read.findings, to_findings)
                if read.is_unreadable:
                    unread.append(read.name)
                elif not read.is_folder:
                    is_read = True
                yield from (rows.mention_row(read.name, mention) for mention in read.mentions)

        if form == "jsonl":
            rows.write_jsonl(mentions(), sys.stdout)
        elif form == "csv":
            rows.write_mentions_csv(mentions(), sys.stdout)
        else:
            rows.print_mentions(mentions(), Console())
    if not is_read:
        end_unread("nothing", unread)
    exit_on(fail_on, [DocumentOutcome.UNREADABLE.value for _ in unread])


@cli.command(short_help="The three services of ARKs: object, metadata, commitment.")
@click.argument("arks", metavar="ARK|URL…", nargs=-1)
@click.option(
    "--from",
    "from_file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Read them from a file, one a line.",
)
@inventory_option
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "table"]), help="[default: jsonl; plain text with --explain]"
)
@click.option("--explain", is_flag=True, help="Tell each step: what was asked, what came back, what it means.")
@click.option("--conformance", is_flag=True, help="Ask each resolver for one ARK in up to ten other forms as well.")
@dry_run_option
@click.option("--store", "store_file", type=click.Path(path_type=Path), help="Keep every request and answer here.")
@resume_option
@click.option("--due", is_flag=True, help="Check what is due in the store, longest ago first.  [store: audit.db]")
@click.option("--limit", type=click.IntRange(min=1), help="With --due: so many ARKs at most.")
@fail_on_option
@request_options
def check(
    arks: tuple[str, ...],
    from_file: Path | None,
    inventory: Path | None,
    form: str | None,
    explain: bool,
    conformance: bool,
    dry_run: bool,
    store_file: Path | None,
    resume: bool | None,
    due: bool,
    limit: int | None,
    fail_on: tuple[str, ...],
    config_file: Path | None,
    **options: Any,
) -> None:
    """Resolve ARKs and test the three services: the object, its metadata, the provider's commitment.

    \b
    arkaudit check ark:12148/btv1b8449691v
    arkaudit check ark:12148/btv1b8449691v --explain --conformance
    arkaudit check --from arks.txt --format table --store audit.db
    arkaudit check --inventory ours.csv --store audit.db
    arkaudit check --due --store audit.db -c arkaudit.toml
    """  # fmt: skip
    if explain and form == "table":
        raise UserMistake("an explanation does not fit into a table: give --explain alone, or with --format jsonl")
    config = config_of(config_file, {**options, "conformance": conformance, "conformance_from": 1})
    asked = [*arks, *_lines(from_file), *_inventoried(inventory)]
    if due and asked:
        raise UserMistake("--due takes its ARKs from the store")
    if not due and not asked:
        empty = [str(file) for file in (from_file, inventory) if file is not None]
        raise UserMistake(
            f"nothing to check: there is no ARK in {' and '.join(empty)}"
            if empty
            else "nothing to check: give ARKs, --from FILE, --inventory FILE, or --due"
        )
    if due:
        from arkaudit.due import due_now

        store_file = store_file or config.store or Path("audit.db")
        again = due_now(store_file, config, limit=limit, is_dry=dry_run)
        if not again:
            return
    if dry_run:
        tell_of_due(again, config) if due else tell_of_check(asked, config)
        return
    from arkaudit.checking import CheckResult, checked, checked_again
    from arkaudit.explaining import print_explanations
    from arkaudit.output_rows import print_verdicts, write_jsonl

    done: CheckResult
    if due:
        assert store_file is not None
        done = checked_again(again, config, store_file, explain=explain, console=errors)
    else:
        done = checked(asked, config, store_file, explain=explain, resume=resume, console=errors)
    if form == "table":
        print_verdicts(done.rows, Console())
    elif explain and form is None:
        print_explanations(done.rows, Console())
    else:
        write_jsonl(done.rows, sys.stdout)
    if done.was_interrupted:
        end(EXIT_INTERRUPTED, INTERRUPTED)
    if done.known:
        say(done.known)
    exit_on(fail_on, done.raised)


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
    an Atom or RSS feed, a IIIF collection or manifest, a list of URLs; or a file, a folder or a WARC. Its content shows
    what it is; page:, sitemap:, oai:, feed:, iiif: or list: before it orders how it is read. A crawl that did not
    finish is gone on with by the same command, or by --resume.

    \b
    arkaudit crawl https://www.example.org/ --store audit.db
    arkaudit crawl oai:https://repository.example.org/oai --oai-set maps
    arkaudit crawl list:urls.txt --max-time 2h
    """
    from arkaudit import audits
    from arkaudit.resuming import opened
    from reports.wording import counted

    config = config_of(config_file, options)
    seeds = seeds or tuple(config.seeds)
    named = _seeds(seeds, resume=resume)
    with opened("crawl", seeds, config, store_file, resume=resume) as begun:
        run_id = begun.finished
        if run_id is None:
            run_id = audits.audit(
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
        unread = begun.store.unread(run_id)
        is_read = begun.store.has_read_seed(run_id)
    read = f"{counts['read']} read" + (f", {counts['redirected']} redirected" if counts["redirected"] else "")
    documents, citations = counted(counts["documents"], "document"), counted(counts["mentions"], "citation")
    say(f"{documents}, {read}, {citations}, in {store_file}")
    if not is_read:
        end_unread("no seed", unread)


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
@dry_run_option
@format_option
@audit_option
@click.option("--scheduled", type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z"]), hidden=True)
@fail_on_option
@crawl_options
@request_options
def run(
    seeds: tuple[str, ...],
    store_file: Path | None,
    out: Path | None,
    resume: bool | None,
    dry_run: bool,
    formats: tuple[str, ...],
    audit: str | None,
    scheduled: datetime | None,
    fail_on: tuple[str, ...],
    config_file: Path | None,
    **options: Any,
) -> None:
    """The whole audit: crawl documents, resolve every ARK that they cite, report.

    An audit that did not finish, whatever ended it, is gone on with by the same command, or by --resume.

    \b
    arkaudit run https://www.example.org/ --contact you@example.org --out report
    arkaudit run -c arkaudit.toml
    arkaudit run -c arkaudit.toml --audit theses
    """
    from arkaudit import audits
    from arkaudit.notify.delivery import tell
    from arkaudit.reporting import listed_in, report_on
    from arkaudit.resuming import note_reported, opened
    from arkaudit.triage_commands import apply_to, triage_of
    from reports.exports import check_out

    config = config_of(config_file, options, audit=audit)
    decided = triage_of(config, now=datetime.now(UTC))
    listed_in(config.inventory)
    seeds = seeds or tuple(config.seeds)
    named = _seeds(seeds, resume=resume)
    store_file = store_file or config.store or Path("audit.db")
    if dry_run:
        tell_of_run(named, config, store_file)
        return
    out = out or config.out
    if out:
        check_out(out, formats)
    with _turn(config, config_file, scheduled):
        with opened("run", seeds, config, store_file, resume=resume) as begun:
            if decided is not None:
                apply_to(begun.store, decided)
            run_id = begun.finished
            if run_id is None:
                run_id = audits.audit(
                    begun.config,
                    begun.store,
                    command="run",
                    seeds=begun.seeds(named),
                    decision=begun.decision,
                    on_start=_watch_findings,
                    console=errors,
                )
            is_read = begun.store.has_read_seed(run_id)
            unread = begun.store.unread(run_id)
            dead_sources = begun.store.dead_sources(run_id)
        outcomes = report_on(store_file, out, formats=formats, run_id=run_id, inventory=config.inventory)
        if config.notify.is_wanted:
            tell(config.model_copy(update={"out": out}), store_file, run_id)
        note_reported(store_file, run_id)
        if not is_read:
            end_unread("no seed", unread)
        exit_on(fail_on, [*outcomes, *(DocumentOutcome.UNREADABLE.value for _ in dead_sources)])


@cli.command(short_help="Tables and a page from a store.")
@click.option("--store", "store_file", type=click.Path(path_type=Path), default=Path("audit.db"), show_default=True)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the report into this folder; - for standard output."
)
@click.option("--run", "run_id", type=int, help="One run alone.  [default: the audit as it stands now]")
@click.option("--since", type=int, metavar="RUN", help="A run to compare with.  [default: the one before]")
@choice_options
@inventory_option
@format_option
@fail_on_option
@click.option(
    "-c", "--config", "config_file", type=click.Path(path_type=Path), help="Take store and inventory from it."
)
@audit_option
@click.pass_context
def report(
    context: click.Context,
    store_file: Path,
    out: Path | None,
    run_id: int | None,
    since: int | None,
    naans: tuple[str, ...],
    documents: tuple[str, ...],
    only: tuple[str, ...],
    inventory: Path | None,
    formats: tuple[str, ...],
    fail_on: tuple[str, ...],
    config_file: Path | None,
    audit: str | None,
) -> None:
    """Tables and a page from a store: what to act on, by NAAN, by host, by document, every ARK and its evidence.

    It is about the audit as it stands now: the newest finished run that has read documents, with every later check of
    its ARKs; --run shows one run alone.

    \b
    arkaudit report --store audit.db --out report
    arkaudit report --since 3 --only broke --format md --out -
    arkaudit report --naan 12148 --fail-on confirmed-broken
    arkaudit report --inventory ours.csv --out report
    """
    from arkaudit.reporting import report_on
    from reports.choosing import Choice

    if config_file is not None or audit is not None:
        config = config_of(config_file, {}, audit=audit)
        is_given = context.get_parameter_source("store_file") is not ParameterSource.DEFAULT
        store_file = store_file if is_given else config.store or store_file
        inventory = inventory or config.inventory
    choice = Choice(naans=naans, documents=documents, only=only)
    found = report_on(store_file, out, formats=formats, run_id=run_id, since=since, choice=choice, inventory=inventory)
    exit_on(fail_on, found)


@cli.command(short_help="The life of one ARK: citations, checks, events, status.")
@click.argument("ark", metavar="ARK|URL")
@click.option("--store", "store_file", type=click.Path(path_type=Path), default=Path("audit.db"), show_default=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def history(ark: str, store_file: Path, form: str) -> None:
    """Show where an ARK is cited, what each check found, what happened to it, and its status.

    Exits with 1 when the store has never seen it.

    \b
    arkaudit history ark:12148/btv1b8449691v --store audit.db
    """
    from arkaudit.history import show

    show(ark, store_file, form, Console())


@cli.group(short_help="Check a store, export it as Parquet, or bring another one in.")
def store() -> None:
    """Look after a store: is it whole, may others read it, what do two of them know together.

    \b
    arkaudit store check --store audit.db
    arkaudit store export --store audit.db --out parquet/
    arkaudit store import other.db --store audit.db
    """


@store.command("check", short_help="Whether a store is whole.")
@click.option("--store", "store_file", type=click.Path(path_type=Path), default=Path("audit.db"), show_default=True)
def store_check(store_file: Path) -> None:
    """Look through a store for damage and contradictions, and report each; exits with 1 if there is any.

    \b
    arkaudit store check --store audit.db
    """
    from arkaudit.storing import check_store

    check_store(store_file)


@store.command("export", short_help="Each run as Parquet, for other tools.")
@click.option("--store", "store_file", type=click.Path(path_type=Path), default=Path("audit.db"), show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder for the files.")
def store_export(store_file: Path, out: Path) -> None:
    """Write each run as Parquet files, TABLE/run=KEY/part.parquet, sorted by NAAN and ARK; what is there stays.

    \b
    arkaudit store export --store audit.db --out parquet/
    """
    from arkaudit.storing import export_store

    export_store(store_file, out)


@store.command("import", short_help="Bring the runs of another store in.")
@click.argument("other", metavar="OTHER", type=click.Path(path_type=Path))
@click.option("--store", "store_file", type=click.Path(path_type=Path), default=Path("audit.db"), show_default=True)
def store_import(other: Path, store_file: Path) -> None:
    """Bring in the runs of another store that are not there yet; twice does no harm.

    \b
    arkaudit store import other.db --store audit.db
    """
    from arkaudit.storing import import_store

    import_store(other, store_file)


_STORE = click.option(
    "--store", "store_file", type=click.Path(path_type=Path), default=Path("audit.db"), show_default=True
)


def _meant(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return which ARKs a decision is about."""
    for option in reversed(
        (
            click.argument("arks", metavar="[ARK|URL]…", nargs=-1),
            click.option(
                "--pattern", multiple=True, metavar="PATTERN", help="ARKs, or URLs asked, that fit it: ark:12148/btv1*."
            ),
            click.option(
                "--host", multiple=True, metavar="HOST", help="ARKs that are asked for there, or that end there."
            ),
            click.option(
                "--document", multiple=True, metavar="URL|PATTERN", help="What is cited in there; also a beginning."
            ),
            _STORE,
        )
    ):
        command = option(command)
    return command


_REASON = click.option("--reason", default="", help="Why; it stands in the report.")


@cli.group(short_help="Decide about known problems: acknowledge, ignore, assign, check again.")
def triage() -> None:
    """Decide about known problems, so that reports count them and raise only what is new.

    \b
    arkaudit triage acknowledge ark:12148/btv1b8449691v      known, until it gets worse
    arkaudit triage ignore --host old.example.org --until 2027-01-01 --reason "moves in December"
    arkaudit triage assign --pattern 'ark:53355/*' --to anna
    arkaudit triage recheck --document https://www.example.org/theses/
    arkaudit triage list
    arkaudit triage apply triage.toml                        what was decided in a file that can be reviewed
    """


@triage.command("acknowledge", short_help="Known as it stands, until it gets worse.")
@_meant
@_REASON
def triage_acknowledge(store_file: Path, reason: str, **meant: Any) -> None:
    """Acknowledge problems as they stand: they are counted, and raised again once they are worse or have come back."""
    from arkaudit.triage_commands import decide

    decide(store_file, TriageAction.ACKNOWLEDGE, _kinds(meant), now=datetime.now(UTC), reason=reason)


@triage.command("ignore", short_help="Raise nothing until a day.")
@_meant
@click.option("--reason", required=True, help="Why; it stands in the report.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), required=True, help="The day on which it counts again.")
def triage_ignore(store_file: Path, reason: str, until: datetime, **meant: Any) -> None:
    """Ignore whatever goes wrong with these ARKs until a day; from that day on it counts again."""
    from arkaudit.triage_commands import decide

    if not reason.strip():
        raise UserMistake("--reason is empty: say why, for whoever reads the report")
    now = datetime.now(UTC)
    decide(store_file, TriageAction.IGNORE, _kinds(meant), now=now, reason=reason, until=until.date())


@triage.command("assign", short_help="Say who looks after it.")
@_meant
@click.option("--to", "assignee", required=True, metavar="WHO", help="A name or an address.")
@_REASON
def triage_assign(store_file: Path, assignee: str, reason: str, **meant: Any) -> None:
    """Say who looks after these ARKs; their problems are raised as before, with the name beside them."""
    from arkaudit.triage_commands import decide

    if not assignee.strip():
        raise UserMistake("--to is empty: say who looks after it")
    decide(store_file, TriageAction.ASSIGN, _kinds(meant), now=datetime.now(UTC), reason=reason, assignee=assignee)


@triage.command("recheck", short_help="Make it due now, once.")
@_meant
@_REASON
def triage_recheck(store_file: Path, reason: str, **meant: Any) -> None:
    """Make these ARKs due now, whatever their interval: the next `check --due` asks for them first, once."""
    from arkaudit.triage_commands import decide

    decide(store_file, TriageAction.RECHECK, _kinds(meant), now=datetime.now(UTC), reason=reason)


@triage.command("list", short_help="What was decided, and whether it is in force.")
@_STORE
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def triage_list(store_file: Path, form: str) -> None:
    """Print what was decided, how many ARKs of the store it is about, and whether it is in force."""
    from arkaudit.triage_commands import show

    show(store_file, form, now=datetime.now(UTC), console=Console())


@triage.command("forget", short_help="Take decisions back.")
@_meant
@click.option("--action", type=click.Choice([*TriageAction]), help="Only decisions of this kind.")
def triage_forget(store_file: Path, action: str | None, **meant: Any) -> None:
    """Take back what was decided about exactly these targets, named as they were then."""
    from arkaudit.triage_commands import forget

    forget(store_file, _kinds(meant), TriageAction(action) if action else None)


@triage.command("apply", short_help="Decide as a file says.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@_STORE
def triage_apply(file: Path, store_file: Path) -> None:
    """Make the decisions of a TOML file those of the store; one that was taken out of the file is taken back.

    A configuration may name the file (triage = "triage.toml"); a run then applies it as it begins. docs/triage.md
    shows what may stand in it.
    """
    from arkaudit.triage_commands import apply

    apply(store_file, file, now=datetime.now(UTC))


@triage.command("export", short_help="All decisions as a file.")
@_STORE
@click.option("--out", type=click.Path(path_type=Path), help="[default: standard output]")
def triage_export(store_file: Path, out: Path | None) -> None:
    """Write all decisions of a store as a file that `triage apply` reads."""
    from arkaudit.triage_commands import export

    export(store_file, out)


def _kinds(meant: Mapping[str, Sequence[str]]) -> dict[TriageTarget, Sequence[str]]:
    return {TriageTarget("ark" if name == "arks" else name): texts for name, texts in meant.items()}


@cli.command(short_help="Tell people what a run has changed.")
@click.option(
    "-c", "--config", "config_file", type=click.Path(path_type=Path), required=True, help="The configuration."
)
@audit_option
@click.option("--store", "store_file", type=click.Path(path_type=Path), help="[default: the configuration's]")
@click.option("--run", "run_id", type=int, help="The run to report.  [default: the newest]")
@click.option("--dry-run", is_flag=True, help="Only say what would be sent, and to whom.")
def notify(config_file: Path, audit: str | None, store_file: Path | None, run_id: int | None, dry_run: bool) -> None:
    """Tell people what a run has changed, as the configuration says; nothing, where nothing has.

    A run does this itself at its end; this is for trying it out, and for what could not be sent then.

    \b
    arkaudit notify -c arkaudit.toml --audit theses --dry-run
    """
    from arkaudit.notify.delivery import tell_of

    if not tell_of(config_of(config_file, {}, audit=audit), store_file, run_id, is_dry=dry_run):
        sys.exit(EXIT_FINDING)


@cli.group(short_help="Run the audits of a configuration when they are due.")
def schedule() -> None:
    """Run the named audits of a configuration when they are due: never two of one at once, a missed one once.

    \b
    arkaudit schedule list -c arkaudit.toml
    arkaudit schedule due -c arkaudit.toml        run what is due, and end: for cron, systemd, Kubernetes, CI
    arkaudit schedule run -c arkaudit.toml        stay, and run each when its time comes
    """


_SCHEDULED = click.option(
    "-c",
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    default=Path("arkaudit.toml"),
    show_default=True,
    help="The configuration with the audits.",
)


@schedule.command("list", short_help="When each audit runs next, and how its last run ended.")
@_SCHEDULED
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def schedule_list(config_file: Path, form: str) -> None:
    """Print when each audit runs next, and how its last run ended."""
    from arkaudit.output_rows import whole, write
    from arkaudit.schedules import overview as listing
    from arkaudit.schedules.scheduler import planned_in

    planned = listing.rows(planned_in(config_file), datetime.now(UTC))
    if form == "json":
        write(json.dumps(planned, indent=2) + "\n", sys.stdout)
    else:
        console = Console()
        with whole(console):
            console.print(listing.table(planned))


@schedule.command("due", short_help="Run what is due now, and end.")
@_SCHEDULED
@click.option("--dry-run", is_flag=True, help="Only say what would run.")
def schedule_due(config_file: Path, dry_run: bool) -> None:
    """Run what is due now, one audit after the other, and end with the greatest of their exit codes.

    An audit is due when a moment of its schedule has passed since it last began, or since its schedule was first seen;
    however many have passed, it runs once. A run that did not come to its end goes on first.
    """
    from arkaudit.schedules.scheduler import Runs, planned_in, run_due, until_stopped

    audits = planned_in(config_file)
    if dry_run:
        for audit in audits:
            due = audit.due(datetime.now(UTC))
            if due is not None:
                say(f"{audit.name}: due since {due.moment:%Y-%m-%d %H:%M} UTC")
        return
    runs = Runs(config_file)
    with until_stopped(runs):
        codes = run_due(audits, runs, now=lambda: datetime.now(UTC))
    sys.exit(max(codes, default=0, key=abs))


@schedule.command("run", short_help="Stay, and run each audit when its time comes.")
@_SCHEDULED
def schedule_run(config_file: Path) -> None:
    """Stay, and run each audit when its time comes; first what was missed, or did not come to its end.

    A signal (Ctrl-C, or what a service manager sends) lets what runs finish what it has in flight; it goes on when
    this is started again.
    """
    from arkaudit.schedules.scheduler import Runs, planned_in, serve

    if find_spec("apscheduler") is None:
        raise UserMistake(
            "`schedule run` needs apscheduler: pip install 'arkaudit[scheduler]'; `schedule due` does not"
        )
    serve(planned_in(config_file), Runs(config_file))


@cli.group(short_help="Who assigns ARKs under a NAAN, and where they resolve.")
def registry() -> None:
    """Return who assigns ARKs under a NAAN or shoulder, and where they resolve: a copy of the public NAAN registry.

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


def _turn(config: Config, config_file: Path | None, scheduled: datetime | None) -> AbstractContextManager[None]:
    """The turn of a named audit, which its ledger knows; other runs have none."""
    if config.name is None or config_file is None:
        return nullcontext()
    from arkaudit.schedules.ledger import FOLDER, Ledger

    return Ledger(config_file.parent / FOLDER, config.name).turn(due=scheduled)


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


def _inventoried(path: Path | None) -> list[str]:
    """The ARKs of an inventory."""
    if path is None:
        return []
    from arkaudit.reporting import listed_in

    listed = listed_in(path)
    return [] if listed is None else listed["ark"].tolist()


def _writable(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as problem:
        raise UserMistake(f"{path} can't be written: {problem.strerror}") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command.

    Exit codes: 0 done; 1 done, with a finding at or above ``--fail-on``; 2 the user's mistake; 3 unfinished, or no
    seed could be read; 130 interrupted.
    """
    open_streams()
    heed_signals()
    gc.set_threshold(*_COLLECTIONS)
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
