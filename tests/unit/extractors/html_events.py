"""A page read the slow way, event by event and without skipping; the reader must agree with it."""

from collections.abc import Mapping

from lxml import etree

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.documents import Block, Role
from extractors.readers.markup.page import _TARGET_ATTRIBUTES, _URL_ATTRIBUTES, SEPARATE_ELEMENTS, _meta_location
from extractors.readers.running_text import InlineText

UNSEEN = {"iframe", "noembed", "script", "style", "template"}


class Events:
    """A target for lxml's parser."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._run = InlineText()
        self._link: int | None = None
        self._targets: list[str] = []
        self._told: set[int] = set()
        self._elements = [""]
        self._unseen_depth = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._unseen_depth:
            self._unseen_depth += 1
            return
        if tag in SEPARATE_ELEMENTS:
            self._end_run()
        self._run.begin_element()
        if tag == "a":
            self._link = None
            if attributes.get("href"):
                self._targets.append(attributes["href"])
                self._link = len(self._targets) - 1
            self._run.set_link(self._link)
        self._read_attributes(tag, attributes)
        if tag in SEPARATE_ELEMENTS:
            self._elements.append(tag)
        elif tag == "br":
            self._run.write("\n")
        self._unseen_depth = int(tag in UNSEEN)

    def data(self, text: str) -> None:
        if not self._unseen_depth:
            self._run.write(text)

    def end(self, tag: str) -> None:
        if self._unseen_depth:
            self._unseen_depth -= 1
            if self._unseen_depth:
                return
        if tag in SEPARATE_ELEMENTS:
            self._end_run()
            self._elements.pop()
        self._run.end_element()
        if tag == "a":
            self._link = None
            self._run.set_link(None)

    def close(self) -> list[Block]:
        self._end_run()
        return self.blocks

    def _end_run(self) -> None:
        block = self._run.block(self._elements[-1])
        if block is None or not may_hold_ark(block.text):
            return
        for anchor in block.anchors:
            if anchor.link not in self._told:
                self._told.add(anchor.link)
                self.blocks.append(Block(self._targets[anchor.link], Role.LINK_TARGET, place="a/@href"))
        self.blocks.append(block)

    def _read_attributes(self, tag: str, attributes: Mapping[str, str]) -> None:
        place = _meta_location(attributes) if tag == "meta" else tag
        for name, value in attributes.items():
            where = f"{place}/@{name}"
            if not may_hold_ark(value):
                continue
            if where == "a/@href" and self._link is not None:
                self._told.add(self._link)
            is_target = where in _TARGET_ATTRIBUTES or name in _URL_ATTRIBUTES
            self.blocks.append(Block(value, Role.LINK_TARGET if is_target else Role.METADATA, place=where))


def blocks_by_events(markup: str) -> list[Block]:
    """Return the blocks of a page without those of scripts; anchors number all links of the page."""
    parser = etree.HTMLParser(target=Events(), encoding="utf-8", huge_tree=True)
    blocks: list[Block] = etree.fromstring(markup.encode(), parser) or []
    return blocks
