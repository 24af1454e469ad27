"""PDF: small handmade files with good and with evil content."""

import re
import zlib
from io import BytesIO
from pathlib import Path

import pikepdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.extraction import extraction_of, read_document
from extractors.find import scan
from extractors.mentions.open_ends import is_open
from extractors.model.documents import Block, Role
from extractors.readers.pdf.geometry import Box, Line, lines_of, order_text, without_false_breaks
from extractors.readers.pdf.pdf_reader import read_pdf
from extractors.wraps.evidence import Evidence
from tests.unit.extractors.readings import assert_sound, kinds
from tests.vectors import vectors

FIXTURES = Path(__file__).parents[2] / "fixtures"

CATALOG = b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>"

ONE_PAGE = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"

PAGE = (
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Annots 5 0 R"
    b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>/XObject<</A 8 0 R>>>>>>"
)


NOTHING = b"null"

LINE_END_HYPHEN = "\ufffe"  # a noncharacter: Unicode has no name for it


def stream(data, *, entries=b""):
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (entries, len(data), data)


def lines(*texts):
    """Return a content stream that shows each of *texts* on a line of its own."""
    shown = b"".join(b"(%s) Tj 0 -14 Td " % text.encode("latin-1") for text in texts)
    return stream(b"BT /F 12 Tf 10 150 Td " + shown + b"ET")


def text_line(x, y, text, size=10):
    """Return the content stream of one line of text; text in brackets is an array of strings and gaps."""
    plain = text.replace("(", r"\(").replace(")", r"\)")
    operand = f"{text} TJ" if text.startswith("[") else f"({plain}) Tj"
    return f"BT /F {size} Tf {x} {y} Td {operand} ET\n".encode("latin-1")


def pages(*contents, links=(), entries=b"", more=()):
    """Return a file with these pages of text; *links* (URI, rectangle) are on the first."""
    first = 5
    annotations = b"[%s]" % b" ".join(link(uri, rectangle) for uri, rectangle in links)
    objects = [b"<</Type/Catalog/Pages 2 0 R%s>>" % entries, b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    objects += [annotations]
    for index, content in enumerate(contents):
        annots = b"/Annots 4 0 R" if index == 0 else b""
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R%s/Resources<</Font<</F 3 0 R>>>>>>"
            % (first + 2 * index + 1, annots),
            stream(content),
        ]
    kids = b" ".join(b"%d 0 R" % (first + 2 * index) for index in range(len(contents)))
    objects[1] = b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(contents))
    return pdf(*objects, *more)


def typeset(*placed, **options):
    """Return a file with pages of lines, each placed at x and y, with a size or without."""
    return pages(*(b"".join(text_line(*line) for line in page) for page in placed), **options)


def save(document, **options):
    written = BytesIO()
    document.save(written, **options)
    return written.getvalue()


def pdf(*objects, trailer=b""):
    """Return a file with these objects, numbered from 1; the first is the catalog."""
    parts, offsets = [b"%PDF-1.4\n"], []
    for number, content in enumerate(objects, start=1):
        offsets.append(sum(map(len, parts)))
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = sum(map(len, parts))
    parts.append(b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table))
    parts.append(b"trailer\n<</Size %d/Root 1 0 R%s>>\n" % (len(objects) + 1, trailer))
    parts.append(b"startxref\n%d\n%%%%EOF\n" % start)
    return b"".join(parts)


def link(uri, rectangle=b"10 20 110 32"):
    return b"<</Type/Annot/Subtype/Link/Rect[%s]/A<</S/URI/URI(%s)>>>>" % (rectangle, uri)


WHOLE = pdf(CATALOG, ONE_PAGE, PAGE, lines("see ark:/12345/x5"), NOTHING)


def blocks(reading, role):
    return [(block.place, block.text) for block in reading.blocks if block.role is role]


def texts(reading):
    return [(block.page, block.text) for block in reading.blocks if block.role is Role.TEXT]


@pytest.mark.parametrize("vector", vectors("pdf_pages"))
def test_page_vector(vector):
    reading = read_pdf(typeset(*vector["pages"]))
    text_blocks = [block for block in reading.blocks if block.role is Role.TEXT]
    assert [block.text for block in text_blocks] == vector["texts"]
    if "breaks" in vector:
        assert [list(block.page_breaks) for block in text_blocks] == vector["breaks"]
    assert (reading.media_type, reading.findings) == ("application/pdf", ())


def test_a_hyphen_at_the_end_of_a_line_is_left_to_the_repair():
    reading = read_pdf(pdf(CATALOG, ONE_PAGE, PAGE, lines("the manu-", "script"), NOTHING))
    assert texts(reading) == [(1, f"the manu{LINE_END_HYPHEN}script")]


def test_link_annotations_are_unique_by_page_and_uri_at_their_first_place():
    annotations = b"[%s]" % b" ".join(
        [
            link(b"https://n2t.net/ark:/12345/x5", b"10.4 20.6 110 32"),
            link(b"https://n2t.net/ark:/12345/x5", b"10 6 40 18"),
            link(b"ark:/12345/x6"),
            link(b"MAILTO:someone@example.org"),
            link(b" "),
            b"<</Type/Annot/Subtype/Link/Rect[0 0 1 1]/Dest[3 0 R/Fit]>>",
            b"<</Type/Annot/Subtype/Text/Rect[0 0 1 1]/Contents(no link)>>",
        ]
    )
    reading = read_pdf(pdf(CATALOG, ONE_PAGE, PAGE, lines("x"), annotations))
    assert blocks(reading, Role.LINK_ANNOTATION) == [
        ("rect:10,21,110,32", "https://n2t.net/ark:/12345/x5"),
        ("rect:10,20,110,32", "ark:/12345/x6"),
        ("rect:10,20,110,32", "MAILTO:someone@example.org"),
    ]
    assert reading.links == ("https://n2t.net/ark:/12345/x5",)


PARAGRAPH = [
    [72, 700, "The quick brown fox jumps over the lazy dog by the river"],
    [72, 688, "and the scan of it is at https://n2t.net/ark:/12345/x5"],
    [72, 676, "4xz321 as the"],
    [72, 664, "catalogue of the museum of natural history says it ther"],
    [72, 652, "of the whole collection in its rooms since the last war"],
]


def test_text_under_a_wrapped_link_is_anchored_to_its_target_line_by_line():
    uri = b"https://n2t.net/ark:/12345/x54xz321"
    data = typeset(PARAGRAPH, links=[(uri, b"171 686 330 698"), (uri, b"72 674 104 686")])
    reading = read_pdf(data)
    [target] = [block for block in reading.blocks if block.role is Role.LINK_ANNOTATION]
    text = reading.blocks[0]
    assert (target.text, target.link, target.place) == (uri.decode(), 1, "rect:171,686,330,698")
    assert [text.text[anchor.start : anchor.end] for anchor in text.anchors] == [
        "https://n2t.net/ark:/12345/x5",
        "4xz321",
    ]
    assert {anchor.link for anchor in text.anchors} == {1}


def test_one_target_at_two_places_is_two_links_and_one_that_holds_no_ark_is_not_counted():
    lines = [[72, 700, "ark:/12345/x5 and again ark:/12345/x5"], [72, 688, "home"]]
    uri = b"ark:/12345/x5"
    annotations = [(uri, b"72 698 134 710"), (b"https://example.org/", b"72 686 100 697"), (uri, b"184 698 260 710")]
    reading = read_pdf(typeset(lines, links=annotations))
    targets = [(block.text, block.link) for block in reading.blocks if block.role is Role.LINK_ANNOTATION]
    assert targets == [("ark:/12345/x5", 1), ("https://example.org/", None), ("ark:/12345/x5", 2)]
    assert [(anchor.start, anchor.end, anchor.link) for anchor in reading.blocks[0].anchors] == [
        (0, 13, 1),
        (24, 37, 2),
    ]


def test_a_link_that_goes_on_on_the_next_page_is_one_link():
    first = [[72, 700, "Some words stand here."], [72, 688, "ark:/12345/x5"]]
    second = [[72, 700, "4xz321 and so on"], [72, 688, "to the end."]]
    with pikepdf.open(BytesIO(typeset(first, second))) as document:
        for page, rectangle in zip(document.pages, ([72, 686, 134, 698], [72, 698, 104, 710]), strict=True):
            action = pikepdf.Dictionary(S=pikepdf.Name.URI, URI="ark:/12345/x54xz321")
            page.Annots = document.make_indirect(
                [pikepdf.Dictionary(Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.Link, Rect=rectangle, A=action)]
            )
        reading = read_pdf(save(document))
    [text, target] = reading.blocks
    assert [text.text[anchor.start : anchor.end] for anchor in text.anchors] == ["ark:/12345/x5", "4xz321"]
    assert {anchor.link for anchor in text.anchors} == {target.link} == {1}


@pytest.mark.parametrize(
    ("naan", "name", "rest", "confidence", "readings"),
    [
        ("12148", "bpt6k407", "19286", "certain", ["ark:12148/bpt6k40719286"]),
        ("67531", "metadc107", "835b4", "ambiguous", ["ark:67531/metadc107835b4", "ark:67531/metadc107"]),
        ("67531", "metadc107", "835", "ambiguous", ["ark:67531/metadc107", "ark:67531/metadc107835"]),
    ],
    ids=["check character", "unknown", "number"],
)
@pytest.mark.parametrize("under_text", [True, False])
def test_link_annotation_cut_with_its_line_is_no_citation(naan, name, rest, confidence, readings, under_text):
    url = f"https://r.example/ark:/{naan}/{name}"
    lines_of_page = [[72, 700, f"The map is at {url}"], [72, 688, f"{rest} since the year 1902 in this"]]
    data = typeset(lines_of_page, links=[(url.encode(), b"140 698 400 712" if under_text else b"140 98 400 112")])
    [mention, *others] = extraction_of(data, name="a.pdf").mentions
    assert [str(mention.ark), *mention.alternatives] == readings[: 1 if confidence == "certain" else None]
    assert mention.confidence.token == confidence
    if under_text or confidence != "certain":
        assert others == []


def test_the_room_at_the_end_of_a_line_is_what_its_column_leaves():
    [text] = read_pdf(typeset(PARAGRAPH)).blocks
    line_slack = {text.text[:end].rpartition("\n")[2]: free_slots for end, free_slots in text.line_slack}
    assert set(line_slack) == {PARAGRAPH[0][2], PARAGRAPH[1][2]}  # up to where the word with the label ends
    assert line_slack[PARAGRAPH[0][2]] == pytest.approx(0, abs=0.5)  # the longest
    assert line_slack[PARAGRAPH[1][2]] == pytest.approx(6, abs=1)


def test_a_short_line_has_room_and_an_overfull_one_less_than_none():
    short = [[72, 700 - 12 * row, "The quick brown fox jumps over the lazy dog"] for row in range(8)]
    short[2][2], short[5][2] = ("see ark:/12345/x5", "The quick brown fox jumps over the lazy dog ark:/12345/x54xz321")
    [text] = read_pdf(typeset(short)).blocks
    line_slack = {text.text[:end].rpartition("\n")[2]: free_slots for end, free_slots in text.line_slack}
    assert line_slack[short[2][2]] > 15
    assert line_slack[short[5][2]] < -5


def test_columns_have_their_own_right_edges_and_two_lines_have_none():
    left = [[72, 700 - 12 * row, "a column of some forty characters a line"] for row in range(8)]
    right = [[320, 700 - 12 * row, "the narrow second one"] for row in range(8)]
    left[3][2], right[3][2] = "the left one shows ark:/12345/x54xz3214z", "see at ark:/12345/x54"
    [text] = read_pdf(typeset(left + right)).blocks
    line_slack = {text.text[:end].rpartition("\n")[2]: free_slots for end, free_slots in text.line_slack}
    assert abs(line_slack[left[3][2]]) < 4
    assert abs(line_slack[right[3][2]]) < 4
    assert read_pdf(typeset([[72, 700, "see ark:/12345/x5"], [72, 688, "4 there"]])).blocks[0].line_slack == ()
    pieces = ("this scan is at ark:/12345/vdc_100046{}", "92.0x{}", "76")  # the shortest lines end alike
    [text] = read_pdf(typeset([[72, 700 - 12 * row, pieces[row % 3].format("i" * row)] for row in range(12)])).blocks
    assert [slack > 20 for _, slack in text.line_slack] == [False, True, True] * 4


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param(
            "[(the scan)-400(is)-400(at)-400(ark:/123)-140(45/x5)-140(4xz)-400(and)-400(more)]",
            "the scan is at ark:/12345/x54xz and more",
            id="gaps within an ARK that are much narrower than the spaces around it",
        ),
        pytest.param(
            "[(the)-240(scan)-240(ark:/12345/x54)-200(and)-240(more)]",
            "the scan ark:/12345/x54 and more",
            id="spaces of a line that is set tight",
        ),
        pytest.param("the scan at ark:/12345/x54 and more", "the scan at ark:/12345/x54 and more", id="real spaces"),
        pytest.param(
            "[(the other)-140(words)-400(are)-400(left)-400(alone)]",
            "the other words are left alone",
            id="words without a label are left alone",
        ),
    ],
)
def test_false_spaces(line, text):
    reading = read_pdf(typeset([[72, 700, "[(one)-400(other)-400(line)-400(of)-400(words)]"], [72, 688, line]]))
    assert reading.blocks[0].text.splitlines()[1] == text


@pytest.mark.parametrize("matrix", [b"1 0 0 1 72 500", b"0 1 -1 0 300 72", b"0 -1 1 0 300 700"])
def test_turned_text_is_read_as_upright_text(matrix):
    """Gaps are measured along the text, and links find the text under them."""
    line = b"[(see)-400(https://n2t.net/ark:/53355/cl)-40(0100)-50(66723)] TJ"
    target = b"https://n2t.net/ark:/53355/cl010066723"
    reading = read_pdf(pages(b"BT /F 10 Tf %s Tm %s ET" % (matrix, line), links=[(target, b"0 0 612 792")]))
    [block] = [block for block in reading.blocks if block.role is Role.TEXT]
    assert (block.text, block.seams) == (f"see {target.decode()}", ())
    assert [block.text[anchor.start : anchor.end] for anchor in block.anchors] == [block.text]


@pytest.mark.parametrize(("matrix", "step"), [(b"0 1 -1 0", 12), (b"0 -1 1 0", -12)])
def test_lines_on_their_side_are_in_reading_order(matrix, step):
    lines = (b"see https://n2t.net/ark:", b"/53355/cl0100", b"66723 and on")
    drawn = (
        b"BT /F 10 Tf %s %d %d Tm (%s) Tj ET " % (matrix, 300 + step * row, 400, line) for row, line in enumerate(lines)
    )
    [text] = read_pdf(pages(b"".join(drawn))).blocks
    assert text.text.split() == b" ".join(lines).decode().split()


class Placed:
    """Glyphs ten points wide, in rows as drawn from left to right."""

    def __init__(self, rows):
        self.text = "\r\n".join(row.replace(" ", "") for row in rows)
        self._boxes = [
            Box(10 * at, -12 * line, 10 * at + 10, 10 - 12 * line)
            for line, row in enumerate(rows)
            for at, char in enumerate((*row, " ", " "))
            if char != " " or at >= len(row)
        ]

    def box(self, offset):
        return self._boxes[offset]

    def boxes(self, offsets):
        return [self._boxes[offset] for offset in offsets]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (["ark:/53355/cl0100 ואר", "םינש ,66723"], "ראו ark:/53355/cl0100\n66723, שנים"),
        (["ark:/65665/3c7- .ואר", "ןאכ 9a33"], "ראו . ark:/65665/3c7-\n9a33 כאן"),
        (["ןאכ 9a33", "ark:/65665/3c7-"], "9a33 כאן\nark:/65665/3c7-"),
    ],
    ids=["a comma that is drawn at the left", "a full stop that is drawn at the right", "lines as they are"],
)
def test_punctuation_beside_an_ark_belongs_to_the_text_from_right_to_left(rows, text):
    glyphs = Placed(rows)
    assert order_text(glyphs.text, lines_of(glyphs.text, glyphs), glyphs).text == text


def line_of_pieces(*shown, x=72, y=700, font=b"/F 10 Tf"):
    """Return a line whose pieces follow each other, each with its own font and rise."""
    pieces = b"".join(b"%s %d Ts (%s) Tj " % (size, rise, text) for text, size, rise in shown)
    return b"BT %d %d Td %sET\n" % (x, y, pieces)


BODY, SMALL = b"/F 10 Tf", b"/F 6 Tf"


@pytest.mark.parametrize("vector", vectors("raised_marks"))
def test_a_raised_mark_of_any_kind_is_parted_from_the_ark(vector):
    fonts = {"body": BODY, "small": SMALL}
    pieces = [(text.encode(), fonts[font], rise) for text, font, rise in vector["pieces"]]
    [block] = read_pdf(pages(line_of_pieces((b"see ark:/12345/x54", BODY, 0), *pieces))).blocks
    assert block.text == vector["text"]
    assert block.seams == ((19,) if " " in vector["text"][12:] else ())


def test_word_before_an_ark_is_apart_in_a_tight_line_with_a_raised_mark():
    raised = b"BT 72 700 Td /F 10 Tf (a pamphlet) Tj /F 6 Tf 4 Ts (1) Tj 0 Ts /F 10 Tf"
    line = raised + b" [-320(and)-205(ark:/12345/x54)-205(agree)-205(here)] TJ ET\n"
    other = b"BT 72 688 Td /F 10 Tf [(one)-340(other)-340(line)-340(of)-340(words)-340(below)] TJ ET\n"
    assert "and ark:/12345/x54 agree" in read_pdf(pages(line + other)).blocks[0].text


@pytest.mark.parametrize(
    ("rule", "sign"),
    [("133.5 700 3.3 .4", "_"), ("133.5 704 3.3 .4", " "), ("99 698 40 .4", " "), ("100 700 3.3 .4", " ")],
)
def test_underscore_drawn_by_tex_is_read(rule, sign):
    shown = text_line(72, 700, "ark:/12657/an") + text_line(137.2, 700, "ua13783413") + f"{rule} re f\n".encode()
    [block] = read_pdf(pages(shown)).blocks
    assert block.text == f"ark:/12657/an{sign}ua13783413"


def test_raised_mark_prevents_certainty_without_a_check_character():
    line = line_of_pieces((b"see ark:/12345/x54", BODY, 0), (b"2", SMALL, 4), (b" and", BODY, 0))
    checked = line_of_pieces((b"see ark:/12148/bpt6k107371t", BODY, 0), (b"2", SMALL, 4), (b" and", BODY, 0), y=680)
    mentions = extraction_of(pages(line + checked), name="a.pdf").mentions
    assert [(str(mention.ark), mention.confidence.token, mention.reason) for mention in mentions] == [
        ("ark:12345/x54", "likely", "gaps-on-page"),
        ("ark:12148/bpt6k107371t", "certain", "check-character"),
    ]


@pytest.mark.parametrize("spacing", [1.5, 2.5, 4.0])
@pytest.mark.parametrize(
    "after", [pytest.param(" and more", id="a word"), pytest.param(") is", id="a bracket"), pytest.param(".", id="end")]
)
def test_letterspaced_words_are_whole(spacing, after):
    wide = "https://n2t.net/ark:/12345/x54xz321"
    shown = f"BT /F 10 Tf 72 700 Td (see ) Tj {spacing} Tc ({wide}) Tj 0 Tc ({after.replace(')', chr(92) + ')')}) Tj ET"
    [block] = read_pdf(pages(shown.encode())).blocks
    assert re.sub(r" (?=[).]|$)", "", block.text) == f"see {wide}{after}"


def test_letterspaced_words_go_on_over_lines():
    wide = b"BT /F 10 Tf 3 Tc 72 700 Td (see ark:/12345/x54) Tj 0 -12 Td (xz321) Tj 0 Tc ( and more) Tj ET"
    [block] = read_pdf(pages(wide)).blocks
    assert block.text.splitlines()[1].startswith("xz321 and")


def test_comments_and_forms_are_text():
    annotations = (
        b"[<</Type/Annot/Subtype/Text/Rect[0 0 9 9]/Contents(see ark:/12345/x5)>>"
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(id)/V(ark:/12345/x6)/Rect[0 0 9 9]>>]"
    )
    reading = read_pdf(pdf(CATALOG, ONE_PAGE, PAGE, lines("x"), annotations))
    assert blocks(reading, Role.TEXT) == [("", "x"), ("comment", "see ark:/12345/x5"), ("field", "ark:/12345/x6")]


def test_value_of_a_form_field_may_be_in_its_parent():
    catalog = b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[6 0 R]>>>>"
    field = b"<</FT/Tx/T(id)/V(ark:/12345/x6)/Kids[7 0 R]>>"
    widget = b"<</Type/Annot/Subtype/Widget/Parent 6 0 R/Rect[0 0 9 9]>>"
    reading = read_pdf(pdf(catalog, ONE_PAGE, PAGE, lines("x"), b"[7 0 R]", field, widget))
    assert blocks(reading, Role.TEXT) == [("", "x"), ("field", "ark:/12345/x6")]


PACKET = (
    b"<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>"
    b"<dc:identifier xmlns:dc='http://purl.org/dc/elements/1.1/'>ark:/12345/x7</dc:identifier>"
    b"</x:xmpmeta><?xpacket end='w'?>"
)


METADATA = stream(zlib.compress(PACKET), entries=b"/Type/Metadata/Subtype /XML/Filter/FlateDecode")

PACKED = pages(text_line(72, 700, "x"), entries=b"/Metadata 7 0 R", more=[METADATA])


def encrypt(data):
    with pikepdf.open(BytesIO(data)) as document:
        encryption = pikepdf.Encryption(owner="secret", user="", R=6)
        return save(document, encryption=encryption, fix_metadata_version=False)


@pytest.mark.parametrize("data", [pytest.param(PACKED, id="compressed"), pytest.param(encrypt(PACKED), id="encrypted")])
def test_encoded_xmp_is_read(data):
    assert b"xpacket" not in data
    assert blocks(read_pdf(data), Role.METADATA) == [("xmp/identifier", "ark:/12345/x7")]


def with_attachments(**files):
    with pikepdf.open(BytesIO(WHOLE)) as document:
        for name, content in files.items():
            document.attachments[name] = pikepdf.AttachedFileSpec(document, content, filename=name)
        return save(document)


def test_only_attached_text_is_read():
    reading = read_pdf(with_attachments(notes=b"see ark:/12345/x8", picture=bytes(range(256))), read_document)
    assert [block.text for block in reading.blocks if block.place == "attachment:notes"] == ["see ark:/12345/x8"]
    assert not [block for block in reading.blocks if "picture" in block.place]


def test_an_attached_bomb_is_left():
    reading = read_pdf(with_attachments(zeros=b"0" * 33 * 2**20), read_document)
    assert kinds(reading) == ["cut-off"]
    assert texts(reading)


def test_info_xmp_and_outline_are_metadata():
    reading = read_pdf(
        pdf(
            CATALOG,
            ONE_PAGE,
            PAGE,
            lines("x"),
            NOTHING,
            b"<</Type/Outlines/First 7 0 R/Last 7 0 R>>",
            b"<</Title(On ark:/12345/x8)/Parent 6 0 R/Next 7 0 R>>",  # its own successor
            stream(PACKET),
            b"<</Title( Thesis )/Subject(ark:/12345/x6)/Author<FEFFD800>>>",
            trailer=b"/Info 9 0 R",
        )
    )
    assert reading.title == "Thesis"
    assert blocks(reading, Role.METADATA) == [
        ("info/Title", "Thesis"),
        ("info/Subject", "ark:/12345/x6"),
        ("xmp/identifier", "ark:/12345/x7"),
        ("outline", "On ark:/12345/x8"),
    ]


@pytest.mark.parametrize(
    ("data", "kind", "detail"),
    [
        pytest.param(b"", "unreadable", "not a PDF", id="nothing"),
        pytest.param(b"%PDF-1.4\n" + bytes(range(256)), "unreadable", "not a PDF", id="garbage behind a header"),
        pytest.param(WHOLE[:120], "unreadable", "not a PDF", id="cut off before its pages"),
        pytest.param(pdf(CATALOG, b"<</Type/Pages/Kids[]/Count 0>>"), "unreadable", "no pages", id="without pages"),
        pytest.param((FIXTURES / "password.pdf").read_bytes(), "encrypted", "password", id="with a password"),
    ],
)
def test_unreadable_files_have_a_reason(data, kind, detail):
    read_pdf((FIXTURES / "password.pdf").read_bytes())  # its error must not be taken for the next one's
    reading = read_pdf(data)
    assert reading.blocks == ()
    assert kinds(reading) == [kind]
    assert detail in reading.findings[0].detail


def test_a_password_against_changes_does_not_hinder_reading():
    reading = read_pdf((FIXTURES / "owner_password.pdf").read_bytes())
    assert texts(reading) == [(1, "ark:/12345/x54xz321")]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300 + b"\r\n" + WHOLE, id="HTTP headers before it"),
        pytest.param(WHOLE.replace(b"startxref\n", b"startxref\n9"), id="a table of contents that isn't there"),
    ],
)
def test_damage_that_pdfium_can_mend(data):
    assert texts(read_pdf(data)) == [(1, "see ark:/12345/x5")]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(WHOLE[:-40], id="cut off in its trailer"),
        pytest.param(WHOLE[: WHOLE.index(b"xref")], id="cut off before its table of contents"),
    ],
)
def test_damage_that_takes_a_repair(data):
    reading = read_pdf(data)
    assert texts(reading) == [(1, "see ark:/12345/x5")]
    assert kinds(reading) in ([], ["repaired"])


def test_text_with_unmapped_fonts_is_reported():
    font = (
        b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType2"
        b"/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor"
        b"<</Type/FontDescriptor/FontName/X/Flags 4>>>>]>>"
    )
    page = PAGE.replace(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>", font)

    def shown_as(words, shift):
        cids = b"".join(b"%04x" % (ord(char) + shift) for char in words)
        return kinds(
            read_pdf(pdf(CATALOG, ONE_PAGE, page, stream(b"BT /F 12 Tf 10 150 Td <%s> Tj ET" % cids), NOTHING))
        )

    assert shown_as("Voir la notice de la carte, puis le plan de la ville", 1) == ["no-text"]
    # Fonts of old TeX do not say it either, but number letters as ASCII does.
    assert shown_as("Voir la notice de la carte, puis le plan de la ville", 0) == []
    assert kinds(read_pdf(pdf(CATALOG, ONE_PAGE, PAGE, lines("Xqwr zx ghtr"), NOTHING))) == []


def test_a_page_that_fails_costs_that_page():
    pages = b"<</Type/Pages/Kids[3 0 R 2 0 R 3 0 R]/Count 3>>"  # the second kid is its own parent
    reading = read_pdf(pdf(CATALOG, pages, PAGE, lines("ark:/12345/x5 here"), NOTHING))
    assert (1, "ark:/12345/x5 here") in texts(reading)
    assert set(kinds(reading)) == {"unreadable-page"}
    assert reading.findings[0].detail.endswith("Failed to load page.")


@pytest.mark.slow
def test_two_hundred_thousand_pages_are_read_up_to_the_limit():
    two_hundred_thousand = b"<</Type/Pages/Kids[%s]/Count 200000>>" % (b"3 0 R " * 200_000)
    reading = read_pdf(pdf(CATALOG, two_hundred_thousand, PAGE, lines("see ark:/12345/x5 there"), NOTHING))
    assert len(texts(reading)) == 5000
    assert [(finding.kind, finding.detail) for finding in reading.findings] == [
        ("page-limit", "only the first 5000 of 200000 pages were read")
    ]


def test_a_page_of_too_many_objects_costs_that_page():
    huge = stream(b"BT /F 12 Tf " + b"(x) Tj " * 300_001 + b"ET")
    other = PAGE.replace(b"/Contents 4", b"/Contents 9")
    two = b"<</Type/Pages/Kids[3 0 R 6 0 R]/Count 2>>"
    reading = read_pdf(
        pdf(CATALOG.replace(b"/Outlines 6 0 R", b""), two, PAGE, huge, NOTHING, other, b"<<>>", b"<<>>", lines("y"))
    )
    assert texts(reading) == [(2, "y")]
    assert kinds(reading) == ["cut-off"]


@settings(max_examples=4 * settings.default.max_examples)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=12))
def test_no_damage_raises(damage):
    data = bytearray(WHOLE)
    for position, byte in damage:
        data[position] = byte
    reading = read_pdf(bytes(data))
    assert_sound(reading)
    assert read_pdf(bytes(data)) == reading


def broken(*_, **__):
    raise IndexError("list index out of range")


CITING = typeset(
    [(72, 700, "see ark:/12148/btv1b8449691v there"), (72, 686, "and so on to the end of the line"), (72, 672, "last")],
    links=[(b"https://n2t.net/ark:/12345/x5", b"72 690 200 712")],
    entries=b"",
)


@pytest.mark.parametrize(
    ("part", "lost", "said"),
    [
        ("pdf_pages.lines_of", set(), "page 1: geometry: IndexError"),
        ("pdf_pages.Spacing", set(), "page 1: geometry: IndexError"),
        ("pdf_pages.links_of", {Role.LINK_ANNOTATION}, "page 1: links: IndexError"),
        ("pdf_pages.comments_of", set(), "page 1: comments: IndexError"),
        ("pdf_pages._all_text", {Role.TEXT}, "page 1: text: IndexError"),
        ("pdf_reader.info_values", set(), "Info dictionary: IndexError"),
        ("pdf_reader.xmp_blocks", set(), "XMP: IndexError"),
        ("pdf_reader.outline_titles", set(), "outline: IndexError"),
        ("bodies.running_lines", set(), ""),
    ],
)
def test_no_part_of_a_file_takes_the_others_with_it(part, lost, said, monkeypatch):
    whole = {block.role for block in read_pdf(CITING).blocks}
    assert {Role.TEXT, Role.LINK_ANNOTATION} <= whole
    monkeypatch.setattr(f"extractors.readers.pdf.{part}", broken)
    reading = read_pdf(CITING)
    assert {block.role for block in reading.blocks} == whole - lost
    assert [finding.detail for finding in reading.findings] == ([said] if said else [])
    assert set(kinds(reading)) <= {"unreadable-part"}


def test_pages_that_can_not_be_brought_together_are_read_one_by_one(monkeypatch):
    data = typeset([(72, 80, "see https://n2t.net/ark:/12148/btv1b8449-")], [(72, 700, "691v there")])
    monkeypatch.setattr("extractors.readers.pdf.bodies.running_lines", broken)
    reading = read_pdf(data)
    assert [page for page, _ in texts(reading)] == [1, 2]
    assert [finding.detail for finding in reading.findings] == ["running heads: IndexError"]


@pytest.mark.parametrize("matrix", ["-1 0 0 1", "1 0 0 -1", "-1 0 0 -1", "0 1 -1 0", "0 0 0 0", "1e-9 0 0 1e-9"])
def test_text_that_is_mirrored_turned_or_without_width_is_read(matrix):
    line = "BT /F 10 Tf {} 300 {} Tm (see ark:/12345/x{} and on) Tj ET\n"
    content = "".join(line.format(matrix, 700 - 14 * row, row) for row in range(12))
    assert kinds(read_pdf(pages(content.encode()))) == []


# -- tables, and line numbers


def arks_of(data):
    return [str(mention.ark) for mention in extraction_of(data).mentions]


def test_columns_of_running_text_are_no_cells():
    left = [[72, 700 - 12 * row, f"ark:/12148/x{row} stands here"] for row in range(8)]
    right = [[320, 700 - 12 * row, f"ark:/12148/y{row} stands there"] for row in range(8)]
    [text] = read_pdf(typeset([*left, *right])).blocks
    assert len(text.line_slack) > 8


def test_years_that_begin_lines_are_no_numbers_of_lines():
    placed = [[72, 700 - 12 * row, f"{year} ark:/12148/x{row}"] for row, year in enumerate((1850, 12, 7, 1999, 3, 40))]
    [text] = read_pdf(typeset(placed)).blocks
    assert "1850" in text.text
    assert "40" in text.text


def test_a_bracket_close_behind_the_last_letterspaced_letter_belongs_to_no_word_with_it():
    # Typst sets no space behind the last letter of a letterspaced word; kerning makes gaps uneven
    letters = b"".join(b"(%c) %d " % (char, -300 - 90 * (at == 12)) for at, char in enumerate(b"ark:/12345/x5"))
    spaced = b"BT /F 10 Tf 72 700 Td (see \\() Tj [%s(4)] TJ (\\) and others) Tj ET\n" % letters
    assert arks_of(pages(spaced)) == ["ark:12345/x54"]


def test_the_target_of_a_link_ends_with_no_page():
    target = "https://n2t.net/ark:/67531/metapth18"
    [mention] = scan(Block(target, Role.LINK_ANNOTATION, page=1), Evidence())
    assert (mention.confidence.token, mention.reason) == ("certain", "complete")


def test_a_name_at_the_end_of_a_page_is_not_certain():
    [mention] = extraction_of(typeset([[72, 700, "See the scan of it:"], [72, 688, "ark:/67531/metapth18"]])).mentions
    assert (mention.confidence.token, mention.reason) == ("likely", "ends-at-page-end")
    followed = extraction_of(typeset([[72, 700, "ark:/67531/metapth18 is it,"], [72, 688, "and this is all."]]))
    assert followed.mentions[0].confidence.token == "certain"


def test_an_ark_with_zero_width_spaces_goes_on_on_the_next_page():
    zero_width = "\N{ZERO WIDTH SPACE}"
    assert is_open("see " + zero_width.join("ark:/12345/x5") + zero_width)
    assert not is_open("see " + zero_width.join("ark:/12345/x5") + " and")


def lines_at(text, *boxes):
    """Return the lines of *text*, each with its left, bottom, right and top."""
    spans = [found.span() for found in re.finditer(r"[^\r\n]+", text)]
    starts, ends = zip(*spans, strict=True)
    return [Line(start, end, *box) for start, end, box in zip(starts, ends, boxes, strict=True)]


def test_zero_width_spaces_within_a_line_are_no_breaks():
    text = "ark\u200b\r\n:\r\n/12148\u200b\r\n/bpt6\r\n2,3"
    lines = lines_at(
        text,
        (10, 100, 24, 109),
        (24.3, 102, 26, 107),  # only its ink is known
        (26.9, 100, 50, 109),
        (10, 88, 30, 97),  # the next line
        (30.2, 94, 34, 99),  # a raised mark
    )
    assert without_false_breaks(text, lines).replace("\u200b", "") == "ark:/12148\r\n/bpt6\r\n2,3"


# -- scripts that run from right to left


@pytest.mark.parametrize("name", ["right_to_left_hebrew.pdf", "right_to_left_arabic.pdf"])
def test_pages_from_right_to_left_are_read_in_the_order_of_their_glyphs(name):
    """One typeset by Chromium, which orders a paragraph; one by Pango, which orders each line by itself."""
    assert arks_of((FIXTURES / name).read_bytes()) == [
        "ark:53355/cl010066723", "ark:12148/bpt6k107371t", "ark:13030/qt5tb4hfm",
    ]  # fmt: skip


def test_text_that_lies_unseen_over_a_picture_is_certain_by_its_check_character_alone():
    line = b"BT /F 10 Tf %d Tr 72 700 Td (see %s and on) Tj ET"
    for ark, expected in ((b"ark:/53355/cl010066723", "likely"), (b"ark:/12148/bpt6k107371t", "certain")):
        seen, unseen = (extraction_of(pages(line % (mode, ark))).mentions for mode in (0, 3))
        assert [each.confidence.token for each in (*seen, *unseen)] == ["certain", expected]


def test_a_note_that_goes_on_in_the_notes_of_the_next_page_is_joined_with_them():
    maps, plans = (
        [[72, top - 14 * row, f"the {what} of the kingdom are kept in the library"] for row in range(4)]
        for what, top in (("maps", 700), ("other plans", 706))
    )
    first = [
        *maps,
        [72, 100, "1"],
        [80, 100, "kept in the library with others"],
        [72, 86, "kept; https://n2t.net/ark:/88435/dcv4w3v3"],
    ]
    second = [*plans, [72, 114, "j8k7; and the plans of towns,"], [72, 100, "with further sheets of it"]]
    [mention] = extraction_of(typeset(first, second)).mentions
    assert (str(mention.ark), mention.page) == ("ark:88435/dcv4w3v3j8k7", 1)
