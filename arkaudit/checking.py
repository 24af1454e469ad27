"""What `check` does: each line of input becomes a row with its verdict, and on request the way that led there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from arkaudit import audits, rows
from arkaudit.config import Config
from arkaudit.explaining import CONTROLS, concerning, explanation
from crawler.observations import Observation, Verdict
from crawler.rechecking import Known
from crawler.resolving import request_url, resolver_of
from crawler.store import Store
from crawler.verdict import unasked
from extractors.ark import Ark
from extractors.documents import Block, Role
from extractors.find import scan
from extractors.mentions.mention import Mention, NamespaceMention
from extractors.wraps.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Check:
    """What became of the lines of input."""

    rows: Sequence[dict[str, Any]]
    """One a line, in their order; of an interrupted check, those that have a verdict."""
    was_interrupted: bool


def checked(asked: Sequence[str], config: Config, store_file: Path | None, *, explain: bool, console: Console) -> Check:
    """Resolve the ARKs in the lines *asked*; with *explain* each row tells how its verdict came about.

    Raises `crawler.store.StoreError`.
    """
    found = [_one_mention(text) for text in asked]
    targets = {
        mention: (mention.ark, request_url(mention.repaired, mention.resolver, config.resolver))
        for mention in found
        if isinstance(mention, Mention)
    }
    distinct = list(dict.fromkeys(targets.values()))
    verdicts, observations, was_interrupted = _asked(distinct, config, store_file, explain=explain, console=console)
    by_target = {(verdict.ark, verdict.request_url): verdict for verdict in verdicts}
    printed = []
    for text, mention in zip(asked, found, strict=True):
        if not isinstance(mention, Mention):
            printed.append(rows.invalid_row(text, mention))
            continue
        ark, url = targets[mention]
        verdict = by_target.get((str(ark), url))
        if verdict is None and was_interrupted:
            continue
        printed.append(_row(text, verdict or unasked(str(ark), url), observations))
    return Check(printed, was_interrupted)


def checked_again(
    again: Sequence[Known], config: Config, store_file: Path, *, explain: bool, console: Console
) -> Check:
    """Resolve ARKs of a store once more, where they were asked for before. Raises `crawler.store.StoreError`."""
    targets = [(Ark.parse(each.ark), each.request_url) for each in again]
    verdicts, observations, was_interrupted = _asked(targets, config, store_file, explain=explain, console=console)
    return Check([_row(verdict.request_url, verdict, observations) for verdict in verdicts], was_interrupted)


def _asked(
    targets: Sequence[audits.Target], config: Config, store_file: Path | None, *, explain: bool, console: Console
) -> tuple[Sequence[Verdict], Sequence[Observation] | None, bool]:
    """The verdicts of a run about *targets*; what it observed, with *explain*; and whether it was interrupted."""
    was_interrupted = False
    with Store.open(store_file) as store:
        try:
            run_id, verdicts = audits.audit(config, store, command="check", targets=targets, console=console)
        except audits.AuditInterrupted as stopped:
            run_id, verdicts, was_interrupted = stopped.run_id, stopped.verdicts, True
        return verdicts, list(store.observations(run_id)) if explain else None, was_interrupted


def _row(text: str, verdict: Verdict, observations: Sequence[Observation] | None) -> dict[str, Any]:
    row = rows.verdict_row(text, verdict)
    if observations is not None:
        row["explanation"] = explained(verdict, observations)
    return row


def explained(verdict: Verdict, observations: Sequence[Observation]) -> list[dict[str, Any]]:
    """How *verdict* came about, from the *observations* of the whole run."""
    about = [seen for seen in observations if seen.request_url == verdict.request_url]
    places = {resolver_of(seen.asked_url) for seen in about}
    controls = [
        seen
        for seen in observations
        if seen.question in CONTROLS
        and resolver_of(seen.asked_url) in places
        and Ark.parse(seen.ark).naan == Ark.parse(verdict.ark).naan
    ]
    nearest = [_nearest(verdict, [seen for seen in controls if seen.question is each]) for each in CONTROLS]
    return explanation(verdict, concerning(verdict, observations, [url for url in nearest if url])).row


def _nearest(verdict: Verdict, controls: Iterable[Observation]) -> str | None:
    """The control that is most like the ARK's own URL: the one of its shoulder, where there is one."""
    urls = [seen.asked_url for seen in controls]
    return max(urls, key=lambda url: _shared(url, verdict.request_url), default=None)


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(other))


def _one_mention(text: str) -> Mention | str:
    """The ARK of a line of input, or why it holds none."""
    found = list(scan(Block(text.strip(), Role.LINK_TARGET), Evidence()))
    mention = next((each for each in found if isinstance(each, Mention)), None)
    if mention is not None:
        return mention
    if any(isinstance(each, NamespaceMention) for each in found):
        return "names a NAAN, not an object"
    return "holds no ARK"
