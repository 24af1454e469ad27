"""LaTeX, OpenDocument and HTML sources, whose typesetters and browsers break ARKs in different ways."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from random import Random
from string import Template
from urllib.parse import quote

from names import Citation

#: A sequence of text and citations.
Paragraph = tuple[str | Citation, ...]
_PARTS = re.compile(r"(?<=[^\W_])(?=[^\W_])")
_TEX_SPECIAL = re.compile(r"[#$%&_{}]")


def render(paragraph: Paragraph, text: Callable[[str], str], ark: Callable[[Citation], str]) -> str:
    """Return *paragraph* with its texts and citations converted by *text* and *ark*."""
    return "".join(text(each) if isinstance(each, str) else ark(each) for each in paragraph)


def tex_text(text: str) -> str:
    """Return *text* escaped for LaTeX."""
    return _TEX_SPECIAL.sub(lambda char: "\\" + char[0], text).replace("~", "\\textasciitilde{}")


def with_joints(text: str, joint: str) -> str:
    """Return *text* with *joint* between any two letters or digits."""
    return _PARTS.sub(lambda _: joint, text)


# LaTeX

_TEX_PAGE = Template(r"""\documentclass[$options]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage[a4paper,margin=22mm]{geometry}
$preamble
\setlength{\columnsep}{7mm}
\begin{document}
$body
\end{document}
""")
_BABEL = {
    "en": "",
    "fr": r"\usepackage[french]{babel}",
    "de": r"\usepackage{babel}\babelprovide[import,main]{german}",
    "es": r"\usepackage{babel}\babelprovide[import,main]{spanish}",
    "it": r"\usepackage{babel}\babelprovide[import,main]{italian}",
}
_NARROW = "a4paper,10pt,twocolumn"


def _tex(
    paragraphs: list[Paragraph], language: str, ark: Callable[[Citation], str], preamble: str, options: str = _NARROW
) -> str:
    body = "\n\n".join(render(each, tex_text, ark) for each in paragraphs)
    return _TEX_PAGE.substitute(options=options, preamble=_BABEL[language] + "\n" + preamble, body=body)


def _url(citation: Citation) -> str:
    return rf"\url{{{citation.written}}}"


def latex_url(paragraphs: list[Paragraph], language: str) -> str:
    """Return a LaTeX source that uses the url package with its defaults: breaks at URL punctuation only."""
    return _tex(paragraphs, language, _url, r"\usepackage{url}")


def latex_hyphens(paragraphs: list[Paragraph], language: str) -> str:
    """Return a LaTeX source with hyperref and microtype: breaks after hyphens too, every URL is a link."""
    return _tex(
        paragraphs,
        language,
        _url,
        r"\usepackage{lmodern,microtype}\PassOptionsToPackage{hyphens}{url}\usepackage{hyperref}",
    )


def latex_xurl(paragraphs: list[Paragraph], language: str) -> str:
    """Return a LaTeX source with xurl, without links: breaks anywhere."""
    return _tex(paragraphs, language, _url, r"\usepackage{lmodern,xurl}")


def latex_xurl_links(paragraphs: list[Paragraph], language: str) -> str:
    """Return a LaTeX source with xurl and hyperref: breaks anywhere, every URL is a link."""
    return _tex(paragraphs, language, _url, r"\usepackage{lmodern,xurl,hyperref}")


def latex_plain(paragraphs: list[Paragraph], language: str) -> str:
    """Return a LaTeX source with ARKs as ordinary text; French babel puts a thin space before each colon."""
    return _tex(paragraphs, language, lambda each: tex_text(each.written), r"\usepackage{lmodern}\sloppy")


def latex_discretionary(paragraphs: list[Paragraph], language: str) -> str:
    r"""Return a LaTeX source with ``\-`` between letters and digits of ARKs: breaks get a hyphen."""
    preamble = r"\usepackage{lmodern}\sloppy"
    return _tex(
        paragraphs,
        language,
        lambda each: re.sub(r"(?<=/)(?=\w)", r"\\allowbreak ", with_joints(tex_text(each.written), r"\-")),
        preamble,
    )


def latex_footnotes(paragraphs: list[Paragraph], language: str) -> str:
    """Return a LaTeX source with each ARK in a footnote, in small type, where the ARK breaks anywhere."""
    return _tex(
        paragraphs,
        language,
        lambda each: rf"\footnote{{\url{{{each.written}}}}}",
        r"\usepackage{lmodern,xurl}",
        "a4paper,11pt,twocolumn",
    )


# LibreOffice

_ODT_PAGE = Template("""<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
  xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
  xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
  xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"
  xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
  office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.text">
 <office:font-face-decls>
  <style:font-face style:name="Roman" svg:font-family="'Latin Modern Roman'" style:font-family-generic="roman"/>
 </office:font-face-decls>
 <office:styles>
  <style:style style:name="Body" style:family="paragraph">
   <style:paragraph-properties fo:text-align="justify" fo:margin-bottom="2mm" fo:hyphenation-ladder-count="no-limit"/>
   <style:text-properties style:font-name="Roman" fo:font-size="10pt" fo:language="$language" fo:country="none"
     fo:hyphenate="true" fo:hyphenation-remain-char-count="2" fo:hyphenation-push-char-count="2"/>
  </style:style>
 </office:styles>
 <office:automatic-styles>
  <style:style style:name="Columns" style:family="section">
   <style:section-properties text:dont-balance-text-columns="false">
    <style:columns fo:column-count="3" fo:column-gap="6mm"/>
   </style:section-properties>
  </style:style>
  <style:page-layout style:name="Page">
   <style:page-layout-properties fo:page-width="210mm" fo:page-height="297mm"
     fo:margin-top="18mm" fo:margin-bottom="14mm" fo:margin-left="17mm" fo:margin-right="17mm"/>
   <style:footer-style><style:header-footer-properties fo:min-height="8mm" fo:margin-top="4mm"/></style:footer-style>
  </style:page-layout>
 </office:automatic-styles>
 <office:master-styles>
  <style:master-page style:name="Standard" style:page-layout-name="Page">
   <style:footer><text:p><text:page-number/></text:p></style:footer>
  </style:master-page>
 </office:master-styles>
 <office:body><office:text><text:section text:style-name="Columns" text:name="Columns">
$body
 </text:section></office:text></office:body>
</office:document>
""")


def _odt(paragraphs: list[Paragraph], language: str, ark: Callable[[Citation], str]) -> str:
    body = "\n".join(f'<text:p text:style-name="Body">{render(each, html.escape, ark)}</text:p>' for each in paragraphs)
    return _ODT_PAGE.substitute(language=language, body=body)


def libreoffice_columns(paragraphs: list[Paragraph], language: str) -> str:
    """Return an OpenDocument text in three columns, hyphenated if a dictionary is installed.

    Long tokens break after ``/`` or anywhere.
    """
    return _odt(paragraphs, language, lambda each: html.escape(each.written))


def libreoffice_soft(paragraphs: list[Paragraph], language: str) -> str:
    """Return an OpenDocument text in three columns, with soft hyphens between letters and digits of ARKs."""
    return _odt(paragraphs, language, lambda each: with_joints(html.escape(each.written), "\N{SOFT HYPHEN}"))


# Chromium

_HTML_PAGE = Template("""<!doctype html>
<html lang="$language">
<meta charset="utf-8">
<title>$language</title>
<style>
 @page { size: A4; margin: 18mm }
 body { columns: 3; column-gap: 7mm; font: 10pt/1.3 "Latin Modern Roman", serif; text-align: justify; $css }
 a { color: inherit }
</style>
$body
</html>
""")


def _page(paragraphs: list[Paragraph], language: str, ark: Callable[[Citation], str], css: str) -> str:
    body = "\n".join(f"<p>{render(each, html.escape, ark)}</p>" for each in paragraphs)
    return _HTML_PAGE.substitute(language=language, css=css, body=body)


def _escape(citation: Citation) -> str:
    return html.escape(citation.written)


def chromium_break_all(paragraphs: list[Paragraph], language: str) -> str:
    """Return an HTML page with ``word-break: break-all``: words and ARKs break at the margin."""
    return _page(paragraphs, language, _escape, "word-break: break-all")


def chromium_anywhere(paragraphs: list[Paragraph], language: str) -> str:
    """Return an HTML page with ``overflow-wrap: anywhere``: only tokens wider than the column break anywhere."""
    return _page(paragraphs, language, _escape, "overflow-wrap: anywhere; hyphens: auto")


def chromium_soft(paragraphs: list[Paragraph], language: str) -> str:
    """Return an HTML page with soft hyphens in ARKs, which Chromium prints as U+2010."""
    return _page(
        paragraphs, language, lambda each: with_joints(_escape(each), "&shy;"), "overflow-wrap: anywhere; columns: 4"
    )


def chromium_links(paragraphs: list[Paragraph], language: str) -> str:
    """Return an HTML page of links with a ``<wbr>`` after every thirty characters of their text."""

    def ark(citation: Citation) -> str:
        pieces = re.findall(r".{1,30}", citation.written)
        return _link(citation, "<wbr>".join(html.escape(piece) for piece in pieces))

    return _page(paragraphs, language, ark, "")


def _link(citation: Citation, visible: str) -> str:
    target = citation.written if "//" in citation.written else f"https://n2t.net/{citation.ark}"
    return f'<a href="{html.escape(target)}">{visible}</a>'


# HTML pages


def html_links(paragraphs: list[Paragraph], language: str, _: Random) -> str:
    """Return an HTML page of links with the ARK as their text, broken by ``<wbr>``, soft hyphens and newlines."""
    joints = iter(range(1_000_000))

    def ark(citation: Citation) -> str:
        joint = ("<wbr>", "&shy;", "\n", "&#8203;")[next(joints) % 4]
        middle = len(citation.written) - 4
        visible = html.escape(citation.written[:middle]) + joint + html.escape(citation.written[middle:])
        return _link(citation, visible)

    return _page(paragraphs, language, ark, "")


def html_text(paragraphs: list[Paragraph], language: str, random: Random) -> str:
    """Return an HTML page of bare ARKs without links, with markup and invisible characters inside."""

    def ark(citation: Citation) -> str:
        head, label, rest = re.split(r"(ark:/?)", citation.written, maxsplit=1, flags=re.IGNORECASE)
        spelled = random.choice((label, label.replace(":", "&#58;"), label.replace(":", "&colon;"), f"<b>{label}</b>"))
        joint = random.choice(("<wbr>", "&shy;", "&#x200b;", "", ""))
        return html.escape(head) + spelled + with_joints(html.escape(rest), joint)

    return _page(paragraphs, language, ark, "")


def html_encoded(paragraphs: list[Paragraph], language: str, _: Random) -> str:
    """Return an HTML page with ARKs, percent-encoded, in queries of URLs, and in attributes that aren't links."""
    counter = iter(range(1_000_000))

    def ark(citation: Citation) -> str:
        if next(counter) % 2:
            target = f"https://www.example.org/view?id={quote(citation.written, safe='')}&lang={language}"
            return f'<a href="{html.escape(target)}">{language}</a>'
        return f'<span data-ark="{html.escape(citation.written)}">{language}</span>'

    return _page(paragraphs, language, ark, "")


def html_metadata(paragraphs: list[Paragraph], language: str, _: Random) -> str:
    """Return an HTML page with ARKs only in metadata elements and JSON-LD, not in the running text."""
    found = [each for paragraph in paragraphs for each in paragraph if isinstance(each, Citation)]
    first, second, third = found[0::3], found[1::3], found[2::3]
    meta = [f'<meta name="DC.identifier" content="{_escape(each)}">' for each in first]
    meta += [f'<link rel="alternate" href="https://n2t.net/{each.ark}">' for each in second]
    records = [{"@type": "CreativeWork", "@id": each.written, "inLanguage": language} for each in third]
    linked = json.dumps({"@context": "https://schema.org", "@graph": records}, indent=1).replace("/", "\\/")
    text = "\n".join(f"<p>{render(each, html.escape, lambda _: '…')}</p>" for each in paragraphs)
    body = "\n".join(meta) + f'\n<script type="application/ld+json">\n{linked}\n</script>\n{text}'
    return _HTML_PAGE.substitute(language=language, css="", body=body)
