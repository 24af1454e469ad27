"""Markdown (CommonMark with tables), rendered to a page and read as HTML."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore, block, inline, normalize, text_join
from markdown_it.token import Token

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.decoding import decode
from extractors.model.documents import Block, Finding, Reading, Role
from extractors.readers.markup.html import read_html
from extractors.readers.plain import read_plain

MEDIA_TYPE = "text/markdown"
#: The parser in Python reads half a megabyte a second, and a tenth of that in hostile documents.
MOST_BYTES = 2 * 2**20

_FRONT_MATTER = re.compile(r"\A(?P<fence>---|\+\+\+)[ \t]*\n(?P<matter>.*?\n)(?P=fence)[ \t]*(?:\n|\Z)", re.DOTALL)
_TEXT_TOKENS = frozenset({"text", "code_inline", "softbreak"})


def read_markdown(data: bytes, *, charset: str | None = None) -> Reading:
    r"""Return the text and links of the rendered page, including inline HTML.

    *charset* is the declared encoding.

    >>> reading = read_markdown(rb"See [the *map*](/ark:/12345/x5) or **ark:/12345/x\_6**.")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('link-target', 'a/@href', '/ark:/12345/x5'), ('text', 'p', 'See the map or ark:/12345/x_6.')]
    """
    if len(data) > MOST_BYTES:
        finding = Finding("read-as-text", f"not read as Markdown, but as text: it has {len(data)} bytes")
        text_reading = read_plain(data, charset=charset)
        return replace(text_reading, media_type=MEDIA_TYPE, findings=(finding, *text_reading.findings))
    decoded = decode(data, charset)
    findings = list(decoded.findings)
    text = decoded.text.replace("\r\n", "\n")
    front_matter = _FRONT_MATTER.match(text)
    blocks = [Block(front_matter["matter"], place="front-matter")] if front_matter else []
    markdown = text[front_matter.end() :] if front_matter else text
    parser = _parser()
    references: dict[str, Any] = {}
    state = StateCore(markdown, parser, references)
    normalize(state)
    block(state)
    inline(state)
    text_join(state)
    nested_tokens = (child for token in state.tokens for child in token.children or ())
    # A long link target or title may be referenced a million times.
    if sum(len(str(value)) for child in nested_tokens for value in child.attrs.values()) > MOST_BYTES:
        findings.append(Finding("read-as-text", "references would make the page too big; read as text"))
        return Reading(MEDIA_TYPE, (*blocks, Block(markdown)), findings=tuple(findings))
    for token in state.tokens:  # a page doesn't show the text after the opening of a fence
        if token.type == "fence" and may_hold_ark(token.info):
            blocks.append(Block(token.info.strip(), place="fence"))
            token.info = ""
    page = read_html(parser.renderer.render(state.tokens, parser.options, references).encode(), charset="utf-8")
    blocks += page.blocks
    # The targets of unused link definitions, such as footnotes that consist of a URL.
    used_targets = {page_block.text for page_block in blocks if page_block.role is Role.LINK_TARGET}
    targets = dict.fromkeys(reference["href"] for reference in references.get("references", {}).values())
    blocks += [
        Block(target, Role.LINK_TARGET, place="[]:") for target in targets if target and target not in used_targets
    ]
    return replace(
        page,
        media_type=MEDIA_TYPE,
        blocks=tuple(blocks),
        title=_first_heading(state.tokens) or page.title,
        findings=(*findings, *page.findings),
    )


def _parser() -> MarkdownIt:
    """Return a parser of CommonMark, tables and strikethrough that leaves link targets as written."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.normalizeLink = parser.normalizeLinkText = str  # type: ignore[method-assign, assignment]
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


def _first_heading(tokens: list[Token]) -> str:
    for heading, content in pairwise(tokens):
        if heading.type == "heading_open" and heading.tag == "h1":
            return " ".join(
                "".join(child.content for child in content.children or () if child.type in _TEXT_TOKENS).split()
            )
    return ""
