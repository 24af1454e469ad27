"""Headers and cookies for the operator's own hosts, sent to exactly these hosts and never shown.

They are added when a request leaves, so that no redirect carries them along. They are removed from answers, so that a
host that repeats them does not bring them into the store.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from crawler.wire.redaction import LEAST_CHARS
from extractors.model.urls import Origin

if TYPE_CHECKING:
    from http.cookiejar import Cookie

_USERINFO = re.compile(r"(?<=://)[^/?#@\s]*@")


@dataclass(frozen=True, slots=True)
class Credential:
    """The secrets for one origin; their values are never shown."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    former: tuple[str, ...] = field(default=(), repr=False)
    """Former values of cookies that the host has replaced, which are as secret as the present ones."""

    @property
    def cookie(self) -> str:
        """The cookies as the value of a header; empty without cookies."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret texts to remove from answers, the longest first: values of headers and cookies, and their parts.

        >>> Credential({"Authorization": "Basic bWU6b3Blbi1zZXNhbWU="}).secrets
        ('Basic bWU6b3Blbi1zZXNhbWU=', 'bWU6b3Blbi1zZXNhbWU=', 'me:open-sesame', 'open-sesame')
        """
        secret_words = dict.fromkeys(
            word
            for value in (*self.headers.values(), *self.cookies.values(), *self.former)
            for word in _words_in(value)
        )
        return tuple(sorted((word for word in secret_words if len(word) >= LEAST_CHARS), key=len, reverse=True))


#: A parameter of an authentication scheme: ``token="abc"``, ``sig=abc``.
_PARAMETER = re.compile(r"""[A-Za-z][\w-]{0,60}+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s,;"']+))""")


def _words_in(value: str) -> Iterable[str]:
    """Yield the secrets in a header's value: itself, the token after a scheme (RFC 9110, 11.4), a Basic password.

    >>> list(_words_in('Token id="me", key="open-sesame"'))[2:]
    ['me', 'open-sesame']
    """
    scheme, space, token = value.strip().partition(" ")
    yield value.strip()
    if space:
        yield token.strip()
    for parameter in _PARAMETER.finditer(value):
        yield from (group for group in parameter.groups() if group)
    if scheme.lower() == "basic":
        try:
            data = base64.b64decode(token, validate=True)
        except ValueError:
            return
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        yield text
        yield text.partition(":")[2]
    elif ":" in token and " " not in token:  # ``ApiKey id:key``
        yield token.partition(":")[2]


def proxy_credential(url: str) -> Credential:
    """Return the credential for the proxy at *url*; empty if the URL names no user.

    >>> proxy_credential("http://me:open%2Dsesame@proxy.example:3128").secrets
    ('Basic bWU6b3Blbi1zZXNhbWU=', 'bWU6b3Blbi1zZXNhbWU=', 'me:open-sesame', 'open-sesame')
    """
    userinfo, at_sign, _ = url.partition("://")[2].rpartition("@")
    if not at_sign:
        return Credential()
    user, _, password = userinfo.partition(":")
    user_and_password = f"{unquote(user)}:{unquote(password)}".encode()
    return Credential({"Proxy-Authorization": f"Basic {base64.b64encode(user_and_password).decode()}"})


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of a run, by origin."""

    by_origin: Mapping[Origin, Credential] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_origin)

    def find(self, url: str) -> tuple[Origin, Credential] | None:
        """Return the origin of *url* with its credential, or None."""
        if not self.by_origin:
            return None
        try:
            origin = Origin.parse(url)
        except ValueError:
            return None
        credential = self.by_origin.get(origin)
        return None if credential is None else (origin, credential)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets of all origins."""
        return tuple(dict.fromkeys(secret for credential in self.by_origin.values() for secret in credential.secrets))


def names_user(url: str) -> bool:
    """Return True if *url* has a user, and perhaps a password, before its host.

    >>> names_user("https://me:secret@repository.example/"), names_user("https://archive.example/https://me@x/")
    (True, False)
    """
    authority = url.partition("://")[2]
    return "@" in re.split(r"[/?#]", authority, maxsplit=1)[0]


def without_userinfo(text: str) -> str:
    """Return *text* without the user and password in each of its URLs.

    >>> without_userinfo("https://me:secret@repository.example/x is not to be had")
    'https://repository.example/x is not to be had'
    """
    return _USERINFO.sub("", text)


def cookies_for(origin: Origin, cookie_file: Path) -> dict[str, str]:
    """Return the values of cookies for *origin* by name, from a file in Netscape's format (curl, wget, yt-dlp).

    Raises ValueError if the file can't be read, or has no cookie that is valid now.
    """
    from http.cookiejar import MozillaCookieJar  # it imports a client for HTTP

    jar = MozillaCookieJar(str(cookie_file))
    try:
        jar.load(ignore_discard=True, ignore_expires=True)
    except (OSError, UnicodeDecodeError) as problem:
        raise ValueError(f"{cookie_file} can't be read: {problem}") from None
    valid_cookies = {cookie.name: cookie.value for cookie in jar if _is_for(cookie, origin) and cookie.value}
    if not valid_cookies:
        raise ValueError(f"{cookie_file} has no cookie for {origin} that is valid now: export it again after a log-in")
    return valid_cookies


def _is_for(cookie: Cookie, origin: Origin) -> bool:
    """Return True if *cookie* has not expired, is for the host of *origin*, and is not a secure one for http.

    A cookie with the date 0, which ends with the browser's session, has not expired.
    """
    if cookie.expires and cookie.is_expired():
        return False
    domain = cookie.domain.lstrip(".").lower()
    is_of_host = origin.host == domain or (cookie.domain_specified and origin.host.endswith(f".{domain}"))
    return is_of_host and (origin.scheme == "https" or not cookie.secure)
