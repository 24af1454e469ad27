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
_MOST_HEADER_BYTES = 2**15
#: Most headers are no longer; this avoids copying more.
_USUAL_HEADER_BYTES = 2**10
_RECORD_BEGINNING = re.compile(rb"WARC/[01]\.[0-9]{1,9}+[ \t]{0,9}+\r?\n")
_NEXT_RECORD = re.compile(rb"\n" + _RECORD_BEGINNING.pattern)
#: The beginning of a record inside the bytes that another record claims.
_SWALLOWED_RECORD = re.compile(_RECORD_BEGINNING.pattern + rb"(?=WARC-|Content-)", re.IGNORECASE)
#: Enough bytes to recognize the beginning of a record.
_BEGINNING_BYTES = 64
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_LINE_FOLD = re.compile(r"\r?\n[ \t]+")
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
    """The document in a record, still compressed."""

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
    return _RECORD_BEGINNING.match(head.lstrip(b"\r\n")) is not None


def records(stream: Lookahead, budget: SizeBudget, *, keep_bytes: int) -> Iterator[WarcRecord]:
    """Yield the records of a WARC file, as many as *budget* allows, with the first *keep_bytes* bytes of their blocks.

    Never raises for damage.
    """
    while True:
        if not _is_at_boundary(stream):
            _skip_to_next_record(stream, 0)
        while (beginning := stream.peek(_BEGINNING_BYTES)).startswith((b"\r", b"\n")):
            stream.skip(len(beginning) - len(beginning.lstrip(b"\r\n")))
        if not stream.peek(1) or not budget.spend_member():
            return
        for size in (_USUAL_HEADER_BYTES, _MOST_HEADER_BYTES):
            head = stream.peek(size)
            if (header_end := _BLANK_LINE.search(head)) is not None:
                break
        if header_end is None or not _RECORD_BEGINNING.match(head):
            stream.skip(1)
            continue
        stream.skip(header_end.end())
        yield _record(_fields(head[: header_end.start()]), stream, budget, keep_bytes)


def payload(record: WarcRecord) -> Payload | None:
    """Return the document in a record; None for requests, metadata, revisits and the like."""
    media_type, charset = _content_type(record.fields.get("content-type", ""))
    match record.kind:
        case "resource" | "conversion":
            return Payload(record.block, media_type, charset)
        case "response" if media_type == "application/http" or record.block.startswith(b"HTTP/"):
            return _payload_of_response(record.block)
        case "response" if media_type != "text/dns":
            return Payload(record.block, media_type, charset)
    return None


def _record(fields: Fields, stream: Lookahead, budget: SizeBudget, keep_bytes: int) -> WarcRecord:
    """Return the record whose header has *fields*, with at most *keep_bytes* of its block, the rest of which is

    A wrong length is corrected by the beginning of the next record, and becomes the `damage` of the record.
    """
    declared_length = fields.get("content-length", "")
    length = int(declared_length) if re.fullmatch("[0-9]{1,18}", declared_length) else 0
    block = stream.read(min(length, keep_bytes))
    is_cut = length > len(block) == keep_bytes
    if not is_cut and len(block) == length and _is_at_boundary(stream):
        return WarcRecord(fields, block)
    following_bytes = stream.peek(_BEGINNING_BYTES)
    inner_record = None if is_cut and _has_warc_payload(block) else _SWALLOWED_RECORD.search(block + following_bytes)
    if inner_record and inner_record.start() < len(block):
        next_record = block[inner_record.start() :]
        stream.unread(next_record[: budget.spend_bytes(len(next_record))])
        own_block = block[: inner_record.start()].rstrip(b"\r\n")
        return WarcRecord(fields, own_block, damage="the record claims more bytes than it has")
    if is_cut:
        stream.skip(length - keep_bytes)
        return WarcRecord(fields, block, is_cut=True)
    if len(block) < length:
        return WarcRecord(fields, block, damage="the record ends too early")
    if _BLANK_LINE.match(following_bytes):  # the length is right, and junk follows
        return WarcRecord(fields, block)
    rest_of_block = _skip_to_next_record(stream, keep_bytes - len(block))
    return WarcRecord(fields, block + rest_of_block, damage="the record claims fewer bytes than it has")


def _is_at_boundary(stream: Lookahead) -> bool:
    """Return True if a record may begin at the position of *stream*, or *stream* ends there."""
    following_bytes = stream.peek(_BEGINNING_BYTES).lstrip(b"\r\n")
    return not following_bytes or following_bytes.startswith(b"WARC/")


def _skip_to_next_record(stream: Lookahead, keep_bytes: int) -> bytes:
    """Skip to the next record, or to the end; return the first *keep_bytes* bytes skipped."""
    return stream.read_to(_NEXT_RECORD, _BEGINNING_BYTES, keep_bytes)


def _has_warc_payload(block: bytes) -> bool:
    """Return True if the payload of a record is itself a WARC file. Records within it then don't show a wrong length."""
    header_end = _BLANK_LINE.search(block, 0, _MOST_HEADER_BYTES)
    return is_warc(block[:64]) or (header_end is not None and is_warc(block[header_end.end() : header_end.end() + 64]))


def _payload_of_response(block: bytes) -> Payload:
    """Return the payload of an HTTP response; all of *block* if it has no HTTP header."""
    status_line = _STATUS_LINE.match(block)
    if status_line is None:
        return Payload(block, "", None)
    header_end = _BLANK_LINE.search(block, status_line.end() - 2, _MOST_HEADER_BYTES)
    fields = _fields(block[status_line.end() : header_end.start()]) if header_end else {}
    content = block[header_end.end() if header_end else status_line.end() :]
    if "chunked" in fields.get("transfer-encoding", "").lower():
        content = _joined_chunks(content)
    media_type, charset = _content_type(fields.get("content-type", ""))
    status = int(status_line["status"]) if status_line["status"] else None
    encoding_names = [token.strip().lower() for token in fields.get("content-encoding", "").split(",")]
    encodings = [_ENCODINGS[name] for name in reversed(encoding_names) if name in _ENCODINGS]
    if len(encodings) > MOST_CODINGS:
        fault = f"it was compressed {len(encodings)} times"
        return Payload(b"", media_type, charset, status, fault=fault)
    return Payload(content, media_type, charset, status, _actual_encodings(encodings, content))


def _actual_encodings(declared_encodings: list[Compression], content: bytes) -> tuple[Compression, ...]:
    """Return the actual encodings of *content*, outermost first, given the *declared_encodings* of its header.

    Many archives decoded the content but kept the header; ``deflate`` often means raw deflate data.
    """
    match declared_encodings:
        case [Compression.ZLIB] if int.from_bytes(content[:2]) % 31:
            return (Compression.DEFLATE,)
        case [Compression.GZIP | Compression.ZSTD as encoding] if not content.startswith(SIGNATURES[encoding]):
            return ()
    return tuple(declared_encodings)


def _joined_chunks(content: bytes) -> bytes:
    r"""Return the body after chunked transfer coding (RFC 9112, 7.1); data without chunks is unchanged.

    >>> _joined_chunks(b"4\r\nark:\r\n6;x=y\r\n/12148\r\n0\r\n\r\n"), _joined_chunks(b"<p>no chunks")
    (b'ark:/12148', b'<p>no chunks')
    """
    pieces: list[bytes] = []
    position = 0
    while position < len(content):
        chunk_size = _CHUNK_SIZE.match(content, position)
        if chunk_size is None:
            pieces.append(content[position:])
            break
        chunk_end = chunk_size.end() + int(chunk_size["size"], 16)
        pieces.append(content[chunk_size.end() : chunk_end])
        if chunk_end == chunk_size.end():
            break
        position = chunk_end + (
            2 if content[chunk_end : chunk_end + 2] == b"\r\n" else content[chunk_end : chunk_end + 1] == b"\n"
        )
    return b"".join(pieces)


def _fields(header: bytes) -> Fields:
    r"""Return the fields of a header, with names in lower case; the first value of a repeated field.

    >>> _fields(b"WARC/1.0\r\nWARC-Type: response\r\nX-Long: a\r\n b")
    {'warc-type': 'response', 'x-long': 'a b'}
    """
    fields: dict[str, str] = {}
    text = header.decode("utf-8", "replace")
    if "\n " in text or "\n\t" in text:
        text = _LINE_FOLD.sub(" ", text)
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip().lower(), value.strip())
    return fields
