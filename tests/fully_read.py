"""Mentions read step by step, without the fast path: what the fast path is compared with."""

from collections.abc import Mapping
from unittest.mock import patch

from extractors import find
from extractors.mentions.mention import Mention, NamespaceMention
from extractors.model.ark import Ark
from extractors.model.documents import Block
from extractors.wraps.evidence import Evidence


def read_fully(block: Block, evidence: Evidence, linked: Mapping[int, Ark]) -> list[Mention | NamespaceMention]:
    """Return what is in *block*, no sign of a label passed over and no mention read by one pattern."""
    with patch.object(find, "clean_mention", return_value=None), patch.object(find, "is_no_label", return_value=False):
        return list(find.read_block(block, evidence, linked))
