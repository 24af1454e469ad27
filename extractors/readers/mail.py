"""Mail: a message (RFC 5322) or a mailbox of messages (RFC 4155), with MIME parts.

Quoted-printable and base64 are decoded first, because their soft line breaks split words. Each part is read as a
document of its own, in any format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage, MIMEPart
from email.parser import BytesFeedParser
from email.policy import EmailPolicy
from typing import Any

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.decoding import decode, first_bytes
from extractors.model.documents import Block, Finding, Reading, Role, as_part, links_of

MEDIA_TYPE = "message/rfc822"
MAILBOX_MEDIA_TYPE = "application/mbox"
MOST_BYTES = 64 * 2**20
MOST_PARTS = 10_000
_MOST_DEPTH = 10
#: The depth at which parsing ends, because the parser compares each line with the boundaries of all outer parts.
MOST_PARSED_DEPTH = 3 * _MOST_DEPTH

#: Longer fields are cut before they are parsed, because the parser takes quadratic time. Mail programs write lines of at
#: most 998 characters (RFC 5322, 2.1.1), and cut or refuse fields of many lines.
MOST_FIELD_CHARS = 4096

#: A reader of a part: takes its bytes, *media_type*, file *name* and *charset*.
PartReader = Callable[..., Reading]

#: The separator between the messages of a mailbox: ``From ada@example.org Sun Nov 22 10:00:00 2026``.
_BETWEEN = re.compile(rb"(?:\A|(?<=\n\r\n)|(?<=\n\n))From (?=[^\r\n]*[0-9]{2}:[0-9]{2})[^\r\n]*+\r?\n")
#: A quoted line of a message that begins like the separator.
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
#: A line end with a blank before it in text of the type ``format=flowed``, where the line continues (RFC 3676, 4). A line
#: of two hyphens and a blank begins a signature.
_SOFT_BREAK = re.compile(r"(?<!^--) \r?\n>*+ ?", re.MULTILINE)
#: Fields about the transport of a message.
_TRACE = frozenset({"received", "dkim-signature", "arc-seal", "arc-message-signature", "authentication-results"})


def read_mail(data: bytes, read_part: PartReader) -> Reading:
    r"""Return the fields and parts of a message, or of all messages in a mailbox; *read_part* reads the parts.

    >>> def as_text(data: bytes, media_type: str, name: str, charset: str | None) -> Reading:
    ...     return Reading(media_type, (Block(data.decode()),))
    >>> message = b"Subject: Map\nContent-Transfer-Encoding: quoted-printable\n\nark:/12345/x5=\n7 there"
    >>> [block.text for block in read_mail(message, as_text).blocks]
    ['ark:/12345/x57 there']
    """
    data, findings = first_bytes(data, MOST_BYTES)
    starts = [separator.end() for separator in _BETWEEN.finditer(data)] if data.startswith(b"From ") else []
    mail = _Mail(read_part)
    if not starts:
        mail.read(_parse(data), "")
        return replace(mail.to_reading(MEDIA_TYPE), findings=(*findings, *mail.findings))
    ends = [*[separator.start() for separator in _BETWEEN.finditer(data)][1:], len(data)]
    for number, (start, end) in enumerate(as_time_allows(zip(starts, ends, strict=True), "message", each=True), 1):
        mail.read(_parse(_QUOTED_FROM.sub(rb"\1", data[start:end])), f"message:{number}")
    return replace(mail.to_reading(MAILBOX_MEDIA_TYPE), title="", findings=(*findings, *mail.findings))


def _unless_failed(get: Callable[[], Any]) -> Any:
    """Return the result of *get*, or None if the library fails, as it does on some malformed fields."""
    try:
        return get()
    except Exception:
        return None


class _ForgivingPolicy(EmailPolicy):
    """Cuts long fields, and leaves fields as they are written where the library fails on them."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        value = value[:MOST_FIELD_CHARS]
        try:
            return super().header_fetch_parse(name, value)
        except Exception:
            return str(value)


_POLICY: Any = _ForgivingPolicy()


class _Part(EmailMessage):
    """A message or part; a parameter on which the library fails is missing."""

    def get_param(self, param: str, failobj: Any = None, header: str = "content-type", unquote: bool = True) -> Any:
        try:
            return super().get_param(param, failobj, header, unquote)
        except Exception:
            return failobj


class _TooManyParts(Exception):
    """Raised to end the parsing of a message."""


def _parse(data: bytes) -> MIMEPart:
    """Return a message, without what follows too many parts or a part that is too deep."""
    parts: list[EmailMessage] = []

    def begin_part(policy: Any = _POLICY) -> EmailMessage:
        if len(parts) > MOST_PARTS or (parts and _depth_of_last(parts[0]) >= MOST_PARSED_DEPTH):
            raise _TooManyParts
        parts.append(_Part(policy))
        return parts[-1]

    parser: BytesFeedParser[EmailMessage] = BytesFeedParser(begin_part, policy=_POLICY)
    parts.clear()  # the parser has tried the function
    try:
        parser.feed(data)
        return parser.close()
    except _TooManyParts:
        return parts[0]


def _depth_of_last(message: MIMEPart) -> int:
    """Return the number of parts around the last part so far."""
    depth = 0
    while children := list(message.iter_parts()):
        message = children[-1]
        depth += 1
    return depth


class _Mail:
    """The content of the messages, in order."""

    def __init__(self, read_part: PartReader) -> None:
        self._read_part = read_part
        self._blocks: list[Block] = []
        self._parts = 0
        self._link_count = 0
        self._title = ""
        self.findings: list[Finding] = []

    def to_reading(self, media_type: str) -> Reading:
        """Return the content as one document; it has no links, because mail is private."""
        return Reading(media_type, tuple(self._blocks), title=self._title)

    def read(self, message: MIMEPart, location: str, depth: int = 0) -> None:
        """Read a message, or a message inside a part."""
        for written, decoded in message.items():
            name, value = written.lower(), " ".join(decoded.split())
            self._title = self._title or (value if name == "subject" else "")
            if may_hold_ark(value) and name not in _TRACE:
                self._blocks.append(Block(value, Role.METADATA, place=_join_places(location, name)))
        self._read_content(message, location, depth)

    def _read_content(self, part: MIMEPart, location: str, depth: int) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS or depth > _MOST_DEPTH:
            self._add_finding(Finding("cut-off", f"more than {MOST_PARTS} parts, or parts within {_MOST_DEPTH} others"))
            return
        for name, field in part.raw_items():
            if may_hold_ark(field[MOST_FIELD_CHARS:]):
                self._add_finding(
                    Finding("cut-off", f"{name}: only {MOST_FIELD_CHARS} of {len(field)} characters read")
                )
        kind = part.get_content_type()
        children = list(part.iter_parts())
        # The text before and after the parts, which programs with MIME don't show.
        for text, where in ((part.preamble, "preamble"), (part.epilogue, "epilogue")):
            if text and may_hold_ark(text):
                self._blocks.append(Block(text, place=_join_places(location, where)))
        if children and kind == "multipart/alternative":
            # Several forms of one text: the last, and so the best, that may name an ARK.
            children = sorted(children, key=self._may_hold_ark)[-1:]
        elif not children and kind != "message/rfc822":
            name = _unless_failed(part.get_filename)
            reading, here = self._document(part, kind), _join_places(location, f"attachment:{name}" if name else "")
            placed = (as_part(block, _join_places(here, block.place), self._link_count) for block in reading.blocks)
            self._blocks += [replace(block, page=None) for block in placed]
            self._link_count += links_of(reading.blocks)
            self.findings += [
                replace(finding, detail=f"{here or 'text'}: {finding.detail}") for finding in reading.findings
            ]
        for child in children:
            if kind == "message/rfc822":
                self.read(child, _join_places(location, "message"), depth + 1)
            else:
                self._read_content(child, location, depth + 1)

    def _may_hold_ark(self, part: MIMEPart) -> bool:
        if part.is_multipart():
            return True
        return any(may_hold_ark(block.text) for block in self._document(part, part.get_content_type()).blocks)

    def _add_finding(self, finding: Finding) -> None:
        if finding not in self.findings:
            self.findings.append(finding)

    def _document(self, part: MIMEPart, kind: str) -> Reading:
        """Return the content of a part without subparts."""
        content = _unless_failed(lambda: part.get_payload(decode=True))
        if not isinstance(content, bytes):
            payload = part.get_payload()
            content = payload.encode("utf-8", "surrogateescape") if isinstance(payload, str) else b""
        charset = _unless_failed(part.get_content_charset)
        if kind == "text/plain" and str(part.get_param("format", "")).lower() == "flowed":
            blank = "" if str(part.get_param("delsp", "")).lower() == "yes" else " "
            return Reading(kind, (Block(_SOFT_BREAK.sub(blank, decode(content, charset).text)),))
        if not content:
            return Reading(kind)
        return self._read_part(content, media_type=kind, name=_unless_failed(part.get_filename) or "", charset=charset)


def _join_places(*places: str) -> str:
    return "/".join(filter(None, places))
