"""The flags of a response that is not all there: it keeps its status, and what came of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from extractors.model.documents import Finding

#: More would have come, and was not taken. The name is Scrapy's.
STOPPED = "download_stopped"
#: The connection broke off before all of it had come. The name is Scrapy's.
BROKEN_OFF = "dataloss"
#: The time was up before all of it had come.
BODY_TIMEOUT = "body-timeout"
#: It was sent compressed, and nothing of it could be unpacked.
UNDECODABLE = "undecodable"
#: It was sent compressed, and has more than was unpacked.
UNPACKED_IN_PART = "unpacked-in-part"

#: The kind of a finding about each, and the words; what was there is a number of bytes.
_FINDINGS: Mapping[str, tuple[str, str]] = {
    STOPPED: ("cut-off", "only the first {} bytes were fetched"),
    BROKEN_OFF: ("incomplete", "the connection broke off behind {} bytes"),
    BODY_TIMEOUT: ("incomplete", "the time was up when {} bytes had come"),
    UNDECODABLE: ("undecodable", "it can't be decompressed, or grows too large"),
    UNPACKED_IN_PART: ("incomplete", "{} bytes were unpacked: its compression is damaged, or it grows too large"),
}
INCOMPLETE = frozenset(_FINDINGS)


def incomplete(flags: Collection[str], size: int) -> Iterator[Finding]:
    """Return why the *size* bytes of a response with these flags are not all of it; nothing where they are.

    >>> [finding.detail for finding in incomplete(["dataloss"], 120)]
    ['the connection broke off behind 120 bytes']
    """
    return (Finding(kind, words.format(size)) for flag, (kind, words) in _FINDINGS.items() if flag in flags)
