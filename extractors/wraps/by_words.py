"""Rules that look at the next word, and at last the guesses."""

from __future__ import annotations

import regex

from extractors.checkchar import CheckCharacter
from extractors.wraps.evidence import Evidence
from extractors.wraps.word_lists import is_word
from extractors.wraps.wrap import Confidence, Wrap, WrapDecision

_FOOTNOTE_MARK = regex.compile(r"\d{1,3}\Z")
_FOOTNOTE = regex.compile(r"[ \t]*\n(?:https?:|ark:|\p{Lu})", regex.IGNORECASE)
_ABBREVIATIONS = frozenset(
    """
    abb abs anm anon app art aufl bd bde bibl bl boul bull ca cap cat cf ch chap chr cod col coll coord dept dir doc
    dr ed eds esp etc fasc fasz ff fig figs fl fol fols fonds ga gr hg hrsg hs ibid id ill inc inv isbn issn jh jg kap
    lat lib lic loc ltd mr mrs ms msc msgr mss mt nd nos nr nrs op ott phd pl pp prof pseud pt pts qtd ref repr rev rpt
    sc sec ser sign sigs sir sq ss st ste suppl tab tav tbl tom tr trad trans univ vgl vid vol vols vs zs
    """.split()  # noqa: SIM905 (as a list, a hundred lines)
)
_WORD = regex.compile(r"\p{L}+(?:['’-]\p{L}+)*[.,;:!?)\]»”’\"']*\Z")
_DATE = regex.compile(r"\d{1,4}(?:([./-])\d{1,2}\1\d{1,4})[.,;:)]*\Z")
_MIXED = regex.compile(r"(?=.*\d)(?=.*\p{L})")
_LIST_MARK = regex.compile(r"(?:\d{1,3}|\p{L})[.)]\Z")
_MEASURE = regex.compile(
    r"""
    (?: \d{1,4} (?: st|nd|rd|th | er|re|e|[eè]me|ère|os?|as?|[ºª] | to|vo|mo|° | x | px|pt|dpi|ppi
              | [mck]?m|[mk]?g|[kmgt]b|ghz|mhz|s|min|h|v|r ) (?: - \p{L}+ )*
      | \p{L}{1,5} \. \d+ [\p{L}\d.,–-]*            # fol.3v, vol.2, Rés.102
      | \d{1,3}(?-i:\p{Lu}\p{Ll})\p{L}*                          # a footnote's mark and its first word
      | (?-i:\p{Lu})-\d+ | \p{L}{2,}-\d{1,2}
    ) [.,;:!?)]*\Z
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_ROMAN = regex.compile(
    r"(?=[MDCLXVI])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})[.,;:)]*\Z", regex.IGNORECASE
)
_YEAR = regex.compile(r"(?:1[0-9]|20)\d\d[.,;:)]*\Z")
_NUMBER = regex.compile(r"\d+[/.,;:)]*\Z")
_INITIAL = regex.compile(r"\p{Lu}\.")
_LETTERS = regex.compile(r"\p{L}+")
_PATH = regex.compile(r"[\p{L}\p{Nd}_-]+(?:/[\p{L}\p{Nd}]|\.[\p{L}]{1,4}\W*\Z)")
#: A path in prose, not of an ARK.
_UNIX_PATH = regex.compile(
    r"/(?:bin|boot|dev|etc|home|lib|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)(?:/|\W*\Z)"
)
_DELIMITER_FIRST = regex.compile(r"[/.=:_~@+][\p{L}\p{Nd}]|-\d")
_SENTENCE_START = regex.compile(r"\p{Lu}\p{Ll}|\p{Lu}\p{L}*\d*\p{L}*[,;:]?\Z|(?:1[4-9]|20)\d\d[.,;:)]*\Z")
_SCHEME = regex.compile(r"[a-z]+:", regex.IGNORECASE)
_NAME_PART = regex.compile(r"[\p{L}\p{Nd}=~*+@_$]*")
_VOWELS = frozenset("aeiouyAEIOUY")


def may_be_rest(following: str, around: str) -> bool:
    """Return whether a unit (a cell, a box, a paragraph) that begins like *following* may be the rest of a name.

    >>> [may_be_rest(each, "") for each in ("7371t", "7371t and more", "/f12.item", "0120339")]
    [True, True, True, True]
    >>> [may_be_rest(each, "") for each in ("Paris", "1902", "12 maps", "2nd edition", "https://n2t.net/", "")]
    [False, False, False, False, False, False]
    """
    token, *more = following.split(maxsplit=1) or [""]
    part = str(_NAME_PART.match(token)[0])
    if _DELIMITER_FIRST.match(token):
        return not _UNIX_PATH.match(token)
    if not part or part == "ark" or _SCHEME.match(token) or (more and (_MEASURE.match(token) or _DATE.match(token))):
        return False
    if _MIXED.match(part) or more:
        return _MIXED.match(part) is not None
    return not _YEAR.match(token) if part.isdecimal() else part.islower() and not is_word(part, around)


def footnote_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    """Decide that a number belongs to the next note: behind a period, or where an identifier or a name follows it."""
    if _FOOTNOTE_MARK.match(wrap.right) and (wrap.left.endswith(".") or _FOOTNOTE.match(wrap.beyond)):
        return WrapDecision(False, "the mark of a footnote follows", Confidence.LIKELY)
    return None


def list_mark(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if _LIST_MARK.match(wrap.right) and not wrap.is_full:
        return WrapDecision(False, "a list mark follows", Confidence.AMBIGUOUS)
    return None


def structure_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if _UNIX_PATH.match(wrap.right):
        return WrapDecision(False, "a path follows", Confidence.AMBIGUOUS)
    if _DELIMITER_FIRST.match(wrap.right) or (wrap.right.startswith("-") and "-" in wrap.left):
        return WrapDecision(True, "the next line begins with a delimiter", Confidence.LIKELY)
    return None


def value_missing(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.left[-1:] in "=_~" or (wrap.left.endswith(":") and wrap.left.count(":") > 2):
        return WrapDecision(True, "the line ends with a delimiter", Confidence.LIKELY)
    return None


def structure_before(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if wrap.left[-1:] not in "/.:+@":
        return None
    ends_sentence = wrap.left.endswith(".") and _SENTENCE_START.match(wrap.right)
    if ends_sentence or _WORD.match(wrap.right):
        return WrapDecision(False, "a delimiter, then a word", Confidence.LIKELY)
    if _MEASURE.match(wrap.right) or _YEAR.match(wrap.right) or _DATE.match(wrap.right):
        return WrapDecision(False, "a delimiter, then a number or a measure", Confidence.AMBIGUOUS)
    return WrapDecision(True, "the line ends with a delimiter", Confidence.LIKELY)


def measure_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if _MEASURE.match(wrap.right) or _DATE.match(wrap.right):
        return WrapDecision(False, "an ordinal or a measure follows", Confidence.LIKELY)
    return None


def word_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if not _WORD.match(wrap.right):
        return None
    next_part = wrap.next_part
    if not wrap.is_full or _is_word(wrap) or _ROMAN.match(wrap.right):
        return WrapDecision(False, "a word follows", Confidence.AMBIGUOUS if wrap.in_table else Confidence.LIKELY)
    if next_part[:1].isupper() and not next_part.isupper():
        return WrapDecision(False, "a name follows", Confidence.AMBIGUOUS)
    if _VOWELS.isdisjoint(next_part) or len(next_part) > 2:
        return WrapDecision(True, "letters that are no word follow a full line", Confidence.AMBIGUOUS)
    return WrapDecision(False, "a word follows", Confidence.AMBIGUOUS)


def path_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    parts = _LETTERS.findall(wrap.next_part)
    if _PATH.match(wrap.right) and wrap.is_full and not all(is_word(part, wrap.around) for part in parts):
        return WrapDecision(True, "a path follows a full line", Confidence.LIKELY)
    return None


def check_character_missing(wrap: Wrap, evidence: Evidence) -> WrapDecision | None:
    left = wrap.ark
    if left is not None and not left.qualifier and evidence.zones.check(left) is CheckCharacter.FAILS:
        return WrapDecision(True, "its check character is still to come", Confidence.LIKELY)
    return None


def mixed_token(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if not _MIXED.match(wrap.right):
        return None
    return WrapDecision(True, "letters and digits follow", Confidence.LIKELY if wrap.is_full else Confidence.AMBIGUOUS)


def number_follows(wrap: Wrap, _: Evidence) -> WrapDecision | None:
    if not _NUMBER.match(wrap.right):
        return None
    if _YEAR.match(wrap.right) or not wrap.is_full:
        return WrapDecision(False, "a number follows", Confidence.AMBIGUOUS)
    return WrapDecision(True, "a number follows a full line", Confidence.AMBIGUOUS)


def otherwise(_: Wrap, __: Evidence) -> WrapDecision:
    return WrapDecision(False, "no evidence that it goes on", Confidence.AMBIGUOUS)


def _is_word(wrap: Wrap) -> bool:
    """Return whether the language around knows what follows as a word; a lone consonant is none."""
    next_part = wrap.next_part
    if next_part.lower() in _ABBREVIATIONS or _INITIAL.match(wrap.right):
        return True
    if len(next_part) == 1 and wrap.right[1:2] not in ("'", "\N{RIGHT SINGLE QUOTATION MARK}"):
        return next_part in _VOWELS
    return (next_part.islower() or next_part.istitle() or next_part.isupper()) and is_word(next_part, wrap.around)
