"""A document of the corpus and the truth about it, as it is written to the disk."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was made, and the truth about it."""

    path: str
    """Under ``HALF/documents``; its first part is the group."""
    kind: str
    language: str
    naans: str
    """``known`` or ``unseen``."""
    data: bytes
    arks: tuple[str, ...]
    followers: tuple[str, ...] = ()
    """For each ARK what stands behind it, where that is the point."""

    def truth(self) -> str:
        """Its line of ``truth.jsonl``."""
        row: dict[str, object] = {
            "document": self.path,
            "kind": self.kind,
            "language": self.language,
            "naans": self.naans,
            "arks": self.arks,
        }
        if self.followers:
            row["followed by"] = self.followers
        return json.dumps(row, ensure_ascii=False)
