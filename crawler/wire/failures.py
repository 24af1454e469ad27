"""Pure: what a failed request was, told apart and in plain words, from the exceptions that it raised."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from crawler.attempts import SLOW_LOOK_UPS
from crawler.observations import ChainEnd


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of failure: how a chain ends by it, and what to tell a librarian."""

    end: ChainEnd
    words: str
    """Empty where the exception's own words are plain enough."""


#: Failures by the class names of the exception, its causes and its reasons; the first that is known decides.
FAILURES: Mapping[str, Kind] = {
    "RobotsForbidden": Kind(ChainEnd.ROBOTS, "robots.txt forbids it"),
    "RobotsUnavailable": Kind(ChainEnd.ROBOTS, "robots.txt can't be had, so nothing may be asked for now"),
    "RobotsTooSlow": Kind(ChainEnd.ROBOTS, "robots.txt wants longer intervals than we keep, so nothing is asked"),
    "AddressRefused": Kind(ChainEnd.REFUSED_ADDRESS, ""),
    "NameNotRouted": Kind(ChainEnd.REFUSED_ADDRESS, ""),
    "ProxyFailed": Kind(ChainEnd.UNDETERMINED, "our own proxy failed, which says nothing of the host"),
    "ConnectBindError": Kind(ChainEnd.UNDETERMINED, "our own machine could not open a connection"),
    "UrlTooLong": Kind(ChainEnd.UNDETERMINED, "no URL of this length is asked for, which says nothing of the host"),
    "UnusableUrl": Kind(ChainEnd.PROTOCOL_ERROR, "no request can be made of this URL"),
    "NameNotFound": Kind(ChainEnd.DNS, "there is no such name"),
    "NameServerFailed": Kind(ChainEnd.DNS, "the name could not be looked up: its name server failed"),
    "NameServerSilent": Kind(ChainEnd.DNS, SLOW_LOOK_UPS[0]),
    "LookUpNotBegun": Kind(ChainEnd.UNDETERMINED, SLOW_LOOK_UPS[1]),
    "CannotResolveHostError": Kind(ChainEnd.DNS, "the name has no address"),
    "DNSLookupError": Kind(ChainEnd.DNS, "the name has no address"),
    "DownloadConnectionRefusedError": Kind(ChainEnd.REFUSED, "the host refused the connection"),
    "ConnectionRefusedError": Kind(ChainEnd.REFUSED, "the host refused the connection"),
    "NotConnectedInTime": Kind(ChainEnd.TIMEOUT, "no connection in time"),
    "NoAnswerInTime": Kind(ChainEnd.TIMEOUT, "connected, but no answer in time"),
    "TCPTimedOutError": Kind(ChainEnd.TIMEOUT, "no connection in time"),
    "DownloadTimeoutError": Kind(ChainEnd.TIMEOUT, "no connection in time"),
    "SSL.Error": Kind(ChainEnd.TLS, "no secure connection could be made"),
    "ParseError": Kind(ChainEnd.PROTOCOL_ERROR, "the answer is no HTTP"),
    "BadStatusLine": Kind(ChainEnd.PROTOCOL_ERROR, "the answer is no HTTP"),
    "HeadTooLong": Kind(ChainEnd.PROTOCOL_ERROR, "the headers of the answer never end"),
    "ConnectionLost": Kind(ChainEnd.RESET, "the host broke off the connection"),
    "ConnectionAborted": Kind(ChainEnd.RESET, "the host broke off the connection"),
    "ConnectionDone": Kind(ChainEnd.RESET, "the host hung up without an answer"),
    "NoRouteError": Kind(ChainEnd.UNDETERMINED, "our own network has no way to this address"),
    "ConnectError": Kind(ChainEnd.REFUSED, "the host could not be reached"),
    "ResponseNeverReceived": Kind(ChainEnd.RESET, "the host hung up without an answer"),
    "ValueError": Kind(ChainEnd.PROTOCOL_ERROR, "the answer makes no sense"),
    "KeyError": Kind(ChainEnd.PROTOCOL_ERROR, "the answer is in a transfer coding that nobody knows"),
}
_UNKNOWN = Kind(ChainEnd.UNDETERMINED, "a failure that has no name yet")
#: How OpenSSL's errors are written: the last part is what happened.
_OPENSSL = re.compile(r"\('[^']*', '[^']*', '(?P<reason>[^']+)'\)")


def failure_kind(names: Collection[str]) -> Kind:
    """The kind of a failure, from the *names* of its exceptions, in whatever order they were raised.

    >>> failure_kind(["DownloadFailedError", "ResponseNeverReceived", "ConnectionLost"]).end.value
    'reset'
    """
    return next((kind for name, kind in FAILURES.items() if name in names), _UNKNOWN)


def failure_text(kind: Kind, own_words: str) -> str:
    """What is kept of a failure: the plain words, and the exception's own behind them.

    >>> failure_text(FAILURES["SSL.Error"], "[('SSL routines', '', 'wrong version number')]")
    'no secure connection could be made (wrong version number)'
    """
    reasons = dict.fromkeys(found["reason"] for found in _OPENSSL.finditer(own_words))
    told = ", ".join(reasons) or own_words.strip().rstrip(".")
    return f"{kind.words} ({told})" if told and kind.words else kind.words or told
