"""The NAAN registry: who assigns names under a NAAN or shoulder, since when, and where a resolver sends its ARKs."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from string import Template
from typing import Any

from extractors.model.ark import BETANUMERIC, Ark
from extractors.model.errors import ArkauditError
from extractors.model.normalize import LABEL, NamespaceOnly, NotAnArk, without_query
from extractors.model.urls import UrlParts, find_origin, is_web_url, split_url


@dataclass(frozen=True, slots=True)
class SharedNaan:
    """A NAAN that everyone may assign names under (draft-kunze-ark-38, table 2, with its columns)."""

    naan: str
    purpose: str
    expected_to_resolve: str
    """``yes`` or ``maybe``."""
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

#: Organizations of well-known NAANs, for reports without a copy of the registry.
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

#: Placeholders of a target for the object's name; the last three are older forms in the registry.
_NAME_PLACEHOLDERS = frozenset({"pid", "content", "value", "suffix", "arkpid", "arkid", "nlid"})
_PLACEHOLDERS = _NAME_PLACEHOLDERS | {"scheme", "prefix"}
_NAAN = re.compile(r"[0-9a-z]+\Z")


@dataclass(frozen=True, slots=True)
class ResolverTarget:
    """The URL that a resolver redirects the ARKs of a NAAN or shoulder to."""

    template: str
    """A URL with placeholders, such as ``https://example.org/ark:/${content}``."""
    status: int | None = None
    """The HTTP status of the redirect."""

    @property
    def fault(self) -> str | None:
        """A message why the target is unusable; None if it is usable.

        >>> ResolverTarget("https:///example.org/ark:/${content}").fault
        'no host: https:///example.org/ark:/${content}'
        """
        template = Template(self.template)
        parts = split_url(self.template)
        is_clean = self.template.isascii() and self.template.isprintable() and " " not in self.template
        fault = _url_fault(parts) if is_clean else "a character that is invalid in URLs"
        if fault is None and not template.is_valid():
            fault = "a placeholder that can't be read"
        if fault is None:
            fault = _placeholder_fault(template.get_identifiers(), parts)
        return f"{fault}: {self.template}" if fault else None

    def url(self, ark: Ark, shoulder: str = "") -> str | None:
        """Return the URL that N2T redirects *ark* to by this target; *shoulder* is that of the entry with the target.

        None for an unusable target (`fault`).

        ``${content}`` is the ARK without its label, ``${pid}`` with it, ``${prefix}`` the NAAN, ``${value}`` the part
        after the NAAN and its slash, ``${suffix}`` the part after the shoulder. Source: CDLUC3/resolver, the resolver
        of N2T and arks.org, and the registry's conversion of ``$id``, ``$nlid`` and the like.

        >>> ResolverTarget("https://example.org/brunner${suffix}").url(Ark.parse("ark:19156/tkt42/06l"), "tkt42")
        'https://example.org/brunner/06l'
        """
        if self.fault:
            return None
        content = str(ark).removeprefix("ark:")
        name = content.removeprefix(f"{ark.naan}/")
        pid = f"ark:/{content}"
        return Template(self.template).substitute(
            scheme="ark",
            prefix=ark.naan,
            content=content,
            value=name,
            nlid=name,
            suffix=name.removeprefix(shoulder),
            pid=pid,
            arkid=pid,
            arkpid=pid,
        )


def _url_fault(parts: UrlParts) -> str | None:
    """Return the reason why a target of the registry can't be requested, or None."""
    if parts.scheme not in ("http", "https"):
        return "not an http or https URL"
    if parts.fault or not parts.hostname:
        return parts.fault or "no host"
    if "@" in parts.netloc:
        return "credentials in the URL"
    if "$" in parts.netloc:
        return "the host would depend on the ARK"
    return None if "." in parts.hostname or ":" in parts.hostname else f"{parts.hostname!r} is not a public host"


def _placeholder_fault(placeholders: Sequence[str], parts: UrlParts) -> str | None:
    unknown_placeholders = [name for name in placeholders if name not in _PLACEHOLDERS]
    if unknown_placeholders:
        return f"an unknown placeholder, {unknown_placeholders[0]}"
    if not _NAME_PLACEHOLDERS.intersection(placeholders):
        return "no placeholder for the name"
    sent_names = Template(f"{parts.path}?{parts.query}").get_identifiers()
    return None if _NAME_PLACEHOLDERS.intersection(sent_names) else "the ARK is in the fragment, which is never sent"


@dataclass(frozen=True, slots=True)
class NaanPolicy:
    """The policy of a name assigning authority, as stated in the registry; None for missing values."""

    org_type: str | None = None
    """``NP``: not for profit; ``FP``: for profit."""
    practices: tuple[str, ...] = ()
    """``NR``: names are never re-assigned; ``OP``: they are opaque; ``CC``: they carry a check character."""
    tenure: str | None = None
    url: str | None = None
    """The URL of a naming policy."""


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """The record of one NAAN, or of one shoulder under it; None for missing values."""

    naan: str
    """Empty for a damaged record without a NAAN."""
    shoulder: str = ""
    """Empty for the record of a whole NAAN."""
    organization: str | None = None
    native_name: str | None = None
    acronym: str | None = None
    since: date | None = None
    """The date of registration."""
    where: str | None = None
    """The registered address of the organization: often a home page, not always a URL."""
    targets: tuple[ResolverTarget, ...] = ()
    policy: NaanPolicy = NaanPolicy()
    test_ark: str | None = None
    """An ARK that should resolve, as written."""
    faults: tuple[str, ...] = ()
    """Problems with the record, as messages."""

    @property
    def key(self) -> str:
        """The NAAN, followed by a slash and the shoulder if there is one: ``12148``, ``99152/p0``."""
        return f"{self.naan}/{self.shoulder}" if self.shoulder else self.naan


@dataclass(frozen=True)
class Registry:
    """A copy of the NAAN registry, with its source and date."""

    entries: tuple[RegistryEntry, ...]
    """All records in the order of the source, also damaged ones; of two with the same key the later one counts."""
    source: str
    """Where the copy comes from: a URL, a file or ``built in``."""
    dated: datetime | None = None
    """The registry's own date of its last change."""
    fetched_at: datetime | None = None
    """The last time the copy was known to be current."""
    is_whole: bool = True
    """True if a missing NAAN is unregistered; False for the built-in table, which is incomplete."""
    warning: str | None = None
    """Why the preferred copy is not used, if this registry replaces it."""

    @classmethod
    def builtin(cls) -> Registry:
        """Return the table of shared NAANs and well-known organizations, for use without a copy of the registry.

        >>> Registry.builtin().entry("12148").organization
        'Bibliothèque nationale de France'
        """
        shared_entries = [
            RegistryEntry(naan, organization=f"shared: {shared_naan.purpose}")
            for naan, shared_naan in SHARED_NAANS.items()
        ]
        well_known_entries = [RegistryEntry(naan, organization=name) for naan, name in WELL_KNOWN_NAANS.items()]
        return cls((*shared_entries, *well_known_entries), "built in", is_whole=False)

    def entry(self, ark: Ark | str) -> RegistryEntry | None:
        """Return the entry of the longest shoulder that the name of *ark* begins with, else of its NAAN, else None.

        A text is an ARK, a NAAN, or a NAAN and name, with or without label and resolver.

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
        """Return True if *naan* is registered; the shared NAANs always are."""
        return naan in self._by_naan or naan in SHARED_NAANS

    def is_shoulder(self, ark: Ark) -> bool:
        """Return True if *ark* is only a registered shoulder and names no object (draft-castelan-ark-uri, 3.2)."""
        return bool(ark.name) and ark.name + ark.qualifier in self._by_naan.get(ark.naan, {})

    def shoulders(self, naan: str) -> tuple[RegistryEntry, ...]:
        """Return the entries of the shoulders under *naan*, sorted by shoulder."""
        return tuple(entry for shoulder, entry in sorted(self._by_naan.get(naan, {}).items()) if shoulder)

    def target(self, ark: Ark) -> str | None:
        """Return the URL that the first usable target of the entry for *ark* redirects to.

        None without an entry or a usable target; `ResolverTarget.fault` of the entry's targets gives the reason.

        >>> target = ResolverTarget("https://example.org/${pid}", 302)
        >>> table = Registry((RegistryEntry("12148", targets=(target,)),), "an example")
        >>> table.target(Ark.parse("ark:12148/btv1b8449691v/f29.item"))
        'https://example.org/ark:/12148/btv1b8449691v/f29.item'
        """
        entry = self.entry(ark)
        urls = (target.url(ark, entry.shoulder) for target in entry.targets) if entry else iter(())
        return next((url for url in urls if url), None)

    def unregistered_remark(self, naan: str) -> str | None:
        """Return the remark that *naan* is not in the registry; None if it is, or if this table is incomplete."""
        if not self.is_whole or self.knows(naan):
            return None
        return f"NAAN {naan} is not in {self.title}"

    @property
    def title(self) -> str:
        """A phrase for the registry with its date."""
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
        """The lengths of all shoulders, longest first; 0 for a NAAN alone."""
        return sorted({len(entry.shoulder) for entry in self.entries}, reverse=True)


def naan_and_name(text: str) -> tuple[str, str]:
    """Return the NAAN and the name with qualifier of an ARK or its beginning *text*, in normal form.

    The name is empty for a NAAN alone. Raises `extractors.model.normalize.NotAnArk` if *text* has no NAAN.

    >>> naan_and_name("https://n2t.net/ark:/99166/w6-qk"), naan_and_name("99166"), naan_and_name("ark:/12148/?info")
    (('99166', 'w6qk'), ('99166', ''), ('12148', ''))
    """
    labelled_text = text.strip() if LABEL.search(text) else f"ark:{text.strip()}"
    try:
        ark = Ark.parse(labelled_text)
        naan, name = ark.naan, ark.name + ark.qualifier
    except NamespaceOnly:
        naan, name = Ark.parse(without_query(labelled_text).rstrip("/.") + "/0").naan, ""
    if not _NAAN.match(naan):
        raise NotAnArk(f"no NAAN: {text!r}")
    return naan, name


# Copies of the registry, as its public JSON. Problems with the data become faults.

#: The year of the first NAAN: an earlier date in a record is an error.
_FIRST_YEAR = 2001
_STATUS_AND_URL = re.compile(r"([1-5][0-9]{2})\s+(?=https?://)", re.IGNORECASE)
_short_repr = reprlib.Repr()
_short_repr.maxstring = 120


class NotARegistry(ArkauditError, ValueError):
    """Raised for data that is not a copy of the registry; the message gives the reason."""


def read_registry(data: bytes, *, source: str, fetched_at: datetime | None = None) -> Registry:
    """Return the registry in *data*, JSON from *source* (`Registry.source`). Raises `NotARegistry` for other data.

    A damaged record is kept with its faults; unknown fields are ignored.

    >>> read_registry(b'{"data": [{"what": "12148", "who": {"name": "BnF"}}]}', source="a file").entry("12148").faults
    ('no target',)
    >>> read_registry(b"<!DOCTYPE html>", source="a file")
    Traceback (most recent call last):
    ...
    extractors.model.naan.NotARegistry: no JSON: it begins with '<!DOCTYPE html>'
    """
    text = data.decode(json.detect_encoding(data), "replace").strip()
    if text[:1] not in ("{", "["):
        raise NotARegistry(f"no JSON: it begins with {text[:40]!r}" if text else "it is empty")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise NotARegistry(f"JSON that can't be read: {problem}") from None
    records = document.get("data") if isinstance(document, dict) else None
    if not isinstance(records, list):
        raise NotARegistry("JSON, but without a list of records under 'data'")
    entries = tuple(map(_entry, records))
    if not any(entry.naan for entry in entries):
        raise NotARegistry("no record in it has a NAAN")
    metadata = document.get("metadata")
    metadata_fields = metadata if isinstance(metadata, dict) else {}
    # The date of its last change: the field's name varies by version.
    date_names = ("updated", "date_modified", "modified_date", "date_created", "created_date")
    dated = next((moment for name in date_names if (moment := _moment(metadata_fields.get(name)))), None)
    return Registry(entries, source, dated=dated, fetched_at=fetched_at)


def _entry(record: object) -> RegistryEntry:
    """Return the entry of one JSON record of a NAAN or shoulder; problems become faults of the entry."""
    if not isinstance(record, dict):
        return RegistryEntry("", faults=(f"no record: {_short_repr.repr(record)}",))
    (naan, shoulder), key_fault = _key(record)
    since, since_fault = _since(record.get("when"))
    where = _text_or_none(record.get("where"))
    who = record.get("who")
    who = who if isinstance(who, dict) else {"name": who}
    organization = _text_or_none(who.get("name"))
    target = _target(record.get("target"))
    faults = (
        key_fault,
        None if organization else "no organization",
        since_fault,
        where and _where_fault(where),
        target.fault if target else "no target",
    )
    return RegistryEntry(
        naan=naan,
        shoulder=shoulder,
        organization=organization,
        native_name=_text_or_none(who.get("name_native")),
        acronym=_text_or_none(who.get("acronym")),
        since=since,
        where=where,
        targets=(target,) if target else (),
        policy=_policy(record.get("na_policy")),
        test_ark=_text_or_none(record.get("test_identifier")),
        faults=tuple(fault for fault in faults if fault),
    )


def _key(record: Mapping[str, Any]) -> tuple[tuple[str, str], str | None]:
    """Return the NAAN and shoulder of a record, in normal form, and a message about a problem with them, or None."""
    fields = [_text_or_none(record.get(name)) or "" for name in ("naan", "shoulder")]
    what = _text_or_none(record.get("what")) or "/".join(fields).rstrip("/")
    naan, _, shoulder = what.replace("-", "").partition("/")
    naan = naan.strip().lower()
    if not naan:
        return ("", ""), "no NAAN"
    if any(fields) and what != "/".join(fields).rstrip("/"):
        return (naan, shoulder), f"what is {what!r}, yet NAAN and shoulder are {' and '.join(map(repr, fields))}"
    if set(naan) - set(BETANUMERIC):
        return (naan, shoulder), f"a NAAN with invalid characters: {_short_repr.repr(naan)}"
    return (naan, shoulder), None


def _since(when: object) -> tuple[date | None, str | None]:
    moment = _moment(when)
    if moment is None:
        return None, f"a date that can't be read: {_short_repr.repr(when)}" if _text_or_none(when) else None
    if moment.year < _FIRST_YEAR:
        return None, f"dated {moment:%Y-%m-%d}, before the first NAAN"
    return moment.date(), None


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(_text_or_none(value) or "")
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _where_fault(where: str) -> str | None:
    if _STATUS_AND_URL.match(where):
        return f"a status before the address: {_short_repr.repr(where)}"
    is_url = is_web_url(where) and find_origin(where) is not None
    return None if is_url else f"an address that is not a URL: {_short_repr.repr(where)}"


def _target(value: object) -> ResolverTarget | None:
    """Return the target in *value*: an object with URL and status, or in older copies a URL, also as ``302 https://…``.

    None without a URL.
    """
    fields = value if isinstance(value, dict) else {"url": value}
    url, status = _text_or_none(fields.get("url")), fields.get("http_code")
    if url is None:
        return None
    status_match = _STATUS_AND_URL.match(url)
    if status_match:
        url, status = url[status_match.end() :], int(status_match[1])
    return ResolverTarget(url, status if isinstance(status, int) else None)


def _policy(value: object) -> NaanPolicy:
    """Return the policy in a record of the registry; missing or malformed fields are empty."""
    fields = value if isinstance(value, dict) else {}
    practices = _text_or_none(fields.get("policy")) or ""
    if practices.startswith("(:"):  # an ERC code for a missing value, such as (:unkn)
        practices = ""
    return NaanPolicy(
        org_type=_text_or_none(fields.get("orgtype")),
        practices=tuple(word.strip() for word in practices.split(",") if word.strip()),
        tenure=_text_or_none(fields.get("tenure")),
        url=_text_or_none(fields.get("policy_url")),
    )


def _text_or_none(value: object) -> str | None:
    """Return a text without outer blanks, or an integer as text; None for an empty text and any other *value*."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
