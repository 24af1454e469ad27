"""Invented ARKs: random names in the form of each authority, and URLs with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

BETANUMERIC = "0123456789bcdfghjkmnpqrstvwxz"
_ALPHABETS = {
    "d": "0123456789",
    "e": BETANUMERIC,
    "b": "bcdfghjkmnpqrstvwxz",
    "x": "0123456789abcdef",
    "X": "0123456789ABCDEF",
    "F": "23456789BCDFGHJKLMNPQRSTVWXYZ",
    "A": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
}
_WORDS = (
    "photo",
    "letter",
    "plate",
    "map",
    "ledger",
    "scan",
    "charter",
    "postcard",
    "herbarium-sheet",
    "poster",
    "deed",
)
_FIELD = re.compile(r"\{([a-zA-Z])(\d*)\}")


@dataclass(frozen=True, slots=True)
class Authority:
    """The forms of one authority's ARKs.

    In a form, ``{d6}`` is six digits, ``{e4}`` four betanumeric characters, ``{w1}`` a word; ``{k}`` is the NOID
    check character over the name so far, ``{K}`` over NAAN, slash and name.
    """

    naan: str
    names: tuple[str, ...]
    resolvers: tuple[str, ...]
    qualifiers: tuple[str, ...] = ()
    """Forms of qualifiers, which less than half of the ARKs get."""


@dataclass(frozen=True, slots=True)
class Citation:
    """An ARK as a document cites it."""

    ark: str
    """The ARK without resolver, in the new label form: ``ark:12148/bpt6k107371t``."""
    written: str


def check_character(covered: str) -> str:
    """Return the NOID check character: the sum of position times ordinal, modulo 29.

    >>> check_character("13030/xf93gt2")
    'q'
    """
    total = sum(position * max(BETANUMERIC.find(char), 0) for position, char in enumerate(covered, start=1))
    return BETANUMERIC[total % len(BETANUMERIC)]


def fill(form: str, random: Random, *, naan: str = "") -> str:
    """Return *form* with its fields replaced by random values, from left to right."""
    text, position = "", 0
    for field in _FIELD.finditer(form):
        text += form[position : field.start()]
        position = field.end()
        letter, count = field[1], int(field[2] or 1)
        if letter == "k":
            text += check_character(text)
        elif letter == "K":
            text += check_character(f"{naan}/{text}")
        elif letter == "w":
            text += random.choice(_WORDS)
        elif letter == "n":
            text += str(random.randint(1, 420))
        else:
            text += "".join(random.choices(_ALPHABETS[letter], k=count))
    return text + form[position:]


def citations(authorities: tuple[Authority, ...], random: Random) -> Iterator[Citation]:
    """Yield citations of distinct base names without end, from all authorities in turn."""
    taken: set[str] = set()
    while True:
        for authority in random.sample(authorities, len(authorities)):
            while True:
                name = fill(random.choice(authority.names), random, naan=authority.naan)
                if name.endswith("-") or f"{authority.naan}/{name}" in taken:
                    continue
                break
            taken.add(f"{authority.naan}/{name}")
            qualifier = ""
            if authority.qualifiers and random.random() < 0.4:
                qualifier = fill(random.choice(authority.qualifiers), random)
            yield _cite(authority, name + qualifier, random)


def _cite(authority: Authority, name: str, random: Random) -> Citation:
    label = random.choices(("ark:/", "ark:", "ARK:/"), weights=(60, 37, 3))[0]
    resolver = random.choice(authority.resolvers) if random.random() < 0.6 else ""
    if resolver:
        label = label.lower()
    return Citation(f"ark:{authority.naan}/{name}", f"{resolver}{label}{authority.naan}/{name}")


_N2T = ("https://n2t.net/", "http://n2t.net/", "https://arks.org/")
_UUID = "{x8}-{x4}-4{x3}-a{x3}-{x12}"

_BNF_PAGES = ("/f{n}.item", "/f{n}.planchecontact", "/f{n}.image.r=Dumas", "/f{n}.item.zoom", ".texteImage")
_BNF_IIIF = ("/f{n}/full/full/0/native.jpg", "/f{n}/{d3},{d3},1{d3},1{d3}/full/0/default.jpg")

#: Authorities by half of the corpus. Both halves may have a NAAN, but with different shoulders.
KNOWN: dict[str, tuple[Authority, ...]] = {
    "dev": (
        Authority(
            "12148", ("bpt6k{d6}{k}", "bpt6k{d7}{k}"), ("https://gallica.bnf.fr/", "http://gallica.bnf.fr/"), _BNF_PAGES
        ),
        Authority(
            "13030",
            ("m5{e}{d}{e2}{e}{K}", "kt{d}{b}{d2}{e3}{K}"),
            ("https://oac.cdlib.org/findaid/", "https://merritt.cdlib.org/m/", *_N2T),
            ("/1/producer/README.md", "/2/cadwsap-s{d7}-00{d}.xml"),
        ),
        Authority(
            "67531",
            ("metapth{d5}", "metapth{d6}", "metapth1{d6}"),
            ("https://texashistory.unt.edu/", "http://texashistory.unt.edu/"),
            ("/m1/{n}/", "/m1/1/high_res/", "/m2/1/high_res_d/{d10}-Miller.pdf"),
        ),
        Authority("61903", ("1:1:{F4}-{F3}",), ("https://familysearch.org/", "https://www.familysearch.org/")),
        Authority(
            "88435",
            ("{b2}{d2}{b2}{d2}{K}", "{b}{e}{d2}{b2}{d}{e}{K}"),
            ("http://arks.princeton.edu/", "https://findingaids.princeton.example/"),
        ),
        Authority("53355", ("cl010{d6}", "cl020{d6}"), ("https://collections.louvre.fr/", "https://n2t.net/")),
        Authority("27927", ("pg{b}{d}{b}{d}{b2}{d}{b2}", "rmp{d4}{b}{d}"), _N2T),
    ),
    "held-out": (
        Authority(
            "12148",
            ("btv1b{d7}{k}", "btv1b{d8}{k}", "cb{d8}{k}"),
            ("https://gallica.bnf.fr/", "https://data.bnf.fr/", "https://catalogue.bnf.fr/"),
            (*_BNF_PAGES, *_BNF_IIIF),
        ),
        Authority(
            "13030",
            ("c7{e}{d}{e3}{K}", "ft{d}{b}{d2}{e3}{K}", "qt{d}{e7}"),
            ("https://escholarship.org/uc/item/", "http://oac.cdlib.org/", *_N2T),
            ("/entire_text/", "/dsc"),
        ),
        Authority(
            "67531",
            ("metadc{d4}", "metadc{d6}", "metadc1{d6}"),
            ("https://digital.library.unt.edu/", "http://digital.library.unt.edu/"),
            ("/m1/1/high_res/", "/m1/{n}/", "/m1/1/"),
        ),
        Authority("61903", ("3:1:{F4}-{F4}-{F}", "3:1:{F4}-{F4}-{F3}"), ("https://www.familysearch.org/",)),
        Authority("13960", ("t{d}{b2}{d2}{b}{d}{K}", "t{d2}{b}{d}{b}{d2}{K}"), ("https://archive.example.org/", *_N2T)),
        Authority("65665", ("nv9{x8}{x4}4{x3}a{x3}{x12}", f"m3{_UUID}", f"3{_UUID}"), ("http://n2t.net/",)),
        # Without qualifiers: normalization would move a component before the period.
        Authority(
            "81055",
            ("vdc_100{d9}.0x0000{x2}", "vdc_00000{d5}{X2}.0x000001"),
            ("https://access.bl.example.uk/item/viewer/", "https://api.bl.example.uk/metadata/iiif/"),
        ),
        Authority("29072", ("x0{d2}{b}{d2}{e}{d3}{k}",), ("https://digital.bodleian.ox.ac.uk/", "https://n2t.net/")),
        Authority("87278", ("s6{e5}{K}",), ("https://collections.lib.utah.edu/",), ("/{d6}",)),
        Authority("99166", ("w6{e6}{K}", "p9{b2}{d4}{K}"), ("http://snaccooperative.org/", "http://n2t.net/")),
    ),
}

#: Invented authorities, with unregistered NAANs and hosts that don't exist.
UNSEEN: dict[str, tuple[Authority, ...]] = {
    "dev": (
        Authority("30512", ("g4{e6}{K}",), ("https://id.stadtarchiv.example/", "https://n2t.net/")),
        Authority("52209", ("{d8}", "{d9}"), ("http://www.biblioteca.example/registro/", "https://n2t.net/")),
        Authority("74461", ("{w}-{d4}", "{w}-{d5}"), ("https://musee-du-port.example/collections/",)),
        Authority(
            "41877",
            ("{b2}{d}{e4}",),
            ("https://data.institute.example/resolve/",),
            ("/data/README.md", "/data/plates/plate_{d3}.tif", "/tables/t{d2}.csv"),
        ),
        Authority("85533", ("{A8}={d}_{A6}", "{A6}_{A8}"), ("https://ark.edition.example/", "https://arks.org/")),
    ),
    "held-out": (
        Authority("63390", ("vx{d}{e5}", "vx{d}{e6}"), ("https://pid.kreismuseum.example/", "https://n2t.net/")),
        Authority("96604", ("r2{e7}{k}",), ("http://ark.archivo-real.example/",), ("/im{d3}.jpg",)),
        Authority("b5937", ("d{d}{e3}{d2}",), ("https://portal.observatory.example:8443/id/", "https://arks.org/")),
        Authority("28817", ("{e4}", "{e5}", "{e6}"), ("https://a.example/", "https://n2t.net/")),
        Authority("19946", ("{x40}",), ("https://objects.preservation.example/",)),
        Authority("37788", ("{A4}_{A4}={A2}", "{A10}"), ("https://id.theatre-archive.example/o/",)),
        Authority("46628", ("fonds{d2}_b{d}_p{d3}", "{w}-{d5}"), ("https://archives.ville.example/",), ("/v{d}",)),
        Authority("57719", ("k8{e5}",), ("https://editions.example/",), (".v{d}.fr.pdf", ".odt", "/c{d}.v{d}.xml")),
        Authority("60417", (_UUID,), ("https://repo.university.example/",)),
        Authority("33902", ("{b}{d5}",), ("http://herbier.example/",), ("/scans/00{d2}.tif", "/notes.txt")),
    ),
}
