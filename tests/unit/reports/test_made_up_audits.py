"""Made-up audits: whatever hosts answer, there is a report, in all languages, whose parts agree with each other."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from crawler.model.observations import Family
from crawler.store.store import Store
from reports.formats.digest import HEADINGS, as_markdown, digest_of
from reports.languages import LANGUAGES
from reports.page.cards import action_cards
from reports.store.frames import Frames, load_frames
from reports.store.inventory import read_inventory
from reports.tables.ark_statuses import ark_statuses
from reports.tables.news import news_of
from reports.tables.report_tables import Report, Tables
from reports.tables.summary import summarize
from tests.report_world import page
from tests.unit.crawler.test_history import audit
from tests.unit.reports.test_cards import facts_of

#: An ARK: its host, its NAAN, the number of citing documents, and its answer in each run; None for no answer.
SUBJECTS = st.tuples(
    st.integers(0, 11), st.integers(0, 3), st.integers(1, 3), st.tuples(*3 * [st.sampled_from([200, 404, None])])
)


@pytest.mark.slow
@settings(max_examples=3, phases=(Phase.explicit, Phase.generate))  # a shrunk example would take minutes
@given(st.lists(SUBJECTS, min_size=1, max_size=12), st.integers(1, 3))
def test_the_parts_of_a_report_agree(subjects: list[tuple[int, int, int, tuple[int | None, ...]]], runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "audit.db")
        with Store.open(path) as store:
            for run in range(runs):
                record_audit(store, run, subjects)
        frames = load_frames(path)
        assert_parts_agree(frames)


def test_summary_repeats_the_numbers_that_were_reported_then(tmp_path: Path) -> None:
    path, listing = tmp_path / "audit.db", tmp_path / "inventory.csv"
    listing.write_text("ark,expected_url\nark:12340/x0z,https://elsewhere.example/\nark:12341/x1z,\nark:12342/no,\n")
    inventory = read_inventory(listing)
    answers = ((200, 404, 404), (200, 200, None), (404, 404, 404), (None, 200, 404), (404, 200, 200), (200, 200, 200))
    subjects = [(at, at % 3, 3, of_runs) for at, of_runs in enumerate(answers)]
    before: dict[str, int] = {}
    for run in range(3):
        with Store.open(path) as store:
            record_audit(store, run, subjects)
        summary = Tables(load_frames(path, inventory=inventory))["summary"].set_index("measure")
        for name, number in before.items():
            assert summary["compared"][name] == number, name
        before = summary["value"].to_dict()
        if run:
            alone = Tables(load_frames(path, run_id=run, inventory=inventory))["summary"].set_index("measure")["value"]
            assert alone.to_dict() == {name: number for name, number in summary["compared"].items() if name in alone}
    assert any(name.startswith("ARKs by status: ") for name in before)


def record_audit(store: Store, run: int, subjects: list[tuple[int, int, int, tuple[int | None, ...]]]) -> None:
    urls = {
        # Some ARKs are cited at several hosts.
        f"https://h{host}.example/ark:/1234{naan}/x{number % 9}z": (documents, answers[run])
        for number, (host, naan, documents, answers) in enumerate(subjects)
    }
    texts = {
        f"https://library.example/{at}.html": "see " + " ".join(url for url, (most, _) in urls.items() if at < most)
        for at in range(3)
    }
    audit(store, 30 * run, documents=texts, answers={url: answer for url, (_, answer) in urls.items()})


def assert_parts_agree(frames: Frames) -> None:
    tables = Tables(frames)
    said_first = summarize(frames, tables)
    summary = tables["summary"].set_index("measure")
    changes = tables["changes"]

    failing = fails(frames)
    assert said_first.fails == len(failing) == summary.loc["ARKs: fails", "value"]
    if frames.compared_run is not None:
        more = failing - fails(frames.compared_run)
        first, confirmed = (set(changes.loc[changes["event"].eq(event), "ark"]) for event in ("failing", "confirmed"))
        assert first <= more <= first | confirmed, "each ARK that fails now and did not then is a change"
        assert (said_first.failing, said_first.confirmed, len(first & confirmed)) == (len(first), len(confirmed), 0)
        assert summary.loc["ARKs: fails", "change"] == len(more) - len(fails(frames.compared_run) - failing)
    problems = {"confirmed", "failing", "unreachable"}
    for sent in (set(), {*list(failing)[::2]}, {*frames.arks["ark"]}):
        news = news_of(frames, failures_sent=dict.fromkeys(sent, "confirmed"))
        fresh = {item.ark for item in news.items if item.kind in problems}
        assert fresh & failing == failing - sent
        assert fresh.isdisjoint(sent)
        assert news.known_problems == len(failing & sent)
        recovered = [item.ark for item in news.items if item.kind == "recovered"]
        assert len(recovered) == (said_first.works if len(sent) == len(frames.arks) else 0)
    assert_nothing_dead_is_proposed(tables)
    causes, failures = tables["causes"], tables["failures"]
    assert (failures.groupby("ark")["number"].nunique() == 1).all(), "an ARK has one cause"
    in_causes = failures.drop_duplicates("ark").groupby("number").size()
    assert causes.set_index("number")["arks"].to_dict() == in_causes.to_dict()
    assert failing <= set(failures["ark"])
    assert causes["arks"].sum() == len(set(failures["ark"]))
    digest = digest_of(Report(frames, tables), "theses", news_of(frames), page=None, kinds=HEADINGS)
    assert digest.summary == said_first
    assert f"**{said_first.headline()}**" in as_markdown(digest)
    assert len(causes) == len(digest.causes) + digest.more_causes
    assert said_first.causes == causes["grade"].ne("wait").sum()
    assert sum(cause.arks for cause in digest.causes) <= len(set(failures["ark"]))
    assert not (digest.news.is_clear and (failing or said_first.unreachable))
    html = page(frames, tables)
    soup = BeautifulSoup(html, "html.parser")
    lede, tile = soup.select_one(".lede"), soup.select_one(".tile.fails dd")
    assert lede is not None
    assert tile is not None
    assert lede.text == said_first.headline()
    assert tile.text == str(said_first.fails)
    for language in LANGUAGES.values():
        said = said_first.headline(language)
        assert said in html or language.code != "en"
        if frames.compared_run is not None and said_first.failing:
            assert str(said_first.failing) in said


def assert_nothing_dead_is_proposed(tables: Mapping[str, pd.DataFrame]) -> None:
    causes, failures = tables["causes"], tables["failures"]
    assert not causes.duplicated(["cause", "fault", "host", "rule"]).any()
    assert causes["fault"].eq("nobody").is_monotonic_increasing, "outages come last"
    dead = {*failures["request_url"], *failures["last_url"], *failures["ark"]}
    assert dead.isdisjoint({*causes["should_be"].dropna(), *failures["should_be"].dropna()})


def test_failures_at_one_host_are_one_cause_and_silence_is_last(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    hosts = {"a": 12, "b": 9, "silent": 20}
    urls = [
        f"https://{host}.example/ark:/1234{at % 5}/{host}{at}z" for host, most in hosts.items() for at in range(most)
    ]
    text = {"https://library.example/": "see " + " ".join(urls)}
    with Store.open(path) as store:
        audit(store, 0, documents=text, answers=dict.fromkeys(urls, 200))
        audit(store, 30, documents=text, answers={url: None if "silent" in url else 404 for url in urls})
    tables = Tables(load_frames(path))
    rows = tables["causes"][["host", "cause", "arks", "should_be"]].fillna("").itertuples(index=False)
    assert [tuple(row) for row in rows] == [
        ("a.example", "unknown-naan", 12, ""),
        ("b.example", "unknown-naan", 9, ""),
        ("silent.example", "unreachable-host", 20, ""),
    ]
    assert_nothing_dead_is_proposed(tables)


def test_a_card_gives_what_holds_for_all_of_its_arks_with_how_many(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    refused = [f"https://old.example/ark:/12346/x{at}z" for at in range(3)]
    working = [url.replace("old", "new") for url in refused]
    with Store.open(path) as store:
        answers = {**dict.fromkeys(refused, 404), **dict.fromkeys(working, 200)}
        audit(store, 0, documents={"https://library.example/": "see " + " ".join(answers)}, answers=answers)
    frames = load_frames(path)
    [card] = action_cards(frames, Tables(frames), 9)
    assert card.row["host"] == "old.example"
    assert facts_of(card)["Should be"] == ("individual corrections for 3 of 3 ARKs: see their places", None)


def fails(frames: Frames) -> set[str]:
    statuses = ark_statuses(frames)
    return set(statuses.loc[statuses["family"].eq(Family.FAILS), "ark"])
