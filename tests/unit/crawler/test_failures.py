"""Kinds of failures, and the reasons why a name had no address."""

import socket

import pytest

from crawler.model.observations import ChainEnd
from crawler.wire.endpoints import NameNotFound, NameServerFailed, NameServerSilent, name_failure
from crawler.wire.failures import FAILURES, failure_kind, failure_text


def test_every_named_failure_has_its_end_and_its_words() -> None:
    assert {failure_kind([name]).end for name in FAILURES} == {
        ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS, ChainEnd.DNS, ChainEnd.REFUSED, ChainEnd.TIMEOUT, ChainEnd.TLS,
        ChainEnd.PROTOCOL_ERROR, ChainEnd.RESET, ChainEnd.INVALID, ChainEnd.UNDETERMINED,
    }  # fmt: skip
    assert failure_kind(["SomethingNew"]).end is ChainEnd.UNDETERMINED
    assert all(kind.words for kind in FAILURES.values() if kind.end is not ChainEnd.REFUSED_ADDRESS)


def test_a_machine_that_is_out_of_sockets_does_not_blame_the_host() -> None:
    names = ["DownloadConnectionRefusedError", "ConnectBindError", "ConnectError"]
    assert failure_kind(names).end is ChainEnd.UNDETERMINED


def test_exception_text_follows_the_plain_reason() -> None:
    refused = FAILURES["ConnectionRefusedError"]
    assert failure_text(refused, "Connection was refused.") == f"{refused.words} (Connection was refused)"
    assert failure_text(refused, "") == refused.words
    assert (
        failure_text(FAILURES["AddressRefused"], "127.0.0.1 is a loopback address") == "127.0.0.1 is a loopback address"
    )


@pytest.mark.parametrize(
    ("code", "elapsed_s", "kind"),
    [
        (socket.EAI_NONAME, 0.1, NameNotFound),
        (socket.EAI_NODATA, 0.1, NameNotFound),
        (socket.EAI_AGAIN, 0.1, NameServerFailed),
        (socket.EAI_FAIL, 0.1, NameServerFailed),
        (socket.EAI_AGAIN, 10.0, NameServerSilent),
    ],
)
def test_why_a_name_has_no_address(code: int, elapsed_s: float, kind: type[Exception]) -> None:
    assert type(name_failure("n2t.net", code, elapsed_s)) is kind
