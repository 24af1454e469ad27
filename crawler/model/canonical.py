"""Pure: when two URLs are taken for the same document. They are compared in this form, and sent as they were found.

The form, which `docs/sources.md` states in full: scheme and host in lower case, without user, default port, final dot
and fragment; dot segments resolved; escapes of unreserved characters undone and all others in upper case; the
parameters of a query sorted, without those that name a session or a campaign. A bare ``?`` stays: of an ARK it is a
question of its own.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

_DEFAULT_PORTS = {"http": 80, "https": 443}
_SESSION_NAME = r"(?:jsessionid|phpsessid|aspsessionid[a-z]*|session_?id|cfid|cftoken|oscsid|xtcsid|zenid)"
#: ``;jsessionid=1A2B`` of Java, ``/(S(1a2b))`` of ASP.NET.
_SESSION_IN_PATH = re.compile(rf";{_SESSION_NAME}=[^/;]*|/\([A-Z]\([a-z0-9]{{20,}}\)\)(?=/|\Z)", re.IGNORECASE)
_SESSION_PARAMETER = re.compile(
    rf"""
    {_SESSION_NAME} = .*
    | (?: sid | sess | session ) = (?= [a-z]*+ [0-9] ) [0-9a-z]{{16,}}   # short ones may name a series
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CAMPAIGN_PARAMETER = re.compile(
    r"(?:utm_[a-z_]+|fbclid|gclid|dclid|yclid|msclkid|igshid|mc_cid|mc_eid|_ga|_gl)=.*", re.IGNORECASE
)
#: What signs a URL, or names the moment at which it expires: storage in the cloud, content networks, log-ins.
_PERMIT = re.compile(
    r"""
    (?: x-[a-z]+-signature | signature | sig | hdnea | hdnts | expires ) = .{8,}
    | (?: token | access_token | ticket ) = (?= .*[0-9] ) .{16,}
    """,
    re.VERBOSE | re.IGNORECASE,
)


@lru_cache(maxsize=2**13)  # pages of a site mostly link to the same
def same_document(url: str) -> str:
    """The form in which *url* is compared: two URLs with one form are asked for once. Raises ValueError for no URL.

    >>> same_document("HTTP://Www.Example.org:80/%7Ea/./b;jsessionid=1A2B?z=1&a=%c3%a9&utm_source=x#top")
    'http://www.example.org/~a/b?a=%C3%A9&z=1'
    >>> same_document("https://example.org/ark:/12148/x?"), same_document("https://example.org")
    ('https://example.org/ark:/12148/x?', 'https://example.org/')
    """
    scheme, authority, path, query, _ = urlsplit(url)
    path = _SESSION_IN_PATH.sub("", path)
    kept = (
        [
            parameter
            for parameter in query.split("&")
            if not bool(_SESSION_PARAMETER.fullmatch(parameter) or _CAMPAIGN_PARAMETER.fullmatch(parameter))
        ]
        if query
        else []
    )
    compared = canonicalize_url(f"{scheme}://{_authority(scheme, authority)}{path or '/'}?{'&'.join(kept)}")
    is_bare = not query and url.partition("#")[0].endswith("?")
    return f"{compared}?" if is_bare else compared


def names_session(url: str) -> bool:
    """Return whether a session id is part of *url*.

    >>> names_session("http://example.org/a;jsessionid=1A2B"), names_session("http://example.org/?sid=12")
    (True, False)
    """
    if ";" not in url and "?" not in url and "/(" not in url:  # most
        return False
    parts = urlsplit(url)
    return _SESSION_IN_PATH.search(parts.path) is not None or any(
        _SESSION_PARAMETER.fullmatch(parameter) for parameter in parts.query.split("&")
    )


def is_for_once(url: str) -> bool:
    """Return whether *url* holds a permit that expires, so that it is no one's name for what is there now.

    >>> is_for_once("https://bucket.example/1.pdf?X-Amz-Expires=60&X-Amz-Signature=0123456789abcdef")
    True
    >>> is_for_once("https://example.org/auction?token=3"), is_for_once("https://example.org/1.pdf")
    (False, False)
    """
    return any(_PERMIT.fullmatch(parameter) for parameter in urlsplit(url).query.split("&"))


def _authority(scheme: str, authority: str) -> str:
    """Host and port without what is understood.

    >>> _authority("https", "me:secret@Example.org.:443"), _authority("http", "[::1]:8080")
    ('example.org', '[::1]:8080')
    """
    host_and_port = authority.rpartition("@")[2].lower()
    host, colon, port = host_and_port.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = host_and_port, ""
    if port and (not port.isascii() or not port.isdigit()):
        raise ValueError(f"not a port: {port!r}")
    is_default = not port or int(port) == _DEFAULT_PORTS.get(scheme)
    return host.rstrip(".") + ("" if is_default else f":{int(port)}")
