"""Headers and cookies for the operator's own hosts, sent to exactly these hosts and never shown.

They are added when a request leaves, so that no redirect carries them along. They are removed from answers, so that a
host that repeats them does not bring them into the store.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

import lxml.html
from lxml import etree

from crawler.model.resolving import BadLocation, resolved_location
from crawler.wire.redaction import LEAST_CHARS
from extractors.model.errors import ArkauditError
from extractors.model.urls import Origin

_USERINFO = re.compile(r"(?<=://)[^/?#@\s]*@")


@dataclass(frozen=True, slots=True)
class Credential:
    """The secrets for one origin; their values are never shown."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)
    """Further secrets to remove from answers: fields of forms, and former values of cookies."""

    @property
    def cookie(self) -> str:
        """The cookies as the value of a header; empty without cookies."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    @property
    def secrets(self) -> tuple[str, ...]:
        """The words to remove from answers, the longest first: the values and their parts.

        >>> Credential({"Authorization": "Basic bWU6b3Blbi1zZXNhbWU="}).secrets
        ('Basic bWU6b3Blbi1zZXNhbWU=', 'bWU6b3Blbi1zZXNhbWU=', 'me:open-sesame', 'open-sesame')
        """
        words = dict.fromkeys(
            word
            for value in (*self.headers.values(), *self.cookies.values(), *self.others)
            for word in _words_in(value)
        )
        return tuple(sorted((word for word in words if len(word) >= LEAST_CHARS), key=len, reverse=True))


#: A parameter of an authentication scheme: ``token="abc"``, ``sig=abc``.
_PARAMETER = re.compile(r"""[A-Za-z][\w-]{0,60}+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s,;"']+))""")


def _words_in(value: str) -> Iterable[str]:
    """Yield the words in a value: itself, the token after a scheme (RFC 9110, 11.4), a password in Basic (RFC 7617).

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


#: The number of bytes read of a page with a form.
FORM_LIMIT = 2**20


class NoLogIn(ArkauditError):
    """Raised if a page has no usable form for the log-in, or an answer does not show its success."""


@dataclass(frozen=True, slots=True)
class LogIn:
    """The way to log in at one origin."""

    origin: Origin
    url: str
    """The URL of the page with the form, at this origin."""
    fields: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    """The values in `fields` that are never shown."""
    status: int | None = None
    """The status that shows success."""
    cookie: str | None = None
    """The name of a cookie that is set on success."""
    text: str | None = None
    """Words of the page after success. All given signs must hold."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form with its values."""

    url: str
    body: bytes = field(repr=False)


def fill_form(page: bytes, url: str, log_in: LogIn) -> Form:
    """Return the form on *page*, at *url*, that has the fields of *log_in*, with its hidden fields (CSRF tokens).

    Raises `NoLogIn` if there is no such form, or if it uses another host, method or encoding.

    >>> origin = Origin.parse("https://repo.example/")
    >>> log_in = LogIn(origin, "https://repo.example/in", {"user": "me", "pw": "open sesame"}, ("open sesame",))
    >>> fill_form(b'<form method=post action=go><input name=t type=hidden value=1><input name=user><input name=pw>',
    ...             "https://repo.example/in", log_in)
    Form(url='https://repo.example/go')
    """
    try:
        tree: Any = lxml.html.document_fromstring(page, parser=lxml.html.HTMLParser(huge_tree=False))
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        raise NoLogIn(f"{url} has no page with a form") from None
    form = next((form for form in tree.forms if log_in.fields.keys() <= set(form.inputs.keys())), None)
    if form is None:
        raise NoLogIn(f"{url} has no form with the fields {', '.join(log_in.fields)}")
    if form.method.strip() != "POST":
        raise NoLogIn(f"the form at {url} would send its fields in the URL, where they are visible")
    if (form.get("enctype") or "application/x-www-form-urlencoded").strip().lower() != _ENCODING:
        raise NoLogIn(f"the form at {url} wants another encoding than {_ENCODING}")
    try:
        target = resolved_location(url, form.get("action") or url)
        origin = Origin.parse(target)
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
    """Raise `NoLogIn` unless status, cookies and page of the answer to the form show success.

    >>> log_in = LogIn(Origin.parse("https://repo.example/"), "", {}, (), status=302, cookie="session")
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
