"""Sends what is new, tries again what fails, and keeps what could not be sent for the next time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import tenacity

from arkaudit.config import Config
from arkaudit.exits import say
from arkaudit.notify.channels import Channel, NotSent, channels
from arkaudit.notify.message import ArkFacts, Message, message
from crawler.observations import Family
from crawler.storage.store import Store
from extractors.shared_errors import UserMistake
from reports.ark_statuses import ark_statuses
from reports.frames import load_frames
from reports.remediation.causes import Cause
from reports.remediation.failing import diagnosed_failures
from reports.wording import CAUSE_NAMES

#: The folder of messages that could not be sent yet, beside the store.
OUTBOX = ".arkaudit-outbox"
ATTEMPTS = 3
FIRST_WAIT_S = 2.0


def tell(config: Config, store_file: Path, run_id: int, *, is_dry: bool = False, wait_s: float = FIRST_WAIT_S) -> bool:
    """Tell all that the configuration names what a run has changed; returns whether everybody has heard.

    What could not be sent earlier goes first. With *is_dry* it only says what would be sent, and to whom.
    """
    ways = list(channels(config.notify))
    with Store.open(store_file) as store:
        news = store.news(run_id)
    new = message(
        news,
        kinds=config.notify.on,
        audit=config.name or store_file.stem,
        report=str(config.out / "index.html") if config.out else None,
        facts=_facts(store_file, run_id) if any(item.kind in ("broke", "failing") for item in news.items) else {},
    )
    if is_dry:
        _tell_what_would_be(new, ways)
        return True
    outbox = Outbox(store_file.parent / OUTBOX / store_file.name)
    all_sent = True
    for way in ways:
        waiting = dict(outbox.waiting(way)) | ({f"run-{run_id:09d}": new} if new else {})
        for position, (key, text) in enumerate(waiting.items()):
            try:
                _sent(way, text, wait_s)
            except NotSent as problem:
                say(f"not told ({way.target}): {problem}; it is kept and sent the next time")
                all_sent = False
                for later in list(waiting.items())[position:]:  # in their order, or not at all
                    outbox.keep(way, *later)
                break
            outbox.forget(way, key)
    return all_sent


def _facts(store_file: Path, run_id: int) -> dict[str, ArkFacts]:
    """What a report on the run says of its ARKs that were not reached as cited, by their names."""
    frames = load_frames(store_file, run_id=run_id)
    statuses = ark_statuses(frames)[["ark_id", "ark", "family"]].set_index("ark_id")
    diagnoses = diagnosed_failures(frames).drop_duplicates("ark_id").set_index("ark_id")
    cited = frames.mentions[frames.mentions["ark_id"].isin(diagnoses.index)].sort_values(["document", "ordinal"])
    documents = cited.drop_duplicates(["ark_id", "document"]).groupby("ark_id")["document"].agg(tuple).to_dict()
    return {
        str(row["ark"]): ArkFacts(
            Family(str(statuses.at[ark_id, "family"])),
            f"{CAUSE_NAMES[Cause(row['cause'])]} ({row['host']})",
            documents.get(ark_id, ()),
        )
        for ark_id, row in diagnoses.iterrows()
        if ark_id in statuses.index
    }


def tell_of(config: Config, store_file: Path | None, run_id: int | None, *, is_dry: bool) -> bool:
    """Tell of a run of a store that is there, the newest by default; returns whether everybody has heard.

    Raises `extractors.shared_errors.UserMistake` and `crawler.storage.store_errors.StoreError`.
    """
    store_file = store_file or config.store or Path("audit.db")
    if not store_file.is_file():
        raise UserMistake(f"there is no store at {store_file}")
    if not config.notify.is_wanted:
        raise UserMistake("the configuration names nobody to tell: see [notify]")
    with Store.open(store_file) as store:
        runs = store.run_ids()
    if not runs or (run_id is not None and run_id not in runs):
        raise UserMistake(f"{store_file} has no run {run_id}" if runs else f"{store_file} has no runs")
    return tell(config, store_file, runs[-1] if run_id is None else run_id, is_dry=is_dry)


def _sent(way: Channel, text: Message, wait_s: float) -> None:
    """Send, with further attempts where that fails. Raises `NotSent` after the last."""
    tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(NotSent),
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_exponential(multiplier=wait_s),
        reraise=True,
    )(way.send, text)


def _tell_what_would_be(new: Message | None, ways: Sequence[Channel]) -> None:
    if new is None:
        say("nothing has changed, so nobody would be told")
        return
    for way in ways:
        say(f"would {way.target}: {new.subject}")
    print(new.text, end="")


class Outbox:
    """Messages that could not be sent yet, each a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def waiting(self, way: Channel) -> list[tuple[str, Message]]:
        """Return what waits for this way, oldest first, each with its key."""
        found = []
        for file in sorted(self._folder.glob(f"{way.name}-*.json")):
            try:
                stored = json.loads(file.read_text("utf-8"))
                found.append((file.stem.removeprefix(f"{way.name}-"), Message(**stored)))
            except (OSError, ValueError, TypeError) as problem:
                say(f"{file} is no message that waits to be sent, and was left as it is: {problem}")
        return found

    def keep(self, way: Channel, key: str, text: Message) -> None:
        """Keep a message for the next time."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file(way, key).write_text(json.dumps(asdict(text)), "utf-8")
        except OSError as problem:
            say(f"and could not be kept in {self._folder}: {problem.strerror}")

    def forget(self, way: Channel, key: str) -> None:
        """It has been sent."""
        self._file(way, key).unlink(missing_ok=True)

    def _file(self, way: Channel, key: str) -> Path:
        return self._folder / f"{way.name}-{key}.json"
