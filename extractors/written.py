"""The parts of an ARK as it was written, before any normalization: what identity leaves out is still a fact."""

from __future__ import annotations

from dataclasses import dataclass

from extractors.normalization_steps import LABEL, without_resolver

#: The queries that ask about an object instead of for it; an inflection is the whole query (2020 scheme, 3.4).
_INFLECTIONS = frozenset({"", "?", "info"})


@dataclass(frozen=True, slots=True)
class Written:
    """An ARK's parts, character for character: together they are the text again (draft-kunze-ark-38, 2).

    >>> Written.of("https://n2t.net/ark:/12148/btv1-b84?info#top")
    Written(resolver='https://n2t.net/', label='ark:/', body='12148/btv1-b84', query='info', fragment='top')
    """

    resolver: str
    """Everything before the first label, with its final slash; empty for a compact ARK."""
    label: str
    body: str
    """NAAN, name and qualifier."""
    query: str | None
    """What stands behind the first question mark; an empty query is a question too, none is None."""
    fragment: str | None
    """What stands behind the first ``#``; kept, never sent."""

    @classmethod
    def of(cls, text: str) -> Written | None:
        """The parts of *text*, or None where no label begins it or follows a slash.

        >>> Written.of("bulwark:/12345/x5") is None
        True
        """
        form = without_resolver(text)
        label = LABEL.match(form)
        if label is None:
            return None
        rest, hash_sign, fragment = form[label.end() :].partition("#")
        body, question_mark, query = rest.partition("?")
        return cls(
            resolver=text[: len(text) - len(form)],
            label=label[0],
            body=body,
            query=query if question_mark else None,
            fragment=fragment if hash_sign else None,
        )

    @property
    def inflection(self) -> str:
        """``?info``, ``??`` or ``?`` where that is the whole query, else nothing (draft-kunze-ark-38, 1.2).

        >>> [Written.of(f"ark:12345/x{query}").inflection for query in ("?info", "??", "?", "?INFO", "?info&a=b")]
        ['?info', '??', '?', '', '']
        """
        return f"?{self.query}" if self.query in _INFLECTIONS else ""

    def __str__(self) -> str:
        query = "" if self.query is None else f"?{self.query}"
        fragment = "" if self.fragment is None else f"#{self.fragment}"
        return f"{self.resolver}{self.label}{self.body}{query}{fragment}"
