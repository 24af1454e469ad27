"""Read the statements of an HTML page about itself: the ARKs that it names, their places, and its labelled values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice, takewhile
from typing import Any
from urllib.parse import quote

from crawler.answers.erc import QUESTIONS, Record, parse_erc, says_something
from crawler.answers.notices import PageWords
from crawler.answers.own_part import (
    FEW_LETTERS,
    MEDIA,
    WITHOUT_TEXT,
    Page,
    folded_text,
    is_all_of_site,
    is_hidden,
    letters_in,
    own_part,
    parse_page,
    remove,
)
from crawler.answers.page_copies import OTHER_SCHEME
from crawler.answers.quirks import LABEL_CHARS, is_error_page_path, is_search, is_visitor_counter, plain, quirks
from crawler.answers.structured import from_json, kernel, metadata_record_in, plain_key
from crawler.answers.withdrawals import ARK_OR_URL
from crawler.model.observations import MOST_ARKS, PageFacts
from extractors.find import find_arks
from extractors.model.urls import join_url, refresh_target, split_url

#: Maximum number of bytes of markup to parse: the time for a hostile page is quadratic in its size. It also bounds the
#: memory for the pages that `read_page` remembers.
MARKUP_LIMIT = 2**17
_SELF_RELATIONS = ("canonical", "cite-as", "describes", "bookmark", "shortlink")
_SELF_META = re.compile(
    r"(?:dc|erc|dcterms|citation|prism|eprints|bepress_citation)[._:-].*|identifier|ark|og:url", re.I
)
#: Types of scripts that run (HTML, 4.12.1): no type, any name of JavaScript, modules.
_SCRIPT_TYPE = re.compile(r"(?:(?:text|application)/(?:x-)?(?:java|ecma|live|j)script[\d.]*|module)?\Z", re.IGNORECASE)
_VALUE_CHARS = 500
#: Attributes with the address of a link, a picture, a player or its source; and others that may have one.
_URL_ATTRIBUTES = ("href", "src", "srcset", "data", "poster")
_POSSIBLE_URL_ATTRIBUTE = re.compile(r"content\Z|data-")
_ABSOLUTE = re.compile(r"(?:https?:/)?/\S+\Z")
_IN_STYLE = re.compile(r"url\([\"']?(?P<address>[^\"')]{1,300})")
_IN_SCRIPT = re.compile(r"""["'](?P<address>(?:https?:/)?/[^"'\s<>\\]{2,300})["']""")
#: The redirect in a script that does little else.
_SCRIPT_REDIRECT = re.compile(
    r"""\blocation (?: (?:\.href)? \s* = | \.(?:replace|assign) \( ) \s* ["'] (?P<address>[^"'\s]{1,300}) ["']""",
    re.VERBOSE,
)
_MOST_REFERENCES = 200
_LABEL_END = " :\N{FULLWIDTH COLON}"
_MOST_LINES = 3_000
_MOST_PROPERTIES = 200
#: Maximum number of words of an unknown label.
_LABEL_WORDS = 4

#: The ends of names of fields of a form that passes a log-in request to another host (SAML and WS-Federation).
_SIGN_ON_FIELDS = ("SAMLRequest", "wresult", "wctx")
#: Elements that show something besides words, or that wait for a person.
_CONTENT_ELEMENTS = ("form", "iframe", "frame", "frameset", "object", "embed", "video", "canvas")
#: Elements that may show an object.
_SHOWN_ELEMENTS = tuple({*MEDIA} - {"form", "svg"})
_VIEWERS = ("iframe", "frame", "embed", "object")
_CELLS = ("th", "td")
_FIELDS = ("input", "select", "textarea")
_LABEL_ELEMENTS = ("div", "span", "p", "b", "strong", "label", "h1", "h2", "h3", "h4", "h5", "h6")
#: Usual class names of hidden elements.
_HIDDEN_CLASSES = frozenset({"hidden", "d-none", "is-hidden", "hide", "modal", "dropdown-menu"})
#: Types of fields that people fill in.
_TYPED_FIELDS = ("", "text", "email", "search", "tel", "url")
#: A class or id that is a whole selector in a style sheet, with a rule that hides.
_HIDDEN_NAME = re.compile(r"([.#][\w-]++)\s*+\{[^{}]*?display\s*+:\s*+none")
#: A template of a record labels at least this number of questions.
_ENOUGH_LABELS = 2
#: Maximum number of texts that are searched for a label and its value.
_MOST_TEXTS = 500


# A host that ignores inflections sends the same page for the object, `?info`, `??` and `?`.
@lru_cache(maxsize=256)
def read_page(markup: bytes, charset: str | None) -> tuple[str | None, str, PageFacts, Record | None, tuple[str, ...]]:
    """Return title, text, facts and record of a page, and the addresses in its attributes and scripts. Never raises.

    The text is the title and the page's own readable text, without the parts that every page of the site has, with
    folded white space. The record is an ERC in the page's lines, or a description in JSON-LD or attributes, or None.

    >>> title, _, facts, _, _ = read_page(
    ...     b"<title>A map</title><link rel=canonical href='/ark:/12148/btv1b84'><p>Who: Rossi", None)
    >>> title, facts.arks, dict(facts.kernel_values)
    ('A map', (('ark:12148/btv1b84', 'canonical'),), {'who': 'Rossi'})
    """
    page = parse_page(markup, charset)
    graph = list(_json_ld(page))
    runs_scripts = any(map(_is_script, page("script")))
    declared_arks = list(_declared_arks(page, graph))
    source = str(markup, "utf-8", "replace")
    noscript_text = plain(" ".join(map(folded_text, page("noscript"))))
    hidden_text = " ".join(folded_text(tag) for tag in page(True) if is_hidden(tag))
    scripts = [tag.get_text().replace("\\/", "/") for tag in page("script")]
    in_scripts = [match["address"] for script in scripts for match in _IN_SCRIPT.finditer(script)]
    remove(page.find_all(WITHOUT_TEXT))
    title = _title(page)
    lines = page.get_text("\n")
    declared_arks += [(str(mention.ark), "text") for mention in find_arks(" ".join(lines.split()))]
    canonical = next((link.get("href") for link in page("link") if "canonical" in _relations(link)), None)
    refresh = next(map(refresh_target, _refreshes(page)), None)
    embedded = _embedded_record(page) or _displayed_record(page)
    kernel_values = _labelled_values(page, lines)
    asks_password = any(map(_is_shown, [field for field in page("input") if _declared_type(field) == "password"][:20]))
    is_described = not kernel_values.keys() <= {"where"}
    has_empty_fields = not is_described and _has_empty_fields(page)
    signs_on = any(field.get("name", "").endswith(_SIGN_ON_FIELDS) for field in page("input"))
    has_preview = page.find("meta", property="og:image") is not None
    has_only_site_parts = not runs_scripts and is_all_of_site(page)
    own_text, headings, own_elements = own_part(page)
    if letters_in(own_text) <= FEW_LETTERS:
        refresh = refresh or _script_target(scripts)
    is_bare = not is_described and page.find(MEDIA) is None
    is_unfilled = has_empty_fields or (is_bare and _has_only_labels(own_text, headings))
    text = " ".join(part for part in (" ".join((title or "").split()), own_text) if part)
    challenge = quirks().challenge_in_page(source, title, text, f"{noscript_text} {hidden_text}")
    if challenge is not None and not quirks().check.is_about_people(noscript_text):
        shown_source, shown_text = _without_hidden_parts(markup, charset)
        if not quirks().speaks_of_check(f"{title} {shown_text}"):
            challenge = quirks().challenge_in_page(shown_source, title, shown_text)
    facts = PageFacts(
        arks=tuple(dict.fromkeys(declared_arks))[:MOST_ARKS],
        canonical=canonical or None,
        refresh=refresh,
        challenge=challenge,
        asks_password=asks_password,
        runs_scripts=runs_scripts,
        signs_on=signs_on,
        is_unfilled=is_unfilled or has_only_site_parts,
        is_only_text=not has_preview and _is_only_text(own_elements, in_scripts),
        headings=headings,
        kernel_values=kernel_values,
    )
    references = tuple(islice(dict.fromkeys((*_references(page), *in_scripts)), _MOST_REFERENCES))
    return title, text, facts, _record_in_lines(lines, graph) or embedded, references


def _references(page: Page) -> Iterator[str]:
    """Return the addresses in attributes and styles of a page's elements: links, media, players.

    The address of a player or viewer is escaped as a whole, because its query names what it shows.
    """
    for tag in page(True):
        for name, value in tag.attrs.items():
            address = _IN_STYLE.search(str(value)) if name == "style" else None
            is_address = name in _URL_ATTRIBUTES or (
                _POSSIBLE_URL_ATTRIBUTE.match(name) and _ABSOLUTE.match(str(value))
            )
            if address or (is_address and isinstance(value, str)):
                reference = (address["address"] if address else value.strip())[:_VALUE_CHARS]
                # The query or the fragment of a viewer names what it shows.
                yield quote(reference) if tag.name in _VIEWERS else reference


def _is_only_text(own_elements: Iterable[Page], in_scripts: Iterable[str]) -> bool:
    """Return True if a page has no media, and no address that may be that of an object.

    *own_elements* are its elements without the site's parts, and *in_scripts* the addresses in its scripts.
    """
    bodies = [element.body or element for element in own_elements]
    if any(body.find(_SHOWN_ELEMENTS) is not None for body in bodies):
        return False
    return all(map(_is_of_no_object, chain(in_scripts, *map(_references, bodies))))


def _is_of_no_object(address: str) -> bool:
    """Return True for an address of mail, of a home page, of a search, or of a host that counts visitors."""
    if not address.strip("#") or OTHER_SCHEME.match(address):
        return True
    return _is_home(address) or is_search(address) or is_visitor_counter(address)


def _script_target(scripts: Iterable[str]) -> str | None:
    """Return the address of a home page or error page to which a short script redirects, or None."""
    matches = (_SCRIPT_REDIRECT.search(script) for script in scripts if len(script) <= _REDIRECT_CHARS)
    addresses = (match["address"] for match in matches if match)
    return next((address for address in addresses if _is_home(address) or is_error_page_path(address)), None)


def _is_home(address: str) -> bool:
    """Return True if an *address* has the path of a home page, and neither query nor fragment."""
    parts = split_url(address)
    is_whole = not parts.query and "#" not in address
    return is_whole and quirks().address.root_path.match(parts.path) is not None


def _title(page: Page) -> str | None:
    """Return the text of the title element with folded white space, or None without that element."""
    return None if page.title is None else " ".join(page.title.stripped_strings)


#: A page with words may be read until it refreshes after more seconds than this.
_NOTICE_S, _BLANK_S = 1, 5
#: Maximum number of characters of a page that does nothing but refresh.
_REDIRECT_CHARS = 300


def redirect_in_page(markup: bytes, charset: str | None, header: str = "") -> str | None:
    """Return the target of a page that does nothing but refresh to another address at once, or None.

    *header* is the value of the answer's Refresh header. The page has no words, or few words around a link to the same
    address, as in "This page has moved". A page that reports an absence or checks for robots does not redirect. The
    target is relative to the page's ``base`` element, if it has one.

    >>> redirect_in_page(b"<title>Item</title><meta http-equiv=refresh content='0;url=/item/7'>", None)
    '/item/7'
    >>> redirect_in_page(b"<meta http-equiv=refresh content='0;url=/7'><p>Ink on paper, 1784", None) is None
    True
    """
    page = parse_page(markup, charset)
    base_url = next((tag.get("href", "") for tag in page("base")), "")
    link_targets = {tag["href"].strip() for tag in page("a", href=True)}
    remove(page.find_all(WITHOUT_TEXT))
    value = next(filter(None, (header, *_refreshes(page))), "")
    target = refresh_target(value, within_s=_BLANK_S)
    if target is None or page.find(_CONTENT_ELEMENTS) is not None:
        return None
    title = _title(page) or ""
    text, headings, _ = own_part(page)
    if quirks().challenge_in_page(str(markup, "utf-8", "replace"), title, text):
        return None
    if text:
        is_at_once = refresh_target(value, within_s=_NOTICE_S) is not None
        words = PageWords(title, text, headings)
        if (
            not is_at_once
            or len(text) > _REDIRECT_CHARS
            or target not in link_targets
            or words.absence
            or words.withdrawn
        ):
            return None
    return join_url(base_url.strip(), target) or target


def _without_hidden_parts(markup: bytes, charset: str | None) -> tuple[str, str]:
    """Return source and own text (`own_part`) of a page, both without hidden parts and forms that people fill in.

    A challenge widget in such a part does not block access to the page.
    """
    page = parse_page(markup, charset)
    hidden = {name for style in page("style") for name in _HIDDEN_NAME.findall(style.get_text())}
    for tag in page(True):
        if not hidden.isdisjoint({f"#{tag.get('id', '')}", *(f".{name}" for name in tag.get("class", ()))}):
            tag.extract()
    remove([tag for tag in page(True) if _is_hidden_until_opened(tag) or is_hidden(tag) or _is_form_to_fill_in(tag)])
    source = str(page)
    remove(page.find_all(WITHOUT_TEXT))
    return source, own_part(page).text


def _is_script(tag: Page) -> bool:
    """Return True if an element is a script that may change the page, not a visitor counter."""
    is_script = _SCRIPT_TYPE.match(tag.get("type", "").strip()) is not None
    return is_script and not is_visitor_counter(tag.get("src", "").strip())


def _is_shown(field: Page) -> bool:
    """Return True if no element around a field of a form is hidden."""
    return not _is_hidden_until_opened(field) and not any(
        _is_hidden_until_opened(tag) or is_hidden(tag) for tag in field.parents
    )


def _is_hidden_until_opened(tag: Page) -> bool:
    """Return True if an element stays hidden until a visitor opens it: by a usual class name, or as a closed dialog."""
    is_closed = tag.name == "dialog" and not tag.has_attr("open")
    return is_closed or not _HIDDEN_CLASSES.isdisjoint(tag.get("class", ()))


def _is_form_to_fill_in(tag: Page) -> bool:
    """Return True if an element is a form with a field that people fill in."""
    if tag.name != "form":
        return False
    return bool(tag(("textarea", "select"))) or any(_declared_type(field) in _TYPED_FIELDS for field in tag("input"))


def _declared_type(tag: Page) -> str:
    """Return the type that an element declares, in lower case."""
    return str(tag.get("type", "")).lower()


def _relations(tag: Page) -> list[str]:
    """Return the relations of a link, in lower case."""
    return [relation.lower() for relation in tag.get("rel", ())]


def _refreshes(page: Page) -> list[str]:
    """Return the contents of the refresh elements of a page, such as ``0;url=/item/7``."""
    return [meta.get("content", "") for meta in page("meta") if "refresh" in meta.get("http-equiv", "").lower().split()]


def _declared_arks(page: Page, graph: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Return the ARKs in links, meta elements and JSON-LD (*graph*), each with the relation, name or ``json-ld``."""
    for link in page.find_all(("link", "a")):
        relation = next((rel for rel in _relations(link) if rel in _SELF_RELATIONS), None)
        if relation:
            yield from _located_arks(link.get("href", ""), relation)
    for meta in page("meta"):
        name = meta.get("name", "") or meta.get("property", "")
        if _SELF_META.match(name):
            yield from _located_arks(meta.get("content", ""), name)
    for node in graph:
        for key in ("@id", "identifier", "url", "sameAs", "mainEntityOfPage"):
            if isinstance(node, dict) and node.get(key):
                yield from _located_arks(json.dumps(node[key], ensure_ascii=False, default=str), "json-ld")


def _located_arks(text: str, location: str) -> Iterator[tuple[str, str]]:
    """Return the ARKs in *text* in normal form, each with *location*, the part of the page that has the text."""
    for mention in find_arks(text):
        yield str(mention.ark), location


def _json_ld(page: Page) -> Iterator[Any]:
    """Return the nodes of the page's JSON-LD, outermost first."""
    for script in [script for script in page("script") if "application/ld+json" in _declared_type(script)][:10]:
        try:
            data = json.loads(script.get_text())
        except (ValueError, RecursionError):
            continue
        for node in data if isinstance(data, list) else [data]:
            graph = node.get("@graph") if isinstance(node, dict) else None
            yield from (graph[:50] if isinstance(graph, list) else [node])


def _record_in_lines(lines: str, graph: Iterable[Any]) -> Record | None:
    """Return the ERC that begins with a label in *lines*, or else the record in JSON-LD (*graph*), or None."""
    opening = re.search(r"^[^\S\n]*(?:erc|erc\.who)\s*:", lines, re.MULTILINE)
    if opening:
        erc = parse_erc(lines[opening.start() :].lstrip())
        if erc is not None and erc.anchoring_story is not None and len(erc.anchoring_story.elements) >= 2:
            return erc.display()
    return metadata_record_in(list(graph), "json-ld")


def _embedded_record(page: Page) -> Record | None:
    """Return the description in meta elements and attributes (Dublin Core, microdata, RDFa), or None.

    None if it names no ARK or does not answer all four questions.
    """
    values: dict[str, str] = {}
    for tag in islice(filter(_has_property, page.find_all(True)), _MOST_PROPERTIES):
        keys = tag.get("itemprop", "") or tag.get("property", "") or tag.get("name", "")
        value = tag.get("content", "") or tag.get("href", "") or tag.get("datetime", "")
        text = value or " ".join(_first_texts(tag).split())
        for key in keys.split():
            if text:
                values.setdefault(plain_key(key.replace("_", ".")), text[:_VALUE_CHARS])
    answers = kernel(values)
    names_ark = any("ark:" in value.lower() for value in values.values())
    return {"embedded": answers} if names_ark and len(answers) == len(QUESTIONS) else None


def _has_property(tag: Page) -> bool:
    """Return True if an element states a property of the page's subject: in microdata, RDFa, or meta elements of Dublin
    Core.
    """
    return bool(
        tag.get("itemprop") or tag.get("property") or (tag.name == "meta" and _SELF_META.match(tag.get("name", "")))
    )


def _displayed_record(page: Page) -> Record | None:
    """Return the first record in JSON that a page displays as text, or None."""
    candidate_texts = ((tag.string or "").strip() for tag in page.find_all(("pre", "code"), limit=20))
    records = (from_json(text) for text in candidate_texts if text[:1] in ("{", "["))
    return next((record for record in records if record is not None), None)


def _labelled_values(page: Page, text: str) -> dict[str, str]:
    """Return the first value under a label, by the question (``who``, …): in lists, in tables, after colons."""
    values: dict[str, str] = {}
    for label, value in (*_labelled_pairs(page), *_colon_lines(text), *_values_after_labels(page)):
        question = quirks().question_of(plain(label).rstrip(_LABEL_END))
        folded = " ".join(value.split())[:_VALUE_CHARS]
        if question and folded and (question == "commitment" or says_something(folded)):
            values.setdefault(question, folded)
    return values


def _first_texts(tag: Page) -> str:
    """Return the text of an element, up to a limit, with a blank between its parts."""
    return " ".join(islice(tag.strings, _MOST_TEXTS))


def _labelled_pairs(page: Page) -> Iterator[tuple[str, str]]:
    """Return the terms of lists with their definitions, and the labels of tables with their values."""
    for definition in page("dd")[:200]:
        for term in takewhile(lambda sibling: sibling.name != "dd", definition.previous_siblings):
            if term.name == "dt" and not term("dl") and not definition(("dl", *_FIELDS)):
                yield _first_texts(term), _first_texts(definition)
    for row in page("tr")[:200]:
        # A table for layout, or a form.
        if row(("table", *_FIELDS)):
            continue
        cells = row.find_all(_CELLS, recursive=False)
        if len(cells) == 2:
            yield _first_texts(cells[0]), _first_texts(cells[1])
        is_head = len(cells) > 2 and all(cell.name == "th" for cell in cells)
        next_row = row.find_next_sibling("tr") if is_head else None
        values_below = [] if next_row is None else next_row.find_all(_CELLS, recursive=False)
        if len(cells) == len(values_below):
            yield from zip(map(_first_texts, cells), map(_first_texts, values_below), strict=True)


def _has_empty_fields(page: Page) -> bool:
    """Return True if the lists and tables of a page have two known labels or three unknown ones, and none has a value."""
    labels, values = [], []
    for label, value in _labelled_pairs(page):
        labels.append(plain(label).rstrip(_LABEL_END))
        values.append(value.strip())
    known_label_count = sum(label in quirks().question_of_label for label in labels)
    return not any(values) and (known_label_count >= _ENOUGH_LABELS or sum(map(bool, labels)) > _ENOUGH_LABELS)


def _has_only_labels(text: str, headings: Iterable[str]) -> bool:
    """Return True if a text, without headings and addresses, has only labels, and words such as "null" as values.

    At least two labels must be known. Others may be any few words before a colon.

    >>> _has_only_labels("Record Title: Author: - Shelfmark: | Date: null", ["Record"]), _has_only_labels("Date: 1784", [])
    (True, False)
    """
    for heading in headings:
        text = text.replace(heading, " ", 1)
    remaining_text = ARK_OR_URL.sub(" ", text.replace("\N{FULLWIDTH COLON}", ":"))
    parts = [plain(" ".join(filter(says_something, part.split()))) for part in remaining_text.split(":")]
    known_label_count = sum(part in quirks().question_of_label for part in parts)
    if len(parts) > 1:
        *labels, last_part = parts
        are_labels = all(label and len(label.split()) <= _LABEL_WORDS for label in labels)
        return are_labels and not last_part and known_label_count >= _ENOUGH_LABELS
    words = parts[0].split()
    return len(words) >= _ENOUGH_LABELS and set(words) <= quirks().label_words


def _colon_lines(text: str) -> Iterator[tuple[str, str]]:
    """Return labels with a colon, each with the rest of its line or, if that is empty, the next line."""
    first_lines = text.replace("\N{FULLWIDTH COLON}", ":").split("\n", _MOST_LINES)[:_MOST_LINES]
    lines = [line.strip() for line in first_lines if line.strip()]
    for line, next_line in zip(lines, [*lines[1:], ""], strict=False):
        label, colon, value = line.partition(":")
        if colon and len(label) < LABEL_CHARS:
            yield label, value.strip() or ("" if next_line.endswith(":") or _is_label(next_line) else next_line)


def _values_after_labels(page: Page) -> Iterator[tuple[str, str]]:
    """Return labels that are alone in an element, with the text of the next element."""
    for element in page.find_all(_LABEL_ELEMENTS, limit=_MOST_LINES):
        label = element.string or ""
        plain_label = plain(label[: LABEL_CHARS + 1]).rstrip(_LABEL_END)
        if len(label) > LABEL_CHARS or quirks().question_of(plain_label) is None:
            continue
        next_element = element.find_next_sibling(True)
        value = "" if next_element is None else _first_texts(next_element).strip()
        if value and not value.endswith((":", "\N{FULLWIDTH COLON}")) and not _is_label(value + ":"):
            yield label, value


def _is_label(line: str) -> bool:
    """Return True if a line begins with a descriptive label and a colon: "Author: Rossi"."""
    label, colon, _ = line.partition(":")
    return bool(colon) and quirks().question_of(plain(label)) is not None
