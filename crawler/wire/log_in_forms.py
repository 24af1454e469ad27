"""Pure: the log-in form of a host of one's own: what is sent, and how it is reported whether that has worked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

import lxml.html
from lxml import etree

from crawler.model.resolving import BadLocation, resolved_location
from crawler.wire.credentials import Origin
from extractors.model.errors import ArkauditError

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
        tree = lxml.html.document_fromstring(page, parser=lxml.html.HTMLParser(huge_tree=False))
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        raise NoLogIn(f"{url} gave no page with a form") from None
    form = _form_with(tree, log_in.fields.keys())
    if form is None:
        raise NoLogIn(f"{url} has no form with the fields {', '.join(log_in.fields)}")
    if (form.get("method") or "get").strip().lower() != "post":
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


def _form_with(tree: lxml.html.HtmlElement, names: Collection[str]) -> lxml.html.HtmlElement | None:
    for form in tree.iter("form"):
        if set(names) <= {input_.get("name") for input_ in form.iter("input", "select", "textarea")}:
            return form
    return None


def require_success(log_in: LogIn, status: int, cookies: Collection[str], page: str) -> None:
    """Raise `NoLogIn` unless the answer to the form shows that it has worked: its status, what it set, and its page.

    >>> log_in = LogIn(Origin.of("https://repo.example/"), "", {}, (), status=302, cookie="session")
    >>> require_success(log_in, 302, ["session"], "")
    >>> require_success(log_in, 200, ["session"], "")
    Traceback (most recent call last):
    ...
    crawler.wire.log_in_forms.NoLogIn: the form was answered 200, and not 302
    """
    if log_in.status is not None and status != log_in.status:
        raise NoLogIn(f"the form was answered {status}, and not {log_in.status}")
    if log_in.cookie is not None and log_in.cookie not in cookies:
        raise NoLogIn(f"the form was answered {status}, and set no cookie {log_in.cookie}")
    if log_in.text is not None and log_in.text not in page:
        raise NoLogIn(f"the form was answered {status}, and the page that came has no {log_in.text!r}")
