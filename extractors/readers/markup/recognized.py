"""Text recognized in pictures (OCR): ALTO, PAGE XML, ABBYY XML and hOCR, line by line.

The usual rules decide whether an ARK continues on the next line, by the free space in each. If the program itself
marks a continued word (ALTO's ``SUBS_CONTENT``), the whole word is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from extractors.mentions.labels import may_hold_ark
from extractors.model.budget import as_time_allows
from extractors.model.documents import Block, Reading, Role

Element: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4, with bytes for text and no entities."""

#: The root elements of the XML formats, except ABBYY's `document`, which many formats share.
_ROOTS = frozenset({"alto", "PcGts"})
_ABBYY_NAMESPACE = "http://www.abbyy.com/FineReader_xml/"
#: The classes of hOCR for lines.
_LINE_CLASSES = frozenset({"ocr_caption", "ocr_header", "ocr_line", "ocr_textfloat", "ocrx_line"})
_HOCR = re.compile(r"""class\s*=\s*["']?(?:ocr_line|ocrx_word|ocr_page)\b""")
_HOCR_BOX = re.compile(r"\bbbox\s+(-?[0-9]+)\s+-?[0-9]+\s+(-?[0-9]+)")
_POINT = re.compile(r"(-?[0-9]{1,9}),-?[0-9]++")
#: How transcribers write a hyphen at the end of a line only.
_LINE_HYPHEN = re.compile("[\N{NOT SIGN}\N{DOUBLE OBLIQUE HYPHEN}]\\Z")


class _Line(NamedTuple):
    """A line of text with its left and right edges, if they are known."""

    text: str
    left: float = 0.0
    right: float = 0.0


@lru_cache(maxsize=1024)  # a document has few names, and each many times
def local_name(qualified: str) -> str:
    """Return the name without its namespace, or without an unbound prefix.

    >>> local_name("{http://www.w3.org/1999/xlink}href"), local_name("dc:identifier")
    ('href', 'identifier')
    """
    return qualified.rpartition("}")[2].rpartition(":")[2]


def is_recognized(root: Element) -> bool:
    """Return True if an XML tree is the result of text recognition."""
    return local_name(root.tag) in _ROOTS or _ABBYY_NAMESPACE in root.tag


def is_hocr(markup: str) -> bool:
    """Return True if a page of HTML is hOCR.

    >>> is_hocr("<p class='ocr_par'><span class='ocr_line'>"), is_hocr("<p class='line'>")
    (True, False)
    """
    return "ocr" in markup and _HOCR.search(markup) is not None


def read_recognized(root: Element, media_type: str) -> Reading:
    """Return the text of the regions, in document order, and metadata that names an ARK.

    >>> from lxml import etree
    >>> line = "<TextLine><TextEquiv><Unicode>ark:/12148/x5</Unicode></TextEquiv></TextLine>"
    >>> root = etree.fromstring(f"<PcGts><Page><TextRegion>{line}</TextRegion></Page></PcGts>")
    >>> [(block.text, block.is_recognized) for block in read_recognized(root, "").blocks]
    [('ark:/12148/x5', True)]
    """
    lines = {"alto": _alto_lines, "PcGts": _page_lines, "document": _abbyy_lines}.get(_name(root), _hocr_lines)
    regions = groupby(as_time_allows(lines(root), "line"), key=lambda placed: placed[0])
    blocks = [_block(location, [line for _, line in of_region]) for (_, location), of_region in regions]
    return Reading(media_type, (*_metadata_blocks(root), *(block for block in blocks if block.text)))


def _block(location: str, lines: Iterable[_Line]) -> Block:
    """Return the lines of a region as one text, with the free space in each."""
    text, ends = "", []
    for line in lines:
        if line.text:
            text += ("\n" if text else "") + _LINE_HYPHEN.sub("-", line.text)
            ends.append((len(text), line))
    edge = max((line.right for _, line in ends), default=0.0)
    slack = tuple(
        (end, round((edge - line.right) * len(line.text) / (line.right - line.left), 2))
        for end, line in ends
        if line.right > line.left
    )
    return Block(text, place=location, line_slack=slack, is_recognized=True)


def _metadata_blocks(root: Element) -> Iterator[Block]:
    """Yield metadata of the picture and its recognition that names an ARK."""
    for element in root.iter():
        name = _name(element)
        if name in ("Unicode", "formatting") or not name:
            continue
        values = [
            (f"{name}/@{local_name(key)}", value) for key, value in element.attrib.items() if "CONTENT" not in key
        ]
        if is_recognized(root) and not len(element):
            values.append((name, element.text or ""))
        yield from (Block(value, Role.METADATA, place=location) for location, value in values if may_hold_ark(value))


def _alto_lines(root: Element) -> Iterator[tuple[tuple[Element, str], _Line]]:
    whole = ""
    for line in (element for element in root.iter() if _name(element) == "TextLine"):
        pieces: list[str] = []
        has_blanks = any(_name(part) == "SP" for part in line)
        for part in line:
            name, content = _name(part), part.get("CONTENT", "")
            if name == "SP":
                pieces.append(" ")
            elif name == "HYP" and not whole:
                pieces.append(content or "-")
            elif name == "String":
                if not has_blanks and pieces:
                    pieces.append(" ")
                of_whole, kind = part.get("SUBS_CONTENT", ""), part.get("SUBS_TYPE", "")
                if kind == "HypPart2" and whole:  # already in the line before
                    whole = "" if of_whole in ("", whole) else whole
                    continue
                whole = of_whole if kind == "HypPart1" else ""
                pieces.append(whole or content)
        left = _number(line.get("HPOS"))
        yield ((line.getparent(), "TextBlock"), _Line("".join(pieces).strip(), left, left + _number(line.get("WIDTH"))))


def _page_lines(root: Element) -> Iterator[tuple[tuple[Element, str], _Line]]:
    """Yield the lines of PAGE XML; a region without lines counts as one line."""
    for element in root.iter():
        has_lines = any(_name(child) in ("TextLine", "TextRegion") for child in element)
        if _name(element) == "TextLine" or (_name(element) == "TextRegion" and not has_lines):
            region = element.getparent() if _name(element) == "TextLine" else element
            words = (_unicode(word) for word in element if _name(word) == "Word")
            text = _unicode(element) or " ".join(words)
            points = next((child.get("points", "") for child in element if _name(child) == "Coords"), "")
            across = [float(x) for x in _POINT.findall(points)] or [0.0]
            yield (region, "TextRegion"), _Line(text, min(across), max(across))


def _abbyy_lines(root: Element) -> Iterator[tuple[tuple[Element, str], _Line]]:
    """Yield the lines of ABBYY XML; characters are single elements, or the text of a stretch in one font."""
    for line in (element for element in root.iter() if _name(element) == "line"):
        stretches = [element for element in line if _name(element) == "formatting"]
        chars = [char for stretch in stretches for char in stretch if _name(char) == "charParams"]
        # A character may contain its other readings, before its own text.
        pieces = [piece for char in chars or stretches for piece in ([reading.tail for reading in char] or [char.text])]
        text = "".join(piece.strip("\t\r\n") for piece in pieces if piece)
        yield (line.getparent(), "par"), _Line(text.strip(), _number(line.get("l")), _number(line.get("r")))


def _hocr_lines(root: Element) -> Iterator[tuple[tuple[Element, str], _Line]]:
    for element in root.iter():
        if isinstance(element.tag, str) and not _LINE_CLASSES.isdisjoint(element.get("class", "").split()):
            box = _HOCR_BOX.search(element.get("title", ""))
            left, right = (float(box[1]), float(box[2])) if box else (0.0, 0.0)
            yield ((element.getparent(), "ocr_line"), _Line(" ".join("".join(element.itertext()).split()), left, right))


def _unicode(element: Element) -> str:
    """Return the text of an element of PAGE XML; of several readings, the one with the lowest index."""
    readings = [child for child in element if _name(child) == "TextEquiv"]
    readings.sort(key=lambda reading: _number(reading.get("index")))
    texts = (child.text or "" for reading in readings[:1] for child in reading if _name(child) == "Unicode")
    return " ".join(next(texts, "").split(" ")).strip()


def _name(element: Element) -> str:
    return local_name(element.tag) if isinstance(element.tag, str) else ""


def _number(digits: str | None) -> float:
    """Return the number; 0 if it is missing or invalid.

    >>> _number("12.5"), _number(None), _number("x")
    (12.5, 0.0, 0.0)
    """
    try:
        return float(digits or 0)
    except ValueError:
        return 0.0
