"""The check of a host's certificate by a verifying handshake, once a host and day, next to an unverified crawl."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from urllib.request import getproxies, proxy_bypass

from crawler.model.addresses import AddressGuard, Routes
from crawler.model.observations import TlsResult

#: OpenSSL's verify codes, by the names of this vocabulary.
REASONS = {
    9: "not-yet-valid",
    10: "expired",
    18: "self-signed",
    19: "self-signed",
    20: "unknown-issuer",
    21: "unknown-issuer",
    62: "wrong-host",
    64: "wrong-host",
}


#: Servers that don't know RFC 5746 are asked, as by browsers and by the crawl: their certificates are seen, too. Python
#: 3.12 has a name for it.
_LEGACY_SERVER_CONNECT = 0x4

#: Why a certificate was not seen, where it was a question of time: asked again, it may be seen.
NOT_IN_TIME = "not in time"


def is_late(result: TlsResult) -> bool:
    """Return whether a certificate was not seen for want of time."""
    return result.trusted is None and result.reason == f"not probed: {NOT_IN_TIME}"


async def probe(
    host: str,
    port: int,
    *,
    guard: AddressGuard,
    routes: Routes,
    ca_file: str | None,
    timeout_s: float,
    may_be_proxied: bool = False,
    on_connected: Callable[[], None] = lambda: None,
) -> TlsResult:
    """The certificate of *host*, by one handshake that verifies and sends nothing. Never raises.

    With *may_be_proxied*, none is made where the environment names a proxy for the host: nothing goes around that.
    """
    trusted, reason = None, "not probed: requests go through a proxy"
    try:
        if not may_be_proxied or "https" not in getproxies() or proxy_bypass(host):
            async with asyncio.timeout(timeout_s):
                trusted, reason = await _handshake(host, port, guard, routes, ca_file, on_connected)
    except TimeoutError:
        return not_probed(host, port, NOT_IN_TIME)
    except (OSError, ValueError) as problem:
        return not_probed(host, port, f"{type(problem).__name__}: {problem}".strip(": "))
    return TlsResult(host, port, trusted, reason, _now(), means(host, port, routes=routes, ca_file=ca_file))


def not_probed(host: str, port: int, why: str) -> TlsResult:
    """Return what is kept of a host of which no certificate was seen."""
    return TlsResult(host, port, None, f"not probed: {why}", _now())


def means(host: str, port: int, *, routes: Routes, ca_file: str | None) -> str:
    """Whose authorities a probe trusts, and by which route it reaches the host: what its result depends on.

    >>> means("n2t.net", 443, routes=Routes.parse(["n2t.net:443=127.0.0.1:8443"]), ca_file=None)
    "the system's authorities, at 127.0.0.1:8443"
    """
    route = routes.target(host, port)
    trusted = f"authorities {_digest(ca_file)}" if ca_file else "the system's authorities"
    return trusted + (f", at {route[0]}:{route[1]}" if route else "")


@cache
def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


async def _handshake(
    host: str, port: int, guard: AddressGuard, routes: Routes, ca_file: str | None, on_connected: Callable[[], None]
) -> tuple[bool | None, str]:
    route = routes.target(host, port)
    if route is None and routes.only and not guard.allows(host):
        return None, "not probed: it has no route"
    context = ssl.create_default_context(cafile=ca_file)
    context.options |= _LEGACY_SERVER_CONNECT
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(*(route or (host.strip("[]"), port)), type=socket.SOCK_STREAM)
    refusals = [None if route else guard.refusal(str(address[0])) for *_, address in addresses]
    if refusals and all(refusals):
        return None, f"not probed: {refusals[0]}"
    problem: OSError = OSError("the name has no address")
    for refusal, (family, kind, protocol, _, address) in zip(refusals, addresses, strict=True):
        if refusal:
            continue
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, address)
        except OSError as unreachable:  # perhaps another address of the name can be reached
            connection.close()
            problem = unreachable
            continue
        on_connected()
        return await _verified(connection, host, context)
    raise problem


async def _verified(connection: socket.socket, host: str, context: ssl.SSLContext) -> tuple[bool | None, str]:
    """Return what the handshake over a new connection says; the connection is closed afterwards."""
    try:
        _, writer = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=host.strip("[]"))
    except ssl.SSLCertVerificationError as problem:
        connection.close()
        return False, REASONS.get(problem.verify_code, problem.verify_message)
    except ssl.SSLError as problem:
        connection.close()
        return None, f"no handshake: {problem.reason or problem}"
    except BaseException:
        connection.close()
        raise
    writer.close()
    return True, "ok"
