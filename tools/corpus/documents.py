"""A document of the corpus with its truth, for writing."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A generated document and the ARKs that it cites."""

    path: str
    """Under ``HALF/documents``; its first part is the group."""
    kind: str
    language: str
    naans: str
    """``known`` or ``unseen``."""
    data: bytes
    arks: tuple[str, ...]
    followers: tuple[str, ...] = ()
    """The kind of text behind each ARK, in documents about that."""

    def truth(self) -> str:
        """Return the line for ``truth.jsonl``."""
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
