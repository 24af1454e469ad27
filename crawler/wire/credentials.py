"""Headers and cookies that one's own hosts ask for: sent to exactly the host they are for, and shown to no one.

They are put on a request as it leaves, so that no redirect takes them along, and taken out of what comes back, so
that a host which repeats them does not bring them into the store.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from crawler.wire.redaction import LEAST_CHARS, Redactor

_PORTS = {"http": 80, "https": 443}
_USERINFO = re.compile(r"(?<=://)[^/?#@\s]*@")


@dataclass(frozen=True, slots=True)
class Origin:
    """A host as credentials know it: scheme, name and port."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Origin:
        """The origin of an http or https URL. Raises ValueError when it has none.

        >>> Origin.of("https://Repository.example/x")
        Origin(scheme='https', host='repository.example', port=443)
        """
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        if scheme not in _PORTS or not parts.hostname:
            raise ValueError("not the origin of an http or https URL")
        return cls(scheme, parts.hostname.lower(), parts.port or _PORTS[scheme])

    @classmethod
    def named(cls, name: str) -> Origin:
        """The origin that a configuration names; without a scheme that is https, for what is secret.

        >>> str(Origin.named("repository.example")), str(Origin.named("http://localhost:8000"))
        ('https://repository.example:443', 'http://localhost:8000')
        """
        return cls.of(name if "://" in name else f"https://{name}")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Credential:
    """The secret that one origin is sent; its values are never shown."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)
    """What else must not come back: the fields of a form, values that cookies have had."""

    @property
    def cookie(self) -> str:
        """The cookies as a header has them; empty when there are none."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    @property
    def secrets(self) -> tuple[str, ...]:
        """The words that must not come back, the longest first: the values, and what they hold.

        >>> Credential({"Authorization": "Basic bWU6b3Blbi1zZXNhbWU="}).secrets
        ('Basic bWU6b3Blbi1zZXNhbWU=', 'bWU6b3Blbi1zZXNhbWU=', 'me:open-sesame', 'open-sesame')
        """
        words = dict.fromkeys(
            word for value in (*self.headers.values(), *self.cookies.values(), *self.others) for word in _in(value)
        )
        return tuple(sorted((word for word in words if len(word) >= LEAST_CHARS), key=len, reverse=True))

    @property
    def redactor(self) -> Redactor:
        """Return what takes the secrets out of anything."""
        return Redactor.of(self.secrets)


#: ``token="abc"``, ``sig=abc``: what a scheme has for its parameters.
_PARAMETER = re.compile(r"""[A-Za-z][\w-]*=\s*(?:"([^"]*)"|'([^']*)'|([^\s,;"']+))""")


def _in(value: str) -> Iterable[str]:
    """The words in a value: itself, the token after a scheme (RFC 9110, 11.4), and a password in Basic (RFC 7617).

    >>> list(_in('Token id="me", key="open-sesame"'))[2:]
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
        text = _text(data)
        yield text
        yield text.partition(":")[2]
    elif ":" in token and " " not in token:  # ``ApiKey id:key``
        yield token.partition(":")[2]


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def of_proxy(url: str) -> Credential:
    """Return what the proxy at *url* is sent, if that names a user.

    >>> of_proxy("http://me:open%2Dsesame@proxy.example:3128").secrets
    ('Basic bWU6b3Blbi1zZXNhbWU=', 'bWU6b3Blbi1zZXNhbWU=', 'me:open-sesame', 'open-sesame')
    """
    userinfo, at, _ = url.partition("://")[2].rpartition("@")
    if not at:
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
        """The origin of *url* with what is for it; None when nothing is."""
        if not self.by_origin:
            return None
        try:
            origin = Origin.of(url)
        except ValueError:
            return None
        credential = self.by_origin.get(origin)
        return None if credential is None else (origin, credential)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets of all origins."""
        return tuple(dict.fromkeys(secret for credential in self.by_origin.values() for secret in credential.secrets))


def names_user(url: str) -> bool:
    """Return whether *url* names a user, and perhaps a password, before its host.

    >>> names_user("https://me:secret@repository.example/"), names_user("https://archive.example/https://me@x/")
    (True, False)
    """
    authority = url.partition("://")[2]
    return "@" in re.split(r"[/?#]", authority, maxsplit=1)[0]


def masked(text: str) -> str:
    """*text* with the user and the password of every URL in it left out.

    >>> masked("https://me:secret@repository.example/x is not to be had")
    'https://repository.example/x is not to be had'
    """
    return _USERINFO.sub("", text)
