"""Pure: what an HTML page says about itself: which ARKs it names and where, what it says under which labels."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from crawler.answers.erc import QUESTIONS, Record, parse_erc, says_something
from crawler.answers.page_tree import Element, Node, Text, own_part, parsed
from crawler.answers.quirks import is_visitor_counter, plain, quirks, refresh_target
from crawler.answers.structured import from_json, kernel, plain_key, record_of
from crawler.model.observations import MOST_ARKS, PageFacts
from extractors.find import find_arks

#: Bytes of markup that are parsed: a page made to be slow costs the square of its length.
MARKUP_LIMIT = 2**17
_LINKS = ("canonical", "cite-as", "describes", "bookmark", "shortlink")
_SELF_META = re.compile(r"(?:dc|dcterms|citation|prism|eprints|bepress_citation)[._:-].*|identifier|ark|og:url", re.I)
_JSON_LD = re.compile(r"application/ld\+json", re.IGNORECASE)
#: The types of scripts that run (HTML, 4.12.1): none, JavaScript by any of its names, modules.
_SCRIPT_TYPE = re.compile(r"(?:(?:text|application)/(?:x-)?(?:java|ecma|live|j)script[\d.]*|module)?\Z", re.IGNORECASE)
_SIGNS_ON = re.compile(r"(?:SAMLRequest|wresult|wctx)\Z")
"""The fields of a form that hands a request for a log-in on to someone else (SAML and WS-Federation)."""
_HIDDEN = ("script", "style", "template", "noscript")
_VALUE_CHARS = 500
_LABELS_END = " :\N{FULLWIDTH COLON}"
_MOST_LINES = 3_000
_MOST_TOLD = 200
_LABEL_CHARS = 60
#: So many elements may be around a label, and nothing else in them.
_MOST_NESTED = 8
#: So many nodes, and ends of elements, are looked at for the value of a label.
_MOST_NODES = 1_000
_LABEL_ELEMENTS = ["div", "span", "p", "b", "strong", "label", "h1", "h2", "h3", "h4", "h5", "h6"]


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """The facts read in a page."""

    title: str | None
    text: str
    """Its title and its own readable text, without what is on every page of its site, white space folded."""
    facts: PageFacts
    record: Record | None
    """An ERC that is in its text, or what its JSON-LD describes; a page may hold either for a program's sake."""


def read_page(markup: bytes, charset: str | None) -> AnswerPage:
    """The page that *markup* is, as far as its first part says. Never raises.

    >>> page = read_page(b"<title>A map</title><link rel=canonical href='/ark:/12148/btv1b84'><p>Who: Rossi", None)
    >>> page.title, page.facts.arks, dict(page.facts.kernel_values)
    ('A map', (('ark:12148/btv1b84', 'canonical'),), {'who': 'Rossi'})
    """
    page = parsed(markup[:MARKUP_LIMIT], charset)
    tags = _Tags(page)
    graph = list(_json_ld(tags))
    runs_scripts = any(map(_is_script, tags.named("script")))
    named = list(_declared(tags, graph))
    source = str(markup[:MARKUP_LIMIT], "utf-8", "replace")
    page.remove_all(*_HIDDEN)
    tags = _Tags(page)
    title = next((" ".join(filter(None, map(str.strip, tag.texts))) for tag in tags.named("title")), None)
    lines = "\n".join(page.texts)
    named += [(str(mention.ark), "text") for mention in find_arks(" ".join(lines.split()))]
    canonical = (tag for tag in tags.named("link") if "canonical" in _attribute(tag, "rel").lower().split())
    embedded = _embedded(tags) or _shown(tags)
    own = own_part(page)
    text = " ".join(part for part in (" ".join((title or "").split()), own.text) if part)
    facts = PageFacts(
        arks=tuple(dict.fromkeys(named))[:MOST_ARKS],
        canonical=_attribute(next(canonical, None), "href") or None,
        refresh=_refresh(tags),
        challenge=quirks().challenge_in_page(source, title, text),
        asks_password=any(tag.get("type") == "password" for tag in tags.named("input")),
        runs_scripts=runs_scripts,
        signs_on=any(_SIGNS_ON.search(_attribute(tag, "name")) for tag in tags.named("input")),
        headings=own.headings,
        kernel_values=_labelled_values(tags, lines),
    )
    return AnswerPage(title, text, facts, _record(lines, graph) or embedded)


def _is_script(tag: Element) -> bool:
    """Return whether an element is a script that may change the page: none that counts its visitors."""
    is_script = _SCRIPT_TYPE.match(_attribute(tag, "type").strip()) is not None
    return is_script and not is_visitor_counter(_attribute(tag, "src").strip())


class _Tags:
    """The elements of a page, in their order, found in one walk: each search of the tree would take another."""

    def __init__(self, page: Element) -> None:
        self.all = [node for node in page.descendants if isinstance(node, Element)]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for index, tag in enumerate(self.all):
            self._places[tag.name].append(index)

    def named(self, *names: str) -> list[Element]:
        """Those of these names."""
        places = [index for name in names for index in self._places.get(name, ())]
        return [self.all[index] for index in (places if len(names) == 1 else sorted(places))]


def _attribute(tag: Element | None, name: str) -> str:
    return (tag.get(name) if tag is not None else None) or ""


def _declared(tags: _Tags, graph: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """The ARKs that a page's head names, with the place of each."""
    for link in tags.named("link", "a"):
        relations = [relation for relation in _attribute(link, "rel").lower().split() if relation in _LINKS]
        if relations:
            yield from _arks(_attribute(link, "href"), relations[0])
    for meta in tags.named("meta"):
        name = _attribute(meta, "name") or _attribute(meta, "property")
        if _SELF_META.match(name):
            yield from _arks(_attribute(meta, "content"), name)
    for node in graph:
        for key in ("@id", "identifier", "url", "sameAs", "mainEntityOfPage"):
            if isinstance(node, dict) and node.get(key):
                yield from _arks(json.dumps(node[key], ensure_ascii=False, default=str), "json-ld")


def _arks(text: str, location: str) -> Iterator[tuple[str, str]]:
    for mention in find_arks(text):
        yield str(mention.ark), location


def _json_ld(tags: _Tags) -> Iterator[Any]:
    """The nodes of the page's JSON-LD, from the outermost in."""
    scripts = (tag for tag in tags.named("script") if _JSON_LD.search(_attribute(tag, "type")))
    for script in islice(scripts, 10):
        try:
            data = json.loads(script.only_text or "")
        except (ValueError, RecursionError):
            continue
        for node in data if isinstance(data, list) else [data]:
            graph = node.get("@graph") if isinstance(node, dict) else None
            yield from (graph[:50] if isinstance(graph, list) else [node])


def _refresh(tags: _Tags) -> str | None:
    refreshing = (tag for tag in tags.named("meta") if _attribute(tag, "http-equiv").strip().lower() == "refresh")
    return refresh_target(_attribute(next(refreshing, None), "content"))


def _record(lines: str, graph: Iterable[Any]) -> Record | None:
    """An ERC in the page's lines, opened by its label; else what its JSON-LD describes."""
    opening = re.search(r"^[^\S\n]*(?:erc|erc\.who)\s*:", lines, re.MULTILINE)
    if opening:
        erc = parse_erc(lines[opening.start() :].lstrip())
        if erc is not None and erc.anchoring is not None and len(erc.anchoring.elements) >= 2:
            return erc.display()
    return record_of(list(graph), "json-ld")


def _embedded(tags: _Tags) -> Record | None:
    """Return what a page's head and attributes describe, in Dublin Core, microdata or RDFa, if that names an ARK."""
    values: dict[str, str] = {}
    for tag in islice(filter(_tells, tags.all), _MOST_TOLD):
        name = _attribute(tag, "itemprop") or _attribute(tag, "property") or _attribute(tag, "name")
        value = _attribute(tag, "content") or _attribute(tag, "href") or _attribute(tag, "datetime")
        words = value or " ".join(_beginning(tag).split())
        for word in name.split():
            if words:
                values.setdefault(plain_key(word.replace("_", ".")), words[:_VALUE_CHARS])
    answers = kernel(values)
    is_one = len(answers) == len(QUESTIONS) and any("ark:" in value.lower() for value in values.values())
    return {"embedded": answers} if is_one else None


def _shown(tags: _Tags) -> Record | None:
    """The JSON that a page shows as it is."""
    texts = ((_only_text(tag) or "").strip() for tag in tags.named("pre", "code")[:20])
    records = (from_json(text) for text in texts if text[:1] in ("{", "["))
    return next((record for record in records if record is not None), None)


def _tells(tag: Element) -> bool:
    return bool(
        tag.get("itemprop") or tag.get("property") or (tag.name == "meta" and _SELF_META.match(_attribute(tag, "name")))
    )


def _labelled_values(tags: _Tags, text: str) -> dict[str, str]:
    """Return what is under descriptive labels, by the kernel's names: in lists, in tables, after colons."""
    values: dict[str, str] = {}
    for label, value in (*_pairs(tags), *_colon_lines(text), *_headed(tags)):
        question = quirks().labels.get(plain(label).rstrip(_LABELS_END))
        folded = " ".join(value.split())[:_VALUE_CHARS]
        if question and folded and (question == "commitment" or says_something(folded)):
            values.setdefault(question, folded)
    return values


def _only_text(tag: Element) -> str | None:
    """The text of an element that holds nothing else, in a few elements.

    Of a hostile page, ten thousand elements in one another, each would lead through all the others.
    """
    node: Node = tag
    for _ in range(_MOST_NESTED):
        if not isinstance(node, Element) or len(node.contents) != 1:
            break
        node = node.contents[0]
    return node if isinstance(node, Text) else None


def _first_nodes(tag: Element) -> Iterator[Node]:
    """Return what an element holds, from the first on, also within what it holds; of a hostile page not all."""
    unread = [iter(tag.contents)]
    for _ in range(_MOST_NODES):
        node = next(unread[-1], None)
        if node is not None:
            yield node
            if isinstance(node, Element):
                unread.append(iter(node.contents))
        elif len(unread) == 1:
            return
        else:
            unread.pop()


def _beginning(tag: Element) -> str:
    """The text of an element, as far as its first nodes hold it, with a blank between two of them."""
    return " ".join(node for node in _first_nodes(tag) if isinstance(node, Text) and node.is_shown)


def _holds(tag: Element, name: str) -> bool:
    return any(node.name == name for node in _first_nodes(tag))


def _pairs(tags: _Tags) -> Iterator[tuple[str, str]]:
    for term in tags.named("dt")[:200]:
        definition = term.next_element("dd")
        if definition is not None and not _holds(definition, "dl") and not _holds(term, "dl"):
            yield _beginning(term), _beginning(definition)
    for row in tags.named("tr")[:200]:
        if _holds(row, "table"):  # a frame around other tables
            continue
        cells = row.children_named("th", "td")
        if len(cells) == 2:
            yield _beginning(cells[0]), _beginning(cells[1])
        following = row.next_element("tr") if all(cell.name == "th" for cell in cells) else None
        below = following.children_named("th", "td") if following is not None else []
        if len(cells) == len(below) > 2:
            yield from ((_beginning(cell), _beginning(value)) for cell, value in zip(cells, below, strict=True))


def _colon_lines(text: str) -> Iterator[tuple[str, str]]:
    """Labels with a colon, each with the rest of its line or, where that is empty, with the next line."""
    straight = text.replace("\N{FULLWIDTH COLON}", ":")
    lines = [line.strip() for line in straight.split("\n", _MOST_LINES)[:_MOST_LINES] if line.strip()]
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        label, colon, value = line.partition(":")
        if colon and len(label) < _LABEL_CHARS:
            yield label, value.strip() or ("" if _is_label(following) else following)


def _headed(tags: _Tags) -> Iterator[tuple[str, str]]:
    """Return what is next to or under an element that holds a label and nothing else."""
    for element in tags.named(*_LABEL_ELEMENTS)[:_MOST_LINES]:
        label = _only_text(element)
        if label is None or len(label) > _LABEL_CHARS or plain(label).rstrip(_LABELS_END) not in quirks().labels:
            continue
        following = element.next_element()
        value = _beginning(following) if following is not None else ""
        if following is not None and not _is_label(value + ":"):
            yield label, value


def _is_label(line: str) -> bool:
    label, colon, _ = line.partition(":")
    return bool(colon) and plain(label) in quirks().labels
