"""Compare two readings of a document: only the mentions to correct may differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from extractors.mentions.mention import Mention
from extractors.wraps.rules import Confidence


@dataclass(frozen=True, slots=True)
class Expected:
    """A mention as it should be read after its correction."""

    written: str
    ark: str


def difference(before: Sequence[Mention], after: Sequence[Mention], expected: Mapping[int, Expected]) -> str | None:
    """Return how a second reading differs from the first one with its *expected* changes, by index; None if it doesn't.

    >>> from extractors.find import find_arks
    >>> before, after = find_arks("ark:/12148/bpt6k-1 and ark:/12148/x5"), find_arks("ark:/12148/bpt6k1 and ark:/12148/x6")
    >>> difference(before, after, {0: Expected("ark:/12148/bpt6k1", "ark:12148/bpt6k1")})
    'ark:/12148/x5 would be read as ark:/12148/x6'
    """
    if len(before) != len(after):
        return f"{len(after)} ARKs would be read instead of {len(before)}"
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        target = expected.get(index)
        if old.role is not new.role:
            return f"{old.as_written} would have another place"
        if target is None:
            if not _is_same(old, new):
                return f"{old.as_written} would be read as {new.as_written}"
        elif str(new.ark) != target.ark or _squeeze(new.as_written) != _squeeze(target.written):
            return f"{old.as_written} would be read as {new.as_written}, not as {target.written}"
    return None


def _is_same(old: Mention, new: Mention) -> bool:
    """Return True if two mentions are equal, or if *old* was doubtful and *new* decides where it ends."""
    one, other = sorted((_squeeze(old.as_written), _squeeze(new.as_written)), key=len)
    if old.confidence < Confidence.CERTAIN:
        return other.startswith(one)
    return one == other and old.ark == new.ark


def _squeeze(text: str) -> str:
    return " ".join(text.split())
