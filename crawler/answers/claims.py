"""Read the claims of an answer: the ARKs that it is about, and its promises.

Claims are in headers, head, record and text. A commitment is a rating such as ``Not Guaranteed`` by a guarantor, from
some day on (draft-kunze-ark-38, 5.1.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from crawler.answers.answer import STRUCTURED
from crawler.answers.erc import missing_code
from crawler.answers.notices import is_fault
from crawler.answers.quirks import is_unfilled, plain, quirks, without_marks
from crawler.answers.structured import kernel, plain_key, vocabulary
from extractors.find import find_arks
from extractors.model.ark import Ark
from extractors.model.urls import authority_of

#: Places in which a page identifies itself, unlike places in which it merely mentions an ARK.
_DECLARING = re.compile(
    r"canonical|cite-as|describes|link header|json-ld|og:url|identifier|ark"
    r"|(?:dc|dcterms|citation|prism|eprints|bepress_citation)[._:-].*",
    re.IGNORECASE,
)
#: One link of a Link header, valid or with misplaced semicolons, which some resolvers send.
_LINK = re.compile(r"<(?P<target>[^<>]*)>\s*;?(?P<parameters>[^<]*)")
_RELATIONS = re.compile(r"""rel\s*+=\s*+["']?(?P<named>[^"',;]*+)""", re.IGNORECASE)
_SELF_RELATION = re.compile(r"\b(?:describes|cite-as|canonical|identifier)\b", re.IGNORECASE)
#: An ARK, or the beginning of one: a NAAN, or a NAAN and a shoulder.
_NAMESPACE = re.compile(r"(?:https?://\S+?/)?ark:/?(?P<naan>[0-9a-z]{5,16})(?:/(?P<shoulder>\S*))?", re.IGNORECASE)
_SUBJECT_LABELS = ("where", "what", "success", "identifier", "id", "@id", "ark", "erc.ark", "pid")


@dataclass(frozen=True, slots=True)
class Subject:
    """The ARK or namespace that a record is about, if it names one."""

    named_in: str | None = None
    """The part of the answer that names the requested ARK, such as "the record's 'where'"; None if no part does."""
    other_ark: str | None = None
    """The ARK of the record, if it has another base, or None."""
    names_base: bool = False
    """True if the record names the base of the requested ARK, without its qualifier."""
    namespace: str | None = None
    """The NAAN or shoulder that the record is about, as written, or None."""


def linked_arks(link_header: str) -> tuple[Ark, ...]:
    """Return the ARKs that a Link header declares as those of the answered resource (draft-kunze-ark-38, 5.2).

    These are targets of the relations ``describes``, ``cite-as``, ``canonical`` and ``identifier``.

    >>> [str(ark) for ark in linked_arks('<https://n2t.net/ark:/12148/x5>; rel="describes"')]
    ['ark:12148/x5']
    """
    links = _LINK.finditer(link_header[:8_000])
    return tuple(
        ark
        for link in links
        if any(_SELF_RELATION.search(relation["named"]) for relation in _RELATIONS.finditer(link["parameters"]))
        for ark in _arks_in(link["target"])
    )


def identifies_itself_in(locations: Iterable[str]) -> bool:
    """Return True if one of *locations* of an ARK on a page declares that ARK as the page's own, and does not only
    mention it.

    A location is ``text``, ``json-ld``, ``Link header``, the relation of a link, or the name of a meta element.

    >>> identifies_itself_in(("text", "canonical")), identifies_itself_in(("text",))
    (True, False)
    """
    return any(_DECLARING.fullmatch(location) for location in locations)


def subject_of(record: Mapping[str, Mapping[str, str]], ark: Ark, header_arks: Sequence[Ark] = ()) -> Subject:
    """Return the subject of a *record* in an answer to a request for *ark*.

    *record* maps each part, such as ``erc``, to its values by label. *header_arks* are the ARKs of the Link header. The
    subject is the ARK in an element such as ``where`` or ``identifier``. An ARK in ``erc-support`` or ``erc-from`` is
    the address of the statement or of the record, so it does not count.
    """
    if ark in header_arks:
        return Subject(named_in="the Link header")
    if _is_in_set_title(record, ark):
        return Subject(named_in="the title of the set")
    elements = record.get("erc") or {
        label: value for values in record.values() for label, value in {**values, **kernel(values)}.items()
    }
    named_arks = [
        (label, other_ark)
        for label in _SUBJECT_LABELS
        if elements.get(label)
        for other_ark in _arks_in(elements[label])
    ]
    label = next((label for label, other_ark in named_arks if other_ark == ark), None)
    if label is not None:
        return Subject(named_in=f"the record's {label!r}")
    namespace = next((value for label in _SUBJECT_LABELS if (value := _namespace(elements.get(label, ""), ark))), None)
    if namespace is not None:
        return Subject(namespace=namespace)
    if any(other_ark == ark.base for _, other_ark in named_arks):
        return Subject(names_base=True)
    others = [other_ark for label, other_ark in named_arks if label != "what"] or header_arks
    return Subject(other_ark=next((str(other_ark) for other_ark in others if other_ark.base != ark.base), None))


def _is_in_set_title(record: Mapping[str, Mapping[str, str]], ark: Ark) -> bool:
    """Return True if the header of a THUMP answer (2005, 6) names *ark*, perhaps without ``ark:`` or with ``?info``."""
    title = record.get("set", {}).get("what", "").strip()
    title_ark = re.sub(r"\?(?:info|\?)?\Z", "", title)
    if not re.match(r"ark:", title_ark, re.IGNORECASE) and "/" in title_ark and "//" not in title_ark:
        title_ark = f"ark:{title_ark}"
    address = record.get("set", {}).get("where", "")
    return any(ark in _arks_in(text) for text in (title_ark, address) if text)


@lru_cache(maxsize=1024)  # many records name the same holder
def _arks_in(text: str) -> tuple[Ark, ...]:
    """Return the ARKs that a text names, in their order."""
    return tuple(mention.ark for mention in find_arks(text))


def _namespace(value: str, ark: Ark) -> str | None:
    """Return *value* if it is the NAAN or a shoulder of *ark*: at most the first half of its name."""
    match = _NAMESPACE.fullmatch(value.strip())
    if match is None or match["naan"].lower() != ark.naan:
        return None
    shoulder = (match["shoulder"] or "").strip("/")
    is_shoulder = ark.name.startswith(shoulder) and len(shoulder) * 2 <= len(ark.name)
    return value.strip() if is_shoulder else None


# -- the statement of commitment in an answer, and its content


class Level(StrEnum):
    """The stated permanence of an object, in the draft's own names."""

    NOT_GUARANTEED = "Not Guaranteed"
    DYNAMIC = "Permanent: Dynamic Content"
    STABLE = "Permanent: Stable Content"
    UNCHANGING = "Permanent: Unchanging Content"


_LEVEL = re.compile(
    r"(?P<not>\bnot[\W_]*guaranteed\b)"
    r"|(?<!not )(?<!non)(?<!non-)\bpermanent(?:ly)?\b[\W_]*(?P<kind>dynamic|stable|unchanging)\b",
    re.IGNORECASE,
)
_LEVELS = {"dynamic": Level.DYNAMIC, "stable": Level.STABLE, "unchanging": Level.UNCHANGING}
_STATEMENT_IN_TEXT = re.compile(
    r"(?<!our )(?<!your )(?<!their )(?<!my )(?<!the )(?<!a )(?<!and )"
    r"\b(?:commitment(?:\s+statement)?|persistence\s+(?:statement|policy)|permanence(?:\s+(?:statement|rating))?)\s*:\s*"
    r"(?P<words>\S.{0,300}?)(?=[.;]\s|\s[|]\s|\Z)",
    re.IGNORECASE,
)
#: A promise has more words than this, or one about permanence.
_FEW_WORDS = 5
_TAG = re.compile(r"</?(?:p|br|div|span|b|i|em|strong|a|li|ul)\b[^<>]{0,80}>", re.IGNORECASE)
#: The host of an address, which may be an archive. It promises nothing.
_HOST = re.compile(r"https?://[^/\s]*", re.IGNORECASE)
#: Addresses that only templates use: hosts for examples (RFC 2606), and ARKs for examples and tests.
_EXAMPLE_HOST = re.compile(r"https?://(?:[\w-]+\.)*example\.(?:com|org|net|edu)(?![\w.-]*\w)", re.IGNORECASE)
_EXAMPLE_ARK = re.compile(r"\bark:/?(?:12345|99999)(?:/|\Z)", re.IGNORECASE)
#: Records in pages that also have text for people.
WITHIN_PAGES = frozenset({"json-ld", "embedded"})
#: Keys that state a commitment in some records, and a material or a licence in others.
_AMBIGUOUS = frozenset({"policy", "support"})


def level_of(words: str) -> Level | None:
    """Return the permanence level that *words* name, in any punctuation; None for free text.

    >>> level_of("Permanent, Unchanging Content:").value, level_of("kept as long as the library stands")
    ('Permanent: Unchanging Content', None)
    """
    match = _LEVEL.search(words)
    if match is None:
        return None
    return Level.NOT_GUARANTEED if match["not"] else _LEVELS[match["kind"].lower()]


def statement_in(
    record: Mapping[str, Mapping[str, str]] | None, text: str, labelled: str | None
) -> Mapping[str, str] | None:
    """Return the statement of commitment in an answer, by label (``what``, ``who``, ``when``, ``where``), or None.

    *record* maps each part to its values by label. The statement is its part ``erc-support``, or another of its values.
    Otherwise it is *labelled*, the text under a label for commitments on the page, or a passage of *text*, the page's
    whole text.

    >>> statement_in({"erc-support": {"persistence": "kept for as long as the city"}}, "", None)
    {'persistence': 'kept for as long as the city', 'what': 'kept for as long as the city'}
    """
    record = record or {}
    if "erc-support" in record:
        story = dict(record["erc-support"])
        values = [value for label, value in story.items() if plain_key(label) in vocabulary("commitment")]
        return story if story.get("what") or not values else {**story, "what": values[0]}
    for kind in ("erc", *STRUCTURED):
        for label, value in record.get(kind, {}).items():
            key = plain_key(label)
            key = "commitment" if quirks().question_of(plain(label)) == "commitment" else key
            is_promise = _is_promise(value) or (kind == "erc" and is_placeholder(value))
            if key in vocabulary("commitment") and (is_promise or key not in _AMBIGUOUS):
                return {"what": value}
    if record and not record.keys() & WITHIN_PAGES:
        return None
    words = labelled
    if words is None and (match := _STATEMENT_IN_TEXT.search(text)):
        words = match["words"]
        if not (_is_promise(words) or is_placeholder(words)):
            return None
    return None if words is None else {"what": words}


def policy_link(statement: Mapping[str, str]) -> str | None:
    """Return the web address of the full statement of commitment, or None.

    >>> policy_link({"what": "Not Guaranteed", "where": "https://a.example/policy"}), policy_link({"where": "room 7"})
    ('https://a.example/policy', None)
    """
    where = statement.get("where", "").strip()
    return where if re.fullmatch(r"https?://[^\s/]\S*+", where, re.IGNORECASE) else None


def placeholder_in(statement: Mapping[str, str], answer_url: str) -> str | None:
    """Return the guarantor or the address in *statement* if it is a placeholder of a template, or None.

    *answer_url* is the URL of the answer with the statement: a site at an example host may use its own name.

    >>> placeholder_in({"who": "Harbour Library", "where": "http://example.com/ark:/99999/"}, "https://r.example/")
    'http://example.com/ark:/99999/'
    """
    who, where = statement.get("who", ""), statement.get("where", "")
    first_part = re.split(r"\s[|/:]\s|[|;:,]\s", statement.get("what", ""), maxsplit=1)[0]
    placeholder = next((name for name in (who, first_part) if _bare(name) in quirks().placeholder.who), None)
    if placeholder is not None:
        return placeholder
    host = _EXAMPLE_HOST.search(where)
    is_own = host is not None and authority_of(answer_url) == authority_of(host[0])
    return where if _EXAMPLE_ARK.search(where) or (host is not None and not is_own) else None


def _is_promise(words: str) -> bool:
    """Return True if *words* promise to keep an object, and are not only about its use or about another thing.

    >>> [_is_promise(words) for words in ("CC BY 4.0", "Rights: Archives of the Harbour", "CC0, preserved")]
    [False, False, True]
    >>> [_is_promise(words) for words in ("Permanent exhibition", "We are committed to protecting your privacy")]
    [False, False]
    """
    if level_of(words) is not None:
        return True
    promise = quirks().promise
    promise_text = promise.other.removed_from(_HOST.sub("", words))
    is_about_use = promise.use.is_in_plain(plain(words))
    return promise.permanence.is_in_plain(promise_text) or (
        not is_about_use and promise.commitment.is_in_plain(promise_text)
    )


def is_uninformative(what: str) -> bool:
    """Return True if a statement of commitment is short or about something else, and has no word about permanence.

    >>> is_uninformative("Under construction"), is_uninformative("Kept forever"), is_uninformative("Not Guaranteed")
    (True, False, False)
    """
    promise, words = quirks().promise, plain(what)
    is_vague = len(what.split()) <= _FEW_WORDS or promise.other.is_in_plain(words)
    return is_vague and not _is_promise(what) and not promise.time.is_in_plain(words)


def is_placeholder(what: str) -> bool:
    """Return True if a statement is the default text of a template, a program or an empty form, or reports a fault.

    >>> is_placeholder("Insert commitment here"), is_placeholder("The preservation policy could not be loaded")
    (True, True)
    """
    text, vocabulary = _bare(what), quirks()
    is_default_text = (
        text == "" or text in vocabulary.placeholder.word or text.startswith(vocabulary.placeholder.beginning)
    )
    if is_default_text or missing_code(what) or is_unfilled(_TAG.sub(" ", what)):
        return True
    if is_fault(text):
        return True
    has_default_phrase = any(phrase in plain(what) for phrase in vocabulary.placeholder.phrase)
    return has_default_phrase and level_of(what) is None


def _bare(words: str) -> str:
    """Return *words* in plain form, without markup and surrounding punctuation."""
    return without_marks(plain(_TAG.sub(" ", words)))


def has_address_and_guarantor(statement: Mapping[str, str]) -> bool:
    """Return True if a statement has no ``what``, but a guarantor (``who``) and a web address (``where``)."""
    where, who = statement.get("where", ""), statement.get("who", "")
    return "what" not in statement and where.startswith("http") and bool(who) and not missing_code(who)
