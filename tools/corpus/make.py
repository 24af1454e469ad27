#!/usr/bin/env python3
"""Make the labelled corpus: documents with known ARKs, and the truth about them.

    python tools/corpus/make.py            the texts and the HTML pages (needs GNU coreutils and groff)
    python tools/corpus/make.py --pdf      the PDFs as well (also needs LaTeX, LibreOffice and Chromium)

All content comes from fixed seeds: the same tools write the same bytes, except for PDFs, which depend on fonts and
versions. The documents are in the repository, so that measurements don't need this script. On Debian:
apt-get install groff texlive-latex-extra texlive-fonts-recommended texlive-lang-french fonts-lmodern
libreoffice-writer chromium
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import breaks
import markup
from documents import Document
from falsefriends import false_friends
from markup import Paragraph
from names import KNOWN, UNSEEN, Citation, citations, fill
from oddforms import odd_forms
from prose import ANOTHER_ARK, FOLLOWER_KINDS, Prose, follower
from wrapping import WRAPPERS

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "typesetting"))
import typeset  # noqa: E402  (the demo's typesetters, with their fixed dates)

HALVES = ("dev", "held-out")
LANGUAGES = ("en", "fr", "de", "es")
#: A fifth language, which only one half has.
FIFTH = {"dev": "nl", "held-out": "it"}
EPOCH = typeset.DEFAULT_EPOCH

#: Widths for each wrapper, from which each document gets one at random.
_WIDTHS = {
    "fold": (50, 60, 72, 80, 100),
    "fold-s": (24, 32, 40, 72),
    "fmt": (40, 60, 72, 90),
    "nroff": (34, 44, 56, 65),
    "quoted": (60, 66, 72, 76),
    "numbered": (48, 64, 72),
    "paged": (44, 56, 68),
}
_ANY_WIDTH = (30, 36, 40, 48, 60, 66, 72, 80, 96)

#: PDFs of each half: recipe, language, kind of NAANs.
_PDFS = {
    "dev": (
        ("latex-url", "en", "known"),
        ("latex-xurl-links", "de", "known"),
        ("latex-plain", "fr", "known"),
        ("latex-footnotes", "es", "unseen"),
        ("libreoffice-soft", "en", "known"),
        ("chromium-break-all", "es", "known"),
        ("chromium-soft", "fr", "unseen"),
    ),
    "held-out": (
        ("latex-hyphens", "en", "known"),
        ("latex-xurl", "es", "unseen"),
        ("latex-plain", "fr", "known"),
        ("latex-discretionary", "de", "known"),
        ("libreoffice-columns", "fr", "known"),
        ("libreoffice-soft", "de", "unseen"),
        ("chromium-anywhere", "it", "known"),
        ("chromium-soft", "en", "known"),
        ("chromium-links", "de", "unseen"),
    ),
}
_PDF_SOURCES: dict[str, tuple[str, Callable[[list[Paragraph], str], str]]] = {
    "latex-url": (".tex", markup.latex_url),
    "latex-hyphens": (".tex", markup.latex_hyphens),
    "latex-xurl": (".tex", markup.latex_xurl),
    "latex-xurl-links": (".tex", markup.latex_xurl_links),
    "latex-plain": (".tex", markup.latex_plain),
    "latex-discretionary": (".tex", markup.latex_discretionary),
    "latex-footnotes": (".tex", markup.latex_footnotes),
    "libreoffice-columns": (".fodt", markup.libreoffice_columns),
    "libreoffice-soft": (".fodt", markup.libreoffice_soft),
    "chromium-break-all": (".html", markup.chromium_break_all),
    "chromium-anywhere": (".html", markup.chromium_anywhere),
    "chromium-soft": (".html", markup.chromium_soft),
    "chromium-links": (".html", markup.chromium_links),
}
_PAGES = {
    "links": markup.html_links,
    "text": markup.html_text,
    "encoded": markup.html_encoded,
    "metadata": markup.html_metadata,
}


class Half:
    """One half of the corpus, with its own texts, authorities and seeds."""

    def __init__(self, half: str) -> None:
        self.half = half
        self._sources = {
            "known": citations(KNOWN[half], Random(f"{half} known")),
            "unseen": citations(UNSEEN[half], Random(f"{half} unseen")),
        }

    def documents(self, *, pdf: bool) -> Iterator[Document]:
        """Yield all documents of this half; PDFs only if *pdf*."""
        yield from self._plain()
        yield from self._negatives()
        yield from self._pages()
        yield odd_forms(self.half, self._sources["known"])
        yield from false_friends(self.half, self._sources["known"])
        yield from breaks.texts(self.half)
        if pdf:
            yield from self._pdfs()
            yield from breaks.pdfs(self.half)

    def _paragraphs(self, language: str, source: Iterator[Citation], count: int, random: Random) -> list[Paragraph]:
        """Return paragraphs of two to five sentences with *count* citations in total."""
        prose = Prose(language, self.half, random)
        paragraphs: list[Paragraph] = []
        left = count
        while left:
            pieces: list[str | Citation] = [prose.sentence() + " "]
            for _ in range(min(left, random.choice((1, 1, 2)))):
                citation = next(source)
                before, _, after = prose.led_to(citation.written).partition(citation.written)
                pieces += [before, citation, f"{after} {prose.sentence()} "]
                left -= 1
            paragraphs.append((*pieces[:-1], str(pieces[-1]).rstrip()))
        return paragraphs

    def _plain(self) -> Iterator[Document]:
        languages = itertools.cycle((*LANGUAGES, *LANGUAGES, FIFTH[self.half]))
        for kind, wrap in WRAPPERS.items():
            for number, naans in enumerate(("known", "known", "unseen", "unseen")):
                language = next(languages)
                random = Random(f"{self.half} plain {kind} {number}")
                width = random.choice(_WIDTHS.get(kind, _ANY_WIDTH))
                paragraphs = self._paragraphs(language, self._sources[naans], 22, random)
                text = "\n\n".join(_as_text(each) for each in paragraphs) + "\n"
                path = f"plain/{kind}-{width}-{number}-{language}.txt"
                yield Document(path, kind, language, naans, wrap(text, width, random), _arks(paragraphs))

    def _negatives(self) -> Iterator[Document]:
        for number in range(12):
            language = LANGUAGES[number % 4]
            naans = "known" if number < 8 else "unseen"
            random = Random(f"{self.half} negatives {number}")
            kinds = random.sample(FOLLOWER_KINDS, len(FOLLOWER_KINDS)) * 2
            width = random.choice((44, 58, 66, 72, 80, 0, 0))
            text, arks, followers = self._ended_lines(language, naans, kinds, width, random)
            path = f"negatives/{number:02}-{width or 'long'}-{language}.txt"
            kind = "wrapped" if width else "long-lines"
            yield Document(path, kind, language, naans, text.encode(), arks, followers)

    def _ended_lines(
        self, language: str, naans: str, kinds: list[str], width: int, random: Random
    ) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Return a text whose ARKs end their lines, followed by text of *kinds*, with its ARKs and followers."""
        prose = Prose(language, self.half, random)
        paragraphs, arks, followers = [], [], []
        for kind in kinds:
            citation = next(self._sources[naans])
            arks.append(citation.ark)
            followers.append(kind)
            if kind == ANOTHER_ARK:
                second = next(self._sources[naans])
                arks.append(second.ark)
                followers.append("sentence")
                behind = second.written + ","
            else:
                behind = follower(kind, language, random, fill=fill)
            before = f"{prose.sentence()} {prose.lead()} {citation.written}"
            after = (
                f"{behind.rstrip(' ')} {prose.sentence()}" if not behind.endswith("\n") else behind + prose.sentence()
            )
            paragraphs.append("\n".join([*_whole_lines(before, width), *_whole_lines(after, width)]))
        return "\n\n".join(paragraphs) + "\n", tuple(arks), tuple(followers)

    def _pages(self) -> Iterator[Document]:
        for number, (kind, page) in enumerate(_PAGES.items()):
            for naans in ("known", "unseen"):
                language = LANGUAGES[(number + (naans == "unseen")) % 4]
                random = Random(f"{self.half} html {kind} {naans}")
                paragraphs = self._paragraphs(language, self._sources[naans], 18, random)
                data = page(paragraphs, language, random).encode()
                yield Document(f"html/{kind}-{naans}-{language}.html", kind, language, naans, data, _arks(paragraphs))

    def _pdfs(self) -> Iterator[Document]:
        for recipe, language, naans in _PDFS[self.half]:
            random = Random(f"{self.half} pdf {recipe}")
            authorities = KNOWN if naans == "known" else UNSEEN
            # A separate source, so that changes of the texts do not change the PDFs.
            source = citations(authorities[self.half], random)
            paragraphs = self._paragraphs(language, source, 30, random)
            suffix, source_of = _PDF_SOURCES[recipe]
            with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
                written = Path(folder, recipe + suffix)
                written.write_text(source_of(paragraphs, language), "utf-8")
                pdf = typeset.pdf_of(written, epoch=EPOCH)
            yield Document(f"pdf/{recipe}-{language}.pdf", recipe, language, naans, pdf, _arks(paragraphs))


def _as_text(paragraph: Paragraph) -> str:
    return markup.render(paragraph, str, lambda citation: citation.written)


def _arks(paragraphs: list[Paragraph]) -> tuple[str, ...]:
    return tuple(each.ark for paragraph in paragraphs for each in paragraph if isinstance(each, Citation))


def _whole_lines(text: str, width: int) -> list[str]:
    """Return *text* in lines of *width* without breaking ARKs; unchanged if *width* is 0."""
    if not width:
        return text.split("\n")
    return [
        line
        for part in text.split("\n")
        for line in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False) or [""]
    ]


def write(half: str, *, pdf: bool) -> None:
    """Write the documents and the truth of one half; without *pdf*, keep the PDFs and their truth."""
    folder = HERE / half / "documents"
    truth = HERE / half / "truth.jsonl"
    kept = []
    if not pdf and truth.exists():
        kept = [line for line in truth.read_text("utf-8").splitlines() if json.loads(line)["document"].endswith(".pdf")]
    for old in sorted(folder.rglob("*.*")):
        if pdf or old.suffix != ".pdf":
            old.unlink()
    rows = []
    for document in Half(half).documents(pdf=pdf):
        path = folder / document.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(document.data)
        rows.append(document.truth())
        print(f"{half}/{document.path}: {len(document.arks)} ARKs, {len(document.data):,} bytes")
    truth.write_text("\n".join([*rows, *kept]) + "\n", "utf-8")


def main() -> int:
    """Make both halves; return 1 after a message if a typesetter fails, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdf", action="store_true", help="typeset the PDFs again, too")
    asked = parser.parse_args()
    try:
        for half in HALVES:
            write(half, pdf=asked.pdf)
    except typeset.TypesettingError as error:
        print(f"make: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
