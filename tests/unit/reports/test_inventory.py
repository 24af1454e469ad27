"""The institution's own list of its ARKs: read strictly, and compared with a store without false alarms."""

from pathlib import Path

import pytest

from reports.formats.markdown_report import markdown
from reports.store.frames import load_frames
from reports.store.inventory import read_inventory
from reports.tables.definitions import rows_of
from reports.tables.filters import Choice, select_part
from reports.tables.inventory import FINDINGS
from reports.tables.report_tables import Report, Tables
from reports.tables.summary import summarize
from tests.report_world import LANDING, write_store, write_world

# -- the file


def write_inventory(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "own.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "ark,expected_url,title,collection\nark:/12148/x-5,https://a.example/5,A map,Maps\n",
        "\ufeffARK;Expected URL;Title;Collection\r\nark:12148/x5;http://a.example/;A map;Maps\r\n",
        'collection\ttitle\ttarget\tark\nMaps\t"A map"\thttps://a.example/5\thttps://n2t.net/ark:12148/x5\n\n',
        "\r\n;;;\r\nark;url;title;collection\r\nark:12148/x5;https://a.example/5;A map;Maps\r\n",
        "ark,shelf,url,title,collection\n\nark:12148/x5,B 7,https://a.example/5,A map,Maps",
    ],
)
def test_inventories_written_by_spreadsheets_are_read(tmp_path: Path, text: str) -> None:
    [row] = rows_of(read_inventory(write_inventory(tmp_path, text)).drop(columns="line"))
    assert (*row[:2], *row[3:]) == ("ark:12148/x5", "12148", "A map", "Maps")
    assert row[2].startswith("http")


def test_a_download_of_ezid_is_an_inventory(tmp_path: Path) -> None:
    text = "_id,_target,_status\nark:/99999/fk4x5,https://library.example/5,public\n"
    [row] = rows_of(read_inventory(write_inventory(tmp_path, text))[["ark", "expected_url"]])
    assert tuple(row) == ("ark:99999/fk4x5", "https://library.example/5")


def test_inventory_needs_only_arks(tmp_path: Path) -> None:
    [row] = rows_of(read_inventory(write_inventory(tmp_path, "ark\nark:12148/x5\n")))
    assert row == (2, "ark:12148/x5", "12148", None, None, None)


# -- the tables


def test_report_without_inventory_has_no_section_on_it(tmp_path: Path) -> None:
    tables = Tables(load_frames(write_world(tmp_path / "world.db")))
    assert tables["inventory"].empty
    assert not tables["summary"]["measure"].str.startswith("inventory").any()


INVENTORY = f"""ark,expected_url,title,collection
ark:12148/btv1b8449691v,{LANDING},A map,Maps
ark:12148/bpt6k107371t,https://gallica.example/elsewhere,A book,Books
ark:12148/never,https://gallica.example/never,Never met,Maps
ark:53355/cl010120339,http://museum.example/7,A picture,Pictures
ark:13960/t2s47dp7t,https://slow.example/7,A scan,Scans
ark:88435/x5,,Only cited,Scans
"""


def test_each_line_of_the_inventory_is_compared_with_the_store(tmp_path: Path) -> None:
    listed = read_inventory(write_inventory(tmp_path, INVENTORY))
    frames = load_frames(write_world(tmp_path / "world.db"), inventory=listed)
    tables = Tables(frames)
    columns = ["finding", "ark", "object", "citations"]
    assert list(rows_of(tables["inventory"][columns])) == [
        ("never-seen", "ark:12148/never", None, 0),
        ("never-checked", "ark:88435/x5", None, 1),
        (None, "ark:12148/bpt6k107371t", "resolved", 1),
        (None, "ark:12148/btv1b8449691v", "broken", 2),
        (None, "ark:12148/btv1b8449691v", "resolved", 2),
        (None, "ark:13960/t2s47dp7t", "timeout", 1),
        (None, "ark:53355/cl010120339", "broken", 2),
    ]
    measures = dict(zip(tables["summary"]["measure"], tables["summary"]["value"], strict=True))
    assert measures["inventory"] == 6
    assert {name: measures[f"inventory: {name}"] for name in FINDINGS} == {
        "never-seen": 1, "never-checked": 1, "never-cited": 0, "extra": 0,
    }  # fmt: skip
    words = "Of 6 ARKs of the inventory: 1 never-seen, 1 never-checked."
    assert words in summarize(frames, tables).result_sentences()
    text = markdown(Report.from_frames(frames))
    assert words in text
    assert "ark:12148/never" in text.partition("## The inventory")[2].partition("##")[0]
    assert "ark:13960" not in text.partition("## The inventory")[2].partition("##")[0]


def test_uninventoried_arks_are_extra_except_parts_of_listed_ones(tmp_path: Path) -> None:
    listed = read_inventory(write_inventory(tmp_path, "ark\nark:12148/never\nark:61903/1:1:C4H82DW2\n"))
    frames = load_frames(write_world(tmp_path / "world.db"), inventory=listed)
    table = Tables(frames)["inventory"]
    assert list(rows_of(table.loc[table["finding"].eq("extra"), ["ark", "citations"]])) == [
        ("ark:12148/bpt6k107371t", 1),
        ("ark:12148/btv1b8449691v", 2),
    ]


def test_partial_report_covers_its_part_of_the_inventory(tmp_path: Path) -> None:
    listed = read_inventory(write_inventory(tmp_path, INVENTORY))
    frames = load_frames(write_world(tmp_path / "world.db"), inventory=listed)
    of_naan = Tables(select_part(frames, Choice(naans=("12148",))))["inventory"]
    assert set(of_naan["ark"]) == {"ark:12148/btv1b8449691v", "ark:12148/bpt6k107371t", "ark:12148/never"}
    broken = Tables(select_part(frames, Choice(only=("timeout",))))
    assert list(broken["inventory"]["ark"]) == ["ark:13960/t2s47dp7t"]


def test_an_empty_store_has_never_seen_any(tmp_path: Path) -> None:
    listed = read_inventory(write_inventory(tmp_path, INVENTORY))
    tables = Tables(load_frames(write_store(tmp_path / "empty.db", {}), inventory=listed))
    assert set(tables["inventory"]["finding"]) == {"never-seen"}
