"""How lines end, told by the lines around: texts wrapped in every way that tools and people wrap them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.wraps.layout import NEAR_CHARS, Habit, LineEnd, line_end

ENGLISH = (
    "Most people who write about old maps have never had one in their hands, and it shows in what they say of paper, "
    "of folds and of the hands that coloured them. A sheet that was bound has a guard along its left margin; one that "
    "was sold loose has none, though later owners may have added it. Whoever wants to know how a map was used should "
    "look at its back first, where the stains are, and only then at the coast. The coast was drawn from other maps, "
    "the stains are its own. In the library of a small town there is such a sheet, and nobody asked for it since the "
    "year in which it was given. It lies in a drawer with prints of birds, and its number begins with a letter that is "
    "used for birds. That is how things are lost in places where nothing is ever thrown away or sent to another house."
)
FRENCH = (
    "Les cartes de la réserve ont été numérisées à partir d'épreuves très différentes, dont certaines étaient pliées "
    "depuis près d'un siècle. Là où le papier était déchiré, l'opérateur a préféré ne rien déplacer ; les légendes "
    "manquent donc à quelques endroits, et le catalogue le précise. Les noms des éditeurs ont été relevés tels qu'ils "
    "sont imprimés, même là où l'on sait qu'ils ont été ajoutés après coup. Une feuille détachée n'a pas de côté à "
    "elle, elle reçoit celle du recueil d'où elle provient. Il en résulte que deux épreuves du même état peuvent être "
    "décrites à deux endroits, et c'est très bien ainsi : l'une a été coloriée à Paris, l'autre ne l'a jamais été."
)


def words(text: str, width: int) -> list[str]:
    """Lines filled with words, as most tools fill them."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def fold(text: str, width: int) -> list[str]:
    """Lines cut at one column, through words as well; what they count is characters here."""
    return [text[at : at + width] for at in range(0, len(text), width)]


def fold_bytes(text: str, width: int) -> list[str]:
    """Lines cut after so many bytes, as `fold` cuts them; a character that was cut in two is read as two signs."""
    data = text.encode()
    return [data[at : at + width].decode("utf-8", "replace") for at in range(0, len(data), width)]


def fold_at_blanks(text: str, width: int) -> list[str]:
    """Lines broken behind the last blank that fits, which is kept, as `fold -s` breaks them."""
    lines = []
    while len(text) > width:
        at = text.rfind(" ", 0, width) + 1 or width
        lines.append(text[:at])
        text = text[at:]
    return [*lines, text]


def justified(text: str, width: int) -> list[str]:
    """Lines filled with words and spread to one width by further blanks, as `nroff` sets them."""
    *lines, last = words(text, width)
    return [*(_spread(line, width) for line in lines), last]


def _spread(line: str, width: int) -> str:
    gaps = line.count(" ")
    every, more = divmod(width - len(line), gaps)
    first, *rest = line.split(" ")
    return first + "".join(" " * (1 + every + (at < more)) + word for at, word in enumerate(rest))


def ends(lines: list[str], *, before: str = "") -> Iterator[tuple[str, str, LineEnd]]:
    """Each line with the next, as they were without what stands *before* them, and how the line ends."""
    written = [before + line for line in lines]
    text = "\n".join(written)
    places = accumulate((len(line) + 1 for line in written), initial=-1)
    next(places)
    for at, line, following in zip(places, lines, lines[1:], strict=False):
        assert text[at] == "\n"
        yield line, following, line_end(text, at)


@pytest.mark.parametrize("width", [40, 60, 72, 79, 100])
@pytest.mark.parametrize("text", [ENGLISH, FRENCH])
def test_lines_filled_with_words_have_less_room_than_the_next_word_needs(text: str, width: int) -> None:
    for line, following, end in ends(words(text, width)):
        assert end.habit in (Habit.WORDS, Habit.UNKNOWN)
        assert not end.blank
        if end.line_slack is not None:
            assert end.line_slack == max(map(len, words(text, width))) - len(line)
            assert end.line_slack <= len(following.split()[0])


@pytest.mark.parametrize("width", [40, 60, 72, 79])
def test_lines_filled_with_words_are_known_as_such(width: int) -> None:
    assert {end.habit for _, _, end in ends(words(ENGLISH, width))} == {Habit.WORDS}


@pytest.mark.parametrize("width", [30, 40, 60, 72])
@pytest.mark.parametrize("text", [ENGLISH, FRENCH])
def test_lines_cut_at_a_column_tell_where_a_blank_stood(text: str, width: int) -> None:
    for line, following, end in ends(fold(text, width)):
        assert (end.habit, end.line_slack) == (Habit.COLUMN, 0)
        assert end.blank is (line.endswith(" ") or following.startswith(" "))


@pytest.mark.parametrize("width", [40, 61, 72])
def test_a_column_may_be_counted_in_bytes(width: int) -> None:
    assert len({len(line) for line in fold_bytes(FRENCH, width)[:-1]}) > 1
    for line, following, end in ends(fold_bytes(FRENCH, width)):
        assert (end.habit, end.line_slack) == (Habit.COLUMN, 0)
        assert end.blank is (line.endswith(" ") or following.startswith(" "))


@pytest.mark.parametrize("width", [40, 60, 72])
def test_a_tool_that_keeps_its_blanks_is_known_by_them(width: int) -> None:
    for line, _, end in ends(fold_at_blanks(ENGLISH, width)):
        assert end.habit is Habit.KEEPS_BLANKS
        assert end.blank is line.endswith(" ")
        assert end.line_slack == max(map(len, fold_at_blanks(ENGLISH, width))) - len(line)


def test_a_word_longer_than_the_line_is_cut_where_blanks_are_kept() -> None:
    long = "https://gallica.bnf.fr/ark:/12148/btv1b8449691v/f29.planchecontact"
    lines = fold_at_blanks(f"{ENGLISH[:300]} {long} {ENGLISH[300:]}", 40)
    [cut] = [
        end
        for line, _, end in ends(lines)
        if "ark:/" in line or "gallica" in line
        if not end.blank
    ]  # fmt: skip
    assert (cut.habit, cut.line_slack) == (Habit.KEEPS_BLANKS, 0)


@pytest.mark.parametrize("width", [50, 65, 72])
def test_justified_lines_say_nothing_of_a_column(width: int) -> None:
    assert {end for _, _, end in ends(justified(ENGLISH, width))} == {LineEnd()}


@pytest.mark.parametrize("before", ["> ", "> > ", ">> ", "# ", "// ", " * ", "; ", "% ", "| "])
@pytest.mark.parametrize("wrapped", [words, fold_at_blanks])
def test_the_marks_of_quotations_and_comments_change_nothing(
    before: str, wrapped: Callable[[str, int], list[str]]
) -> None:
    plain = [end for _, _, end in ends(wrapped(ENGLISH, 60))]
    marked = [end for _, _, end in ends(wrapped(ENGLISH, 60), before=before)]
    assert [end.habit for end in marked] == [end.habit for end in plain]
    assert [end.line_slack for end in marked] == [end.line_slack for end in plain]


def test_an_indent_of_all_lines_changes_nothing() -> None:
    plain = [end for _, _, end in ends(words(ENGLISH, 60))]
    assert [end for _, _, end in ends(words(ENGLISH, 60), before="    ")] == plain


def test_a_numbered_paragraph_is_filled_from_its_own_margin() -> None:
    items = [
        textwrap.fill(ENGLISH[at : at + 250], 66, initial_indent=f"{at // 250 + 1:2}. ", subsequent_indent="    ")
        for at in range(0, 750, 250)
    ]
    text = "\n".join(items)
    inside = [at for at, char in enumerate(text) if char == "\n" and text[at + 1 : at + 5] == "    "]
    assert {line_end(text, at).habit for at in inside} == {Habit.WORDS}
    assert all(0 <= (line_end(text, at).line_slack or 0) <= 15 for at in inside)


def test_lines_of_verse_and_lists_were_ended_by_their_author() -> None:
    items = [
        "A map",
        "Two prints of birds, one torn",
        "Letters",
        "A long list of the things that lay in the drawer",
        "Seals",
        "The book of the house",
        "Nothing",
        "A second list",
        "Stamps",
        "A key without a label",
    ]
    assert {end.habit for _, _, end in ends(items)} == {Habit.AUTHOR}


def test_long_lines_that_nobody_wrapped_are_an_authors() -> None:
    paragraphs = [ENGLISH[at : at + size] for at, size in ((0, 430), (430, 90), (520, 300), (10, 160), (200, 45))]
    text = "\n".join(paragraphs)
    habits = {line_end(text, at).habit for at, char in enumerate(text) if char == "\n"}
    assert habits <= {Habit.AUTHOR, Habit.UNKNOWN}


@pytest.mark.parametrize("text", ["", "\n", "one line\n", "one\ntwo\n", "one\n\ntwo\n\nthree", "no line break"])
def test_few_lines_tell_nothing(text: str) -> None:
    assert {line_end(text, at).habit for at in range(len(text) + 1)} == {Habit.UNKNOWN}


def test_room_is_counted_from_the_lines_around_and_not_from_another_column_far_away() -> None:
    narrow, wide = words(ENGLISH, 40), words(" ".join([ENGLISH] * 12), 90)
    text = "\n".join([*narrow, *wide])
    at = text.index(wide[-10]) + len(wide[-10])
    assert line_end(text, at).line_slack == max(map(len, wide)) - len(wide[-10])


@pytest.mark.parametrize("line_break", ["\r\n", "\r", "\N{LINE SEPARATOR}", "\x85"])
def test_any_line_break_is_one(line_break: str) -> None:
    lines = words(ENGLISH, 60)
    plain, other = "\n".join(lines), line_break.join(lines)
    at = len(lines[0])
    assert line_end(other, at) == line_end(plain, at)


@given(st.text(st.sampled_from("ab \n\r\t>#é\N{EM SPACE}"), max_size=400), st.data())
def test_any_place_of_any_text_has_an_answer(text: str, data: st.DataObject) -> None:
    end = line_end(text, data.draw(st.integers(0, len(text))))
    assert end.line_slack is None or isinstance(end.line_slack, int)


@given(st.integers(0, 3), st.integers(0, 3))
def test_lines_further_away_than_evidence_reaches_change_nothing(before: int, behind: int) -> None:
    lines = words(" ".join([ENGLISH] * 8), 60)
    text = "\n".join(lines)
    at = text.index("\n", len(text) // 2)
    far = "x" * 11 + "\n"
    padded = far * (before * NEAR_CHARS // 12) + text + "\n" + far * (behind * NEAR_CHARS // 12)
    assert line_end(padded, at + len(far) * (before * NEAR_CHARS // 12)) == line_end(text, at)
