"""Headers and cookies that one's own hosts ask for: sent to exactly the host they are for, and shown to no one.

They are put on a request as it leaves, so that no redirect takes them along, and taken out of what comes back, so
that a host which repeats them does not bring them into the store.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

import lxml.html
from lxml import etree

from crawler.model.addresses import DEFAULT_PORTS
from crawler.model.resolving import BadLocation, resolved_location
from crawler.wire.redaction import LEAST_CHARS
from extractors.model.errors import ArkauditError

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
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
            raise ValueError("not the origin of an http or https URL")
        return cls(parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme])

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
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        yield text
        yield text.partition(":")[2]
    elif ":" in token and " " not in token:  # ``ApiKey id:key``
        yield token.partition(":")[2]


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


#: Octets of a page with a form that are read.
FORM_LIMIT = 2**20


class NoLogIn(ArkauditError):
    """Raised when a page has no form to log in by, or an answer does not show that it has worked; the words say why."""


@dataclass(frozen=True, slots=True)
class LogIn:
    """The way to log in at one origin."""

    origin: Origin
    url: str
    """Of the page with the form, at this origin."""
    fields: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    """Those of the values that no one is shown."""
    status: int | None = None
    """The status that says success;"""
    cookie: str | None = None
    """the name of a cookie that is set then;"""
    text: str | None = None
    """words of the page that comes then. All that are given must hold."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form, filled in."""

    url: str
    body: bytes = field(repr=False)


def filled_form(page: bytes, url: str, log_in: LogIn) -> Form:
    """The form of *page*, at *url*, that has the fields of *log_in*, with these and with its hidden ones (CSRF tokens).

    Raises `NoLogIn`: without such a form, and for one that leads to another host, by another method or encoding.

    >>> origin = Origin.of("https://repo.example/")
    >>> log_in = LogIn(origin, "https://repo.example/in", {"user": "me", "pw": "open sesame"}, ("open sesame",))
    >>> filled_form(b'<form method=post action=go><input name=t type=hidden value=1><input name=user><input name=pw>',
    ...             "https://repo.example/in", log_in)
    Form(url='https://repo.example/go')
    """
    try:
        tree: Any = lxml.html.document_fromstring(page, parser=lxml.html.HTMLParser(huge_tree=False))
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        raise NoLogIn(f"{url} gave no page with a form") from None
    form = next((form for form in tree.forms if log_in.fields.keys() <= set(form.inputs.keys())), None)
    if form is None:
        raise NoLogIn(f"{url} has no form with the fields {', '.join(log_in.fields)}")
    if form.method.strip() != "POST":
        raise NoLogIn(f"the form at {url} would put its fields into an address, where they are seen")
    if (form.get("enctype") or "application/x-www-form-urlencoded").strip().lower() != _ENCODING:
        raise NoLogIn(f"the form at {url} wants another encoding than {_ENCODING}")
    try:
        target = resolved_location(url, form.get("action") or url)
        origin = Origin.of(target)
    except (BadLocation, ValueError):
        raise NoLogIn(f"the form at {url} leads nowhere") from None
    if origin != log_in.origin:
        raise NoLogIn(f"the form at {url} leads to another host, {origin}: nothing is sent there")
    hidden = [
        (str(input_.get("name")), input_.get("value") or "")
        for input_ in form.iter("input")
        if (input_.get("type") or "").lower() == "hidden"
        and input_.get("name")
        and input_.get("name") not in log_in.fields
    ]
    return Form(target, urlencode([*hidden, *log_in.fields.items()]).encode("ascii"))


_ENCODING = "application/x-www-form-urlencoded"


def require_success(log_in: LogIn, status: int, cookies: Collection[str], page: str) -> None:
    """Raise `NoLogIn` unless the answer to the form shows that it has worked: its status, what it set, and its page.

    >>> log_in = LogIn(Origin.of("https://repo.example/"), "", {}, (), status=302, cookie="session")
    >>> require_success(log_in, 302, ["session"], "")
    >>> require_success(log_in, 200, ["session"], "")
    Traceback (most recent call last):
    ...
    crawler.wire.credentials.NoLogIn: the form was answered 200, and not 302
    """
    if log_in.status is not None and status != log_in.status:
        raise NoLogIn(f"the form was answered {status}, and not {log_in.status}")
    if log_in.cookie is not None and log_in.cookie not in cookies:
        raise NoLogIn(f"the form was answered {status}, and set no cookie {log_in.cookie}")
    if log_in.text is not None and log_in.text not in page:
        raise NoLogIn(f"the form was answered {status}, and the page that came has no {log_in.text!r}")
