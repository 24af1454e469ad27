"""The records of a WARC file (ISO 28500) and the documents in them, read forward.

Damage is common in web archives. A declared length is trusted only if another record or the end of the file follows;
otherwise the record ends where the next one begins. `docs/adr/0013` gives the reasons against a library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from extractors.archives.compression import MOST_CODINGS, SIGNATURES, Compression, Lookahead, SizeBudget
from extractors.model.formats import parse_content_type

#: The maximum length of a header, of a record or of HTTP.
_HEADER_BYTES = 2**15
#: Most headers fit in this, which avoids copying more.
_SHORT_HEADER_BYTES = 2**10
_BEGINNING = re.compile(rb"WARC/[01]\.[0-9]{1,9}+[ \t]{0,9}+\r?\n")
_NEXT = re.compile(rb"\n" + _BEGINNING.pattern)
#: The beginning of a record inside the bytes that another record claims.
_SWALLOWED = re.compile(_BEGINNING.pattern + rb"(?=WARC-|Content-)", re.IGNORECASE)
#: Enough bytes to recognize the beginning of a record.
_MARK_BYTES = 64
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_FOLD = re.compile(r"\r?\n[ \t]+")
_STATUS_LINE = re.compile(rb"HTTP/[0-9.]*[ \t]*(?P<status>[0-9]{3})?[^\n]*(?:\n|\Z)")
_CHUNK_SIZE = re.compile(rb"(?P<size>[0-9A-Fa-f]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")
_ENCODINGS: Mapping[str, Compression] = {
    "gzip": Compression.GZIP,
    "x-gzip": Compression.GZIP,
    "deflate": Compression.ZLIB,
    "br": Compression.BROTLI,
    "zstd": Compression.ZSTD,
}

#: A file has few distinct content types, each many times.
_content_type = lru_cache(maxsize=1000)(parse_content_type)

#: Field names in lower case, with their first values.
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record with the part of its block that was kept."""

    fields: Fields
    block: bytes
    is_cut: bool = False
    """True if only the beginning of the block was kept."""
    damage: str = ""
    """A message about damage to the record itself."""

    @property
    def kind(self) -> str:
        """The type of the record (WARC 1.1, 5.5): ``response``, ``resource``, ``conversion`` …"""
        return self.fields.get("warc-type", "").lower()

    @property
    def uri(self) -> str:
        """The target URI; old versions of Wget put it in angle brackets."""
        return self.fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">").strip()


@dataclass(frozen=True, slots=True)
class Payload:
    """The document in a record."""

    content: bytes
    media_type: str
    charset: str | None
    status: int | None = None
    """The status of the HTTP response, if there is one."""
    encodings: tuple[Compression, ...] = ()
    """The encodings of the content, outermost first."""
    fault: str = ""
    """Why the content was not decompressed, or empty."""


def is_warc(head: bytes) -> bool:
    r"""Return True if a file begins with a WARC record.

    >>> is_warc(b"WARC/1.0\r\nWARC-Type: warcinfo\r\n"), is_warc(b"WARC/1.0 is a format.")
    (True, False)
    """
    return _BEGINNING.match(head.lstrip(b"\r\n")) is not None


def records(ahead: Lookahead, budget: SizeBudget, *, keep_bytes: int) -> Iterator[WarcRecord]:
    """Yield the records of a WARC file, with the first *keep_bytes* of each block. Never raises for damage."""
    while True:
        if not _is_boundary(ahead):
            _to_next_record(ahead, 0)
        while (here := ahead.peek(_MARK_BYTES)).startswith((b"\r", b"\n")):
            ahead.skip(len(here) - len(here.lstrip(b"\r\n")))
        if not ahead.peek(1) or not budget.spend_member():
            return
        for size in (_SHORT_HEADER_BYTES, _HEADER_BYTES):
            head = ahead.peek(size)
            if (end := _BLANK_LINE.search(head)) is not None:
                break
        if end is None or not _BEGINNING.match(head):
            ahead.skip(1)
            continue
        ahead.skip(end.end())
        yield _record(_fields(head[: end.start()]), ahead, budget, keep_bytes)


def payload(record: WarcRecord) -> Payload | None:
    """Return the document in a record; None for requests, metadata, revisits and the like."""
    media_type, charset = _content_type(record.fields.get("content-type", ""))
    match record.kind:
        case "resource" | "conversion":
            return Payload(record.block, media_type, charset)
        case "response" if media_type == "application/http" or record.block.startswith(b"HTTP/"):
            return _response(record.block)
        case "response" if media_type != "text/dns":
            return Payload(record.block, media_type, charset)
    return None


def _record(fields: Fields, ahead: Lookahead, budget: SizeBudget, keep_bytes: int) -> WarcRecord:
    declared = fields.get("content-length", "")
    length = int(declared) if re.fullmatch("[0-9]{1,18}", declared) else 0
    block = ahead.read(min(length, keep_bytes))
    is_cut = length > len(block) == keep_bytes
    if not is_cut and len(block) == length and _is_boundary(ahead):
        return WarcRecord(fields, block)
    beyond = ahead.peek(_MARK_BYTES)
    swallowed = None if is_cut and _holds_warc(block) else _SWALLOWED.search(block + beyond)
    if swallowed and swallowed.start() < len(block):
        following = block[swallowed.start() :]
        ahead.unread(following[: budget.spend_bytes(len(following))])
        own = block[: swallowed.start()].rstrip(b"\r\n")
        return WarcRecord(fields, own, damage="the record claims more bytes than it has")
    if is_cut:
        ahead.skip(length - keep_bytes)
        return WarcRecord(fields, block, is_cut=True)
    if len(block) < length:
        return WarcRecord(fields, block, damage="the record ends too early")
    if _BLANK_LINE.match(beyond):  # the length is right, and junk follows
        return WarcRecord(fields, block)
    more = _to_next_record(ahead, keep_bytes - len(block))
    return WarcRecord(fields, block + more, damage="the record claims fewer bytes than it has")


def _is_boundary(ahead: Lookahead) -> bool:
    """Return True if a record may begin here, or the file ends."""
    following = ahead.peek(_MARK_BYTES).lstrip(b"\r\n")
    return not following or following.startswith(b"WARC/")


def _to_next_record(ahead: Lookahead, keep_bytes: int) -> bytes:
    """Skip to the next record; return the first *keep_bytes* before it."""
    return ahead.read_to(_NEXT, _MARK_BYTES, keep_bytes)


def _holds_warc(block: bytes) -> bool:
    """Return True if the payload of a record is itself a WARC file, so that records inside it don't mean damage."""
    end = _BLANK_LINE.search(block, 0, _HEADER_BYTES)
    return is_warc(block[:64]) or (end is not None and is_warc(block[end.end() : end.end() + 64]))


def _response(block: bytes) -> Payload:
    """Return the payload of an HTTP response; all of *block* if it has no HTTP header."""
    line = _STATUS_LINE.match(block)
    if line is None:
        return Payload(block, "", None)
    end = _BLANK_LINE.search(block, line.end() - 2, _HEADER_BYTES)
    fields = _fields(block[line.end() : end.start()]) if end else {}
    content = block[end.end() if end else line.end() :]
    if "chunked" in fields.get("transfer-encoding", "").lower():
        content = _joined_chunks(content)
    media_type, charset = _content_type(fields.get("content-type", ""))
    status = int(line["status"]) if line["status"] else None
    named = [token.strip().lower() for token in fields.get("content-encoding", "").split(",")]
    codings = [_ENCODINGS[name] for name in reversed(named) if name in _ENCODINGS]
    if len(codings) > MOST_CODINGS:
        fault = f"it was compressed {len(codings)} times"
        return Payload(b"", media_type, charset, status, fault=fault)
    return Payload(content, media_type, charset, status, _actual_encodings(codings, content))


def _actual_encodings(named: list[Compression], content: bytes) -> tuple[Compression, ...]:
    """Return the actual encodings of *content*, given the encodings that its header *named*.

    Many archives decoded the content but kept the header; ``deflate`` often means raw deflate data.
    """
    match named:
        case [Compression.ZLIB] if int.from_bytes(content[:2]) % 31:
            return (Compression.DEFLATE,)
        case [Compression.GZIP | Compression.ZSTD as only] if not content.startswith(SIGNATURES[only]):
            return ()
    return tuple(named)


def _joined_chunks(content: bytes) -> bytes:
    r"""Return the body after chunked transfer coding (RFC 9112, 7.1); data without chunks is unchanged.

    >>> _joined_chunks(b"4\r\nark:\r\n6;x=y\r\n/12148\r\n0\r\n\r\n"), _joined_chunks(b"<p>no chunks")
    (b'ark:/12148', b'<p>no chunks')
    """
    pieces: list[bytes] = []
    at = 0
    while at < len(content):
        size = _CHUNK_SIZE.match(content, at)
        if size is None:
            pieces.append(content[at:])
            break
        end = size.end() + int(size["size"], 16)
        pieces.append(content[size.end() : end])
        if end == size.end():
            break
        at = end + (2 if content[end : end + 2] == b"\r\n" else content[end : end + 1] == b"\n")
    return b"".join(pieces)


def _fields(header: bytes) -> Fields:
    r"""Return the fields of a header, names in lower case; of a repeated field, the first.

    >>> _fields(b"WARC/1.0\r\nWARC-Type: response\r\nX-Long: a\r\n b")
    {'warc-type': 'response', 'x-long': 'a b'}
    """
    fields: dict[str, str] = {}
    text = header.decode("utf-8", "replace")
    if "\n " in text or "\n\t" in text:
        text = _FOLD.sub(" ", text)
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip().lower(), value.strip())
    return fields
