"""The commands `crawl` and `run`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.commands.options import (
    GroupedCommand,
    added_options,
    audit_option,
    config_of,
    crawl_options,
    dry_run_option,
    fail_on_option,
    format_option,
    lang_option,
    request_options,
    resume_option,
    setting_options,
    store_file_option,
    store_option,
)
from arkaudit.output.exits import end_unread, exit_on, say
from extractors.model.errors import UserMistake

if TYPE_CHECKING:
    from arkaudit.configuration.config import Config
    from crawler.model.observations import DocumentRecord
    from crawler.spiders.seeds import Seeds


@click.command(cls=GroupedCommand)
@click.argument("seeds", metavar="[SEED…]", nargs=-1)
@store_option
@resume_option
@crawl_options
@request_options
def crawl(
    seeds: tuple[str, ...], store_file: Path, resume: bool | None, config_file: Path | None, **options: Any
) -> None:
    """Crawl documents and record the ARKs that they cite, without resolving any.

    A seed is a URL, whose site is crawled; a list of documents (sitemap, OAI-PMH repository, Atom or RSS feed, IIIF
    collection or manifest, list of URLs); or a file, a folder or a WARC. Its kind is recognized by its content; a
    prefix page:, sitemap:, oai:, feed:, iiif: or list: overrides that, and log: names access logs of a web server. The
    same command, or --resume, resumes an unfinished crawl.

    \b
    arkaudit crawl https://www.example.org/ --store audit.db
    arkaudit crawl oai:https://repository.example.org/oai --oai-set maps
    arkaudit crawl list:urls.txt --max-time 2h
    """
    from arkaudit.audits.audit import Audit
    from arkaudit.audits.resuming import open_run
    from arkaudit.output.exits import hint_after_crawl, print_ending
    from arkaudit.output.hints import Fault
    from reports.languages.display import count_noun

    config = config_of(config_file, options)
    seeds = seeds or tuple(config.seeds)
    named_seeds = _seeds(seeds, resume=resume)
    with open_run("crawl", seeds, config, store_file, resume=resume) as opened_run:
        run_id = opened_run.finished_run_id
        if run_id is None:
            run_seeds = opened_run.seeds(named_seeds)
            audit = Audit(opened_run.config, opened_run.store, run_seeds, resolve=False, on_document=_print_findings)
            run_id = audit.run("crawl", opened_run.decision)
        counts = opened_run.store.counts(run_id)
        unread_documents = opened_run.store.unread(run_id)
        is_read = opened_run.store.has_read_seed(run_id)
    read_words = f"{counts['read']} read" + (f", {counts['redirected']} redirected" if counts["redirected"] else "")
    document_words = count_noun(counts["documents"], "document")
    citation_words = count_noun(counts["citations"], "citation")
    faults = [
        Fault(f"not read: {message}{f', found on {citing_page}' if citing_page else ''}")
        for message, citing_page in unread_documents
    ]
    unread_count = counts["documents"] - sum(counts[outcome] for outcome in ("read", "redirected", "referers"))
    hint = hint_after_crawl(store_file, config_file) if counts["citations"] else None
    print_ending(
        faults if is_read else [],
        unread_count if is_read else 0,
        f"{document_words}, {read_words}, {citation_words}, in {store_file}",
        hint,
    )
    if not is_read:
        end_unread("no seed", [message for message, _ in unread_documents])


@click.command(cls=GroupedCommand)
@click.argument("seeds", metavar="[SEED…]", nargs=-1)
@store_file_option(help="The file of the store.  [default: audit.db]")
@setting_options("out")
@resume_option
@dry_run_option
@format_option
@lang_option
@audit_option
@click.option("--scheduled", type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z"]), hidden=True)
@fail_on_option
@setting_options("known")
@added_options("notify")
@crawl_options
@request_options
def run(
    seeds: tuple[str, ...],
    store_file: Path | None,
    resume: bool | None,
    dry_run: bool,
    formats: tuple[str, ...],
    audit: str | None,
    scheduled: datetime | None,
    fail_on: tuple[str, ...],
    config_file: Path | None,
    **options: Any,
) -> None:
    """Run a whole audit: crawl documents, resolve every ARK that they cite, write a report.

    The same command, or --resume, resumes an unfinished audit.

    \b
    arkaudit run https://www.example.org/ --contact you@example.org --out report
    arkaudit run -c arkaudit.toml
    arkaudit run -c arkaudit.toml --audit theses
    arkaudit run 'log:/var/log/nginx/access.log*' --resolver https://ark.example.org/ --out report
    """
    from arkaudit.audits.audit import Audit
    from arkaudit.audits.resuming import note_reported, open_run
    from arkaudit.output.reporting import report_on
    from arkaudit.schedules.notification import send_news
    from crawler.model.observations import Problem
    from reports.store.known_problems import UNREADABLE

    config = config_of(config_file, options, audit=audit)
    known_list = config.known_list
    seeds = seeds or tuple(config.seeds)
    named_seeds = _seeds(seeds, resume=resume)
    store_file = store_file or config.store or Path("audit.db")
    _refuse_mistakes(config, store_file, formats)
    if dry_run:
        from arkaudit.audits.audit import warn_if_anonymous
        from arkaudit.audits.forecast import print_forecast_of_run

        warn_if_anonymous(config)
        print_forecast_of_run(named_seeds, config, store_file)
        return
    with _recorded_run(config, config_file, scheduled):
        with open_run("run", seeds, config, store_file, resume=resume) as opened_run:
            run_id = opened_run.finished_run_id
            if run_id is None:
                run_seeds = opened_run.seeds(named_seeds)
                audit_run = Audit(opened_run.config, opened_run.store, run_seeds, on_document=_print_findings)
                run_id = audit_run.run("run", opened_run.decision)
            is_read = opened_run.store.has_read_seed(run_id)
            unread_messages = [message for message, _ in opened_run.store.unread(run_id)]
            dead_sources = opened_run.store.dead_sources(run_id)
        summary = report_on(config, store_file, config.out, formats=formats, run_id=run_id, is_ending=True)
        send_news(config, store_file, summary.report, config_file=config_file)
        note_reported(store_file, run_id)
        if not is_read:
            end_unread("no seed", unread_messages)
        today = datetime.now(UTC).date()
        raised_sources = [
            name for name in dead_sources if not known_list.accepts(Problem(UNREADABLE, documents=(name,)), today)
        ]
        tokens = [*summary.tokens, *(UNREADABLE for _ in raised_sources)]
        exit_on(fail_on, tokens, is_whole=summary.is_whole, store_file=store_file)


def _refuse_mistakes(config: Config, store_file: Path, formats: Sequence[str]) -> None:
    """Check all inputs and destinations of a run, without writing. Raises `ArkauditError` or `OSError` for a bad one."""
    from arkaudit.schedules.notification import check_channels
    from crawler.store.files import real_path, refuse_foreign
    from reports.exports import check_out
    from reports.store.inventory import read_inventory

    if config.inventory is not None:
        read_inventory(config.inventory)
    check_channels(config, are_needed=False)
    config.check()
    refuse_foreign(real_path(store_file))
    if config.out is not None:
        check_out(config.out, formats)


@contextmanager
def _recorded_run(config: Config, config_file: Path | None, scheduled: datetime | None) -> Iterator[None]:
    """Record the ``with`` block as the last run of a named audit; runs without a name are not recorded.

    *scheduled* is the due time of a scheduled run, which exits with 0 if the audit is already running.
    """
    if config.name is None or config_file is None:
        yield
        return
    from arkaudit.schedules.last_run import FOLDER, AuditRunning, LastRunFile

    try:
        with LastRunFile(config_file.parent / FOLDER, config.name).turn(due=scheduled):
            yield
    except AuditRunning as running:
        if scheduled is None:
            raise
        say(f"{running}; this run ends")
        sys.exit(0)


def _print_findings(record: DocumentRecord) -> None:
    """Print the findings about a document as soon as it is read."""
    from arkaudit.audits.extracting import report_findings

    report_findings(record.url, record.findings, None)


def _seeds(texts: Sequence[str], *, resume: bool | None) -> Seeds:
    """Return the seeds that *texts* name. Raises `UserMistake` if there are none, except to resume a run."""
    if not texts and not resume:
        raise UserMistake("nothing to crawl: give a SEED, or seeds in the configuration")
    from crawler.spiders.seeds import Seeds

    return Seeds.parse(texts, takes_logs=True)
