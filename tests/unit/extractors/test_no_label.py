"""Pages and texts that are skipped for lack of a label hold no label."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extractors.mentions import fast_path
from extractors.mentions.possible_labels import _BEFORE_SIGN, _SIGNS, holds_no_label_in_markup, label_sign_offsets
from extractors.model.documents import Block
from extractors.readers.markup import html
from extractors.readers.markup.html import is_shallow, read_html
from extractors.wraps.evidence import Evidence
from tests.unit.extractors.fully_read import read_fully
from tests.unit.extractors.test_clean_arks import met
from tests.unit.extractors.test_html_reader import PAGES

#: The letters of the word as sources spell them.
SPELLINGS = {
    "a": ["A", "\uff41", "&#97;", "&#x61;", "&#97", "%61", "%2561", "\\u0061", "\\x61", "%&#54;1"],
    "r": ["R", "\uff52", "&#114;", "&#x72;", "&#114", "%72", "%2572", "\\u0072", "\\x72", "&percnt;72"],
    "k": ["K", "\uff4b", "\N{KELVIN SIGN}", "&#107;", "&#x6B;", "&#107", "%6b", "\\u006B", "\\x6b", "&bsol;x6b"],
}
#: Text between two letters; a parser removes much of it.
TAGS = ["<b>", "</b>", "<wbr>", "<br>", "<p>", "<td>", "</html>", "</textarea>", "<textarea>", "<title>", "</title>"]
TAGS += ['<i title="x>y">', '<i title="a<b">', "<i x='>'>", "<!-- c -->", "<!-- a > b -->", "<!--", "-->", "<?x y?>"]
TAGS += ["<![CDATA[z]]>", "<script>x</script>", "<style>a</style>", "<template>t</template>", "</", "<x", "<a b=c"]
MARKS = ["&shy;", "&nbsp;", "&shy", "&nbsp", "&#173;", "&#173", "&#xad", "&zwnj;", "&hyphen;", "&ZeroWidthSpace;"]
MARKS += ["-", "\xad", "\u200b", " ", "\n", "\x02", "\0", ".", "*", "'", "`", "~", '"', ";", "&", "&amp;", "<", ">"]
SIGNS = [":", "&colon;", "&#58;", "&#58", "%3a", "%253A", "%&#51;a", "\\u003a", "+", "_", "+=", "/+", "/", "&amp;#58;"]
SIGNS += ["&amp;colon;", "\uff1a", "&plus;", "&lowbar;", " :", "<b>:", "</script>:"]
AROUND = ["/12148/x5", "12148/bpt6k10", " of Noah", "x", '="', '">', "'>", '<a href="', "<a title='", "<script>"]
AROUND += ["</script>", "<script type=application/json>", '{"a":"', '"}', "link: ", "mark:", "info:", "dark:", "é", "1"]
AROUND += [
    "%20", "\\n", "\\fI", "\\f(CW", "\\N", "\\u4e2d", "\\x20", "\u4e2d", "<title>T</title>",
    '"https://n2t.net/ark/12148/bpt6k10">', "<title/>", "<svg>",
]  # fmt: skip


def letter(of):
    return st.just(of) | st.just(of) | st.sampled_from(SPELLINGS[of])


BETWEEN = st.just("") | st.just("") | st.sampled_from(TAGS) | st.sampled_from(MARKS)
WORDS = st.tuples(letter("a"), BETWEEN, letter("r"), BETWEEN, letter("k"), BETWEEN, st.sampled_from(SIGNS)).map("".join)
SOURCES = st.lists(WORDS | st.sampled_from(AROUND + TAGS + MARKS + SIGNS), max_size=8).map("".join)


def without_links(reading):
    return replace(reading, links=(), base=None, documents=(), parts=(), unfollowed=(), robots=())


@example("ar&nbsp k:")
@example("Ar&shy\uff4b_")
@example("A<!-- a > b -->rkark\uff1adark:")
@example("</k aa<td>r<b>k:")
@example("<p>12148/x5aRark&#58;12148/x6")
@example("<title>q</titlex><title>z</title>")
@example("<p>12148&#47;btv1b8449691vbark:/12148/btv1b8449691v")
@example("<p>12148/x5<!-- a > b -->btv1b8449691vbark:/12148/btv1b8449691v")
@example("<b\x0b></b>" * 2100)
@example("<b></b\x0b>" * 2100)
@example("<div><?</div>?>" * 2100)
@example("<div><!</div>" * 2100)
@given(SOURCES | PAGES)
def test_unparsed_page_gives_the_same_as_a_parsed_one(source):
    data = source.encode()
    parsed = read_html(data, charset="utf-8")
    assert without_links(read_html(data, charset="utf-8", with_links=False)) == without_links(parsed)


@given(SOURCES)
def test_page_judged_without_label_has_no_label(source):
    if holds_no_label_in_markup(source):
        assert not read_html(source.encode(), charset="utf-8").blocks


ELEMENTS = st.sampled_from(["b", "div", "p", "li", "td", "wbr", "br", "option", "svg", "x-y"])
UNITS = st.sampled_from(
    [
        "<X>", "<X>|<X><Y>", "</X>", "<X>t</X>", '<X|a="</X>">', "<X|a='<Y>t</Y>'>", "<X><!--|</X>|-->",
        '<X|a="q>t</X>">', '<X|a="b>t</X>', "<X><Y></X></Y>", '<X><script>"</X>"</script>', '<br|title="</X>">',
        "<X/>t</X>", "<textarea></X></textarea>",
    ]
)  # fmt: skip


@given(st.lists(UNITS, min_size=1, max_size=4), ELEMENTS, ELEMENTS, st.integers(1, 4500))
def test_of_a_page_that_nests_little_the_parser_reads_all(units, x, y, count):
    unit = "".join(units).replace("|", " ").replace("X", x).replace("Y", y)
    page = unit * (count // len(units) + 1)
    if is_shallow(page):
        assert html._parse(page)[1] is None


@pytest.mark.parametrize(
    ("page", "is_little"), [("<b>" * 2100, False), ("<b>" * 1900, True), ("<p><b>x</b></p>" * 2000, True)]
)
def test_how_deep_a_page_surely_is_read(page, is_little):
    assert is_shallow(page) is is_little


@given(st.lists(WORDS | st.sampled_from(AROUND + TAGS + MARKS + SIGNS), max_size=8).map("".join))
def test_places_of_labels_are_all_signs_that_have_the_word_before_them(markup):
    behind_the_word = {
        found.start()
        for _, sign in _SIGNS
        for found in sign.finditer(markup)
        if _BEFORE_SIGN.match(markup, found.start())
    }
    behind_o = {at for at in label_sign_offsets(markup) if markup[at - 1 : at + 1].lower() == "o:"}
    assert set(label_sign_offsets(markup)) - behind_o == behind_the_word - behind_o


#: Characters between two letters of a text that repairs remove, or that belong to its lines.
GAPS = ["-\n", "\n", "-\r\n", "\xad", "\xad\n", "\u200b", "%C2%AD", "%E2%80%8B", "\\u200B", "&shy;", "&#173;", "-\n> "]
GAPS += [
    "\n// ", "\n| ", " \n ", "\x02\n", "\ufffe", "\u2010\n", "-\n 12 ", "\n3  ", "-  7\n", "\\", "\u115f", "\uffa0",
]  # fmt: skip
GAPS += [
    "-\n\nfoot 3\n\fHead of page\n\n", "\n12\n\f", "\xa0", " ", "\ufe0f", "\u0301", "%0A", "%20", "&nbsp;", "\u2028",
]  # fmt: skip
TEXT_SIGNS = [
    ":", "\uff1a", " :", "\xa0:", "%3a", "&colon;", "\\u003a", "+=", "/+", "+", "_", "/", "\\:", "-\n:", "\n 12 :",
]  # fmt: skip
BESIDE = [
    "/12148/bpt6k10", "12148/btv1b84", "_12148_x5", "see ", "info:", "mark", "Park ", "work: ", "dark:", "12", "1 ",
]  # fmt: skip
BESIDE += [
    "  2\n", "\n", "ARK", "12148/x5a", "%20", "%2F", "é", "中", "\\t", "\\fI", "(", "> ", "\n> ", "k", "r", " k: ",
    "the ark of Noah ",
]  # fmt: skip
GAP = st.just("") | st.just("") | st.just("") | st.sampled_from(GAPS)
TEXTS = st.lists(
    st.tuples(
        letter("a"), GAP, letter("r"), GAP, letter("k"), GAP, st.sampled_from(TEXT_SIGNS), st.sampled_from(BESIDE)
    ).map("".join)
    | st.sampled_from(BESIDE + GAPS + TEXT_SIGNS),
    max_size=6,
).map("".join)


@example("a%E2%80%8B\x0brk%3a/12148/bpt6k10")
@example("%20a-\nr%0A\xadk\u2009\xa0:12148/btv1b84")
@example("&#37;61rk:/12148/x5")
@example("see ar&#x25;6b:/12148/x5")
@example("\\u002561rk:/12148/x5")
@example("see a%2572k:/12148/x5")
@example("ar%EF%BD%8B:/12148/x5 and ar&#xFF4B;:/12148/x6")
@example("ar\uff056B:/12148/x5 and ar%6\xadB:/12148/x6")
@example("12148&sol;btv1b84496910ark:/12148/x5")
@example("12148\uff0fbtv1b844969bark:/12148/x5")
@example("  1 a\xad\n  2 rk\xa0:/12148/bpt6k10\n" * 4)
@given(TEXTS)
def test_text_judged_without_label_has_no_ark(text):
    if fast_path.holds_no_label(text):
        assert not list(read_fully(Block(text), Evidence(), {}))


def test_label_in_a_column_counts():
    lines = ["Irak: of Noah    see a scan   ", "in the book of   Denmark: ark  ", "this and that    :/12148/x5 is  "]
    text = "\n".join(lines * 3)
    assert not fast_path.holds_no_label(text)


def test_vector_judged_without_label_has_no_ark():
    texts = [text for text in dict.fromkeys(met()) if fast_path.holds_no_label(text)]
    assert texts  # there are some without an ARK
    assert not [text for text in texts if list(read_fully(Block(text), Evidence(), {}))]
