"""Mentions read step by step, without the fast path, which is compared with them."""

from collections.abc import Mapping
from unittest.mock import patch

from extractors import find
from extractors.mentions.mention import Mention, NamespaceMention
from extractors.model.ark import Ark
from extractors.model.documents import Block
from extractors.wraps.evidence import Evidence


def read_fully(block: Block, evidence: Evidence, linked: Mapping[int, Ark]) -> list[Mention | NamespaceMention]:
    """Return the mentions in *block*, with labels searched everywhere and without the pattern of the fast path."""
    end = len(block.text)
    with patch.object(find, "clean_mention", return_value=None):
        return list(find._read_region(block, find._Region(0, end, [end], end), 0, evidence, linked))
