"""The institution's own list of its ARKs: read strictly, and compared with a store without false alarms."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from extractors.model.errors import UserMistake
from reports.formats.markdown_report import markdown
from reports.remediation.expectations import AccessMatch, LandingMatch, compare_access, compare_landing, same_object
from reports.store.frames import load_frames
from reports.store.inventory import read_inventory
from reports.tables.definitions import rows_of
from reports.tables.filters import Choice, select_part
from reports.tables.inventory import FINDINGS
from reports.tables.report_tables import Report, Tables
from reports.tables.summary import sentences
from tests.loopback import ON_LOOPBACK, RawServer, read_csv, reply, run_command
from tests.report_world import LANDING, write_store, write_world
from tests.vectors import vectors


@pytest.mark.parametrize("vector", vectors("expectations"))
def test_expectations_are_met_violated_or_open(vector: dict[str, Any]) -> None:
    outcome = ObjectOutcome(vector["object"]) if vector["object"] else None
    if "landing" in vector:
        found = compare_landing(vector["expected"], outcome, vector["final"], vector.get("passed", ()))
        assert found == vector["landing"]
    if "access" in vector:
        asks = vector.get("asks_password", False)
        assert compare_access(vector["closed"], outcome, vector.get("status"), asks_password=asks) == vector["access"]


@given(
    st.sampled_from([None, *ObjectOutcome]),
    st.sampled_from([None, 200, 401, 403, 404, 429, 451, 500]),
    st.booleans(),
    st.sampled_from([None, "https://a.example/7", "https://b.example/8"]),
)
def test_unjudged_arks_are_never_wrong(
    outcome: ObjectOutcome | None, status: int | None, closed: bool, final: str | None
) -> None:
    is_judged = outcome is not None and FAMILY_OF[outcome] is Family.WORKS
    if not is_judged:
        assert compare_landing("https://a.example/7", outcome, final) is LandingMatch.UNDETERMINED
    if outcome is not ObjectOutcome.RESOLVED:
        assert compare_access(closed, outcome, status) is not AccessMatch.WRONGLY_OPEN


URLS = r"https?://[a-z]{1,5}\.example(:[0-9]{2,4})?(/[a-z0-9%~._-]{0,6}){0,3}(\?[a-z]=[0-9])?"


@given(st.from_regex(URLS, fullmatch=True))
def test_any_url_is_the_same_object_by_the_other_scheme_and_with_a_fragment(url: str) -> None:
    assert same_object(url, url)
    assert same_object(url, f"{url}#page=2")
    if ":" not in url.partition("://")[2]:
        other = url.replace("https:", "http:") if url.startswith("https:") else url.replace("http:", "https:")
        assert same_object(url, other)


# -- the file


def write_inventory(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "own.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "ark,expected_url,title,collection,closed\nark:/12148/x-5,https://a.example/5,A map,Maps,yes\n",
        "\ufeffARK;Expected URL;Title;Collection;Closed on purpose\r\nark:12148/x5;http://a.example/;A map;Maps;x\r\n",
        'collection\ttitle\ttarget\tark\tclosed\nMaps\t"A map"\thttps://a.example/5\thttps://n2t.net/ark:12148/x5\tx\n\n',
        "\r\n;;;;\r\nark;url;title;collection;closed\r\nark:12148/x5;https://a.example/5;A map;Maps;yes\r\n",
        "ark,shelf,url,title,collection,closed\n\nark:12148/x5,B 7,https://a.example/5,A map,Maps,TRUE",
    ],
)
def test_inventories_written_by_spreadsheets_are_read(tmp_path: Path, text: str) -> None:
    [row] = rows_of(read_inventory(write_inventory(tmp_path, text)).drop(columns="line"))
    assert (*row[:2], *row[3:]) == ("ark:12148/x5", "12148", "A map", "Maps", True)
    assert row[2].startswith("http")


def test_a_download_of_ezid_is_an_inventory(tmp_path: Path) -> None:
    text = "_id,_target,_status\nark:/99999/fk4x5,https://library.example/5,public\n"
    [row] = rows_of(read_inventory(write_inventory(tmp_path, text))[["ark", "expected_url"]])
    assert tuple(row) == ("ark:99999/fk4x5", "https://library.example/5")


def test_inventory_needs_only_arks_and_closed_is_optional(tmp_path: Path) -> None:
    [row] = rows_of(read_inventory(write_inventory(tmp_path, "ark\nark:12148/x5\n")))
    assert row == (2, "ark:12148/x5", "12148", None, None, None, None)
    [row] = rows_of(read_inventory(write_inventory(tmp_path, "ark,closed\nark:12148/x5,\n")))
    assert row[-1] is False


@pytest.mark.parametrize("vector", vectors("bad_inventories"))
def test_bad_line_is_named_in_one_line(tmp_path: Path, vector: dict[str, Any]) -> None:
    line = vector["line"]
    path = write_inventory(tmp_path, vector["text"].encode(vector.get("encoding", "utf-8")))
    with pytest.raises(UserMistake) as told:
        read_inventory(path)
    assert str(told.value).startswith(f"{path}:{line}: ")
    assert vector["words"] in str(told.value)
    store = write_world(tmp_path / "audit.db")
    for command in (("report", "--store", store, "--out", tmp_path / "out"), ("check", *ON_LOOPBACK)):
        done = run_command(*command, "--inventory", path)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
        assert f"{path}:{line}: " in done.stderr
    assert not (tmp_path / "out").exists()


# -- the tables


def test_report_without_inventory_has_no_section_on_it(tmp_path: Path) -> None:
    tables = Tables(load_frames(write_world(tmp_path / "world.db")))
    assert tables["inventory"].empty
    assert not tables["summary"]["measure"].str.startswith("inventory").any()
    assert set(tables["collections"]["source"]) == {"section"}


INVENTORY = f"""ark,expected_url,title,collection,closed
ark:12148/btv1b8449691v,{LANDING},A map,Maps,no
ark:12148/bpt6k107371t,https://gallica.example/elsewhere,A book,Books,yes
ark:12148/never,https://gallica.example/never,Never met,Maps,no
ark:53355/cl010120339,http://museum.example/7,A picture,Pictures,no
ark:13960/t2s47dp7t,https://slow.example/7,A scan,Scans,no
ark:88435/x5,,Only cited,Scans,
"""


def test_each_line_of_the_inventory_is_compared_with_the_store(tmp_path: Path) -> None:
    listed = read_inventory(write_inventory(tmp_path, INVENTORY))
    frames = load_frames(write_world(tmp_path / "world.db"), inventory=listed)
    tables = Tables(frames)
    columns = ["findings", "ark", "presence", "landing", "access", "citations"]
    assert list(rows_of(tables["inventory"][columns])) == [
        ("elsewhere, wrongly-open", "ark:12148/bpt6k107371t", "seen", "elsewhere", "wrongly-open", 1),
        ("never-seen", "ark:12148/never", "never-seen", "undetermined", "undetermined", 0),
        ("never-checked", "ark:88435/x5", "never-checked", "not-stated", "undetermined", 1),
        (None, "ark:12148/btv1b8449691v", "seen", "undetermined", "undetermined", 2),
        (None, "ark:12148/btv1b8449691v", "seen", "expected", "as-meant", 2),
        (None, "ark:13960/t2s47dp7t", "seen", "undetermined", "undetermined", 1),
        (None, "ark:53355/cl010120339", "seen", "undetermined", "undetermined", 2),
    ]
    collections = {row[1]: row[2:7] for row in rows_of(tables["collections"]) if row[0] == "inventory"}
    assert collections == {
        "Books": (1, 1, 0, 0, 0),
        "Maps": (1, 1, 0, 0, 0),
        "Pictures": (1, 0, 1, 0, 0),
        "Scans": (2, 0, 0, 0, 2),
    }
    counts = tables["collections"].set_index("collection")
    assert tuple(counts.loc["Maps", ["listed", "not_met"]]) == (2, 1)
    measures = dict(zip(tables["summary"]["measure"], tables["summary"]["value"], strict=True))
    assert measures["inventory"] == 6
    assert {name: measures[f"inventory: {name}"] for name in (*FINDINGS, "extra")} == {
        "elsewhere": 1, "wrongly-open": 1, "wrongly-closed": 0, "never-seen": 1, "never-checked": 1,
        "never-cited": 0, "extra": 0,
    }  # fmt: skip
    words = "Of 6 ARKs of the inventory: 1 elsewhere, 1 wrongly-open, 1 never-seen, 1 never-checked."
    assert words in sentences(tables["summary"])
    text = markdown(Report.from_frames(frames))
    assert words in text
    assert "ark:12148/never" in text.partition("## The inventory")[2].partition("##")[0]
    assert "ark:13960" not in text.partition("## The inventory")[2].partition("##")[0]


def test_uninventoried_arks_are_extra_except_parts_of_listed_ones(tmp_path: Path) -> None:
    listed = read_inventory(write_inventory(tmp_path, "ark\nark:12148/never\nark:61903/1:1:C4H82DW2\n"))
    frames = load_frames(write_world(tmp_path / "world.db"), inventory=listed)
    table = Tables(frames)["inventory"]
    assert list(rows_of(table.loc[table["findings"].eq("extra"), ["ark", "citations"]])) == [
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


def test_empty_partial_report_is_reported(tmp_path: Path) -> None:
    store = write_world(tmp_path / "audit.db")
    for options, words in (
        (("--naan", "99998"), "no ARK of this run matches NAAN 99998"),
        (("--naan", "12148"), ""),
        (("--document", "nowhere/*"), "no ARK of this run matches documents nowhere/*"),
    ):
        done = run_command("report", "--store", store, *options, "--fail-on", "broken")
        *said, _ = done.stderr.splitlines()
        assert said == ([f"arkaudit: {words}"] if words else [])


def test_an_empty_store_has_never_seen_any(tmp_path: Path) -> None:
    listed = read_inventory(write_inventory(tmp_path, INVENTORY))
    tables = Tables(load_frames(write_store(tmp_path / "empty.db", {}), inventory=listed))
    assert set(tables["inventory"]["presence"]) == {"never-seen"}


# -- the command


def test_an_inventory_is_checked_and_reported_over_real_sockets(tmp_path: Path) -> None:
    store, ours, config = tmp_path / "audit.db", tmp_path / "own.csv", tmp_path / "arkaudit.toml"
    ours_text = ["ark,expected_url,collection,closed"]

    def answer(target: str) -> bytes:
        name = target.partition("?")[0].rpartition("/")[2]
        if "/ark:" in target and name in ("x5", "x7", "xb2"):
            return reply("302 Found", Location=f"/view/{name if name != 'x7' else 'x5'}")
        if name == "xe5" and not target.startswith(("/ark:12x45", "/viewer/")):  # only with the old form of the label
            return reply("302 Found", Location="/viewer/xe5" if target.startswith("/view/") else "/view/xe5")
        if target.startswith(("/view/", "/viewer/")) and name in ("x5", "xb2", "xe5"):
            return reply(body=f"<title>Object {name}</title><p>The whole text of object {name}, and nothing else.")
        if name == "xc3":
            return reply("401 Unauthorized", WWW_Authenticate='Basic realm="reading room"')
        return reply("404 Not Found", "<p>not here")

    with RawServer(answer) as server:
        ours_text += [
            # First, for a resolver that has answered for one form of the label is not asked for the other any more.
            f"ark:12x45/xe5,{server.url}/view/xe5,Views,no",
            f"ark:12x45/x5,{server.url}/view/x5/#top,Maps,no",
            f"ark:12x45/x7,{server.url}/view/x7,Maps,no",
            f"ark:12x45/xb2,{server.url}/view/xb2,Letters,yes",
            "ark:12x45/xc3,,Letters,no",
            "ark:12x45/xd4,,Letters,yes",
        ]
        ours.write_text("\n".join(ours_text))
        config.write_text('store = "audit.db"\ninventory = "own.csv"\n')
        check = ("check", "--inventory", ours, "--resolver", f"{server.url}/", "--store", store, "--attempts", "1")
        done = run_command(*check, *ON_LOOPBACK)
        assert (done.returncode, len(done.stdout.splitlines())) == (0, 6), done.stderr
        out = tmp_path / "report"
        assert run_command("report", "-c", config, "--out", out, "--format", "csv").returncode == 0
    rows = {row["ark"].rpartition("/")[2]: row for row in read_csv(out / "tables" / "inventory.csv")}
    assert {name: row["findings"] for name, row in rows.items()} == {
        "x7": "elsewhere, never-cited",
        "xb2": "wrongly-open, never-cited",
        "xc3": "wrongly-closed, never-cited",
        "x5": "never-cited",
        "xd4": "never-cited",
        "xe5": "never-cited",
    }
    assert (rows["xe5"]["landing"], rows["xe5"]["final_url"].rpartition("/view")[2]) == ("expected", "er/xe5")
    assert (rows["x5"]["landing"], rows["xd4"]["access"]) == ("expected", "undetermined")
