"""The copy of the NAAN registry as a file: complete, with its provenance, never half-written."""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arkaudit.features.registry.updates import RegistryUpdate, update
from crawler.model.registry import REGISTRY_LIMIT, load_registry
from extractors.model.naan import NotARegistry

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def document(*naans: str) -> str:
    """Return a registry that assigns these NAANs to organizations of the same names."""
    records = [
        {
            "what": naan,
            "where": "https://example.org",
            "target": {"url": "https://ark.example.org/ark:/${content}", "http_code": 302},
            "when": "2011-03-08T00:00:00+00:00",
            "who": {"name": f"Archive {naan}", "acronym": "AR"},
            "na_policy": {"orgtype": "NP", "policy": "NR, CC", "tenure": "2011", "policy_url": None},
        }
        for naan in naans
    ]
    return json.dumps({"metadata": {"updated": "2026-01-02T00:00:00+00:00"}, "data": records})


OLD, NEW = document("54321"), document("54321", "54322", "54322/q1")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a cache with a copy in it."""
    folder = tmp_path / "cache"
    source = tmp_path / "old.json"
    source.write_text(OLD, "utf-8")
    put(source, folder)
    return folder


def put(source: Path, folder: Path) -> RegistryUpdate:
    return update(source, folder, now=NOW, settings={})


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# -- files, and complete writes


def test_a_file_becomes_the_copy(tmp_path: Path) -> None:
    source = tmp_path / "naan_records.json"
    source.write_text(NEW, "utf-8")
    done = put(source, tmp_path / "cache")
    assert (done.changed, done.registry.source, done.registry.fetched_at) == (True, str(source), NOW)
    assert load_registry(tmp_path / "cache") == done.registry
    assert put(source, tmp_path / "cache").changed is False


def test_a_file_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    source = tmp_path / "caf\udce9.json"
    source.write_text(NEW, "utf-8")
    assert put(source, tmp_path / "cache").registry.source == str(tmp_path / "caf\\udce9.json")


@pytest.mark.parametrize("text", ["<html>", "", NEW[:-2]], ids=["a page", "empty", "cut off"])
def test_a_file_that_is_no_registry_leaves_the_copy_alone(text: str, cache: Path, tmp_path: Path) -> None:
    before = files(cache)
    source = tmp_path / "new.json"
    source.write_text(text, "utf-8")
    with pytest.raises(NotARegistry, match=r"new\.json has no registry: "):
        put(source, cache)
    assert files(cache) == before


def test_a_file_that_is_too_large_is_refused(cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "large.json"
    with source.open("wb") as file:
        file.truncate(REGISTRY_LIMIT + 1)
    with pytest.raises(NotARegistry, match="more than 67108864 bytes"):
        put(source, cache)


def test_readers_never_see_a_partial_update(tmp_path: Path) -> None:
    sources = []
    for number, naans in enumerate((range(10_000, 10_300), range(20_000, 20_500))):
        source = tmp_path / f"{number}.json"
        source.write_text(document(*map(str, naans)), "utf-8")
        sources.append(source)
    folder = tmp_path / "cache"
    put(sources[0], folder)
    whole = {source.read_bytes() for source in sources}
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add((folder / "naan-registry").read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(30):
        put(sources[turn % 2], folder)
    done.set()
    reader.join()
    assert seen == whole
    assert sorted(files(folder)) == ["naan-registry", "naan-registry.provenance.json"]


def test_a_damaged_provenance_does_no_harm(cache: Path) -> None:
    (cache / "naan-registry.provenance.json").write_bytes(b"{")
    assert load_registry(cache).knows("54321")
