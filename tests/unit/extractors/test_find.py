"""Finding and repairing: marked-up texts state what must be found, and properties hold for any text."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.find import Mention, NamespaceMention, find_arks, scan
from extractors.model.ark import Ark
from extractors.model.documents import Block, Role
from extractors.wraps.evidence import Evidence
from extractors.wraps.rules import Confidence, Wrap, decide
from tests.growth import LINEAR, growth, seconds
from tests.vectors import FOLDER, vectors


@dataclass(frozen=True)
class Case:
    why: str
    text: str
    marked: tuple[str, ...]
    expected: tuple[tuple[str, dict[str, str]], ...]


#: Spelling of characters in vectors that a reader can't see or distinguish: their name, or else their number.
_SPELLED = re.compile(r"\\N\{(?:U\+(?P<number>[0-9A-F]{4,6})|(?P<name>[A-Z0-9 -]+))\}")


def test_possibly_glued_text_on_a_page_lowers_confidence() -> None:
    [mention] = scan(Block("see ark:/67531/metadc107835Letters there", page=1), Evidence())
    assert isinstance(mention, Mention)
    assert (str(mention.ark), mention.reason) == ("ark:67531/metadc107835Letters", "attached-word-kept")
    assert mention.confidence.token == "likely"


def test_page_with_text_from_right_to_left_is_likely_at_most() -> None:
    for text in ("راجع ark:/67531/metadc107835 من", "ראו ark:/67531/metadc107835.\n\nעוד"):
        [mention] = scan(Block(text, page=1), Evidence())
        assert isinstance(mention, Mention)
        assert (str(mention.ark), mention.confidence.token) == ("ark:67531/metadc107835", "likely")


def cases() -> Iterator[Case]:
    """Yield the marked-up texts: mentions in brackets, and the expectations below each text."""
    for file in sorted((FOLDER / "typeset").glob("*.txt")):
        for chunk in re.split(r"(?m)^# why: ", file.read_text("utf-8"))[1:]:
            why, _, rest = chunk.partition("\n")
            marked_text, _, below = _SPELLED.sub(_spelled_out, rest).partition("# arks")
            expected = [_expectation(line) for line in below.strip().splitlines()]
            yield Case(
                why,
                re.sub("[⟦⟧]", "", marked_text),
                tuple(re.findall("⟦(.*?)⟧", marked_text, re.DOTALL)),
                tuple(expected),
            )


def _spelled_out(spelled: re.Match[str]) -> str:
    return chr(int(spelled["number"], 16)) if spelled["number"] else unicodedata.lookup(spelled["name"])


def _expectation(line: str) -> tuple[str, dict[str, str]]:
    ark, *claims = re.split(r"\s{3,}", line.strip())
    return ark, {key: value.strip() for key, _, value in (claim.partition(":") for claim in claims)}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.why) for case in cases()])
def test_typeset_text(case: Case) -> None:
    found = find_arks(case.text)
    assert [str(mention.ark) for mention in found] == [ark for ark, _ in case.expected]
    assert tuple(mention.as_written for mention in found) == case.marked
    for mention, (_, claims) in zip(found, case.expected, strict=True):
        told = {
            "sent": mention.repaired,
            "repairs": ", ".join(mention.repairs),
            "confidence": mention.confidence.token,
            "reason": mention.reason,
            "inflection": mention.inflection,
            "fragment": mention.fragment,
            "alternatives": ", ".join(mention.alternatives),
        }
        assert {key: told[key] for key in claims} == claims


def test_a_bare_question_mark_is_an_inflection_in_a_link_and_punctuation_in_prose() -> None:
    url = "https://n2t.net/ark:67531/metadc107835?"
    [in_link] = scan(Block(url, Role.LINK_TARGET), Evidence())
    [in_prose] = find_arks(f"Have you seen {url} Yes.")
    assert isinstance(in_link, Mention)
    assert (in_link.inflection, in_prose.inflection) == ("?", "")


def test_whole_ark_in_a_link_settles_a_broken_one_in_the_text() -> None:
    text = "As ark:/67531/metadc\n107835\n19 leaves"
    link = Ark.parse("ark:67531/metadc107835")
    for supported, confidence in ((frozenset({link}), "certain"), (frozenset[Ark](), "likely")):
        [mention] = scan(Block(text), Evidence.from_arks([link], supported))
        assert isinstance(mention, Mention)
        assert (mention.ark, mention.confidence.token) == (link, confidence)


def test_a_doubtful_join_keeps_the_other_reading() -> None:
    [mention] = find_arks(
        "a line that is just as long\nsee ark:/67531/metadc107\n835 and something longer\nfor good measure here\n"
    )
    assert mention.confidence.token == "ambiguous"
    assert {str(mention.ark), *mention.alternatives} == {"ark:67531/metadc107", "ark:67531/metadc107835"}


# -- properties

typesetters = st.sampled_from(
    [
        "", " ", "\n", "-\n", "\r\n", "\N{SOFT HYPHEN}\n", "\N{SOFT HYPHEN}", "\N{HYPHEN}", "\N{ZERO WIDTH SPACE}",
        "\ufffe", "\x02", "\N{NO-BREAK SPACE}", "%3A", "%2F", "%253A", "%252F", "%20", "%C2%AD", "?", "??", "?info",
        "#", "ark:/", "ARK:", "ark+=", "info:ark/", "12148", "https://n2t.net/", "/", ".", "..", "(", ")", "»", "…",
        "&#58;", "&shy;", "\\", "\\u003a", "> ", "\f", "\n\f", "\ud800", "\N{COMBINING ACUTE ACCENT}", "を", "\x00",
        "\N{RIGHT-TO-LEFT OVERRIDE}", "\N{HEBREW LETTER ALEF}", "\N{EM DASH}", "btv1b8449691v", "bpt6k10", "7371t",
        "which",
    ]
)  # fmt: skip
any_text = st.text(st.characters(exclude_categories=()), max_size=6)
damaged = st.lists(st.one_of(typesetters, any_text), max_size=40).map("".join)


def spans_are_true(mention: Mention, text: str) -> bool:
    """Return True if the spans of *mention* cover its written text, in order and without overlap."""
    inside = all(0 <= first < last <= len(text) for first, last in mention.spans)
    apart = all(one[1] < other[0] for one, other in pairwise(mention.spans))
    return inside and apart and text[mention.spans[0][0] : mention.spans[-1][1]] == mention.as_written


@settings(max_examples=6 * settings.default.max_examples)
@given(damaged, st.sampled_from(Role))
def test_any_text_is_read_without_raising_and_spans_and_arks_are_true(text: str, role: Role) -> None:
    for mention in scan(Block(text, role), Evidence()):
        if isinstance(mention, NamespaceMention):
            assert text[slice(*mention.span)] == mention.as_written
            continue
        assert spans_are_true(mention, text)
        shown = "".join(text[first:last] for first, last in mention.spans)
        kept = [char for char in mention.repaired if char.isalnum()]
        assert len(kept) <= sum(char.isalnum() for char in unicodedata.normalize("NFKC", shown))
        assert Ark.parse(str(mention.ark)) == mention.ark == Ark.parse(mention.repaired)
        assert all(str(Ark.parse(other)) == other for other in mention.alternatives)
        assert str(mention.ark) not in mention.alternatives


@pytest.mark.parametrize(
    "piece", ["a", "\ud800", "é", "\N{COMBINING ACUTE ACCENT}", "\N{RIGHT-TO-LEFT MARK}", "/", "ark:"]
)
def test_a_very_long_text_is_read(piece: str) -> None:
    text = "ark:/12345/x" + piece * (30_000 // len(piece))
    assert all(spans_are_true(mention, text) for mention in find_arks(text))


name_chars = "0123456789bcdfghjkmnpqrstvwxz"
names = st.tuples(
    st.sampled_from(["x", "btv", "metadc"]), st.sampled_from("0123456789"),
    st.text(name_chars, min_size=3, max_size=14), st.sampled_from(["", "/f29.item", ".pdf", "/c3/s5.v7"]),
).map("".join)  # fmt: skip
WRITTEN_AS = (
    "ark:/67531/{}", "ark:67531/{}", "https://n2t.net/ark:/67531/{}", "ARK:/67531/{}", "n2t.net/ark:67531/{}",
    "ark :/67531/{}", "(ark:/67531/{})", "«\N{NO-BREAK SPACE}ark:/67531/{}\N{NO-BREAK SPACE}»", "“ark:/67531/{}”,",
    "[ark:/67531/{}].", "<https://n2t.net/ark:/67531/{}>", "ark:/67531/{}/;", "info:ark/67531/{}", "ark&#58;/67531/{}",
)  # fmt: skip
#: Words of a text that are no labels and never join their neighbours.
PROSE = re.findall(
    r"\S+",
    """
    the quick map of a town, see also Paris 1789 (a scan) and les ouvrages dans la réserve f. 12 note: at 12:30 item.
    https://example.org/a?b=c x:y bookmark: 3.1 – — “quoted” «cité» l'eau a/b 10.1000/182 [1] {x} 50% & \\n Ark: Sea
    """,
)
prose = st.lists(st.sampled_from(PROSE), max_size=60).map(" ".join)


def what_was_found(text: str, offset: int = 0) -> list[tuple[object, ...]]:
    """Return all facts of the mentions in *text*, with places from *offset* on."""
    return [
        (
            str(mention.ark), mention.as_written, mention.repaired, mention.repairs, mention.confidence, mention.reason,
            mention.alternatives, mention.inflection, mention.fragment,
            tuple((first - offset, last - offset) for first, last in mention.spans),
        )
        for mention in find_arks(text)
    ]  # fmt: skip


@given(names, st.sampled_from(WRITTEN_AS), prose, prose)
def test_the_text_around_an_ark_changes_nothing(name: str, form: str, before: str, behind: str) -> None:
    written = form.format(name)
    text = f"{before} {written} {behind}"
    assert what_was_found(text, len(before) + 1) == what_was_found(f" {written} ", 1)
    assert [str(mention.ark) for mention in find_arks(text)] == [str(Ark.parse(f"ark:/67531/{name}"))]


@given(
    names,
    st.sampled_from(WRITTEN_AS),
    st.integers(0, 5000),
    st.integers(0, 5000),
    st.sampled_from([" ", "word ", "x", "(", "\n", "é", "\N{SOFT HYPHEN}", "x:", "%", "&"]),
)
def test_ark_does_not_depend_on_surrounding_text(name: str, form: str, before: int, behind: int, padding: str) -> None:
    written = form.format(name)
    head, tail = padding * (before // len(padding)) + " ", " " + padding * (behind // len(padding))
    assert what_was_found(head + written + tail, len(head)) == what_was_found(f" {written} ", 1)


@given(st.sampled_from(["ark:/12148/bpt6k10\n7371t", "https://gallica.\nbnf.fr/ar\nk:/12148/bpt6k10-\n7371t"]),
       st.integers(0, 5000), st.integers(0, 5000))  # fmt: skip
def test_broken_ark_does_not_depend_on_surrounding_text(written: str, before: int, behind: int) -> None:
    head, tail = "x" * before + " ", " " + "x" * behind
    assert what_was_found(head + written + tail, len(head)) == what_was_found(f" {written} ", 1)


texts = st.lists(st.tuples(prose, names, st.sampled_from(WRITTEN_AS)), max_size=5).map(
    lambda parts: " ".join(f"{before} {form.format(name)}" for before, name, form in parts) + " end"
)


@given(texts, texts)
def test_joined_texts_hold_the_mentions_of_both(one: str, other: str) -> None:
    joined = f"{one}\n\n{other}"
    of_one = what_was_found(one)
    assert what_was_found(joined)[: len(of_one)] == of_one
    assert what_was_found(joined, len(one) + 2)[len(of_one) :] == what_was_found(other)


@given(st.from_regex(r"[bcdfghjkmnpqrstvwxz][0-9][0-9bcdfghjkmnpqrstvwxz]{4,12}", fullmatch=True), st.data())
def test_an_inserted_hyphen_at_a_wrap_changes_nothing(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(name) - 1))
    [mention] = find_arks(f"see ark:/67531/{name[:at]}\N{HYPHEN}\n{name[at:]}, there")
    assert mention.ark == Ark("67531", name)


# -- time

#: Each makes a text of about the given number of characters that is hard for some way of reading.
HOSTILE: dict[str, Callable[[int], str]] = {
    "labels": lambda n: "ark:" * (n // 4),
    "labels and half a NAAN": lambda n: "ark:/1/" * (n // 7),
    "labels and NAANs": lambda n: "ark:/12345/" * (n // 11),
    "ARKs without a blank": lambda n: "ark:/12345/x" * (n // 12),
    "ARKs, one a line": lambda n: "ark:/12345/x\n" * (n // 13),
    "ARKs, one a line, hyphens at the ends": lambda n: "ark:/12345/a-\n" * (n // 14),
    "ARKs in a quotation": lambda n: "> ark:/12345/x\n" * (n // 15),
    "ARKs parted by PDFium's mark": lambda n: "ark:/12345/x\ufffe" * (n // 13),
    "ARKs parted by line separators": lambda n: "ark:/12345/x\N{LINE SEPARATOR}" * (n // 13),
    "ARKs before dashes": lambda n: "ark:/12345/x\N{EN DASH}word " * (n // 18),
    "labels at line ends": lambda n: "ark:\n" * (n // 5),
    "colons": lambda n: ":" * n,
    "ends of labels": lambda n: "k:" * (n // 2),
    "letters of labels over lines": lambda n: "a\nr\nk\n:" * (n // 7),
    "an endless name": lambda n: "ark:/12345/" + "a" * n,
    "an endless name of other letters": lambda n: "ark:/12345/x" + "é" * n,
    "an endless name of accents": lambda n: "ark:/12345/x" + "\N{COMBINING ACUTE ACCENT}" * n,
    "an endless NAAN": lambda n: "ark:/" + "1" * n + "/x",
    "an endless qualifier": lambda n: "ark:/12345/x" + "/a.b" * (n // 4),
    "an endless query": lambda n: "ark:/12345/x?" + "a" * n,
    "an endless fragment": lambda n: "ark:/12345/x#" + "a" * n,
    "a hyphen and a wrap behind each letter": lambda n: "ark:/12345/" + "a-\n" * (n // 3),
    "a name with a dash behind each letter": lambda n: "ark:/12345/x" + "y\N{EM DASH}" * (n // 2),
    "hyphens": lambda n: "ark:/12345/x" + "-" * n,
    "slashes": lambda n: "ark:/12345/x" + "/" * n,
    "periods": lambda n: "ark:/12345/x" + "." * n,
    "asterisks": lambda n: "*ark:/12345/x" + "*" * n,
    "blanks": lambda n: " " * n + "ark:/12345/x" + " " * n,
    "line breaks": lambda n: "\n" * n + "ark:/12345/x" + "\n" * n,
    "blanks at line ends": lambda n: ("ark:/12345/x" + " " * 40 + "\n") * (n // 53),
    "no-break spaces": lambda n: "ark:/12345/x" + "\N{NO-BREAK SPACE}" * n,
    "soft hyphens": lambda n: "\N{SOFT HYPHEN}" * n + "ark:/12345/x" + "\N{SOFT HYPHEN}" * n + "y",
    "escaped hyphens": lambda n: "ark:/12345/x" + "%E2%80%90" * (n // 9) + "y",
    "escaped line breaks": lambda n: "ark:/12345/x" + "%0A" * (n // 3),
    "escaped percent signs": lambda n: "ark%" + "25" * (n // 2) + "3A/12345/x%" + "25" * (n // 2),
    "colons that are entities": lambda n: "ark&#58;" * (n // 8),
    "colons that are full-width": lambda n: "ark\N{FULLWIDTH COLON}" * (n // 4),
    "backslashes": lambda n: "ark:/12345/x" + "\\" * n + "_y",
    "marks of quotations": lambda n: "> ark:/12345/x\n" + "> " * (n // 2),
    "form feeds": lambda n: "ark:/12345/x" + "\n 1\n\f" * (n // 5),
    "brackets before": lambda n: "(" * n + "ark:/12345/x",
    "brackets behind": lambda n: "ark:/12345/x" + ")" * n,
    "schemes before": lambda n: ("https://" * 80 + "ark:/12345/x ") * (n // 653 + 1),
    "hosts before": lambda n: ("a." * 300 + "com/ark:/12345/x ") * (n // 617 + 1),
    "lines before": lambda n: ("x\n" * 300 + "/ark:/12345/x ") * (n // 614 + 1),
    "pairtrees": lambda n: "ark+=" * (n // 5),
    "file names": lambda n: "ark_12345_x " * (n // 12),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_time_grows_with_the_length_of_the_text(text: Callable[[int], str]) -> None:
    def find_in(length: int) -> None:
        find_arks(text(length))

    length = 1_000 if seconds(partial(find_in, 1_000)) > 0.1 else 3_000
    assert growth(find_in, length) < LINEAR


# -- wraps in short


@pytest.mark.parametrize(
    ("right", "joins"),
    [("", False), ("http://x.org/", False), ("7371t", True), ("and", False), ("(see", False), ("2.", False)],
)
def test_following_text_decides_a_join(right: str, joins: bool) -> None:
    assert decide(Wrap("ark:/67531/metadc10", right, has_hyphen=False), Evidence()).is_joined is joins


@pytest.mark.parametrize(
    ("text", "role", "sent"),
    [
        ("https://r.example/ark:/12148/btv1b84/", Role.LINK_TARGET, "https://r.example/ark:/12148/btv1b84/"),
        ("ark:/12148/btv1b84/", Role.LINK_TARGET, "ark:/12148/btv1b84/"),
        ("(https://r.example/ark:/12148/btv1b84/).", Role.TEXT, "https://r.example/ark:/12148/btv1b84/"),
        ("https://r.example/ark:/12148/btv1b84/?info", Role.TEXT, "https://r.example/ark:/12148/btv1b84/"),
        ("see ark:/12148/btv1b84/ and", Role.TEXT, "ark:/12148/btv1b84"),
        ("https://r.example/ark:/12148/btv1b84//", Role.LINK_TARGET, "https://r.example/ark:/12148/btv1b84"),
        ("https://r.example/ark:/12148/btv1b84/{id}", Role.TEXT, "https://r.example/ark:/12148/btv1b84"),
    ],
)
def test_the_slash_at_the_end_of_a_url_is_sent_and_makes_no_other_ark(text: str, role: Role, sent: str) -> None:
    [mention] = (each for each in scan(Block(text, role), Evidence()) if isinstance(each, Mention))
    assert (mention.repaired, str(mention.ark)) == (sent, "ark:12148/btv1b84")


# -- columns of plain text


@pytest.mark.parametrize("vector", vectors("columns"))
def test_a_name_goes_on_in_its_own_column(vector: dict[str, Any]) -> None:
    text = vector["text"]
    for mention, ark in zip(find_arks(text), vector["arks"], strict=True):
        assert str(mention.ark) == ark or (mention.confidence < Confidence.CERTAIN and ark in mention.alternatives)
        shown = "".join(text[start:end] for start, end in mention.spans)
        assert re.sub(r"\s", "", mention.as_written) == shown


def test_each_mention_of_a_long_table_is_found_once() -> None:
    rows = "".join(f"2026-11-22  ark:/12148/b{number}x   {number}  GET\n" for number in range(1000))
    assert [str(mention.ark) for mention in find_arks(rows)] == [f"ark:12148/b{number}x" for number in range(1000)]
