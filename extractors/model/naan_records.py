"""Reads copies of the NAAN registry: its public JSON, and the natab text of the 2005 draft. Dirt becomes faults."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

from extractors.model.ark import BETANUMERIC
from extractors.model.errors import ArkauditError
from extractors.model.naan import NaanPolicy, Registry, RegistryEntry, ResolverTarget

#: The first NAAN was assigned in this year: an earlier date in a record is the zero of some clock.
_FIRST_YEAR = 2001
_STATUS_AND_URL = re.compile(r"([1-5][0-9]{2})\s+(?=https?://)", re.IGNORECASE)
_NATAB_ENTRY = re.compile(r"([0-9a-z]{5,}):\s*(\S*)", re.IGNORECASE)
_NATAB_RESOLVER = re.compile(r"\s+(\S+)(?:\s+(\S.*))?")
_NATAB_DATE = re.compile(r"#\s*last change:\s*(\d{4})[ -](\d{1,2})[ -](\d{1,2})", re.IGNORECASE)
_shown = reprlib.Repr()
_shown.maxstring = 120


class NotARegistry(ArkauditError, ValueError):
    """Raised by `read_registry` for bytes that hold no copy of the registry; the message says what they hold."""


def read_registry(data: bytes, *, source: str, fetched_at: datetime | None = None) -> Registry:
    """The registry in *data*, in JSON or as a natab. Raises `NotARegistry`.

    A record that is damaged is kept with what is wrong with it; fields that no one here knows are ignored.

    >>> read_registry(b'{"data": [{"what": "12148", "who": {"name": "BnF"}}]}', source="a file").entry("12148").faults
    ('no target',)
    >>> read_registry(b"<!DOCTYPE html>", source="a file")
    Traceback (most recent call last):
    ...
    extractors.model.naan_records.NotARegistry: neither JSON nor natab: it begins with '<!DOCTYPE html>'
    """
    text = _text_of(data)
    if text.lstrip()[:1] in ("{", "["):
        registry = _from_json(text)
    elif _is_natab(text):
        registry = _from_natab(text)
    else:
        beginning = text.strip()[:40]
        raise NotARegistry(f"neither JSON nor natab: it begins with {beginning!r}" if beginning else "it is empty")
    if not any(entry.naan for entry in registry.entries):
        raise NotARegistry("no record in it names a NAAN")
    return replace(registry, source=source, fetched_at=fetched_at)


def _text_of(data: bytes) -> str:
    try:
        return data.decode(json.detect_encoding(data))
    except UnicodeDecodeError:
        return data.decode("latin-1")


# -- the public registry's JSON


def _from_json(text: str) -> Registry:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise NotARegistry(f"JSON that can't be read: {problem}") from None
    records = document.get("data") if isinstance(document, dict) else None
    if not isinstance(records, list):
        raise NotARegistry("JSON, but without a list of records under 'data'")
    return Registry(tuple(map(_entry, records)), "", dated=_dated(document.get("metadata")))


def _dated(metadata: object) -> datetime | None:
    """Return when the registry says it was last changed; the names of these fields have changed with its versions."""
    fields = metadata if isinstance(metadata, dict) else {}
    names = ("updated", "date_modified", "modified_date", "date_created", "created_date")
    return next((moment for name in names if (moment := _moment(fields.get(name)))), None)


def _entry(record: object) -> RegistryEntry:
    """One record of a NAAN or a shoulder, whatever state it is in."""
    if not isinstance(record, dict):
        return RegistryEntry("", faults=(f"no record: {_shown.repr(record)}",))
    (naan, shoulder), key_fault = _key(record)
    since, since_fault = _since(record.get("when"))
    where = _word(record.get("where"))
    who = record.get("who")
    who = who if isinstance(who, dict) else {"name": who}
    organization = _word(who.get("name"))
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
        native_name=_word(who.get("name_native")),
        acronym=_word(who.get("acronym")),
        since=since,
        where=where,
        targets=(target,) if target else (),
        policy=_policy(record.get("na_policy")),
        test_ark=_word(record.get("test_identifier")),
        faults=tuple(fault for fault in faults if fault),
    )


def _key(record: Mapping[str, Any]) -> tuple[tuple[str, str], str | None]:
    """The NAAN and shoulder that a record is about, in normal form, and what is wrong with them."""
    parts = [_word(record.get(name)) or "" for name in ("naan", "shoulder")]
    what = _word(record.get("what")) or "/".join(parts).rstrip("/")
    naan, _, shoulder = what.replace("-", "").partition("/")
    naan = naan.strip().lower()
    if not naan:
        return ("", ""), "no NAAN"
    if any(parts) and what != "/".join(parts).rstrip("/"):
        return (naan, shoulder), f"what is {what!r}, yet NAAN and shoulder are {' and '.join(map(repr, parts))}"
    if set(naan) - set(BETANUMERIC):
        return (naan, shoulder), f"a NAAN with characters that no NAAN has: {_shown.repr(naan)}"
    return (naan, shoulder), None


def _since(when: object) -> tuple[date | None, str | None]:
    moment = _moment(when)
    if moment is None:
        return None, f"a date that can't be read: {_shown.repr(when)}" if _word(when) else None
    if moment.year < _FIRST_YEAR:
        return None, f"dated {moment:%Y-%m-%d}, before the first NAAN"
    return moment.date(), None


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(_word(value) or "")
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _where_fault(where: str) -> str | None:
    if _STATUS_AND_URL.match(where):
        return f"a status before the address: {_shown.repr(where)}"
    try:
        parts = urlsplit(where)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_url = False
    return None if is_url else f"an address that is no URL: {_shown.repr(where)}"


def _target(value: object) -> ResolverTarget | None:
    """The target, which is a URL and a status; older copies have the URL alone, with a status before it at times."""
    fields = value if isinstance(value, dict) else {"url": value}
    url, status = _word(fields.get("url")), fields.get("http_code")
    if url is None:
        return None
    before = _STATUS_AND_URL.match(url)
    if before:
        url, status = url[before.end() :], int(before[1])
    return ResolverTarget(url, status if isinstance(status, int) else None)


def _policy(value: object) -> NaanPolicy:
    fields = value if isinstance(value, dict) else {}
    practices = _word(fields.get("policy")) or ""
    if practices.startswith("(:"):  # an ERC code for what is missing, such as (:unkn)
        practices = ""
    return NaanPolicy(
        org_type=_word(fields.get("orgtype")),
        practices=tuple(word.strip() for word in practices.split(",") if word.strip()),
        tenure=_word(fields.get("tenure")),
        url=_word(fields.get("policy_url")),
    )


def _word(value: object) -> str | None:
    """A value as text; None for what is empty, or is no text and no number."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


# -- the natab of the 2005 draft


def _is_natab(text: str) -> bool:
    """Return whether the first line that is no comment begins an entry: what no page of a captive portal does."""
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    return _NATAB_ENTRY.match(first) is not None


def _from_natab(text: str) -> Registry:
    """The entries of a natab: ``NAAN: POLICY``, then a resolver a line, indented (draft-kunze-ark-10, appendix 13).

    The comment right above an entry names the organization, as it does throughout the draft's table.
    """
    entries: list[RegistryEntry] = []
    targets: list[list[ResolverTarget]] = []
    comment, dated = "", None
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            comment = line.lstrip("# \t").strip()
            dated = dated or _natab_date(line)
        elif entry := _NATAB_ENTRY.match(line):
            entries.append(
                RegistryEntry(entry[1].lower(), organization=comment or None, policy=NaanPolicy(url=entry[2] or None))
            )
            targets.append([])
            comment = ""
        elif targets and (resolver := _NATAB_RESOLVER.fullmatch(line.rstrip())):
            targets[-1].append(ResolverTarget(f"http://{resolver[1]}/ark:/${{content}}", label=resolver[2] or ""))
        elif line.strip():
            entries.append(RegistryEntry("", faults=(f"no record: {_shown.repr(line.strip())}",)))
            targets.append([])
    return Registry(tuple(map(_natab_entry, entries, targets)), "", dated=dated)


def _natab_entry(entry: RegistryEntry, targets: Sequence[ResolverTarget]) -> RegistryEntry:
    missing = [
        *([] if entry.organization else ["no organization"]),
        *([] if targets else ["no target"]),
        *(target.fault for target in targets if target.fault),
    ]
    return replace(entry, targets=tuple(targets), faults=entry.faults or tuple(missing))


def _natab_date(comment: str) -> datetime | None:
    dated = _NATAB_DATE.search(comment)
    return _moment("-".join(number.zfill(2) for number in dated.groups())) if dated else None
