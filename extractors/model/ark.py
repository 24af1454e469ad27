"""The identifier itself: parsed once at the edge, then trusted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from extractors.model.normalize import CLEAN, LABEL, NotAnArk, Profile, normalize, without_resolver

BETANUMERIC = "0123456789bcdfghjkmnpqrstvwxz"

#: NAANs that the specification reserves for examples and tests: recorded, never requested
#: (draft-kunze-ark-38, table 2: "link checkers need not be concerned").
SKIPPED_NAANS = frozenset({"12345", "99999"})

_SHOULDER = re.compile(r"[bcdfghjkmnpqrstvwxz]*[0-9]")
_BASE = re.compile(r"[^/.]*")
_INERT_IN_NAAN = re.compile(r"[^0-9a-z]")


def shoulder_of(name: str) -> str | None:
    """The primordinal shoulder of a base name: consonants up to and with the first digit, or none (2.4.1).

    >>> shoulder_of("x6np1wh8k"), shoulder_of("metadc107835")
    ('x6', None)
    """
    shoulder = _SHOULDER.match(name)
    return shoulder[0] if shoulder else None


@dataclass(frozen=True, slots=True, order=True)
class Ark:
    """One ARK in normal form. Equal ARKs name the same thing (draft-kunze-ark-38, 2 and 3.2).

    >>> Ark.parse("https://n2t.net/ark:/12148/btv1-b8449691v/f29.item")
    Ark(naan='12148', name='btv1b8449691v', qualifier='/f29.item')
    >>> str(Ark.parse("ARK:/12148/btv1b84-"))
    'ark:12148/btv1b84'
    """

    naan: str
    name: str
    """The base name: what the name assigning authority assigned, up to the first ``/`` or ``.``."""
    qualifier: str = ""
    """Components, then variants, each with its delimiter: ``/c3/s5.v7.xsl``."""

    @classmethod
    def parse(cls, text: str) -> Ark:
        """The ARK that *text* is, in any spelling, with or without a resolver, query or fragment.

        Raises `extractors.model.normalize.NotAnArk` (or its subclass `NamespaceOnly`) when it is none.
        """
        clean = CLEAN.fullmatch(text)
        if clean is not None:
            return cls(*clean.groups())
        naan, _, rest = normalize(text).removeprefix("ark:").partition("/")
        base = _BASE.match(rest)
        assert base is not None
        return cls(naan, base[0], rest[base.end() :])

    def __str__(self) -> str:
        return f"ark:{self.naan}/{self.name}{self.qualifier}"

    @property
    def base(self) -> Ark:
        """The ARK without its qualifier: the container of all its parts."""
        return Ark(self.naan, self.name)

    @property
    def components(self) -> tuple[str, ...]:
        """The parts of the object, outermost first: ``('c3', 's5')``."""
        return tuple(part for part in self.qualifier.partition(".")[0].split("/") if part)

    @property
    def variants(self) -> tuple[str, ...]:
        """The forms of the object: ``('v7', 'xsl')``."""
        return tuple(part for part in self.qualifier.partition(".")[2].split(".") if part)

    @property
    def shoulder(self) -> str | None:
        """The primordinal shoulder: consonants up to and with the first digit, or none (2.4.1).

        >>> Ark.parse("ark:12345/x6np1wh8k").shoulder
        'x6'
        """
        return shoulder_of(self.name)

    @property
    def implied(self) -> Iterator[Ark]:
        """Every ARK whose existence it declares by its form (2.5), nearest first: without its last suffix and so on,
        then all that contains it, down to the base name. They are made one by one as they are asked for.

        >>> [str(ark) for ark in Ark.parse("ark:12345/a/b.c.d").implied]
        ['ark:12345/a/b.c', 'ark:12345/a/b', 'ark:12345/a']
        """
        qualifier = self.qualifier
        for delimiter in "./":
            while (end := qualifier.rfind(delimiter)) >= 0:
                qualifier = qualifier[:end]
                yield Ark(self.naan, self.name, qualifier)

    def form_under(self, profile: Profile) -> str | None:
        """Its normal form under *profile*; None where that has no ARK of this form.

        >>> ark = Ark.parse("ark:12345/x.svg.en")
        >>> ark.form_under(Profile.SCHEME_2020), Ark.parse("ark:61903/1:1:MM6X").form_under(Profile.SCHEME_2020)
        ('ark:12345/x.en.svg', None)
        """
        try:
            return normalize(str(self), profile)
        except NotAnArk:
            return None

    @property
    def is_skipped(self) -> bool:
        """True if the ARK is one of the examples and tests that are recorded but never requested.

        Decided on the most liberal reading: escapes count as what they represent, and whatever is inert as nothing.

        >>> Ark.parse("ark:/%31234%2D5/x5").is_skipped
        True
        """
        if self.naan.isalnum():
            return self.naan in SKIPPED_NAANS
        read = unicodedata.normalize("NFKC", unquote(self.naan)).lower()
        return _INERT_IN_NAAN.sub("", read) in SKIPPED_NAANS


# The parts of an ARK as it was written, before any normalization: what identity leaves out is still a fact.

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
    """What is after the first question mark; an empty query is a question too, none is None."""
    fragment: str | None
    """What is after the first ``#``; kept, never sent."""

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
