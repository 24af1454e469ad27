"""Pure: which ARKs an answer is about, by its own account: in its headers, its head, its record, its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from crawler.answers.structured import kernel
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk

#: Places by which a page says what it is, in contrast to what it merely mentions.
_DECLARING = re.compile(
    r"canonical|cite-as|describes|link header|json-ld|og:url|identifier|ark"
    r"|(?:dc|dcterms|citation|prism|eprints|bepress_citation)[._:-].*",
    re.IGNORECASE,
)
#: One link of a Link header, well formed or with its semicolons where they don't belong, as some resolvers send.
_LINK = re.compile(r"<(?P<target>[^<>]*)>\s*;?(?P<parameters>[^<]*)")
_SELF_RELATION = re.compile(r"""rel\s*=\s*["']?[^"',;]*\b(?:describes|cite-as|canonical|identifier)\b""", re.IGNORECASE)
#: An ARK, or what comes before one: a NAAN, or a NAAN and a shoulder.
_NAMESPACE = re.compile(r"(?:https?://\S+?/)?ark:/?(?P<naan>[0-9a-z]{5,16})(?:/(?P<shoulder>\S*))?", re.IGNORECASE)
_NAMES_IT = ("where", "what", "success", "identifier", "id", "@id", "ark", "erc.ark", "pid")

#: ARKs that an answer names, each with the place where it is.
Named = Sequence[tuple[Ark, str]]


@dataclass(frozen=True, slots=True)
class Subject:
    """The ARK or namespace that a record is about, as far as it says."""

    names_this: str | None = None
    """Where it names the ARK that was asked about, if it does."""
    names_other: str | None = None
    """Another ARK in the place where its own should be, and not this one."""
    names_base: bool = False
    """Whether it names the base of the qualified ARK that was asked about, and not that ARK itself."""
    names_namespace: str | None = None
    """The NAAN or shoulder that it is about."""


def linked_arks(link_header: str) -> tuple[Ark, ...]:
    """The ARKs that a Link header gives for what is answered (2023, 5.2).

    >>> [str(ark) for ark in linked_arks('<https://n2t.net/ark:/12148/x5>; rel="describes"')]
    ['ark:12148/x5']
    """
    links = _LINK.finditer(link_header[:8_000])
    return tuple(ark for link in links if _SELF_RELATION.search(link["parameters"]) for ark in _arks_in(link["target"]))


def named_arks(linked: Iterable[Ark], on_page: Iterable[tuple[str, str]]) -> Iterator[tuple[Ark, str]]:
    """The ARKs of a Link header, then those of a page with the place of each."""
    yield from ((ark, "Link header") for ark in linked)
    for text, where in on_page:
        try:
            yield _parsed(text), where
        except NotAnArk:
            continue


def own_places(named: Named, ark: Ark) -> tuple[str, ...]:
    """Return where *ark*, one of its parts or what it is part of is named: any spelling counts (2023, 3.2)."""
    return tuple(dict.fromkeys(where for named_ark, where in named if named_ark.base == ark.base))


def declares(places: Iterable[str]) -> bool:
    """Return whether one of *places* is where a page says what it is, not merely what it mentions.

    >>> declares(("text", "canonical")), declares(("text",))
    (True, False)
    """
    return any(_DECLARING.fullmatch(where) for where in places)


def declared_other(named: Named, ark: Ark) -> str | None:
    """Another ARK that a page says it is about, when *ark* is not *named*."""
    if any(named_ark.base == ark.base for named_ark, _ in named):
        return None
    return next((str(named_ark) for named_ark, where in named if declares((where,))), None)


def subject_of(record: Mapping[str, Mapping[str, str]], ark: Ark, linked: Sequence[Ark] = ()) -> Subject:
    """The subject of a *record* in an answer about *ark*, by the places in which a record names its subject.

    *linked* are the ARKs of the Link header. An ARK in ``erc-support`` or ``erc-from`` is the statement's address or
    the record's, and none of them.
    """
    if ark in linked:
        return Subject(names_this="the Link header")
    if _in_set_title(record, ark):
        return Subject(names_this="the title of the set")
    elements = _anchoring(record)
    named = [
        (label, other_ark) for label in _NAMES_IT if elements.get(label) for other_ark in _arks_in(elements[label])
    ]
    label = next((label for label, other_ark in named if other_ark == ark), None)
    if label is not None:
        return Subject(names_this=f"the record's {label!r}")
    namespace = next((value for label in _NAMES_IT if (value := _namespace(elements.get(label, ""), ark))), None)
    if namespace is not None:
        return Subject(names_namespace=namespace)
    if any(other_ark == ark.base for _, other_ark in named):
        return Subject(names_base=True)
    others = [other_ark for label, other_ark in named if label != "what"] or linked
    return Subject(names_other=next((str(other_ark) for other_ark in others if other_ark.base != ark.base), None))


def _anchoring(record: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """The story that a record is anchored in, or a structured record with the kernel's names added."""
    if "erc" in record:
        return record["erc"]
    elements: dict[str, str] = {}
    for kind in record:
        elements |= {**record[kind], **kernel(record[kind])}
    return elements


_parsed = lru_cache(maxsize=1024)(Ark.parse)  # pages of one site name the same ones


def _in_set_title(record: Mapping[str, Mapping[str, str]], ark: Ark) -> bool:
    """Return whether a THUMP header names *ark*, perhaps without its label and with the inflection (2005, 6)."""
    title = record.get("set", {}).get("what", "").strip()
    bare = re.sub(r"\?(?:info|\?)?\Z", "", title)
    if not re.match(r"ark:", bare, re.IGNORECASE) and "/" in bare and "//" not in bare:
        bare = f"ark:{bare}"
    where = record.get("set", {}).get("where", "")
    return any(ark in _arks_in(text) for text in (bare, where) if text)


@lru_cache(maxsize=1024)  # many records speak of one holder
def _arks_in(text: str) -> tuple[Ark, ...]:
    return tuple(mention.ark for mention in find_arks(text))


def _namespace(value: str, ark: Ark) -> str | None:
    """The NAAN or shoulder of *ark* that is the whole of *value*, if it is: the first half of its name at most."""
    match = _NAMESPACE.fullmatch(value.strip())
    if match is None or match["naan"].lower() != ark.naan:
        return None
    rest = (match["shoulder"] or "").strip("/")
    is_shoulder = ark.name.startswith(rest) and len(rest) * 2 <= len(ark.name)
    return value.strip() if is_shoulder else None
