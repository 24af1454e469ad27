"""Propose the corrected text of a mention, from the mention alone or from a text that is known to be right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from extractors.mentions.mention import Mention
from extractors.mentions.resolvers import KNOWN_RESOLVERS, address_of
from extractors.model.documents import Role
from extractors.model.offset_map import LINE_MARK, ODD_BLANK, PARAGRAPH, WRAP, Change, offset_map
from extractors.wraps.rules import Confidence


class Kind(StrEnum):
    """The kinds of corrections; of two for one place with the same confidence, the first is made."""

    SPELLING = "spelling"
    """Characters that only look right, or a mistyped ARK."""
    MOVED = "moved"
    """The cited resolver does not know the ARK, and another one does."""
    RESOLVER = "resolver"
    """The cited resolver does not answer, and another one resolves the ARK."""
    HTTPS = "https"
    """The resolver redirects http to https."""
    BROKEN_WRAP = "broken-wrap"
    """A line end, a soft hyphen or a hyphen of the layout inside the ARK."""
    LABEL = "label"
    """The old form of the label, ``ark:/``."""
    ARCHIVED = "archived"
    """An archived copy of a lost object, to cite in addition."""


#: Kinds that are made only if they are asked for.
OPTIONAL = frozenset({Kind.LABEL, Kind.ARCHIVED})
#: Kinds that need no check.
UNCHECKED = frozenset({Kind.SPELLING, Kind.BROKEN_WRAP, Kind.LABEL})


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in the written text of a mention."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A correction of one mention."""

    kind: Kind
    edits: tuple[Edit, ...]
    """In order, without overlaps."""
    ark: str
    """The ARK of the corrected mention, in normal form."""
    because: str
    is_certain: bool
    copy: tuple[str, str] | None = None
    """The URL and the date of an archived copy to cite in addition."""


@dataclass(frozen=True, slots=True)
class _Fault:
    kind: Kind
    edit: Edit
    words: str
    is_certain: bool = True


_PERCENT = re.compile(r"(?:%(?:25)*[0-9A-Fa-f]{2})")
_SLASHED_LABEL = re.compile(r"(?i:ark):(?P<slash>/)[0-9]")
_WORDS = {
    "look-alike hyphen": "a character that only looks like a hyphen",
    "invisible character": "an invisible character",
    "full-width character": "a full-width character",
    "ligature": "a ligature",
    "soft hyphen": "a soft hyphen",
}


def propose(mention: Mention) -> Iterator[Proposal]:
    r"""Yield the corrections of a mention that need no check, one for each kind.

    >>> from extractors.find import find_arks
    >>> [mention] = find_arks("see ark:/12148/bpt6k10\n7371t.")
    >>> [(proposal.kind.value, corrected(mention.as_written, proposal.edits)) for proposal in propose(mention)][0]
    ('broken-wrap', 'ark:/12148/bpt6k107371t')
    """
    faults = _faults(mention)
    is_sure = mention.confidence is Confidence.CERTAIN
    for kind in (Kind.SPELLING, Kind.BROKEN_WRAP):
        of_kind = [fault for fault in faults if fault.kind is kind]
        if of_kind and mention.confidence is not Confidence.AMBIGUOUS:
            yield Proposal(
                kind,
                tuple(fault.edit for fault in of_kind),
                str(mention.ark),
                f"it has {', '.join(dict.fromkeys(fault.words for fault in of_kind))}",
                is_sure and all(fault.is_certain for fault in of_kind),
            )
    slash = _SLASHED_LABEL.search(mention.as_written)
    if slash:
        edit = Edit(slash.start("slash"), slash.end("slash"), "")
        # Some resolvers need the slash, also that of a relative link.
        is_safe = mention.resolver is None and mention.role is Role.TEXT
        yield Proposal(Kind.LABEL, (edit,), str(mention.ark), "it has the old form of the label", is_safe)


def replace_text(mention: Mention, correct: str, kind: Kind, ark: str, because: str, *, is_certain: bool) -> Proposal:
    """Return the proposal to write *correct* instead of a mention; equal characters at both ends stay.

    >>> from extractors.find import find_arks
    >>> [mention] = find_arks("see http://old.example/ark:/12148/bpt6k10.")
    >>> replace_text(mention, "https://n2t.net/ark:/12148/bpt6k10", Kind.MOVED, "", "", is_certain=True).edits
    (Edit(start=4, end=18, text='s://n2t.net'),)
    """
    written = mention.as_written
    shorter = min(len(written), len(correct))
    before = next((at for at in range(shorter) if written[at] != correct[at]), shorter)
    after = next((at for at in range(shorter - before) if written[-1 - at] != correct[-1 - at]), shorter - before)
    edit = Edit(before, len(written) - after, correct[before : len(correct) - after])
    return Proposal(kind, (edit,), ark, because, is_certain)


def corrected(written: str, edits: Iterable[Edit]) -> str:
    """Return *written* after *edits*."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        written = written[: edit.start] + edit.text + written[edit.end :]
    return written


def choose(proposals: Iterable[Proposal]) -> tuple[list[Proposal], list[Proposal]]:
    """Return the proposals for one mention that go together, the most certain first, and those that don't."""
    kinds = list(Kind)
    made: list[Proposal] = []
    others: list[Proposal] = []
    for proposal in sorted(proposals, key=lambda each: (not each.is_certain, kinds.index(each.kind))):
        taken = [edit for chosen in made for edit in chosen.edits]
        is_apart = all(one.end <= other.start or other.end <= one.start for one in proposal.edits for other in taken)
        (made if is_apart else others).append(proposal)
    return made, others


def _faults(mention: Mention) -> Sequence[_Fault]:
    """Return the faults in the written text, by comparing it with the repaired one; empty if they can't be aligned."""
    written, repaired = mention.as_written, mention.repaired
    if repaired.startswith(written) or "page break" in mention.repairs:
        return ()
    resolver = mention.resolver or ""
    host = address_of(resolver).partition("/")[0]
    plain_end = resolver.find(host) + len(host) if host in KNOWN_RESOLVERS else resolver.find("://")
    offsets = offset_map(written)
    text = offsets.text
    changes: dict[int, list[Change]] = {}
    for change in offsets.changes:
        changes.setdefault(change.start, []).append(change)
    faults: list[_Fault] = []
    at = done = 0
    while at <= len(text):
        replaced = None
        for change in changes.get(at, ()):
            if change.length:
                replaced = change
            elif change.repair == "backslash escape":
                faults.append(_fault(change, "", is_certain=False))
            else:
                faults.append(_fault(change, ""))
        if at == len(text):
            break
        char, due = text[at], repaired[done : done + 1]
        start, end = offsets.source_offset(at), offsets.source_end(at + 1)
        is_at_wrap = char == "-" and text[at + 1 : at + 2] == WRAP
        if char == PARAGRAPH:
            return ()
        if char == WRAP:
            faults.append(_Fault(Kind.BROKEN_WRAP, Edit(start, end, ""), "a line break"))
        elif is_at_wrap:
            # A hyphen in a host may be part of it, but not a soft one, nor one in the scheme or in a known host.
            is_soft = replaced is not None and replaced.repair == "soft hyphen"
            is_in_resolver = plain_end < done <= len(resolver)
            keeps = due == "-" and not (is_soft and is_in_resolver)
            if not keeps or written[start:end] != "-":
                edit, is_certain = Edit(start, end, "-" if keeps else ""), is_soft or not is_in_resolver
                faults.append(_Fault(Kind.BROKEN_WRAP, edit, "a hyphen at a line break", is_certain))
            elif is_in_resolver:
                return ()
            done += due == "-"
            at += replaced is not None and replaced.length > 1
        elif char == due:
            if replaced is not None:
                faults.append(_fault(replaced, char))
            done += 1
        elif char in (" ", ODD_BLANK):
            faults.append(_Fault(Kind.SPELLING, Edit(start, end, ""), "a blank"))
        elif text[at - 1 : at] == WRAP and (mark := LINE_MARK.match(text, at)):
            end = offsets.source_end(mark.end())
            faults.append(_Fault(Kind.BROKEN_WRAP, Edit(start, end, ""), "the mark of a line"))
            at = mark.end()
            continue
        elif escape := _PERCENT.match(text, at):
            if repaired.startswith(plain := unquote(escape[0].replace("%25", "%")), done):
                done += len(plain)
                if mention.role is Role.TEXT and mention.resolver is None:  # in a URL it is right
                    edit = Edit(start, escape.end() - at + start, plain)
                    faults.append(_Fault(Kind.SPELLING, edit, "an escape (percent-encoding)", is_certain=False))
                at = escape.end()
                continue
            return ()
        else:
            return ()
        at += 1
    return faults if repaired[done:] in ("", "/") else ()


def _fault(change: Change, text: str, *, is_certain: bool = True) -> _Fault:
    """Return the fault that repairing has noted."""
    repair = change.repair or "a line break"
    is_wrap = repair in ("soft hyphen", "a line break")
    kind = Kind.BROKEN_WRAP if is_wrap else Kind.SPELLING
    is_escape = repair in ("entity", "JSON escape", "backslash escape")
    words = f"an escape ({repair})" if is_escape else _WORDS.get(repair, repair)
    # An escape may be right in an example of code.
    return _Fault(kind, Edit(change.source_start, change.source_end, text), words, is_certain and not is_escape)
