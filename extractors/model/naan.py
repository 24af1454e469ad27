"""Knowledge about NAANs: who assigns under a NAAN or shoulder since when, and where a resolver sends its ARKs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from string import Template
from urllib.parse import SplitResult, urlsplit

from extractors.model.ark import Ark
from extractors.model.normalize import LABEL, NamespaceOnly, NotAnArk, without_query


@dataclass(frozen=True, slots=True)
class SharedNaan:
    """A NAAN under which anybody may assign names (draft-kunze-ark-38, table 2)."""

    naan: str
    purpose: str
    expected_to_resolve: str
    long_term_reference: bool


SHARED_NAANS: Mapping[str, SharedNaan] = {
    shared.naan: shared
    for shared in (
        SharedNaan("12345", "examples in documentation", "maybe", False),
        SharedNaan("99152", "terms of vocabularies and ontologies", "yes", True),
        SharedNaan("99166", "people, groups and institutions as agents", "yes", True),
        SharedNaan("99999", "tests, development and experiments", "maybe", False),
    )
}

#: Organizations of well-known NAANs: public facts, for reports made without a copy of the registry.
WELL_KNOWN_NAANS: Mapping[str, str] = {
    "12148": "Bibliothèque nationale de France",
    "13030": "California Digital Library",
    "13960": "Internet Archive",
    "27927": "Portico",
    "29072": "University of Oxford, Bodleian Libraries",
    "53355": "Musée du Louvre",
    "61903": "FamilySearch",
    "65665": "Smithsonian Institution",
    "67375": "INIST-CNRS",
    "67531": "University of North Texas Libraries",
    "81055": "British Library",
    "87278": "University of Utah",
    "88435": "Princeton University Library",
}

#: The parts of an ARK that name the object, as a target's placeholders; the last three are the registry's older names.
_NAMING = frozenset({"pid", "content", "value", "suffix", "arkpid", "arkid", "nlid"})
_PLACEHOLDERS = _NAMING | {"scheme", "prefix"}
_NAAN = re.compile(r"[0-9a-z]+\Z")


@dataclass(frozen=True, slots=True)
class ResolverTarget:
    """The target to which a resolver sends the ARKs of a NAAN or shoulder."""

    template: str
    """A URL with placeholders, such as ``https://example.org/ark:/${content}``."""
    status: int | None = None
    """The status of the redirect."""
    label: str = ""
    """The short name of the organization that runs the resolver, where a natab gives one."""

    @property
    def fault(self) -> str | None:
        """Return why no ARK can be asked for there; None when it can.

        >>> ResolverTarget("https:///example.org/ark:/${content}").fault
        'no host: https:///example.org/ark:/${content}'
        """
        template = Template(self.template)
        try:
            parts = urlsplit(self.template)
            fault = _character_fault(self.template) or _url_fault(parts)
        except ValueError as problem:
            return f"{problem}: {self.template}"
        if fault is None and not template.is_valid():
            fault = "a placeholder that can't be read"
        if fault is None:
            fault = _placeholder_fault(template.get_identifiers(), parts)
        return f"{fault}: {self.template}" if fault else None

    def url(self, ark: Ark, shoulder: str = "") -> str | None:
        """The URL for *ark* under *shoulder*, filled in as N2T does; None when the target is at fault.

        ``${content}`` is the ARK without its label, ``${pid}`` with it, ``${prefix}`` the NAAN, ``${value}`` what
        follows the NAAN and its slash, ``${suffix}`` what follows the shoulder. Source: CDLUC3/resolver, the
        resolver of N2T and arks.org, and the registry's conversion of ``$id``, ``$nlid`` and the like.

        >>> ResolverTarget("https://example.org/brunner${suffix}").url(Ark.parse("ark:19156/tkt42/06l"), "tkt42")
        'https://example.org/brunner/06l'
        """
        if self.fault:
            return None
        content = str(ark).removeprefix("ark:")
        value = content.removeprefix(f"{ark.naan}/")
        pid = f"ark:/{content}"
        return Template(self.template).substitute(
            scheme="ark",
            prefix=ark.naan,
            content=content,
            value=value,
            nlid=value,
            suffix=value.removeprefix(shoulder),
            pid=pid,
            arkid=pid,
            arkpid=pid,
        )


def _character_fault(template: str) -> str | None:
    is_clean = template.isascii() and template.isprintable() and " " not in template
    return None if is_clean else "a character that no URL has"


def _url_fault(parts: SplitResult) -> str | None:
    if parts.scheme not in ("http", "https"):
        return "not an http or https URL"
    host, _ = parts.hostname, parts.port
    if not host:
        return "no host"
    if "@" in parts.netloc:
        return "credentials in the URL"
    if "$" in parts.netloc:
        return "the host would depend on the ARK"
    return None if "." in host or ":" in host else f"{host!r} is no public host"


def _placeholder_fault(names: Sequence[str], parts: SplitResult) -> str | None:
    unknown = [name for name in names if name not in _PLACEHOLDERS]
    if unknown:
        return f"an unknown placeholder, {unknown[0]}"
    if not _NAMING.intersection(names):
        return "nothing tells one ARK from another"
    sent = Template(f"{parts.path}?{parts.query}").get_identifiers()
    return None if _NAMING.intersection(sent) else "the ARK stands in the fragment, which is never sent"


@dataclass(frozen=True, slots=True)
class NaanPolicy:
    """The practice that a name assigning authority has stated in the registry."""

    org_type: str | None = None
    """``NP``, not for profit, or ``FP``."""
    practices: tuple[str, ...] = ()
    """``NR``: names are never re-assigned; ``OP``: they are opaque; ``CC``: they carry a check character."""
    tenure: str | None = None
    url: str | None = None
    """A naming policy in words."""


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """The record of one NAAN, or of one shoulder under it."""

    naan: str
    """Empty for a record so damaged that it names none."""
    shoulder: str = ""
    organization: str | None = None
    native_name: str | None = None
    acronym: str | None = None
    since: date | None = None
    where: str | None = None
    """The organization's address as it was registered: often a home page, not always a URL."""
    targets: tuple[ResolverTarget, ...] = ()
    policy: NaanPolicy = NaanPolicy()
    test_ark: str | None = None
    faults: tuple[str, ...] = ()
    """What is wrong with the record itself."""

    @property
    def key(self) -> str:
        """Return what the record is about: ``12148``, or with a shoulder ``99152/p0``."""
        return f"{self.naan}/{self.shoulder}" if self.shoulder else self.naan


@dataclass(frozen=True)
class Registry:
    """A copy of the NAAN registry: a value that knows where it comes from and how old it is."""

    entries: tuple[RegistryEntry, ...]
    """In the order of the source, damaged ones included; of two about the same thing the later holds."""
    source: str
    dated: datetime | None = None
    """When the registry was last changed, by its own word."""
    fetched_at: datetime | None = None
    """When the copy was last known to be the current one."""
    is_whole: bool = True
    """Whether a NAAN that is missing here is unregistered; in the built-in table it may just be less known."""
    warning: str | None = None
    """Why the copy that should be used is not, when this registry replaces it."""

    @classmethod
    def builtin(cls) -> Registry:
        """The shared NAANs and a few well-known organizations: what can be said without a copy.

        >>> Registry.builtin().entry("12148").organization
        'Bibliothèque nationale de France'
        """
        shared = [
            RegistryEntry(naan, organization=f"shared: {shared_naan.purpose}")
            for naan, shared_naan in SHARED_NAANS.items()
        ]
        well_known = [RegistryEntry(naan, organization=name) for naan, name in WELL_KNOWN_NAANS.items()]
        return cls((*shared, *well_known), "built in", is_whole=False)

    def entry(self, ark: Ark | str) -> RegistryEntry | None:
        """Return what is recorded about an ARK, a NAAN, or a NAAN and name: its longest shoulder, or else its NAAN.

        None when nothing is; a text may have a label and a resolver, or neither.

        >>> keys = (("99152",), ("99152", "p0"), ("99152", "p01"))
        >>> table = Registry(tuple(RegistryEntry(*key) for key in keys), "an example")
        >>> [table.entry(text).key for text in ("99152/p02x", "ark:/99152/p01x", "99152")]
        ['99152/p0', '99152/p01', '99152']
        """
        try:
            naan, name = (ark.naan, ark.name + ark.qualifier) if isinstance(ark, Ark) else naan_and_name(ark)
        except NotAnArk:
            return None
        by_shoulder = self._by_naan.get(naan, {})
        lengths = (length for length in self._shoulder_lengths if length <= len(name))
        return next((by_shoulder[name[:length]] for length in lengths if name[:length] in by_shoulder), None)

    def knows(self, naan: str) -> bool:
        """Return whether anybody is known to assign under *naan*; the shared NAANs are always known."""
        return naan in self._by_naan or naan in SHARED_NAANS

    def names_only(self, ark: Ark) -> bool:
        """Return whether *ark* is wholly a registered shoulder, and so names no object (draft-castelan-ark-uri,
        3.2).
        """
        return bool(ark.name) and ark.name + ark.qualifier in self._by_naan.get(ark.naan, {})

    def shoulders(self, naan: str) -> tuple[RegistryEntry, ...]:
        """The shoulders recorded under *naan*, in the order of their names."""
        return tuple(entry for shoulder, entry in sorted(self._by_naan.get(naan, {}).items()) if shoulder)

    def target(self, ark: Ark) -> str | None:
        """The URL that a resolver with this registry sends *ark* to: its first target that is not at fault.

        None when there is none; `Target.fault` of the entry's targets says why.

        >>> target = ResolverTarget("https://example.org/${pid}", 302)
        >>> table = Registry((RegistryEntry("12148", targets=(target,)),), "an example")
        >>> table.target(Ark.parse("ark:12148/btv1b8449691v/f29.item"))
        'https://example.org/ark:/12148/btv1b8449691v/f29.item'
        """
        entry = self.entry(ark)
        urls = (target.url(ark, entry.shoulder) for target in entry.targets) if entry else iter(())
        return next((url for url in urls if url), None)

    def unregistered(self, naan: str) -> str | None:
        """The remark about a *naan* that is not in the registry; None for one that is, or where no one can say."""
        if not self.is_whole or self.knows(naan):
            return None
        return f"NAAN {naan} is not in {self.title}"

    @property
    def title(self) -> str:
        """The registry in words, with its age."""
        if not self.is_whole:
            return "the table of NAANs that is built in"
        if self.dated:
            return f"the NAAN registry of {self.dated:%Y-%m-%d}"
        return f"the NAAN registry as it was on {self.fetched_at:%Y-%m-%d}" if self.fetched_at else "the NAAN registry"

    @cached_property
    def _by_naan(self) -> Mapping[str, Mapping[str, RegistryEntry]]:
        by_naan: dict[str, dict[str, RegistryEntry]] = {}
        for entry in self.entries:
            if entry.naan:
                by_naan.setdefault(entry.naan, {})[entry.shoulder] = entry
        return by_naan

    @cached_property
    def _shoulder_lengths(self) -> Sequence[int]:
        """The lengths of all shoulders, longest first; 0 represents a NAAN alone."""
        return sorted({len(entry.shoulder) for entry in self.entries}, reverse=True)


def naan_and_name(text: str) -> tuple[str, str]:
    """The NAAN of an ARK or of what it begins with, and what follows, in normal form; the name may be empty.

    Raises `extractors.model.normalize.NotAnArk` when *text* has no NAAN.

    >>> naan_and_name("https://n2t.net/ark:/99166/w6-qk"), naan_and_name("99166"), naan_and_name("ark:/12148/?info")
    (('99166', 'w6qk'), ('99166', ''), ('12148', ''))
    """
    labelled = text.strip() if LABEL.search(text) else f"ark:{text.strip()}"
    try:
        ark = Ark.parse(labelled)
        naan, name = ark.naan, ark.name + ark.qualifier
    except NamespaceOnly:
        naan, name = Ark.parse(without_query(labelled).rstrip("/.") + "/0").naan, ""
    if not _NAAN.match(naan):
        raise NotAnArk(f"no NAAN: {text!r}")
    return naan, name
