"""The changes of an audit as an Atom feed (RFC 4287)."""

from __future__ import annotations

from urllib.parse import quote
from xml.etree import ElementTree

from arkaudit.features.overview.status import AuditStatus
from reports.formats.junit import xml_text
from reports.languages import Language
from reports.languages.display import escape_invisible
from reports.tables.wording import CHANGE_NAMES

#: The name of the file, which is also its address relative to itself.
FEED = "feed.atom"


def atom_feed(name: str, status: AuditStatus, report_url: str | None, language: Language) -> str:
    """Return the feed of the last changes of the audit *name*; *report_url* is the public address of its report."""
    root = ElementTree.Element("feed", {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": language.code})

    def add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> ElementTree.Element:
        element = ElementTree.SubElement(parent, tag, attributes)
        element.text = escape_invisible(text)
        return element

    add(root, "id", status.id)
    add(root, "title", language.gettext("Changes of the audit {audit}", audit=name))
    add(root, "subtitle", status.summary.headline(language))
    add(root, "updated", max([status.checked_at, *(change.at for change in status.changes)]).isoformat())
    add(add(root, "author"), "name", "arkaudit")
    add(root, "link", rel="self", type="application/atom+xml", href=FEED)
    if report_url:
        add(root, "link", rel="alternate", type="text/html", href=report_url)
    for change in status.changes:
        entry = add(root, "entry")
        add(entry, "id", change.id)
        add(entry, "title", f"{language.gettext(CHANGE_NAMES[change.event])}: {change.ark}")
        add(entry, "updated", change.at.isoformat())
        if report_url:
            add(entry, "link", rel="alternate", type="text/html", href=f"{report_url}#ark={quote(change.ark, safe='')}")
        change_words = language.gettext("{ark} at {url}", ark=change.ark, url=change.url)
        add(entry, "content", f"{change_words}: {change.detail}" if change.detail else change_words)
    return xml_text(root)
