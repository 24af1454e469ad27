"""What `check` does: each line of input becomes a row with its verdict, and on request the way that led there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from arkaudit import audits, rows
from arkaudit.config import Config
from arkaudit.explaining import Observed, explanation
from crawler.observations import Verdict
from crawler.resolving import request_url
from crawler.store import Store
from crawler.verdict import unasked
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
    was_interrupted = False
    with Store.open(store_file) as store:
        distinct = list(dict.fromkeys(targets.values()))
        try:
            run_id, verdicts = audits.audit(config, store, command="check", targets=distinct, console=console)
        except audits.AuditInterrupted as stopped:
            run_id, verdicts, was_interrupted = stopped.run_id, stopped.verdicts, True
        observed = Observed(store.observations(run_id)) if explain else None
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
        printed.append(_row(text, verdict or unasked(str(ark), url), observed))
    return Check(printed, was_interrupted)


def _row(text: str, verdict: Verdict, observed: Observed | None) -> dict[str, Any]:
    row = rows.verdict_row(text, verdict)
    if observed is not None:
        row["explanation"] = explanation(verdict, observed.behind(verdict)).row
    return row


def _one_mention(text: str) -> Mention | str:
    """The ARK of a line of input, or why it holds none."""
    found = list(scan(Block(text.strip(), Role.LINK_TARGET), Evidence()))
    mention = next((each for each in found if isinstance(each, Mention)), None)
    if mention is not None:
        return mention
    if any(isinstance(each, NamespaceMention) for each in found):
        return "names a NAAN, not an object"
    return "holds no ARK"
