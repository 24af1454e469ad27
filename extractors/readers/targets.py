"""What stands in attributes: targets that lead to further documents, and values that may hold an ARK."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_LABEL = re.compile(
    r"""
    (?: (?<! [^\W\d_] )              # no letter before it: "dark:text-white" is a class name
      | (?<= % [0-9a-f]{2} )         # but the last of an escape is none: "%2Fark"
    )
    a \W? r \W? k \W{0,3}?
    (?: [:\N{FULLWIDTH COLON}] | % (?:25)* 3a | \\u003a )
    """,
    re.VERBOSE | re.IGNORECASE,
)


def leads_to_document(target: str) -> bool:
    """Whether a link target, as written, may lead to a further document on the web.

    >>> list(filter(leads_to_document, ["/a.html", "#top", "mailto:a@b.org", "ark:/12148/btv1b8"]))
    ['/a.html']
    """
    target = target.strip()
    if not target or target.startswith("#"):
        return False
    scheme = _SCHEME.match(target)
    return scheme is None or scheme[0].lower() in {"http:", "https:"}


def may_hold_ark(value: str) -> bool:
    """Whether a value is worth a closer look: it holds something like the label, in one of its spellings.

    >>> may_hold_ark("https://n2t.net/ark%3A/12148/btv1b8"), may_hold_ark("dark:text-white")
    (True, False)
    """
    return _LABEL.search(value) is not None
