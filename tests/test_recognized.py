"""ALTO, PAGE XML, ABBYY XML and hOCR: lines as lines, and nothing certain without a check character or a link."""

import pytest

from extractors.extraction import extraction_of

FULL = "La carte générale du royaume se trouve dans la réserve avec"
CUT = "Voir la notice des autres cartes: ark:/53355/cl0100"
REST = "66723 et les plans des villes du nord"


def alto(*lines):
    texts = "".join(f"<TextLine HPOS='0' WIDTH='{10 * len(line)}'>{words(line)}</TextLine>" for line in lines)
    return f"<alto xmlns='http://www.loc.gov/standards/alto/ns-v3#'><TextBlock>{texts}</TextBlock></alto>"


def words(line):
    return "<SP/>".join(f"<String CONTENT='{word}'/>" for word in line.split()).replace("-'/>", "'/><HYP CONTENT='-'/>")


def page(*lines):
    points = (f"0,0 {10 * len(line)},0" for line in lines)
    texts = "".join(
        f"<TextLine><Coords points='{box}'/><TextEquiv index='1'><Unicode>no</Unicode></TextEquiv>"
        f"<TextEquiv index='0'><Unicode>{line}</Unicode></TextEquiv></TextLine>"
        for line, box in zip(lines, points, strict=True)
    )
    return f"<PcGts><Page><TextRegion>{texts}<TextEquiv><Unicode>no</Unicode></TextEquiv></TextRegion></Page></PcGts>"


def hocr(*lines):
    texts = "\n".join(
        f"<span class='ocr_line' title='bbox 0 0 {10 * len(line)} 9'><span class='ocrx_word'>{line}</span></span>"
        for line in lines
    )
    return f"<!DOCTYPE html><div class='ocr_page'><p class='ocr_par'>{texts}</p></div>"


def abbyy(*lines):
    chars = "".join(
        f"<line l='0' r='{10 * len(line)}'>\n<formatting lang='fr'>\n"
        + "".join(f"<charParams l='1'>{char}</charParams>\n" for char in line[:9])
        + "".join(f"<charParams>\n<charRecVariants/>{char}</charParams>\n" for char in line[9:])
        + "</formatting></line>"
        for line in lines
    )
    namespace = "http://www.abbyy.com/FineReader_xml/FineReader10-schema-v1.xml"
    return f"<document xmlns='{namespace}'><page><block><text><par>{chars}</par></text></block></page></document>"


def mentions_in(source):
    mentions = extraction_of(source.encode(), name="a.html" if "DOCTYPE" in source else "a.xml").mentions
    return [(str(mention.ark), mention.confidence.token) for mention in mentions]


@pytest.mark.parametrize("form", [alto, page, hocr, abbyy])
def test_lines_are_lines_and_nothing_is_certain_by_itself(form):
    whole = ("ark:53355/cl010066723", "likely")
    assert mentions_in(form(FULL, "ark:/53355/cl010066723", "1856 " + FULL)) == [whole]
    assert mentions_in(form(FULL, CUT + "-", REST, FULL)) == [whole]
    assert mentions_in(form(FULL, "ark:/12148/bpt6k107371t.")) == [("ark:12148/bpt6k107371t", "certain")]
    assert extraction_of(form(FULL, whole[0]).encode(), name="a.xml").whole == frozenset()


@pytest.mark.parametrize("sign", ["\N{NOT SIGN}", "\N{DOUBLE OBLIQUE HYPHEN}", "-"])
def test_the_signs_of_transcribers_for_a_hyphen_at_the_end_of_a_line(sign):
    assert mentions_in(page(FULL, CUT + sign, REST)) == [("ark:53355/cl010066723", "likely")]


def test_hyphenated_alto_word_is_read_once():
    whole = "ark:/53355/cl01-0066723"
    parts = (
        f"<String CONTENT='ark:/53355/cl01' SUBS_TYPE='HypPart1' SUBS_CONTENT='{whole}'/><HYP CONTENT='-'/></TextLine>"
        f"<TextLine><String CONTENT='0066723' SUBS_TYPE='HypPart2' SUBS_CONTENT='{whole}'/><SP/><String CONTENT='x'/>"
    )
    source = f"<alto><TextBlock><TextLine>{parts}</TextLine></TextBlock></alto>"
    [block] = extraction_of(source.encode(), name="a.xml").reading.blocks
    assert block.text == whole + "\nx"
    assert mentions_in(source) == [("ark:53355/cl010066723", "likely")]


def test_name_of_the_picture_is_metadata():
    source = "<PcGts><Page imageFilename='https://iiif.example/ark:/53355/cl010066723/full/0/native.jpg'/></PcGts>"
    assert mentions_in(source) == [("ark:53355/cl010066723/full/0/native.jpg", "certain")]
