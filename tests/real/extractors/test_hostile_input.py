"""Which process reads a document, and that no document harms others."""

import json
import zipfile
from pathlib import Path

import pytest

from extractors import isolated
from extractors.archives.members import ArchiveMember
from extractors.isolated import inline_extraction, may_stay_inline
from tests.real.loopback import run_command
from tests.unit.extractors.packages import zip_archive
from tests.unit.extractors.test_hostile_input import ARK, PACKED_OFTEN, PAGE

ODT = zip_archive({"mimetype": "application/vnd.oasis.opendocument.text"}, zipfile.ZIP_STORED)


@pytest.mark.parametrize(
    ("name", "data", "is_inline"),
    [
        ("a.txt", ARK, True),
        ("a.html", f"<html><p>{ARK}", True),
        ("a.xml", f"<?xml version='1.0'?><a>{ARK}</a>", False),
        ("a.json", f'{{"a": "{ARK}"}}', False),
        ("a.csv", f"a,{ARK}", False),
        ("a.md", f"# {ARK}", False),
        ("a.bib", f"@article{{a, url = {{{ARK}}}}}", False),
        ("a.eml", f"From: a@b.example\nTo: c@d.example\nSubject: x\n\n{ARK}", False),
        ("a.pdf", "%PDF-1.7", False),
        ("a.odt", ODT.decode("latin-1"), False),
        ("a.txt", ARK * 4000, False),
    ],
)
def test_only_small_texts_and_pages_are_read_in_the_main_process(name: str, data: str, is_inline: bool) -> None:
    member = ArchiveMember(name, name, data.encode("latin-1"))
    assert may_stay_inline(member) is is_inline
    assert (inline_extraction(member) is not None) is is_inline


def test_a_small_text_that_takes_too_long_goes_to_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "INLINE_CPU_S", 0.0)
    text = " ".join(f"ark:/12148/b{number}-\n5" for number in range(2000))
    assert inline_extraction(ArchiveMember("a.txt", "a.txt", text.encode())) is None


@pytest.mark.promise
def test_one_file_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(PACKED_OFTEN + PAGE)
    (tmp_path / "b.json").write_text("[" * 100_000)
    (tmp_path / "c.eml").write_text(
        "From: a@b.example\nTo: c@d.example\nSubject: x\n" + "Content-Type: message/rfc822\n\n" * 5000
    )
    (tmp_path / "d.txt").write_text(ARK)
    done = run_command("extract", str(tmp_path), "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(Path(row["document"]).name for row in rows) == ["2", "d.txt"]
    assert "a.warc" in done.stderr
    assert "c.eml: cut-off" in done.stderr
