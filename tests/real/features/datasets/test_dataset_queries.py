"""The queries of docs/dataset.md count what is in a dataset."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import pytest

from tests.real.features.datasets.dataset_world import make, rows_in, write_documents

PAGE = Path(__file__).parents[4] / "docs" / "dataset.md"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of two months, in several parts."""
    folder = tmp_path_factory.mktemp("queries")
    months = ("2026-03", "2026-11", "notes")
    papers = [path for seed, month in enumerate(months) for path in write_documents(folder / month, seed=seed)]
    linked = folder / "2026-03" / "linked.html"
    linked.write_text('<p>see <a href="https://n2t.net/ark:/13030/kt9r39g6cg">ark:/13030/kt9r39g6cg</a> now')
    make(folder / "ds", [*papers, linked])
    return folder / "ds"


def test_queries_of_the_page_count_by_naan_document_and_month(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(dataset.parent)
    begin, *queries = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    with duckdb.connect(":memory:") as connection:
        connection.execute(begin)
        by_naan, by_document, by_month = (connection.execute(query).fetchall() for query in queries)
    rows = rows_in(dataset, "mentions")
    citations = {(row["document"], row["citation"]) for row in rows}
    assert len(citations) < len(rows)
    naans, documents = defaultdict(list), defaultdict(list)
    for row in rows:
        naans[row["naan"]].append(row)
        documents[row["document"]].append(row)
    assert sorted(by_naan) == sorted(
        (
            naan,
            len({row["ark"] for row in some}),
            len({(row["document"], row["citation"]) for row in some}),
            len({row["document"] for row in some}),
        )
        for naan, some in naans.items()
    )
    assert len(by_naan) > 1
    assert sorted(by_document) == sorted(
        (
            name,
            len({row["ark"] for row in some}),
            len({row["citation"] for row in some}),
            len({row["citation"] for row in some if row["repairs"]}),
        )
        for name, some in documents.items()
    )
    assert any(repaired for *_, repaired in by_document)
    months = Counter(next((month for month in ("2026-03", "2026-11") if month in name), "") for name, _ in citations)
    assert dict(by_month) == months
    assert len(months) == 3
