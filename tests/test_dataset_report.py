"""Reports on datasets equal, row by row, reports on a store of the same unchecked documents."""

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from arkaudit.datasets import report_tables
from arkaudit.datasets.connection import open_dataset
from arkaudit.datasets.report_tables import CHECK_FAILURES, CITED_HOSTS, DATASET_REPORT, count, frames_of
from reports.tables.listings import CITATIONS
from tests.dataset_world import write_documents
from tests.loopback import run_command

ROOT = Path(__file__).parent.parent

#: Cases that the corpus lacks: folders, resolvers, examples, shared NAANs, odd names.
TEXTS = {
    "a/three.txt": "see ark:12148/x5.svg.en or ark:12148/x5.en.svg there",
    "a/one.txt": "see ark:12345/x5 and http://N2T.net:80/ark:12148/bpt6k1.a, https://n2t.net/ark:/12148/bpt6k1.b now",
    "a/b/two.txt": "cited is ark:/99166/w6zzchdth, 'ark:/12148/btv1b8\n449691v' and https://[broken/ark:/12148/x5 too",
    "a/b/it's \u4e2d.html": '<title>T</title><a href="https://n2t.net/ark:/13030/kt9r39g6cg">ark:/13030/kt9r39g6</a>',
    "e.txt": "as in ark:12148/btv1b8449691w, ark:12148/btv1b8449691w/f1.item/x, ark:12148/btv1b8449691w/f1.item and "
    "for example ark:99999/fk4x\nark:12345/x5 too, ark:/12148/bpt6k10\n7371t, ark:/12148/bpt6k107371t\n2 of them",
    "none.txt": "nothing here",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with documents, their store, their dataset in many parts, and the reports on both."""
    place = tmp_path_factory.mktemp("dataset_report")
    for name, text in TEXTS.items():
        path = place / "papers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    *_, archive = write_documents(place / "papers" / "made")
    archive.unlink()  # of an archive as such, a store has a row, too
    corpus = ROOT / "tools" / "corpus" / "dev" / "documents"
    (place / "papers" / "false-friends").symlink_to(corpus / "false-friends")
    (place / "papers" / "plain").mkdir()
    for path in sorted((corpus / "plain").iterdir())[::3]:
        shutil.copy(path, place / "papers" / "plain")
    sources = [str(path) for path in sorted((place / "papers").iterdir())]
    both = ("--format", "csv", "--format", "parquet")
    commands = (
        ("crawl", *sources, "--store", "@a.db"),
        ("report", "--store", "@a.db", "--out", "@store", *both),
        ("dataset", "make", "--part-size", "1", "--out", "@ds", *sources),
        ("report", "--dataset", "@ds", "--out", "@dataset", *both),
    )
    for command in commands:
        done = _run(place, *command)
        assert done.returncode == 0, done.stderr
    return place


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command; an argument that begins with @ is a path in *folder*."""
    return run_command(*(str(folder / each[1:]) if each.startswith("@") else each for each in arguments))


#: The tables that are made of a store, too.
OF_BOTH = {table.name for table in DATASET_REPORT} - {CITED_HOSTS.name, CHECK_FAILURES.name}


@pytest.mark.parametrize("name", sorted(OF_BOTH))
def test_tables_are_those_of_a_store(folder: Path, name: str) -> None:
    ours = (folder / "dataset" / "tables" / f"{name}.csv").read_bytes()
    of_store = (folder / "store" / "tables" / f"{name}.csv").read_bytes()
    if name == "summary":  # only measures of the store that need no request
        known = set(ours.splitlines())
        of_store = b"".join(line for line in of_store.splitlines(keepends=True) if line.rstrip(b"\n") in known)
    assert ours == of_store
    parquet = [pq.read_table(folder / kind / "parquet" / f"{name}.parquet") for kind in ("dataset", "store")]
    assert parquet[0].schema.equals(parquet[1].schema, check_metadata=True)
    if name != "summary":
        assert parquet[0].equals(parquet[1])
        assert ours.count(b"\n") > 1  # or nothing was compared


def test_hosts_are_counted_by_cited_arks(folder: Path) -> None:
    rows = pq.read_table(folder / "dataset" / "parquet" / "cited_hosts.parquet").to_pylist()
    mentions = [
        mention
        for path in (folder / "ds" / "mentions").glob("*.parquet")
        for mention in pq.read_table(path).to_pylist()
        if re.match(r"(?i)[a-z-]+://n2t\.net(?::80|:443)?/", mention["resolver"] or "")
    ]
    [found] = [row for row in rows if row["host"] == "n2t.net"]
    assert found["arks"] == len({mention["ark"] for mention in mentions})
    assert found["citations"] == len({(mention["document"], mention["citation"]) for mention in mentions})
    assert found["documents"] == len({mention["document"] for mention in mentions})
    assert [row["arks"] for row in rows] == sorted((row["arks"] for row in rows), reverse=True)


def test_a_report_is_shown_in_brief(folder: Path) -> None:
    done = _run(folder, "report", "--dataset", "@ds")
    assert done.returncode == 0, done.stderr
    assert "ARKs by organization" in done.stdout
    assert "12148" in done.stdout


def test_dataset_report_is_translated(folder: Path) -> None:
    done = _run(folder, "report", "--dataset", "@ds", "--lang", "fr", "--out", "@french")
    assert done.returncode == 0, done.stderr
    of_store = _run(folder, "report", "--store", "@a.db", "--lang", "fr")
    for shown in (done.stdout, of_store.stdout):
        assert "ARK par organisme" in shown
        assert "ARKs by organization" not in shown
    assert "le rapport" in done.stderr
    assert _tables(folder / "french") == _tables(folder / "dataset")


def test_a_report_on_a_large_dataset_does_not_repeat_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = []
    for limit in (report_tables.MOST_CITATIONS, 400):
        monkeypatch.setattr(report_tables, "MOST_CITATIONS", limit)
        with open_dataset(str(folder / "ds")) as dataset:
            count(dataset)
            frames.append(pd.concat(frames_of(CITATIONS, dataset), ignore_index=True))
    whole, part = frames
    is_meant = whole["alternatives"].ne("") | whole["again"] | whole["is_example"].notna()
    assert 0 < len(part) < len(whole)
    assert part.equals(whole[is_meant].reset_index(drop=True))


def test_only_the_files_of_the_manifest_are_read(folder: Path, tmp_path: Path) -> None:
    """DuckDB takes `naan=other/` for a column of all rows, unless it is kept from that."""
    shutil.copytree(folder / "ds", tmp_path / "naan=other" / "ds")
    (tmp_path / "naan=other" / "ds" / "mentions" / "p000009-late-attempt.parquet").write_bytes(b"came too late")
    done = _run(tmp_path, "report", "--dataset", "@naan=other/ds", "--out", "@out")
    assert done.returncode == 0, done.stderr
    assert _tables(tmp_path / "out") == _tables(folder / "dataset")


def test_a_dataset_without_a_mention_has_a_report(tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("nothing")
    assert _run(tmp_path, "dataset", "make", "--out", "@ds", "@none.txt").returncode == 0
    done = _run(tmp_path, "report", "--dataset", "@ds", "--out", "@out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "tables" / "documents.csv").read_text().count("none.txt") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--dataset", "@nowhere"], "is not a dataset"),
        (["--dataset", "@ds", "--run", "1"], "--run is for a store: omit it with --dataset"),
        (["--dataset", "@ds", "--store", "@a.db"], "--store is for a store"),
        (["--dataset", "@ds", "--out", "@out", "--format", "html"], "csv, csv-bom, parquet, not html"),
        (["--dataset", "@ds", "--out", "-"], "several files"),
        (["--dataset", "@ds", "--out", "@ds/manifest.json"], "is not a folder"),
    ],
)
def test_mistakes_are_one_line(folder: Path, arguments: list[str], complaint: str) -> None:
    done = _run(folder, "report", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "out").exists()


def _tables(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.rglob("*.csv")}
