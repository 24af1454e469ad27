"""Mentions, as they stand in the store."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from extractors.mentions.mention import Mention
from extractors.mentions.unresolved import UnresolvedMention


class DecidedOn(IntEnum):
    """The basis on which a mention's row was decided; of several rows about one mention the last counts."""

    READ = 1
    """On its document."""
    TOGETHER = 2
    """On all documents of the run."""
    SETTLED = 3
    """On what resolvers answered about its readings."""


@dataclass(frozen=True, slots=True)
class KeptMention:
    """A mention and its place in the store."""

    document_id: int
    ordinal: int
    request_url: str
    mention: Mention


@dataclass(frozen=True, slots=True)
class KeptUnresolvedMention(KeptMention):
    """A mention that wasn't certain when its document was read."""

    unresolved: UnresolvedMention
