"""Where the relative link of a page leads."""

from __future__ import annotations

from urllib.parse import urljoin

from extractors.document_model import Reading, Role
from extractors.mentions.mention import Mention


def relative_resolver(mention: Mention, reading: Reading, page_url: str) -> str | None:
    """Return the resolver of an ARK in a relative link (``/ark:/12148/x``); none for ``ark:/…`` and for text.

    *reading* is that of the page, which is, or was, at *page_url* on the web.
    """
    if mention.role is not Role.LINK_TARGET or mention.resolver is not None:
        return None
    base = urljoin(page_url, reading.base or "")
    for block in reading.blocks:
        before, found, _ = block.text.strip().partition(mention.as_written)
        is_relative = before.endswith("/") and "?" not in before and ":" not in before
        if block.role is Role.LINK_TARGET and found and is_relative:
            return web_url(base, before)
    return None


def web_url(base: str, link: str) -> str | None:
    """The http or https URL that *link* means, without its fragment; a broken one leads nowhere.

    >>> web_url("https://www.bnf.fr/a/", "../b#c"), web_url("https://www.bnf.fr/", "mailto:x")
    ('https://www.bnf.fr/b', None)
    """
    try:
        url = urljoin(base, link.strip())
    except ValueError:
        return None
    return url.partition("#")[0] if url.lower().startswith(("http://", "https://")) else None
