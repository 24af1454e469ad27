"""Corrections that rest on the checks of a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import select

from crawler.history.ark_status import ArkState
from crawler.model.observations import Family
from crawler.model.resolving import GLOBAL_RESOLVER, request_url
from crawler.model.schema import document
from extractors.corrections.proposals import Kind, Proposal, replace_text
from extractors.mentions.mention import Mention
from extractors.model.documents import Role
from extractors.model.urls import authority_of
from extractors.wraps.rules import Confidence
from reports.remediation.causes import Cause
from reports.remediation.correcting import Place, Why, correction
from reports.store.frames import load_frames
from reports.store.store_reading import read_store
from reports.tables.actions import checked_places, lasting_detours
from reports.tables.ark_statuses import archived_copies
from reports.tables.definitions import PAIR, rows_of

_BECAUSE_HTTPS = "the resolver redirects http to https"


@dataclass(frozen=True, slots=True)
class StoreChecks:
    """The checks of a store, by ARK and URL."""

    store: Path
    places: Mapping[tuple[str, str], Place]
    urls: Mapping[str, list[str]]
    """The URLs that were checked for each ARK."""
    answered: frozenset[str]
    """URLs that gave any answer."""
    lasting: frozenset[str]
    """ARKs whose resolver has given no answer for as long as confirms a failure."""
    secured: frozenset[str]
    """URLs with http that were redirected to the same URL with https, which answered."""
    modern: frozenset[str]
    """Hosts at which an ARK works with the label ``ark:`` as cited."""
    classic: frozenset[str]
    """Hosts that need the label ``ark:/``."""
    copies: Mapping[tuple[str, str], tuple[str, str]]
    """The URL and the date of an archived copy, for ARKs that are confirmed to be broken."""
    digests: Mapping[str, str]
    """The digest of each document, by its name, as it was checked last."""

    def revise(self, mention: Mention, proposals: Iterable[Proposal]) -> list[Proposal]:
        """Return the *proposals* that no check refutes, certain if confirmed, and new proposals that rest on checks."""
        host = authority_of(mention.resolver) if mention.resolver else ""
        own = [
            replace(each, is_certain=each.is_certain or host in self.modern) if each.kind is Kind.LABEL else each
            for each in proposals
            if not (each.kind is Kind.LABEL and host in self.classic)
        ]
        # In the query of another URL, a correction would have to be encoded, too.
        if "percent-encoding" in mention.repairs:
            return own
        ark, url = str(mention.ark), request_url(mention.repaired, mention.resolver, GLOBAL_RESOLVER)
        if (ark, url) not in self.places:
            # Without a resolver, it may have been checked at any single URL.
            urls = self.urls.get(ark, ()) if mention.resolver is None else ()
            if len(urls) != 1:
                return own
            [url] = urls
        return [*own, *self._of_place(mention, url)]

    def problem(self, path: Path, sha256: str | None, mentions: Sequence[Mention]) -> str:
        """Return why the checks don't apply to a file, or an empty text. Without corrections *sha256* is None."""
        checked = self.digests.get(str(path)) or self.digests.get(str(path.absolute()))
        if checked and sha256 not in (None, checked):
            return "it has changed since it was checked; run arkaudit run on it again"
        if any(str(mention.ark) in self.urls for mention in mentions):
            return ""
        return f"{self.store} has no check of its ARKs; run arkaudit run on it first"

    def _of_place(self, mention: Mention, url: str) -> Iterator[Proposal]:
        """Yield the proposals that rest on the check of a mention at *url*."""
        known = self.places[str(mention.ark), url]
        place = replace(
            known,
            as_written=mention.as_written,
            repaired=mention.repaired,
            role=mention.role,
            is_ambiguous=mention.confidence is Confidence.AMBIGUOUS,
            has_resolver=mention.resolver is not None,
        )
        is_relative = mention.role is Role.LINK_TARGET and mention.resolver is None
        found = correction(place)
        ark, is_alive = str(mention.ark), url in self.answered
        if found is not None and found.correct and not is_relative:
            meant = _with_label_of(mention.as_written, found.correct)
            # Without an answer it may be an outage.
            detour = (Kind.MOVED if is_alive else Kind.RESOLVER, found.correct, ark, is_alive or ark in self.lasting)
            kind, correct, ark, is_certain = {
                Why.DID_YOU_MEAN: (Kind.SPELLING, meant, known.meant_ark or "", True),
                Why.OTHER_FORM: (Kind.SPELLING, found.correct, ark, True),
            }.get(found.why, detour)
            yield replace_text(mention, correct, kind, ark, found.because, is_certain=is_certain)
        is_shown = mention.role is Role.LINK_TARGET or (mention.role is Role.TEXT and mention.link is None)
        if (found is None or not found.correct) and is_shown and not (place.is_ambiguous or is_relative):
            copy = self.copies.get((ark, url))
            if copy is not None:
                yield Proposal(Kind.ARCHIVED, (), ark, f"it fails; {copy[0]} is a copy of {copy[1]}", True, copy)
        is_secure = known.family is Family.WORKS and url in self.secured and not place.is_ambiguous
        if is_secure and mention.as_written.startswith("http://"):
            secure = "https" + mention.as_written.removeprefix("http")
            yield replace_text(mention, secure, Kind.HTTPS, str(mention.ark), _BECAUSE_HTTPS, is_certain=True)


def _with_label_of(written: str, correct: str) -> str:
    """Return *correct* with the form of the label in *written*.

    >>> _with_label_of("ark:/12148/x5", "ark:12148/x6")
    'ark:/12148/x6'
    """
    has_slash = "ark:/" in written.lower()
    return correct.replace("ark:/", "ark:").replace("ark:", "ark:/" if has_slash else "ark:")


def checks_of(store: Path) -> StoreChecks:
    """Return the checks of *store*, as its current report has them. Raises `StoreUnopenable`."""
    frames = load_frames(store)
    places = checked_places(frames)
    answered = frozenset(frames.hops.loc[frames.hops["status"].notna(), "url"])
    modern, classic = set(), set()
    urls: dict[str, list[str]] = {}
    for (ark, url), place in places.items():
        urls.setdefault(ark, []).append(url)
        if place.cause is Cause.LABEL_FORM and place.works_at and "ark:/" in place.works_at:
            classic.add(authority_of(url))
        elif place.cause is None and place.family is Family.WORKS and "ark:/" not in url:
            modern.add(authority_of(url))
    lost = frames.latest.loc[frames.latest["state"].eq(ArkState.CONFIRMED_BROKEN), PAIR]
    copies = archived_copies(frames).dropna(subset=["archived_copy", "archived_at"]).merge(lost, on=PAIR)
    copies = copies.merge(frames.arks[["ark_id", "ark"]], on="ark_id")
    columns = ["ark", "request_url", "archived_copy", "archived_at"]
    # The last run counts.
    digests = select(document.c.url, document.c.body_sha256).where(document.c.body_sha256.is_not(None))
    digests = digests.order_by(document.c.run_id)
    return StoreChecks(
        store,
        places,
        urls,
        answered,
        lasting_detours(frames),
        frozenset(url for url in answered if url.startswith("http://") and f"https{url[4:]}" in answered),
        frozenset(modern),
        frozenset(classic),
        {(ark, url): (copy, f"{at:%Y-%m-%d}") for ark, url, copy, at in rows_of(copies[columns])},
        read_store(store, lambda connection: dict(connection.execute(digests).tuples().all())),
    )
