"""Documents that are read together are evidence for one another, whatever their order."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from crawler.spiders.runs import decide_unresolved, record_registry_findings
from crawler.store.store import Store
from extractors.model.naan import Registry, read_registry
from tests.real.loopback import run_command, select

WHOLE = "See ark:/81985/x5k3 and ark:/81985/b7q2 there.\n"

BROKEN = "Kept as ark:/81985/x5\nk3 in the vault.\n"

ENDED = "Kept as ark:/81985/b7q2\n4 times a year.\n"


@pytest.mark.parametrize("texts", list(permutations([WHOLE, BROKEN, ENDED])))
def test_order_of_files_does_not_matter(tmp_path: Path, texts: tuple[str, ...]) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text, "utf-8")
    done = run_command("extract", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    told = {(Path(row["document"]).read_text("utf-8"), row["ark"], row["confidence"]) for row in rows}
    assert told == {
        (WHOLE, "ark:81985/x5k3", "certain"),
        (WHOLE, "ark:81985/b7q2", "certain"),
        (BROKEN, "ark:81985/x5k3", "likely"),
        (ENDED, "ark:81985/b7q2", "likely"),
    }


def test_one_document_alone_is_less_sure(tmp_path: Path) -> None:
    (tmp_path / "alone.txt").write_text(BROKEN, "utf-8")
    [row] = [json.loads(line) for line in run_command("extract", str(tmp_path)).stdout.splitlines()]
    assert row["confidence"] != "certain"
    assert {row["ark"], *row["alternatives"]} == {"ark:81985/x5", "ark:81985/x5k3"}


@pytest.fixture(scope="module")
def crawled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a crawl of three files, to which tests add findings only."""
    folder = tmp_path_factory.mktemp("crawled")
    for name, text in {"a": BROKEN, "b": ENDED, "c": WHOLE}.items():
        (folder / f"{name}.txt").write_text(text, "utf-8")
    done = run_command("crawl", *(folder / f"{name}.txt" for name in "abc"), "--store", folder / "a.db")
    assert done.returncode == 0, done.stderr
    return folder / "a.db"


def test_a_crawl_decides_doubts_again_at_its_end_in_rows_of_their_own(crawled_store: Path) -> None:
    rows = select(
        crawled_store,
        "select document_id, decided, ark, confidence from mention join ark using (ark_id)"
        " where document_id in (select document_id from document where url like '%/a.txt') order by decided",
    )
    assert [(decided, ark, confidence) for _, decided, ark, confidence in rows][1:] == [(2, "ark:81985/x5k3", "likely")]
    assert rows[0][3] != "certain"


def test_deciding_again_changes_nothing(crawled_store: Path) -> None:
    with Store.open(crawled_store) as store:
        before = store.cited_targets(1)
        decide_unresolved(store, 1, resolver="https://n2t.net/")
        decide_unresolved(store, 1, resolver="https://n2t.net/")
        assert store.cited_targets(1) == before
    assert [str(ark) for ark, _ in before] == ["ark:81985/x5k3", "ark:81985/b7q2"]


def test_unregistered_naan_is_a_finding_only_with_a_registry_copy(crawled_store: Path) -> None:
    record = {"what": "12148", "where": "https://example.org", "who": {"name": "A library"}, "naan": "12148"}
    registry = read_registry(json.dumps({"data": [record]}).encode(), source="a copy", fetched_at=None)
    with Store.open(crawled_store) as store:
        record_registry_findings(store, 1, Registry.builtin())
        record_registry_findings(store, 1, registry)
    found = select(crawled_store, "select subject, kind from finding where kind = 'unregistered-naan'")
    assert found == [("NAAN 81985", "unregistered-naan")]


@pytest.mark.parametrize("kind", ["typst-table", "weasyprint-table", "latex-lineno"])
def test_a_crawl_decides_as_extract_does(kind: str, tmp_path: Path) -> None:
    layouts = Path(__file__).parents[3] / "tools" / "corpus" / "dev" / "documents"
    files = sorted(str(path) for path in layouts.rglob("*.pdf") if path.name.startswith(kind))
    if not files:
        pytest.fail("the corpus has no such document any more")
    crawled = run_command("crawl", *files, "--store", tmp_path / "a.db")
    assert crawled.returncode == 0, crawled.stderr
    kept = select(
        tmp_path / "a.db",
        "select url, ordinal, naan || '/' || name || qualifier, reason from mention"
        " join document using (document_id) join ark using (ark_id) order by mention_id",
    )
    last = {(url, ordinal): (ark, reason) for url, ordinal, ark, reason in kept}
    rows = [json.loads(line) for line in run_command("extract", *files).stdout.splitlines()]
    assert rows
    assert [(row["ark"].removeprefix("ark:"), row["reason"]) for row in rows] == [last[key] for key in sorted(last)]
