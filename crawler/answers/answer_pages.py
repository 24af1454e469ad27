"""Read the statements of an HTML page about itself: the ARKs that it names, their places, and its labelled values.

The page's own text is separated from the site's: menus, banners, footers and lists of links. Beautiful Soup would build
the same tree, but takes longer than all the rest; only its detection of charsets is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias
from urllib.parse import urljoin

from bs4.dammit import EncodingDetector
from lxml import etree

from crawler.answers.erc import QUESTIONS, Record, parse_erc, says_something
from crawler.answers.notices import PageWords
from crawler.answers.quirks import is_visitor_counter, plain, quirks
from crawler.answers.structured import from_json, kernel, plain_key, record_of
from crawler.model.observations import MOST_ARKS, PageFacts
from extractors.find import find_arks
from extractors.model.decoding import text_codec
from extractors.model.urls import refresh_target

#: Maximum number of bytes of markup that are parsed: the time for a hostile page is quadratic in its size.
MARKUP_LIMIT = 2**17
_ASCII_SPACES = " \n\t\f\r"
_LINKS = ("canonical", "cite-as", "describes", "bookmark", "shortlink")
_SELF_META = re.compile(
    r"(?:dc|erc|dcterms|citation|prism|eprints|bepress_citation)[._:-].*|identifier|ark|og:url", re.I
)
_JSON_LD = re.compile(r"application/ld\+json", re.IGNORECASE)
#: Types of scripts that run (HTML, 4.12.1): no type, any name of JavaScript, modules.
_SCRIPT_TYPE = re.compile(r"(?:(?:text|application)/(?:x-)?(?:java|ecma|live|j)script[\d.]*|module)?\Z", re.IGNORECASE)
_SIGNS_ON = re.compile(r"(?:SAMLRequest|wresult|wctx)\Z")
"""The fields of a form that passes a log-in request to another host (SAML and WS-Federation)."""
#: Elements whose text is not part of the page's text.
_HIDDEN = ("script", "style", "template", "noscript", "rt", "rp")
_VALUE_CHARS = 500
_LABELS_END = " :\N{FULLWIDTH COLON}"
_MOST_LINES = 3_000
_MOST_TOLD = 200
_LABEL_CHARS = 60
#: Maximum number of elements around a label that contain nothing else.
_MOST_NESTED = 8
_LABEL_ELEMENTS = ["div", "span", "p", "b", "strong", "label", "h1", "h2", "h3", "h4", "h5", "h6"]


Page: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4."""

#: Browsers also show content after the end tag, so the end tag is removed.
_END_OF_PAGE = re.compile(rb"</html\s*>", re.IGNORECASE)
_TEXTS: Any = etree.XPath(".//text()", smart_strings=False)
#: Maximum number of texts that are searched for a label and its value.
_MOST_TEXTS = 500


def parse_page(markup: bytes, charset: str | None) -> Page:
    """Parse *markup* in *charset* if possible, or else in the charset that it names or looks like.

    >>> page = parse_page(b"<title>A map</title><p>Ink <b>on</b> paper", None)
    >>> texts(page)
    ['A map', 'Ink ', 'on', ' paper']
    """
    charsets = [charset] if charset else []
    detector = EncodingDetector(markup, known_definite_encodings=charsets, is_html=True)
    for encoding in filter(text_codec, detector.encodings):
        try:
            parser: Any = etree.HTMLParser(recover=True, encoding=encoding, huge_tree=True)
            parser.feed(_END_OF_PAGE.sub(b"</body>", detector.markup))
            page = parser.close()
        except (LookupError, etree.XMLSyntaxError):
            continue
        return etree.Element("html") if page is None else page
    raise LookupError("no charset fits")


def texts(tag: Page) -> list[str]:
    """Return the texts in an element, in page order; a text of white space becomes a blank or a line end."""
    return [text if text.strip(_ASCII_SPACES) else ("\n" if "\n" in text else " ") for text in _TEXTS(tag)]


def read_page(markup: bytes, charset: str | None) -> tuple[str | None, str, PageFacts, Record | None]:
    """Return the title of a page, its text, its facts, and its record. Never raises.

    The text is the title and the page's own readable text, without the parts that every page of the site has, with
    folded white space. The record is an ERC in that text, or the description in its JSON-LD.

    >>> title, _, facts, _ = read_page(
    ...     b"<title>A map</title><link rel=canonical href='/ark:/12148/btv1b84'><p>Who: Rossi", None)
    >>> title, facts.arks, dict(facts.kernel_values)
    ('A map', (('ark:12148/btv1b84', 'canonical'),), {'who': 'Rossi'})
    """
    markup = markup[:MARKUP_LIMIT]
    page = parse_page(markup, charset)
    graph = list(_json_ld(page))
    runs_scripts = any(map(_is_script, page.iter("script")))
    named = list(_declared_arks(page, graph))
    source = str(markup, "utf-8", "replace")
    etree.strip_elements(page, *_HIDDEN, with_tail=False)
    title = next((" ".join(filter(None, map(str.strip, texts(tag)))) for tag in page.iter("title")), None)
    lines = "\n".join(texts(page))
    named += [(str(mention.ark), "text") for mention in find_arks(" ".join(lines.split()))]
    links = (tag for tag in page.iter("link") if "canonical" in tag.get("rel", "").lower().split())
    canonical = next((tag.get("href") for tag in links), None) or None
    embedded = _embedded_record(page) or _displayed_record(page)
    kernel_values = _labelled_values(page, lines)
    inputs = list(page.iter("input"))
    refresh = next(map(refresh_target, _refreshes(page)), None)
    own_text, headings = own_part(page)
    text = " ".join(part for part in (" ".join((title or "").split()), own_text) if part)
    challenge = quirks().challenge_in_page(source, title, text)
    if challenge is not None:
        shown, own = _without_asides(markup, charset)
        if not quirks().speaks_of_check(f"{title} {own}"):
            challenge = quirks().challenge_in_page(shown, title, own)
    facts = PageFacts(
        arks=tuple(dict.fromkeys(named))[:MOST_ARKS],
        canonical=canonical,
        refresh=refresh,
        challenge=challenge,
        asks_password=any(tag.get("type") == "password" for tag in inputs),
        runs_scripts=runs_scripts,
        signs_on=any(_SIGNS_ON.search(tag.get("name", "")) for tag in inputs),
        headings=headings,
        kernel_values=kernel_values,
    )
    return title, text, facts, _record(lines, graph) or embedded


#: A page with words may be read until it refreshes after more seconds than this.
_NOTICE_S, _BLANK_S = 1, 5
#: Maximum number of characters of a page that does nothing but refresh.
_REDIRECT_CHARS = 300
#: Elements that show something besides words, or that wait for a person.
_SHOWING = ("form", "iframe", "frame", "frameset", "object", "embed", "video", "canvas")


def redirect_in_page(markup: bytes, charset: str | None, header: str = "") -> str | None:
    """Return the target of a page that does nothing but refresh to another address at once, or None.

    *header* is the value of its Refresh header. The page has no words, or few words around a link to the same address,
    as in "This page has moved". A page that reports an absence or checks for robots does not redirect.

    >>> redirect_in_page(b"<title>Item</title><meta http-equiv=refresh content='0;url=/item/7'>", None)
    '/item/7'
    >>> redirect_in_page(b"<meta http-equiv=refresh content='0;url=/7'><p>Ink on paper, 1784", None) is None
    True
    """
    page = parse_page(markup, charset)
    base = next((tag.get("href", "") for tag in page.iter("base")), "")
    linked = {tag.get("href", "").strip() for tag in page.iter("a")}
    etree.strip_elements(page, *_HIDDEN, with_tail=False)
    value = next(filter(None, (header, *_refreshes(page))), "")
    target = refresh_target(value, within_s=_BLANK_S)
    if target is None or next(page.iter(*_SHOWING), None) is not None:
        return None
    title = " ".join(" ".join(page.xpath("//title//text()")).split())
    text, headings = own_part(page)
    if quirks().challenge_in_page(str(markup, "utf-8", "replace"), title, text):
        return None
    if text:
        is_at_once = refresh_target(value, within_s=_NOTICE_S) is not None
        words = PageWords(title, text, headings)
        if not is_at_once or len(text) > _REDIRECT_CHARS or target not in linked or words.absence or words.withdrawn:
            return None
    try:
        return urljoin(base.strip(), target)
    except ValueError:
        return target


def _refreshes(page: Page) -> Iterator[str]:
    """Yield the values of the meta elements that refresh a page."""
    for tag in page.iter("meta"):
        if tag.get("http-equiv", "").strip().lower() == "refresh":
            yield tag.get("content", "")


def _without_asides(markup: bytes, charset: str | None) -> tuple[str, str]:
    """Return the source and own text of a page without hidden parts and forms that people fill in.

    A challenge widget in such a part does not block access to the page.
    """
    page = parse_page(markup, charset)
    hiding = {name for style in page.iter("style") for name in _HIDDEN_NAME.findall(style.text or "")}
    for tag in list(page.iterdescendants("*")):
        names = {f"#{tag.get('id')}", *(f".{name}" for name in tag.get("class", "").split())}
        if not names.isdisjoint(hiding):
            tag.tag = _SITES
    for tag in _ASIDES(page):
        tag.tag = _SITES
    etree.strip_elements(page, _SITES, with_tail=False)
    source = etree.tostring(page, encoding="unicode", method="html")
    etree.strip_elements(page, *_HIDDEN, with_tail=False)
    return source, own_part(page)[0]


def _is_script(tag: Page) -> bool:
    """Return True if an element is a script that may change the page, not a visitor counter."""
    is_script = _SCRIPT_TYPE.match(tag.get("type", "").strip()) is not None
    return is_script and not is_visitor_counter(tag.get("src", "").strip())


def _declared_arks(page: Page, graph: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Return the ARKs that a page's head names, with the place of each."""
    for link in page.iter("link", "a"):
        relation = next((rel for rel in link.get("rel", "").lower().split() if rel in _LINKS), None)
        if relation:
            yield from _arks(link.get("href", ""), relation)
    for meta in page.iter("meta"):
        name = meta.get("name", "") or meta.get("property", "")
        if _SELF_META.match(name):
            yield from _arks(meta.get("content", ""), name)
    for node in graph:
        for key in ("@id", "identifier", "url", "sameAs", "mainEntityOfPage"):
            if isinstance(node, dict) and node.get(key):
                yield from _arks(json.dumps(node[key], ensure_ascii=False, default=str), "json-ld")


def _arks(text: str, location: str) -> Iterator[tuple[str, str]]:
    for mention in find_arks(text):
        yield str(mention.ark), location


def _json_ld(page: Page) -> Iterator[Any]:
    """Return the nodes of the page's JSON-LD, outermost first."""
    scripts = (tag for tag in page.iter("script") if _JSON_LD.search(tag.get("type", "")))
    for script in islice(scripts, 10):
        try:
            data = json.loads(script.text or "")
        except (ValueError, RecursionError):
            continue
        for node in data if isinstance(data, list) else [data]:
            graph = node.get("@graph") if isinstance(node, dict) else None
            yield from (graph[:50] if isinstance(graph, list) else [node])


def _record(lines: str, graph: Iterable[Any]) -> Record | None:
    """Return an ERC in the page's lines that its label opens, or else the description in its JSON-LD."""
    opening = re.search(r"^[^\S\n]*(?:erc|erc\.who)\s*:", lines, re.MULTILINE)
    if opening:
        erc = parse_erc(lines[opening.start() :].lstrip())
        if erc is not None and erc.anchoring_story is not None and len(erc.anchoring_story.elements) >= 2:
            return erc.display()
    return record_of(list(graph), "json-ld")


def _embedded_record(page: Page) -> Record | None:
    """Return the description in a page's head and attributes (Dublin Core, microdata, RDFa), if it names an ARK."""
    values: dict[str, str] = {}
    for tag in islice(filter(_tells, page.iter("*")), _MOST_TOLD):
        name = tag.get("itemprop", "") or tag.get("property", "") or tag.get("name", "")
        value = tag.get("content", "") or tag.get("href", "") or tag.get("datetime", "")
        words = value or " ".join(_first_texts(tag).split())
        for word in name.split():
            if words:
                values.setdefault(plain_key(word.replace("_", ".")), words[:_VALUE_CHARS])
    answers = kernel(values)
    names_ark = any("ark:" in value.lower() for value in values.values())
    return {"embedded": answers} if names_ark and len(answers) == len(QUESTIONS) else None


def _displayed_record(page: Page) -> Record | None:
    """Return the record in JSON that a page displays as text."""
    texts = ((_only_text(tag) or "").strip() for tag in islice(page.iter("pre", "code"), 20))
    records = (from_json(text) for text in texts if text[:1] in ("{", "["))
    return next((record for record in records if record is not None), None)


def _tells(tag: Page) -> bool:
    is_meta = tag.tag == "meta" and _SELF_META.match(tag.get("name", ""))
    return bool(tag.get("itemprop") or tag.get("property") or is_meta)


def _labelled_values(page: Page, text: str) -> dict[str, str]:
    """Return the values under descriptive labels, by the kernel's names: in lists, in tables, after colons."""
    values: dict[str, str] = {}
    for label, value in (*_pairs(page), *_colon_lines(text), *_values_after_labels(page)):
        question = quirks().question_of_label.get(plain(label).rstrip(_LABELS_END))
        folded = " ".join(value.split())[:_VALUE_CHARS]
        if question and folded and (question == "commitment" or says_something(folded)):
            values.setdefault(question, folded)
    return values


def _only_text(tag: Page) -> str | None:
    """Return the text of an element that contains nothing else, except a few nested elements.

    The depth is limited, because a hostile page may nest ten thousand elements.
    """
    for _ in range(_MOST_NESTED):
        if len(tag) == 0:
            return tag.text or None
        if len(tag) > 1 or tag.text or tag[0].tail or not isinstance(tag[0].tag, str):
            return None
        tag = tag[0]
    return None


def _first_texts(tag: Page) -> str:
    """Return the text of an element, up to a limit, with a blank between its parts."""
    return " ".join(islice(tag.itertext(), _MOST_TEXTS))


def _holds(tag: Page, name: str) -> bool:
    return next(tag.iterdescendants(name), None) is not None


def _pairs(page: Page) -> Iterator[tuple[str, str]]:
    for term in islice(page.iter("dt"), 200):
        definition = next(term.itersiblings("dd"), None)
        if definition is not None and not _holds(definition, "dl") and not _holds(term, "dl"):
            yield _first_texts(term), _first_texts(definition)
    for row in islice(page.iter("tr"), 200):
        # A table for layout.
        if _holds(row, "table"):
            continue
        cells = list(row.iterchildren("th", "td"))
        if len(cells) == 2:
            yield _first_texts(cells[0]), _first_texts(cells[1])
        is_head = len(cells) > 2 and all(cell.tag == "th" for cell in cells)
        for following in islice(row.itersiblings("tr"), 1) if is_head else ():
            below = list(following.iterchildren("th", "td"))
            if len(cells) == len(below):
                yield from zip(map(_first_texts, cells), map(_first_texts, below), strict=True)


def _colon_lines(text: str) -> Iterator[tuple[str, str]]:
    """Return labels with a colon, each with the rest of its line or, if that is empty, the next line."""
    straight = text.replace("\N{FULLWIDTH COLON}", ":").split("\n", _MOST_LINES)[:_MOST_LINES]
    lines = [line.strip() for line in straight if line.strip()]
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        label, colon, value = line.partition(":")
        if colon and len(label) < _LABEL_CHARS:
            yield label, value.strip() or ("" if _is_label(following) else following)


def _values_after_labels(page: Page) -> Iterator[tuple[str, str]]:
    """Return the values next to or below an element that contains only a label."""
    for element in islice(page.iter(*_LABEL_ELEMENTS), _MOST_LINES):
        label = _only_text(element) or ""
        name = plain(label[: _LABEL_CHARS + 1]).rstrip(_LABELS_END)
        if len(label) > _LABEL_CHARS or name not in quirks().question_of_label:
            continue
        for following in islice(element.itersiblings("*"), 1):
            value = _first_texts(following)
            if not _is_label(value + ":"):
                yield label, value


def _is_label(line: str) -> bool:
    label, colon, _ = line.partition(":")
    return bool(colon) and plain(label) in quirks().question_of_label


# -- the page's own text

#: Blocks with at least this number of links, and hardly any other text, are menus.
MENU_LINKS = 4
#: The share of a menu's letters that are in links.
MENU_SHARE = 0.7
#: Maximum number and length of headings that are kept.
MOST_HEADINGS = 4
HEADING_CHARS = 200

_SITES_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar"})
_SITES_NAMES = frozenset({"title", "nav", "dialog", "select"})
_BLOCKS = frozenset({"ul", "ol", "dl", "table", "tr", "td", "div", "section", "aside", "p", "map", "center"})
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
#: Elements that are hidden by an attribute or a usual class name, and forms that people fill in.
_ASIDES: Any = etree.XPath(
    "//*[@hidden or contains(translate(@style, ' ', ''), 'display:none')] | //dialog[not(@open)]"
    " | //form[.//textarea or .//select or .//input[not(@type) or contains(' text email search tel url ', @type)]]"
    + "".join(
        f" | //*[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]"
        for name in ("hidden", "d-none", "is-hidden", "hide", "modal")
    )
)
#: A class or id that is a whole selector in a style sheet, with a rule that hides.
_HIDDEN_NAME = re.compile(r"([.#][\w-]++)\s*+\{[^{}]*?display\s*+:\s*+none")
_LETTER = re.compile(r"[^\W\d_]")
_NO_LETTERS = re.compile(r"[\W\d_]+")
#: The name given to elements that are removed.
_SITES = "sites-part"


@dataclass(slots=True)
class _Weight:
    """The letters and links of an element, without the menus in it."""

    letters: int = 0
    linked: int = 0
    links: int = 0
    has_heading: bool = False

    def add(self, other: _Weight) -> None:
        self.letters += other.letters
        self.linked += other.linked
        self.links += other.links
        self.has_heading |= other.has_heading


def own_part(page: Page) -> tuple[str, tuple[str, ...]]:
    """Return the readable text of a parsed page, without the site's parts and the title, and its first headings.

    The site's parts are removed from *page*, in linear time.

    >>> markup = b"<nav>Home Maps</nav><main><h1>A map</h1><p>Ink on paper</main><footer>Our address</footer>"
    >>> own_part(parse_page(markup, None))
    ('A map Ink on paper', ('A map',))
    """
    etree.strip_elements(page, "title", with_tail=False)
    for cell in page.iter("td", "th"):
        if cell.getprevious() is not None or cell.getparent().getprevious() is not None:
            # A sentence never continues in the next cell.
            cell.text = f" | {cell.text or ''}"
    whole = _folded_text(page)
    elements = list(page.iter("*"))
    weights, sites = _weigh(elements)
    if page in sites:
        return whole, ()
    mains = (tag for tag in elements if tag.tag == "main" or tag.get("role") == "main")
    main = next((tag for tag in mains if weights[tag].letters), page)
    headings = {tag: _folded_text(tag)[:HEADING_CHARS] for tag in page.iter("h1", "h2", "h3")}
    for tag in sites:
        tag.tag = _SITES
    etree.strip_elements(page, _SITES, with_tail=False)
    is_headless = main is not page and not weights[main].has_heading
    parts = [tag for tag in page.iter("*") if tag is main or (is_headless and tag.tag == "h1")]
    text = " ".join(filter(None, map(_folded_text, parts)))
    if not _LETTER.search(text):
        return whole, ()
    own_headings = (headings[tag] for part in parts for tag in part.iter("h1", "h2", "h3"))
    return text, tuple(filter(None, islice(own_headings, MOST_HEADINGS)))


def _weigh(elements: Sequence[Page]) -> tuple[dict[Page, _Weight], list[Page]]:
    """Return the weight of each element, innermost first, and the elements that belong to the site."""
    weights = {tag: _Weight(letters_in(tag.text or "")) for tag in elements}
    sites: list[Page] = []
    articles = {tag for article in elements[0].iter("article") for tag in article.iter("*")}
    for tag in reversed(elements):
        weight, above = weights[tag], weights.get(tag.getparent())
        weight.letters += sum(letters_in(child.tail) for child in tag if child.tail)
        if tag.tag == "a" and tag.get("href"):
            weight.linked, weight.links = weight.letters, 1
        weight.has_heading |= tag.tag == "h1"
        is_linked = weight.linked >= MENU_SHARE * weight.letters
        is_menu = tag.tag in _BLOCKS and weight.links >= MENU_LINKS and is_linked
        if is_menu or _is_sites(tag, in_article=tag in articles, has_heading=weight.has_heading):
            sites.append(tag)
        elif above is not None:
            above.add(weight)
    return weights, sites


def letters_in(text: str) -> int:
    """Return the number of letters in a text.

    >>> letters_in("Ms. 4_a"), letters_in("4 N_\N{GREEK SMALL LETTER ALPHA}")
    (3, 2)
    """
    return len(_NO_LETTERS.sub("", text))


def _is_sites(tag: Page, *, in_article: bool, has_heading: bool) -> bool:
    """Return True if an element belongs to the site by its name or role, or is hidden. A header may contain the title."""
    if tag.tag in _SITES_NAMES or "hidden" in tag.attrib:
        return True
    if tag.tag == "footer":
        return not in_article
    if (tag.tag == "header" and not in_article) or tag.get("role") in _SITES_ROLES:
        return not has_heading
    return _HIDING.search(tag.get("style", "")) is not None


def _folded_text(tag: Page) -> str:
    return " ".join("\n".join(texts(tag)).split())
