"""MARC 21 in its exchange format: records as pymarc writes them, then damaged ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymarc import Field, Indicators, Record, Subfield

from extractors.extraction import read_document
from extractors.readers import marc
from extractors.readers.marc import read_marc
from tests.unit.extractors.readings import assert_sound, kinds

ARK = "https://n2t.net/ark:/12345/x5"


def record(*fields, leader="00000nam a2200000 a 4500"):
    """Return a record with these fields: a tag and its data, or a tag and pairs of code and value."""
    made = Record(leader=leader)
    for tag, *subfields in fields:
        if isinstance(subfields[0], str):
            made.add_field(Field(tag=tag, data=subfields[0]))
        else:
            pairs = [Subfield(code=code, value=value) for code, value in subfields]
            made.add_field(Field(tag=tag, indicators=Indicators("4", "0"), subfields=pairs))
    written = made.as_marc()
    return written[:9] + leader[9].encode() + written[10:]  # pymarc always writes Unicode


def seen(reading):
    return [(block.role.value, block.place, block.text) for block in reading.blocks]


@pytest.mark.parametrize(
    ("field", "block"),
    [
        pytest.param(("856", ("u", ARK)), ("link-target", "856$u", ARK), id="a link"),
        pytest.param(("024", ("a", "ark:/12345/x5")), ("metadata", "024$a", "ark:/12345/x5"), id="an identifier"),
        pytest.param(
            ("024", ("a", "12345/x5"), ("2", "ark")), ("metadata", "024$a", "ark:12345/x5"), id="one without a label"
        ),
        pytest.param(("003", ARK), ("metadata", "003", ARK), id="a control field, as the BnF's permalinks"),
        pytest.param(("500", ("a", f"At {ARK}.")), ("text", "500$a", f"At {ARK}."), id="a note is prose"),
    ],
)
def test_field(field, block):
    reading = read_marc(record(("245", ("a", "A map: or two")), field))
    assert seen(reading) == [block]
    assert reading.findings == ()
    assert reading.links == ((ARK,) if block[1] == "856$u" else ())


def test_identifiers_of_another_source_get_no_label():
    assert read_marc(record(("024", ("a", "12345/x5"), ("2", "hdl")))).blocks == ()


def test_links_are_kept_whether_they_name_an_ark_or_not():
    reading = read_marc(record(("856", ("u", "https://a.org/b.pdf"))))
    assert (reading.links, reading.blocks) == (("https://a.org/b.pdf",), ())


@pytest.mark.parametrize(
    ("leader", "raw"),
    [
        pytest.param("00000nam a2200000 a 4500", "caf\u00e9".encode(), id="UTF-8"),
        pytest.param("00000nam  2200000 a 4500", b"caf\xe2e", id="MARC-8: the accent comes first"),
        pytest.param("00000nam  2200000 a 4500", "caf\u00e9".encode(), id="UTF-8 that is declared as MARC-8"),
        pytest.param("00000nam  2200000 a 4500", b"caf\x1b(B\xe2e", id="MARC-8 with an escape sequence"),
    ],
)
def test_character_sets(leader, raw):
    data = record(("500", ("a", "?" * len(raw) + " ark:/12345/x5")), leader=leader).replace(b"?" * len(raw), raw)
    assert seen(read_marc(data)) == [("text", "500$a", "caf\u00e9 ark:/12345/x5")]


@pytest.mark.parametrize("control", ["\0", "\x02", "\x07", "\x1b", "\x88", "\r\n"])
def test_control_characters_separate_text(control):
    [(_, _, text)] = seen(read_marc(record(("500", ("a", f"ark:/12345/x5{control}7")))))
    assert text == "ark:/12345/x5 7"


def test_torn_multibyte_run_loses_its_characters_silently(capfd):
    data = record(("500", ("a", "?????? ark:/12345/x5")), leader="00000nam  2200000 a 4500")
    reading = read_marc(data.replace(b"??????", b"\x1b$1!!\xe2"))
    assert reading.blocks[0].text.endswith(" ark:/12345/x5")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda good: b"99999" + good[5:12] + b"00030" + good[17:], id="a wrong base address"),
        pytest.param(lambda good: good[:27] + b"9999" + good[31:], id="a field longer than the record"),
        pytest.param(lambda good: good[:24] + b"\xff\xff\xff" + good[27:], id="an unreadable tag"),
        pytest.param(lambda good: good[:12] + b"     " + good[17:], id="no base address"),
        pytest.param(lambda good: good.replace(b"\x1e40", b"\x1e4\xc3\xa90", 1), id="converted after it was written"),
        pytest.param(lambda good: good.replace(b"A map", "Á map".encode()), id="a longer field before the ARK"),
        pytest.param(lambda good: good[:10], id="ten bytes"),
    ],
)
def test_a_bad_record_costs_no_other(damage):
    good = record(("245", ("a", "A map")), ("856", ("u", ARK)))
    reading = read_marc(
        record(("856", ("u", ARK + "1"))) + damage(good)[:-1] + b"\x1d" + record(("856", ("u", ARK + "2")))
    )
    found = [block.text for block in reading.blocks]
    assert (found[0], found[-1]) == (ARK + "1", ARK + "2")
    assert len(damage(good)) == 10 or found[1:-1] == [ARK]
    assert [(finding.kind, finding.detail) for finding in reading.findings] == [
        ("malformed-record", "records with a wrong directory: 1, the first is record 2")
    ]


def test_a_record_that_was_cut_off_is_read_as_far_as_it_goes():
    data = record(("856", ("u", ARK)), ("900", ("a", "x" * 100)))
    reading = read_marc(data[:-50])
    assert [block.text for block in reading.blocks] == [ARK]
    assert kinds(reading) == ["malformed-record"]


@pytest.mark.parametrize("between", [b"\n", b"\r\n", b"\0", b"\x1a"])
def test_bytes_between_records_are_no_fault(between):
    reading = read_marc((record(("856", ("u", ARK))) + between) * 2)
    assert [block.text for block in reading.blocks] == [ARK, ARK]
    assert reading.findings == ()


def test_a_field_under_many_entries_is_no_bomb():
    field = b"40\x1fu" + ARK.encode() * 200 + b"\x1e"
    entries = b"856%04d00000" % len(field) * 20_000
    data = b"00000nam a22%05d a 4500" % min(24 + len(entries) + 1, 99999) + entries + b"\x1e" + field + b"\x1d"
    reading = read_marc(data)
    assert sum(len(block.text) for block in reading.blocks) <= len(data)
    assert kinds(reading) == ["malformed-record"]


def test_limit_is_reported(monkeypatch):
    data = record(("856", ("u", ARK)))
    monkeypatch.setattr(marc, "MOST_BYTES", len(data))
    reading = read_marc(data * 2)
    assert len(reading.blocks) == 1
    assert kinds(reading) == ["cut-off"]


def test_it_is_known_by_its_leader():
    reading = read_document(record(("856", ("u", ARK))), media_type="text/plain", name="dump.txt")
    assert reading.media_type == "application/marc"


VALID = record(("003", ARK), ("024", ("a", "12345/x5"), ("2", "ark")), ("856", ("u", ARK), ("z", "At last: \u00e9")))


@given(
    st.lists(st.tuples(st.integers(0, len(VALID)), st.integers(0, 5), st.binary(max_size=4)), max_size=8)
    | st.binary(max_size=200)
)
def test_no_bytes_raise(changes):
    data = changes if isinstance(changes, bytes) else VALID
    for start, length, put in changes if isinstance(changes, list) else ():
        data = data[:start] + put + data[start + length :]
    reading = read_marc(data)
    assert_sound(reading)
    if data == VALID:
        assert [block.text for block in reading.blocks] == [block.text for block in read_marc(VALID).blocks] != []
