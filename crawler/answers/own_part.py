"""Parse the HTML of an answer, and separate the page's own text from the site's: menus, banners, footers, lists of links.

Pages may be hostile, so the size of a tree is limited. All searches then take bounded time. They are plain conditions,
because CSS selectors take longer to prepare than most pages to read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from bs4 import BeautifulSoup
from bs4.builder._lxml import LXMLTreeBuilder
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString
from bs4.exceptions import ParserRejectedMarkup

from extractors.model.decoding import text_codec

Page: TypeAlias = Any
"""A `bs4.Tag`. Its published types allow lists as the values of all attributes."""

#: Maximum number of elements around an element, and of pairs of an element and one around it. Conditions on ancestors
#: or descendants test each pair. Browsers keep 512 levels, but usual pages have fewer than 60, and 50,000 pairs.
_MOST_LEVELS, _MOST_PAIRS = 250, 400_000
#: Browsers also show content after the end tag, so the end tag is removed.
_END_OF_PAGE = re.compile(rb"</html\s*>", re.IGNORECASE)

#: Elements whose text is not part of the page's text.
WITHOUT_TEXT = ("script", "style", "template", "noscript", "rt", "rp")
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
#: Maximum number of letters of a page whose pictures, or the address that it leads to, may have its message.
FEW_LETTERS = 40
#: Maximum number of letters of a hidden message.
_MESSAGE_LETTERS = 200
_SITE_ELEMENTS = ("nav", "dialog", "select")
#: Roles of the site's parts, unless the page's heading is in them.
_SITE_ROLES = ("navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar")
#: Elements that show something, or that people fill in.
MEDIA = ("img", "image", "svg", "audio", "video", "canvas", "iframe", "frame", "object", "embed", "form")
_HEADINGS = ("h1", "h2", "h3")
#: Cells of tables, and members of lists of terms.
_CELLS = ("td", "th", "dt", "dd")

#: Blocks with at least this number of links, and hardly any other text, are menus.
MENU_LINKS = 4
#: The share of a menu's letters that are in links.
MENU_SHARE = 0.7
_BLOCKS = frozenset({"ul", "ol", "dl", "table", "tr", "td", "div", "section", "aside", "p", "map", "center"})
#: Maximum number and length of headings that are kept.
MOST_HEADINGS = 4
HEADING_CHARS = 200
_LETTER = re.compile(r"[^\W\d_]")
_NO_LETTERS = re.compile(r"[\W\d_]+")


class _PageBuilder(LXMLTreeBuilder):
    """Builds the tree of a page without comments. Beyond the limits it leaves out elements, but not their text."""

    soup: Any

    def initialize_soup(self, soup: BeautifulSoup) -> None:
        super().initialize_soup(soup)
        self._depth = self._open_omitted_tags = self._pair_count = 0

    def prepare_markup(
        self, markup: Any, user_specified_encoding: str | None = None, *_: Any, **__: Any
    ) -> Iterator[tuple[bytes, str, None, bool]]:
        """Yield the markup with each charset to try."""
        charsets = [user_specified_encoding] if user_specified_encoding else []
        detector = EncodingDetector(markup, known_definite_encodings=charsets, is_html=True)
        for charset in filter(text_codec, detector.encodings):
            yield _END_OF_PAGE.sub(b"</body>", detector.markup), charset, None, False

    def feed(self, markup: Any) -> None:
        super().feed(markup)
        if markup and not self.soup.contents:
            raise ParserRejectedMarkup("it is not in this charset")

    def start(self, tag: Any, *attributes: Any) -> None:
        if self._open_omitted_tags or self._depth == _MOST_LEVELS or self._pair_count >= _MOST_PAIRS:
            self._open_omitted_tags += 1
            self.soup.endData()
        else:
            self._pair_count += self._depth
            self._depth += 1
            super().start(tag, *attributes)

    def end(self, tag: Any) -> None:
        if self._open_omitted_tags:
            self._open_omitted_tags -= 1
            self.soup.endData()
        else:
            self._depth -= 1
            super().end(tag)

    def comment(self, text: Any) -> None:
        self.soup.endData()


def parse_page(markup: bytes, charset: str | None) -> Page:
    """Parse *markup* in *charset* if possible, or else in the charset that it names or looks like.

    >>> list(parse_page(b"<title>A map</title><p>Ink <b>on</b> paper", None).stripped_strings)
    ['A map', 'Ink', 'on', 'paper']
    """
    try:
        # Beautiful Soup warns about short bytes that look like the name of a file, but not about a file of them.
        return BeautifulSoup(BytesIO(markup), builder=_PageBuilder, from_encoding=charset)
    except ParserRejectedMarkup:  # it has no element in any charset
        return BeautifulSoup(b"", builder=_PageBuilder)


def remove(tags: Iterable[Page]) -> None:
    """Remove elements from a page."""
    for tag in tags:
        tag.extract()


def is_hidden(tag: Page) -> bool:
    """Return True if an attribute hides an element other than ``html`` and ``body``, which a script will show."""
    has_hiding_attribute = tag.has_attr("hidden") or _HIDING.search(tag.get("style", "")) is not None
    return has_hiding_attribute and tag.name not in ("html", "body")


def folded_text(tag: Page) -> str:
    """Return the text of an element with folded white space."""
    return " ".join(tag.get_text(" ").split())


class OwnPart(NamedTuple):
    """The contents of a page without the menus, banners and footers of its site."""

    text: str
    """The readable text without the title."""
    headings: tuple[str, ...]
    """The first headings."""
    elements: Sequence[Page]
    """The elements with the text, their contents without the site's parts."""


def own_part(page: Page) -> OwnPart:
    """Return the contents of *page* without the menus, banners and footers of its site.

    These, the title and hidden elements are removed from *page* itself.

    >>> markup = b"<nav>Home Maps</nav><main><h1>A map</h1><p>Ink on paper</main><footer>Our address</footer>"
    >>> own_part(parse_page(markup, None))[:2]
    ('A map Ink on paper', ('A map',))
    """
    remove(page("title"))
    for cell in page.find_all(_CELLS):
        if cell.find_previous_sibling(True) or cell.parent.find_previous_sibling(True):
            # A sentence never continues in the next cell.
            cell.insert(0, " | ")
    mains = [tag for tag in page(True) if tag.name == "main" or tag.get("role") == "main"]
    removed = _remove_site_parts(page)
    main_part = next((tag for tag in mains if _LETTER.search(tag.get_text())), page)
    parts = [main_part]
    if main_part is not page:
        # A main part may be in a removed part. Its heading may be before it.
        is_headless = main_part.h1 is None
        parts = [tag for tag in page(True) if tag is main_part or (is_headless and tag.name == "h1")]
    text = " ".join(filter(None, map(folded_text, parts)))
    if letters_in(text) <= FEW_LETTERS:
        # A page of few words may say in pictures what it is about.
        picture_texts = (picture.get("alt", "") for part in parts for picture in part("img"))
        text = " ".join(filter(None, (*picture_texts, text)))
    if not _LETTER.search(text):
        # A short hidden part is a message for later, such as "Item not found". A long one may be shown by a script.
        parts = [page, *(tag for tag in removed if letters_in(tag.get_text()) > _MESSAGE_LETTERS or not is_hidden(tag))]
        return OwnPart(" ".join(filter(None, map(folded_text, parts))), (), parts)
    heading_elements = (tag for part in parts for tag in (part, *part.find_all(_HEADINGS)) if tag.name in _HEADINGS)
    headings = (folded_text(tag)[:HEADING_CHARS] for tag in islice(heading_elements, MOST_HEADINGS))
    return OwnPart(text, tuple(filter(None, headings)), parts)


def _remove_site_parts(page: Page) -> list[Page]:
    """Remove menus, hidden elements and other parts of the site from *page*, and return them in page order."""
    # Elements are known by `id`, because Beautiful Soup compares them by their content.
    counts = [defaultdict[int, int](int) for _ in range(4)]
    letters, linked_letters, link_counts, headings = counts
    removed: list[Page] = []
    for tag in reversed(page(True)):
        key = id(tag)
        letters[key] += sum(letters_in(child) for child in tag.contents if isinstance(child, NavigableString))
        headings[key] += tag.name == "h1"
        if tag.name == "a" and tag.get("href"):
            linked_letters[key], link_counts[key] = letters[key], 1
        is_menu = (
            tag.name in _BLOCKS and link_counts[key] >= MENU_LINKS and linked_letters[key] >= MENU_SHARE * letters[key]
        )
        if is_menu or _is_site_part(tag) or is_hidden(tag) or (_is_page_header(tag) and not headings[key]):
            removed.append(tag)
        else:
            for count in counts:
                count[id(tag.parent)] += count[key]
    # In page order, because Beautiful Soup counts the siblings before an element.
    removed.reverse()
    remove(removed)
    return removed


def _is_site_part(tag: Page) -> bool:
    return tag.name in _SITE_ELEMENTS or (tag.name == "footer" and tag.find_parent("article") is None)


def _is_page_header(tag: Page) -> bool:
    return tag.get("role") in _SITE_ROLES or (tag.name == "header" and tag.find_parent("article") is None)


def is_all_of_site(page: Page) -> bool:
    """Return True if a page has words or media, and all of these are in the site's parts, such as menus.

    >>> [is_all_of_site(parse_page(markup, None)) for markup in (b"<nav>Maps", b"<nav>Maps</nav><p><img src=7.jpg>")]
    [True, False]
    """
    tags = page(True)
    site_part_ids = {id(tag) for tag in tags if _is_site_part(tag) or (_is_page_header(tag) and tag.h1 is None)}
    contents = [tag for tag in tags if tag.name != "title" and (tag.name in MEDIA or _has_words(tag))]
    return bool(contents) and all(any(id(part) in site_part_ids for part in (tag, *tag.parents)) for tag in contents)


def _has_words(tag: Page) -> bool:
    """Return True if an element itself has a letter or a digit."""
    return any(any(map(str.isalnum, child)) for child in tag.contents if isinstance(child, NavigableString))


def letters_in(text: str) -> int:
    """Return the number of letters in a text.

    >>> letters_in("Ms. 4_a"), letters_in("4 N_\N{GREEK SMALL LETTER ALPHA}")
    (3, 2)
    """
    return len(_NO_LETTERS.sub("", text))
