"""The text around ARKs: sentences of literature, catalogue entries, and beginnings of the next line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

SOURCES = Path(__file__).parent / "sources"
_SENTENCE_END = re.compile(r"(?<=[.!?»])\s+(?=[\"«»A-ZÀ-Ý])")

_NAMES = (
    "J. Smythe",
    "A. Lindqvist",
    "M. Duval",
    "E. Obermayer",
    "P. Arrieta",
    "C. Whitlock",
    "H. van Loon",
    "T. Moretti",
    "R. Escobedo",
    "L. Saint-Clair",
    "G. Ritter",
    "B. Quiroga",
    "F. Thackray",
    "D. Lemoine",
    "K. Baumgarten",
    "I. Salvatierra",
)
_SIZES = ("4to", "8vo", "12mo", "fol.", "16mo", "23 cm", "in-8°", "in-12", "31 x 24 cm", "240 mm")
_ROMAN = ("ii", "iv", "vii", "ix", "xiv", "xvi", "XII", "XVIII", "XXIV", "LIX")
_SERIES = ("MS", "Add. MS", "Cod.", "Ms. fr.", "Hs.", "Mss/", "Inc.", "Rés.", "NAF", "2 J", "E-supp.", "Sig.")

#: Catalogue entries, notes and bibliographies: the first half of each list for dev, the second for held-out. ``{m}`` is
#: a name, ``{y}`` a year, ``{n}`` a number, ``{z}`` a size, ``{r}`` roman, ``{s}`` a series.
_ENTRIES = {
    "en": (
        "{s}{n}, fols. {n}r-{n}v; {y}; {z}, one quire wanting, bound in limp vellum with traces of two ties.",
        "{m}, A View of the Lower Harbour, {y}, mezzotint, 300dpi scan after plate {r}, cf. p. {n}.",
        "Ledger no. {n}, 19th-century half calf, {n} pp., {z}; the index (pp. {r}-xx) is in a later hand.",
        "For the earlier literature see {m}, {y}, vol. {r}, pp. {n}-{n}, and the review by {m} ({y}).",
        "Letter from {m} to {m}, {n} March {y}, 2 ff., seal lost, endorsed in pencil; box {n}, folder 3.",
        "Provenance: {m}, {y}; sold at auction, lot {n}; {s}{n} since {y}, with the bookplate of {m}.",
        "Survey sheet {r} of {n}, coloured lithograph, {z}, {y}; scale 1:2500, margins trimmed, two tears mended.",
        "Two glass negatives, 13 x 18 cm, {y}, nos. {n} and {n} of the series; emulsion lifting at one corner.",
        "Oral history, tape {n}, side B, 47 min., recorded by {m} in {y}; transcript of {n} leaves, {z}.",
        "{m} (ed.), Household Accounts, {y}-{y}, {r} + {n} pp.; {z}; cited below as Accounts, fol. {n}v.",
    ),
    "fr": (
        "{s}{n}, ff. {n}r-{n}v ; {y} ; {z} ; un cahier manque ; reliure souple en vélin, traces de deux attaches.",
        "{m}, Vue du bassin inférieur, {y}, manière noire, cliché à 300dpi d'après la pl. {r} ; cf. p. {n}.",
        "Registre n° {n}, demi-veau du XIXe siècle, {n} p., {z} ; la table (p. {r}-xx) est d'une main tardive.",
        "Pour les travaux antérieurs, voir {m}, {y}, t. {r}, p. {n}-{n}, et le compte rendu de {m} ({y}).",
        "Lettre de {m} à {m}, {n} mars {y}, 2 ff., cachet perdu, note au crayon ; carton {n}, chemise 3.",
        "Provenance : {m}, {y} ; vente publique, lot {n} ; {s}{n} depuis {y}, avec l'ex-libris de {m}.",
        "Feuille {r} sur {n}, lithographie coloriée, {z}, {y} ; échelle 1:2500, marges rognées, deux déchirures.",
        "Deux négatifs sur verre, 13 x 18 cm, {y}, n° {n} et {n} de la série ; émulsion soulevée dans un angle.",
        "Enquête orale, bande {n}, face B, 47 min, enregistrée par {m} en {y} ; transcription de {n} feuillets.",
        "{m} (éd.), Comptes de l'hôtel, {y}-{y}, {r} + {n} p. ; {z} ; cité plus bas : Comptes, fol. {n}v.",
    ),
    "de": (
        "{s}{n}, Bl. {n}r-{n}v; {y}; {z}; eine Lage fehlt; biegsamer Pergamentband mit Spuren zweier Bänder.",
        "{m}, Ansicht des unteren Hafens, {y}, Schabkunst, Aufnahme mit 300dpi nach Taf. {r}; vgl. S. {n}.",
        "Rechnungsbuch Nr. {n}, Halbleder des 19. Jh., {n} S., {z}; das Register (S. {r}-xx) von späterer Hand.",
        "Zur älteren Literatur vgl. {m}, {y}, Bd. {r}, S. {n}-{n}, sowie die Besprechung von {m} ({y}).",
        "Brief von {m} an {m}, {n}. März {y}, 2 Bl., Siegel verloren, Vermerk in Bleistift; Karton {n}, Mappe 3.",
        "Herkunft: {m}, {y}; versteigert als Los {n}; {s}{n} seit {y}, mit dem Exlibris von {m}.",
        "Meßblatt {r} von {n}, Farblithographie, {z}, {y}; Maßstab 1:2500, Ränder beschnitten, zwei Risse.",
        "Zwei Glasnegative, 13 x 18 cm, {y}, Nr. {n} und {n} der Reihe; die Schicht löst sich an einer Ecke.",
        "Gespräch, Band {n}, Seite B, 47 min, aufgenommen von {m} {y}; Niederschrift von {n} Blatt, {z}.",
        "{m} (Hg.), Haushaltsrechnungen {y}-{y}, {r} + {n} S.; {z}; unten zitiert als Rechnungen, fol. {n}v.",
    ),
    "es": (
        "{s}{n}, ff. {n}r-{n}v; {y}; {z}; falta un cuaderno; encuadernación en pergamino flexible, restos de lazos.",
        "{m}, Vista de la dársena baja, {y}, media tinta, toma a 300dpi según la lám. {r}; cf. p. {n}.",
        "Libro mayor n.º {n}, media piel del siglo XIX, {n} pp., {z}; el índice (pp. {r}-xx) es de mano posterior.",
        "Para la bibliografía anterior véase {m}, {y}, t. {r}, pp. {n}-{n}, y la reseña de {m} ({y}).",
        "Carta de {m} a {m}, {n} de marzo de {y}, 2 ff., sello perdido, nota a lápiz; caja {n}, carpeta 3.",
        "Procedencia: {m}, {y}; subasta pública, lote {n}; {s}{n} desde {y}, con el ex libris de {m}.",
        "Hoja {r} de {n}, litografía en color, {z}, {y}; escala 1:2500, márgenes recortados, dos desgarros.",
        "Dos negativos en vidrio, 13 x 18 cm, {y}, n.º {n} y {n} de la serie; la emulsión se levanta en un ángulo.",
        "Entrevista, cinta {n}, cara B, 47 min, grabada por {m} en {y}; transcripción de {n} hojas, {z}.",
        "{m} (ed.), Cuentas de la casa, {y}-{y}, {r} + {n} pp.; {z}; citado abajo como Cuentas, fol. {n}v.",
    ),
}

#: Phrases around an ARK (``{}``); the last ones continue without punctuation.
_LEADS = {
    "en": ("See {}.", "({})", "Digitized: {};", "cf. {},", "the scan at {} and", "Permalink {}", "available as {} in"),
    "fr": ("Voir {}.", "({})", "Numérisé : {} ;", "cf. {},", "l'image {} et", "Notice {}", "consultable sous {} dans"),
    "de": ("Siehe {}.", "({})", "Digitalisat: {};", "vgl. {},", "die Aufnahme {} und", "Nachweis {}", "unter {} in"),
    "es": ("Véase {}.", "({})", "Digitalizado: {};", "cf. {},", "la imagen {} y", "Registro {}", "accesible en {} con"),
    "it": (
        "Vedi {}.",
        "({})",
        "Riproduzione: {};",
        "cfr. {},",
        "l'immagine {} e",
        "Scheda {}",
        "disponibile in {} con",
    ),
    "nl": ("Zie {}.", "({})", "Scan: {};", "vgl. {},", "de opname {} en", "Beschrijving {}", "te vinden onder {} in"),
}
_FENCES = ("{}", "{}", "{}", "{}", "<{}>", "[{}]", "\N{LEFT DOUBLE QUOTATION MARK}{}\N{RIGHT DOUBLE QUOTATION MARK}")


class Prose:
    """Sentences in one language and half, mixed from literature and catalogue entries."""

    def __init__(self, language: str, half: str, random: Random) -> None:
        text = (SOURCES / f"{language}-{half}.txt").read_text("utf-8")
        self.language = language
        self._sentences = [part for line in text.splitlines() for part in _SENTENCE_END.split(line)]
        entries = _ENTRIES.get(language, ())
        middle = len(entries) // 2
        self._entries = entries[:middle] if half == "dev" else entries[middle:]
        self._random = random

    def sentence(self) -> str:
        """Return a sentence of literature or, if the language has them, a catalogue entry."""
        if self._entries and self._random.random() < 0.35:
            return fill_slots(self._random.choice(self._entries), self._random)
        return self._random.choice(self._sentences)

    def led_to(self, written: str) -> str:
        """Return *written* in a phrase that introduces it."""
        fenced = self._random.choice(_FENCES).format(written)
        return self._random.choice(_LEADS[self.language]).format(fenced)

    def crawl_request(self) -> str:
        """Return a phrase that introduces an ARK at the end of its line."""
        return self._random.choice(_LEADS[self.language]).partition("{}")[0].strip("( ")


def fill_slots(entry: str, random: Random) -> str:
    """Return *entry* with random names, years, numbers, sizes, roman numerals and series."""
    fills: dict[str, Callable[[], str]] = {
        "m": lambda: random.choice(_NAMES),
        "y": lambda: str(random.randint(1488, 1968)),
        "n": lambda: str(random.randint(2, 480)),
        "z": lambda: random.choice(_SIZES),
        "r": lambda: random.choice(_ROMAN),
        "s": lambda: random.choice(_SERIES),
    }
    return re.sub(r"\{(\w)\}", lambda slot: fills[slot[1]](), entry)


#: Beginnings of the line after an ARK, by kind, for all languages or for each. ``{…}`` are fields of `names.filled`.
_FOLLOWERS: dict[str, str | dict[str, str]] = {
    "word": {
        "en": "whereas|manuscript|copied|letters",
        "fr": "lorsque|manuscrit|copié|lettres",
        "de": "während|handschriftlich|kopiert|briefe",
        "es": "mientras|manuscrito|copiado|cartas",
    },
    "capitalised word": {
        "en": "The|However|Engravings|London",
        "fr": "Les|Cependant|Gravures|Paris",
        "de": "Die|Jedoch|Kupferstiche|Leipzig",
        "es": "Los|Aunque|Grabados|Toledo",
    },
    "short word": {
        "en": "in|of|a|by|to|is|as",
        "fr": "à|de|en|du|et|un|où",
        "de": "in|am|zu|im|es|ab|da",
        "es": "a|de|en|y|la|al|su",
    },
    "abbreviation": {
        "en": "op. cit.|ibid.|ed.|nos.|cf.|i.e.",
        "fr": "op. cit.|ibid.|éd.|t.|cf.|c.-à-d.",
        "de": "a. a. O.|ebd.|hrsg.|Bd.|vgl.|d. h.",
        "es": "op. cit.|ibíd.|ed.|núm.|cf.|p. ej.",
    },
    "ordinal": {
        "en": "19th-century|3rd|2nd ed.|1st|18th",
        "fr": "1er|2e éd.|XIXe siècle|3ème|2nd",
        "de": "19. Jh.|3. Aufl.|2.|1. Auflage",
        "es": "1.ª ed.|3.º|2.ª|1er",
    },
    "date": {
        "en": "12 March 1897|1897-03-12|March 12, 1897|4/7/1921",
        "fr": "12 mars 1897|1897-03-12|1er mai 1921|4/7/1921",
        "de": "12. März 1897|1897-03-12|4.7.1921|Mai 1921",
        "es": "12 de marzo de 1897|1897-03-12|4/7/1921|mayo 1921",
    },
    "page header": {
        "en": "THE COUNTY RECORD OFFICE   {d3}|{d2}   Chapter 4. Deeds",
        "fr": "ARCHIVES DE LA VILLE   {d3}|{d2}   Chapitre 4. Les actes",
        "de": "STADTARCHIV UND MUSEUM   {d3}|{d2}   Kapitel 4. Urkunden",
        "es": "ARCHIVO DE LA VILLA   {d3}|{d2}   Capítulo 4. Escrituras",
    },
    "number": "{d2}|{d3}|{d4} copies|{d}|1,250|3.500",
    "year": "1{d3}|18{d2}|19{d2}|1789,|(1856)",
    "measure": "4to|8vo|12mo|300dpi|12mm|35mm|16mm|24cm|4°|600dpi",
    "folio": "fol.3v|fol. 12r|f. 17|f29|ff. 3-4|3v|12r|bl. 7",
    "page": "p.12|p. 4|pp. 3-9|S. 44|p.{d3}|pl. 3",
    "shelf-mark": "MS1234|Add.12345|Cod. Pal. germ. 848|BnF fr. 1234|Hs1096|2J114|MS B.4|E1287",
    "list item": "{d}. |{d2}. |b) |(c) |\N{BULLET} |\N{EN DASH} |* |iv. |- |a. ",
    "page number": "{d2}\n|{d3}\n|- {d2} -\n|[{d3}]\n",
    "footnote": "\N{SUPERSCRIPT TWO} |[{d}] |{d2} |* |\N{DAGGER} |{d} Ibid.|\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO} ",
    "roman numeral": "iv|xii|XVI|III.|vii.|xx|IX|cxii",
    "address": "{w}s@example.org|a.{w}@archive.example|{w}desk@example.org",
    "doi": "10.5281/zenodo.{d7}|doi:10.1000/{d5}|https://doi.org/10.1000/{w}.{d4}|10.1000/{w}{d3}",
    "isbn": "ISBN 978-0-{d2}-{d6}-{d}|978{d10}|ISBN 0-{d4}-{d4}-X|ISSN {d4}-{d4}",
    "url": "https://www.example.org/{w}/{d4}|http://example.com/|www.example.org/{w}",
    "time": "14:30|9.15|10h30|21:05",
    "price": "12s.6d.|35 fr.|4 rs.|12/6|3£",
    "name": "J. Smythe|McNeill|d'Alembert|O'Brien|von Loon|de Vries",
    "bracket": "(2nd copy)|[sic]|(1856)|\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK} 4",
}
ANOTHER_ARK = "another ark"
FOLLOWER_KINDS = (*_FOLLOWERS, ANOTHER_ARK)


def follower(kind: str, language: str, random: Random, *, fill: Callable[[str, Random], str]) -> str:
    """Return the beginning of the line after an ARK; *kind* is one of `FOLLOWER_KINDS` except `ANOTHER_ARK`."""
    choices = _FOLLOWERS[kind]
    if isinstance(choices, dict):
        choices = choices[language]
    return fill(random.choice(choices.split("|")), random)
