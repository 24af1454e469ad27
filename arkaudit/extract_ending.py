"""What is counted of documents while their ARKs are printed, and how that ends for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from extractors.checkchar import CheckCharacter
from extractors.documents import Document
from reports.display import counted
from reports.ending import Fault, place_words

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Counted(Generic[R]):
    """What was made of a document, and what there is in it."""

    made: R
    citations: int
    repaired: int
    """Of the citations."""
    mistyped: tuple[str, ...]
    """A line for each ARK whose check character is wrong."""

    @classmethod
    def of(cls, render: Callable[[Document], R], document: Document) -> Counted[R]:
        """Return what *render* makes of a document, counted; a function that another process can run."""
        mentions = document.mentions
        failing = [mention for mention in mentions if mention.check is CheckCharacter.FAILS]
        lines = {
            f"{place_words(document.name, mention.page)}: {mention.as_written}: its check character is wrong"
            + (f"; did you mean {mention.suggestions[0]}?" if len(mention.suggestions) == 1 else "")
            for mention in failing
        }
        repaired = {mention.citation for mention in mentions if mention.repairs}
        return cls(
            render(document), len({mention.citation for mention in mentions}), len(repaired), tuple(sorted(lines))
        )


@dataclass(slots=True)
class ExtractTotal:
    """All documents that were read, and what they cite."""

    read: int = 0
    citations: int = 0
    repaired: int = 0
    in_part: int = 0
    """Documents that could not be read to their end."""
    unread: list[str] = field(default_factory=list)
    mistyped: list[str] = field(default_factory=list)

    def add(self, found: Counted[R]) -> None:
        """Count what one document cites."""
        self.citations += found.citations
        self.repaired += found.repaired
        self.mistyped += found.mistyped

    @property
    def faults(self) -> list[Fault]:
        """Return what is amiss; documents that could not be read were told of as they came."""
        return [Fault(line) for line in self.mistyped]

    @property
    def words(self) -> str:
        """Return the total.

        >>> ExtractTotal(read=2, citations=5, repaired=1, in_part=1, unread=["a.pdf"]).words
        '2 documents read, 1 of them in part, 1 not readable; 5 citations, 1 repaired'
        """
        documents = f"{counted(self.read, 'document')} read"
        in_part = f", {self.in_part:,} of them in part" if self.in_part else ""
        not_readable = f", {len(self.unread):,} not readable" if self.unread else ""
        repaired = f", {self.repaired:,} repaired" if self.repaired else ""
        mistyped = f", {len(self.mistyped):,} mistyped" if self.mistyped else ""
        return f"{documents}{in_part}{not_readable}; {counted(self.citations, 'citation')}{repaired}{mistyped}"
