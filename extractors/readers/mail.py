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
from extractors.model.documents import Block, Finding, Reading, Role, block_of_part, link_count

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
_MESSAGE_SEPARATOR = re.compile(rb"(?:\A|(?<=\n\r\n)|(?<=\n\n))From (?=[^\r\n]*[0-9]{2}:[0-9]{2})[^\r\n]*+\r?\n")
#: A quoted line of a message that begins like the separator.
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
#: A line end with a blank before it in text of the type ``format=flowed``, where the line continues (RFC 3676, 4). A line
#: of two hyphens and a blank begins a signature.
_SOFT_BREAK = re.compile(r"(?<!^--) \r?\n>*+ ?", re.MULTILINE)
#: Fields about the transport of a message.
_TRACE_FIELDS = frozenset({"received", "dkim-signature", "arc-seal", "arc-message-signature", "authentication-results"})


def read_mail(data: bytes, read_part: PartReader) -> Reading:
    r"""Return the fields and parts of a message, or of all messages in a mailbox. *read_part* reads a part.

    >>> def as_text(data: bytes, media_type: str, name: str, charset: str | None) -> Reading:
    ...     return Reading(media_type, (Block(data.decode()),))
    >>> message = b"Subject: Map\nContent-Transfer-Encoding: quoted-printable\n\nark:/12345/x5=\n7 there"
    >>> [block.text for block in read_mail(message, as_text).blocks]
    ['ark:/12345/x57 there']
    """
    data, findings = first_bytes(data, MOST_BYTES)
    starts = [separator.end() for separator in _MESSAGE_SEPARATOR.finditer(data)] if data.startswith(b"From ") else []
    mail = _Mail(read_part)
    if not starts:
        mail.read(_parse(data), "")
        return replace(mail.to_reading(MEDIA_TYPE), findings=(*findings, *mail.findings))
    ends = [*[separator.start() for separator in _MESSAGE_SEPARATOR.finditer(data)][1:], len(data)]
    for number, (start, end) in enumerate(as_time_allows(zip(starts, ends, strict=True), "message", is_slow=True), 1):
        mail.read(_parse(_QUOTED_FROM.sub(rb"\1", data[start:end])), f"message:{number}")
    return replace(mail.to_reading(MAILBOX_MEDIA_TYPE), title="", findings=(*findings, *mail.findings))


def _result_or_none(get: Callable[[], Any]) -> Any:
    """Return the result of *get*; None if it raises any exception, as the library does for some malformed fields."""
    try:
        return get()
    except Exception:
        return None


class _ForgivingPolicy(EmailPolicy):
    """A policy that cuts long fields, and gives fields as written if the library fails to parse them."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        value = value[:MOST_FIELD_CHARS]
        try:
            return super().header_fetch_parse(name, value)
        except Exception:
            return str(value)


_POLICY: Any = _ForgivingPolicy()


class _Part(EmailMessage):
    """A message or part; a parameter that the library fails to parse counts as missing."""

    def get_param(self, param: str, failobj: Any = None, header: str = "content-type", unquote: bool = True) -> Any:
        try:
            return super().get_param(param, failobj, header, unquote)
        except Exception:
            return failobj


class _TooManyParts(Exception):
    """Raised to end the parsing of a message."""


def _parse(data: bytes) -> MIMEPart:
    """Return the message in *data*, up to a limit on the number of parts and on their depth."""
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
    """Return the number of parts around the last part of *message*."""
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
        self._part_count = 0
        self._link_count = 0
        self._title = ""
        self.findings: list[Finding] = []

    def to_reading(self, media_type: str) -> Reading:
        """Return the content as one document; it has no links, because mail is private."""
        return Reading(media_type, tuple(self._blocks), title=self._title)

    def read(self, message: MIMEPart, location: str, depth: int = 0) -> None:
        """Add the fields and parts of *message*, at *location* and inside *depth* other parts."""
        for field_name, field_value in message.items():
            name, value = field_name.lower(), " ".join(field_value.split())
            self._title = self._title or (value if name == "subject" else "")
            if may_hold_ark(value) and name not in _TRACE_FIELDS:
                self._blocks.append(Block(value, Role.METADATA, place=_join_locations(location, name)))
        self._read_content(message, location, depth)

    def _read_content(self, part: MIMEPart, location: str, depth: int) -> None:
        self._part_count += 1
        if self._part_count > MOST_PARTS or depth > _MOST_DEPTH:
            self._add_finding(Finding("cut-off", f"more than {MOST_PARTS} parts, or parts within {_MOST_DEPTH} others"))
            return
        for name, field in part.raw_items():
            if may_hold_ark(field[MOST_FIELD_CHARS:]):
                self._add_finding(
                    Finding("cut-off", f"{name}: only {MOST_FIELD_CHARS} of {len(field)} characters read")
                )
        media_type = part.get_content_type()
        children = list(part.iter_parts())
        # The text before and after the parts, which programs with MIME don't show.
        for text, part_name in ((part.preamble, "preamble"), (part.epilogue, "epilogue")):
            if text and may_hold_ark(text):
                self._blocks.append(Block(text, place=_join_locations(location, part_name)))
        if children and media_type == "multipart/alternative":
            # Several forms of one text: the last, and so the best, that may name an ARK.
            children = sorted(children, key=self._may_hold_ark)[-1:]
        elif not children and media_type != "message/rfc822":
            name = _result_or_none(part.get_filename)
            part_reading = self._reading_of_part(part, media_type)
            part_location = _join_locations(location, f"attachment:{name}" if name else "")
            part_blocks = (
                block_of_part(block, _join_locations(part_location, block.place), self._link_count)
                for block in part_reading.blocks
            )
            self._blocks += [replace(block, page=None) for block in part_blocks]
            self._link_count += link_count(part_reading.blocks)
            self.findings += [
                replace(finding, detail=f"{part_location or 'text'}: {finding.detail}")
                for finding in part_reading.findings
            ]
        for child in children:
            if media_type == "message/rfc822":
                self.read(child, _join_locations(location, "message"), depth + 1)
            else:
                self._read_content(child, location, depth + 1)

    def _may_hold_ark(self, part: MIMEPart) -> bool:
        if part.is_multipart():
            return True
        return any(may_hold_ark(block.text) for block in self._reading_of_part(part, part.get_content_type()).blocks)

    def _add_finding(self, finding: Finding) -> None:
        if finding not in self.findings:
            self.findings.append(finding)

    def _reading_of_part(self, part: MIMEPart, media_type: str) -> Reading:
        """Return the content of *part*, which has this *media_type* and no subparts."""
        content = _result_or_none(lambda: part.get_payload(decode=True))
        if not isinstance(content, bytes):
            payload = part.get_payload()
            content = payload.encode("utf-8", "surrogateescape") if isinstance(payload, str) else b""
        charset = _result_or_none(part.get_content_charset)
        if media_type == "text/plain" and str(part.get_param("format", "")).lower() == "flowed":
            blank = "" if str(part.get_param("delsp", "")).lower() == "yes" else " "
            return Reading(media_type, (Block(_SOFT_BREAK.sub(blank, decode(content, charset).text)),))
        if not content:
            return Reading(media_type)
        return self._read_part(
            content, media_type=media_type, name=_result_or_none(part.get_filename) or "", charset=charset
        )


def _join_locations(*locations: str) -> str:
    return "/".join(filter(None, locations))
