"""Describe failed requests in plain words, and name the reasons for incomplete bodies. No I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from crawler.model.observations import ChainEnd
from crawler.model.resolving import SLOW_LOOK_UPS
from extractors.model.documents import Finding


@dataclass(frozen=True, slots=True)
class FailureKind:
    """A kind of failure: the end of the chain, and the words for a librarian."""

    end: ChainEnd
    words: str
    """Empty if the exception's own words are clear."""


#: Failures by the class names of the exception, its causes and its reasons; the first match in this order decides.
FAILURES: Mapping[str, FailureKind] = {
    "RobotsForbidden": FailureKind(ChainEnd.ROBOTS, "robots.txt forbids it"),
    "RobotsUnavailable": FailureKind(ChainEnd.ROBOTS, "robots.txt is unavailable, so nothing may be requested now"),
    "RobotsTooSlow": FailureKind(
        ChainEnd.ROBOTS, "robots.txt requires longer intervals than arkaudit waits, so nothing is requested"
    ),
    "AddressRefused": FailureKind(ChainEnd.REFUSED_ADDRESS, ""),
    "ProxyFailed": FailureKind(ChainEnd.UNDETERMINED, "the configured proxy failed, not the host"),
    "ConnectBindError": FailureKind(ChainEnd.UNDETERMINED, "this machine could not open a connection"),
    "UrlTooLong": FailureKind(
        ChainEnd.UNDETERMINED, "URLs of this length are never requested; the host is not at fault"
    ),
    "UnusableUrl": FailureKind(ChainEnd.INVALID, "the URL can't be requested"),
    "NameNotFound": FailureKind(ChainEnd.DNS, "there is no such name"),
    "NameServerFailed": FailureKind(ChainEnd.DNS, "the name could not be looked up: its name server failed"),
    # Raised from the next one, whose timeout it contains; the local delay is the cause that counts.
    "LookUpNotBegun": FailureKind(ChainEnd.UNDETERMINED, SLOW_LOOK_UPS[1]),
    "NameServerSilent": FailureKind(ChainEnd.DNS, SLOW_LOOK_UPS[0]),
    "CannotResolveHostError": FailureKind(ChainEnd.DNS, "the name has no address"),
    "DNSLookupError": FailureKind(ChainEnd.DNS, "the name has no address"),
    "DownloadConnectionRefusedError": FailureKind(ChainEnd.REFUSED, "the host refused the connection"),
    "ConnectionRefusedError": FailureKind(ChainEnd.REFUSED, "the host refused the connection"),
    "NotConnectedInTime": FailureKind(ChainEnd.TIMEOUT, "no connection in time"),
    "NoAnswerInTime": FailureKind(ChainEnd.TIMEOUT, "connected, but no answer in time"),
    "TCPTimedOutError": FailureKind(ChainEnd.TIMEOUT, "no connection in time"),
    "DownloadTimeoutError": FailureKind(ChainEnd.TIMEOUT, "no connection in time"),
    "SSL.Error": FailureKind(ChainEnd.TLS, "no secure connection could be made"),
    "ParseError": FailureKind(ChainEnd.PROTOCOL_ERROR, "the answer is no HTTP"),
    "BadStatusLine": FailureKind(ChainEnd.PROTOCOL_ERROR, "the answer is no HTTP"),
    "HeadTooLong": FailureKind(ChainEnd.PROTOCOL_ERROR, "the headers of the answer never end"),
    "ConnectionLost": FailureKind(ChainEnd.RESET, "the host broke off the connection"),
    "ConnectionAborted": FailureKind(ChainEnd.RESET, "the host broke off the connection"),
    "ConnectionDone": FailureKind(ChainEnd.RESET, "the host hung up without a final answer"),
    "NoRouteError": FailureKind(ChainEnd.UNDETERMINED, "this network has no route to the address"),
    "ConnectError": FailureKind(ChainEnd.REFUSED, "the host could not be reached"),
    "ResponseNeverReceived": FailureKind(ChainEnd.RESET, "the host hung up without a final answer"),
    "ValueError": FailureKind(ChainEnd.PROTOCOL_ERROR, "the answer is malformed"),
    "KeyError": FailureKind(ChainEnd.PROTOCOL_ERROR, "the answer has an unknown transfer coding"),
}
_UNKNOWN = FailureKind(ChainEnd.UNDETERMINED, "an unknown failure")
#: The form of OpenSSL's errors; the last part is the reason.
_OPENSSL = re.compile(r"\('[^']*', '[^']*', '(?P<reason>[^']+)'\)")


def failure_kind(names: Collection[str]) -> FailureKind:
    """Return the kind of a failure, from the class *names* of its exceptions in any order.

    >>> failure_kind(["DownloadFailedError", "ResponseNeverReceived", "ConnectionLost"]).end.value
    'reset'
    """
    return next((kind for name, kind in FAILURES.items() if name in names), _UNKNOWN)


def failure_text(kind: FailureKind, own_words: str) -> str:
    """Return the text to store for a failure: the plain words, with the exception's own words in parentheses.

    >>> failure_text(FAILURES["SSL.Error"], "[('SSL routines', '', 'wrong version number')]")
    'no secure connection could be made (wrong version number)'
    """
    reasons = dict.fromkeys(match["reason"] for match in _OPENSSL.finditer(own_words))
    details = ", ".join(reasons) or own_words.strip().rstrip(".")
    return f"{kind.words} ({details})" if details and kind.words else kind.words or details


#: The download was stopped before the end of the body. The name is Scrapy's.
STOPPED = "download_stopped"
#: The connection was lost before the end of the body. The name is Scrapy's.
BROKEN_OFF = "dataloss"
#: The timeout came before the end of the body.
BODY_TIMEOUT = "body-timeout"
#: The body was compressed, and none of it could be decompressed.
UNDECODABLE = "undecodable"
#: The body was compressed, and only a part was decompressed.
UNPACKED_IN_PART = "unpacked-in-part"

#: The kind and the words of a finding for each flag; the number is the size in bytes.
_FINDINGS: Mapping[str, tuple[str, str]] = {
    STOPPED: ("cut-off", "only the first {} bytes were fetched"),
    BROKEN_OFF: ("incomplete", "the connection broke off after {} bytes"),
    BODY_TIMEOUT: ("incomplete", "the timeout came after {} bytes"),
    UNDECODABLE: ("undecodable", "it can't be decompressed, or grows too large"),
    UNPACKED_IN_PART: ("incomplete", "{} bytes were unpacked: its compression is damaged, or it grows too large"),
}
INCOMPLETE = frozenset(_FINDINGS)


def body_faults(flags: Collection[str], size: int) -> Iterator[Finding]:
    """Yield the reasons why the *size* bytes of a response with these flags are not the complete body.

    >>> [finding.detail for finding in body_faults(["dataloss"], 120)]
    ['the connection broke off after 120 bytes']
    """
    return (Finding(kind, words.format(size)) for flag, (kind, words) in _FINDINGS.items() if flag in flags)
