"""`arkaudit fix`: what it writes and what it leaves out, and that no file is ever harmed."""

import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arkaudit.features.fix import writing
from arkaudit.features.fix.checks import lasting_address
from arkaudit.features.fix.corrections import Kind
from arkaudit.features.fix.files import FixedFile, fixed_files
from arkaudit.features.fix.sources import Source, Unfixable
from crawler.history.ark_status import StatusPolicy
from tests.growth import LINEAR, growth
from tests.vectors import rows, vectors

FIXTURES = Path(__file__).parents[3] / "fixtures"


CASES = rows("fixes")


#: Documents of each format around a citation.
DOCUMENTS: Mapping[str, str] = {
    "letter.txt": "Voir @ (BnF).\nLa suite.\n",
    "letter.md": "# Lettre\n\nVoir *@* (BnF), [là](https://example.org/).\n",
    "letter.rst": "Lettre\n======\n\nVoir @ (BnF).\n",
    "letter.adoc": "= Lettre\n\nVoir @ (BnF).\n",
    "page.html": "<!doctype html><meta charset=utf-8><p>Voir <i>@</i> (BnF).\n",
    "thesis.tex": "\\documentclass{article}\n\\begin{document}\nVoir \\emph{@} (BnF).\n\\end{document}\n",
    "table.csv": 'titre,note\r\nCarte,"Voir @ (BnF)"\r\n',
}


#: What breaks a citation, and what it was before.
BREAKS = {
    "line break": ("ark:/12148/bpt6k10\n7371t", "ark:/12148/bpt6k107371t"),
    "line break in a URL": (
        "https://gallica.bnf.fr/\nark:/12148/bpt6k107371t",
        "https://gallica.bnf.fr/ark:/12148/bpt6k107371t",
    ),
    "soft hyphen": ("ark:/12148/bpt6k10\N{SOFT HYPHEN}7371t", "ark:/12148/bpt6k107371t"),
    "dash": ("ark:/12148/bpt6k10\N{EN DASH}7371t", "ark:/12148/bpt6k10-7371t"),
    "zero width": ("ark:/12148/bpt6k10\N{ZERO WIDTH SPACE}7371t", "ark:/12148/bpt6k107371t"),
    "full width": ("ark\N{FULLWIDTH COLON}/12148/bpt6k107371t", "ark:/12148/bpt6k107371t"),
    "blank": ("ark :/12148/bpt6k107371t", "ark:/12148/bpt6k107371t"),
}


def document(name: str, citation: str) -> bytes:
    """Return a document with *citation*."""
    return DOCUMENTS[name].replace("@", citation).encode()


def as_bytes(case: dict[str, Any], key: str) -> bytes:
    if "fixture" in case:
        return (FIXTURES / case["fixture"]).read_bytes()
    text = case[key if key in case else "before"]
    return bytes(text.encode(case.get("charset", "utf-8")))


def read(folder: Path, files: Mapping[str, bytes]) -> dict[str, FixedFile]:
    """Return each of *files*, which are written into *folder*, with its corrections."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    paths = {folder / name: name for name in files}
    fixed = {paths[file.path]: file for file in fixed_files(list(paths), {Kind.SPELLING}, jobs=1)}
    return {name: fixed.get(name, FixedFile(folder / name, old=data)) for name, data in files.items()}


def content(file: FixedFile) -> bytes:
    return file.new if file.corrections else file.path.read_bytes()


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FixedFile]:
    """Return all broken documents with their corrections, read together."""
    folder = tmp_path_factory.mktemp("broken")
    files = {f"{kind}/{name}": document(name, written) for kind, (written, _) in BREAKS.items() for name in DOCUMENTS}
    for number, case in enumerate(CASES):
        for name, text in case.get("beside", {}).items():
            (folder / str(number)).mkdir(exist_ok=True)
            (folder / str(number) / name).write_text(text)
        files[f"{number}/{case['name']}"] = as_bytes(case, "before")
    return read(folder, files)


@pytest.mark.parametrize("case", vectors("fixes"))
def test_fix_case(broken: dict[str, FixedFile], case: dict[str, Any]) -> None:
    file = broken[f"{CASES.index(case)}/{case['name']}"]
    assert content(file) == as_bytes(case, "after"), file.unwritten
    refusals = {other.refusal for other in file.unwritten}
    for refusal in case.get("refusals", ()):
        assert [each for each in refusals if each.endswith(refusal.removeprefix("…"))], refusals


def test_places_of_many_citations_are_found_in_linear_time() -> None:
    def find(count: int) -> None:
        citations = [f"ark:/99152/x{number:07}" for number in range(count)]
        page = "".join(f"<p title='a'>{each}</p>\n<!-- x -->" for each in citations)
        source = Source(page.encode())
        for citation in citations:
            assert len(list(source.occurrences(citation))) == 1

    assert growth(find, 150) <= LINEAR


BROKEN = "Voir ark:/12148/bpt6k10\n7371t (BnF).\n"


WHOLE = "Voir ark:/12148/bpt6k107371t (BnF).\n"


def replace_in(path: Path) -> None:
    writing.replace_file(path, BROKEN.encode(), WHOLE.encode())


@pytest.mark.parametrize("how", ["in place", "by renaming", "only its time", "only its mode"])
def test_edit_saved_in_the_last_moment_is_never_lost(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    synchronize = os.fsync

    def save(descriptor: int) -> None:
        synchronize(descriptor)
        if how == "in place":
            letter.write_text(BROKEN.replace("Voir", "Vois"))
        elif how == "by renaming":
            (tmp_path / "new").write_text(BROKEN)
            (tmp_path / "new").replace(letter)
        elif how == "only its time":
            os.utime(letter, ns=(1, 1))
        else:
            letter.chmod(0o600)

    monkeypatch.setattr(os, "fsync", save)
    with pytest.raises(Unfixable, match="it has changed since it was read"):
        replace_in(letter)
    assert letter.read_text() == (BROKEN.replace("Voir", "Vois") if how == "in place" else BROKEN)
    assert [*tmp_path.iterdir()] == [letter]


def test_attributes_and_acl_are_kept(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    # user::rw-, user:1000:r--, group::---, mask::r--, other::---
    acl = bytes.fromhex("02000000 01000600ffffffff 02000400e8030000 04000000ffffffff 10000400ffffffff 20000000ffffffff")
    inherited = acl.replace(bytes.fromhex("20000000"), bytes.fromhex("20000400"))
    try:
        os.setxattr(letter, "user.note", b"kept")
        os.setxattr(letter, "system.posix_acl_access", acl)
        os.setxattr(tmp_path, "system.posix_acl_default", inherited)
    except OSError:
        pytest.skip("this file system has no attributes or no ACL")
    before = {name: os.getxattr(letter, name) for name in os.listxattr(letter)}
    mode = letter.stat().st_mode
    replace_in(letter)
    assert {name: os.getxattr(letter, name) for name in os.listxattr(letter)} == before
    assert (letter.read_text(), letter.stat().st_mode) == (WHOLE, mode)
    os.removexattr(letter, "system.posix_acl_access")
    letter.chmod(0o640)
    writing.replace_file(letter, WHOLE.encode(), BROKEN.encode())
    assert (os.listxattr(letter), stat.S_IMODE(letter.stat().st_mode)) == (["user.note"], 0o640)


def test_file_is_left_if_its_attributes_cannot_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    read_attributes = writing._attributes
    monkeypatch.setattr(
        writing, "_attributes", lambda file: {"nowhere.x": b"1"} if isinstance(file, Path) else read_attributes(file)
    )
    with pytest.raises(Unfixable, match="can't be copied"):
        replace_in(letter)
    monkeypatch.delattr(os, "listxattr")
    with pytest.raises(Unfixable, match="can't be read on this system; use --patch"):
        replace_in(letter)
    assert (letter.read_text(), [*tmp_path.iterdir()]) == (BROKEN, [letter])


@pytest.mark.parametrize(
    ("days", "urls", "lasting"),
    [
        pytest.param([0, 3, 7], "aaa", "a", id="three checks in seven days"),
        pytest.param([0, 3, 6], "aaa", None, id="three in six days"),
        pytest.param([0, 8], "aa", None, id="two"),
        pytest.param([0, 1, 2, 9], "-aaa", "a", id="an earlier one found it as cited"),
        pytest.param([0, 1, 2, 9], "aaa-", None, id="the last one found it as cited"),
        pytest.param([0, 1, 8, 9], "aa-a", None, id="one between them found it as cited"),
        pytest.param([0, 4, 8], "baa", None, id="another address before"),
    ],
)
def test_address_is_lasting_if_the_last_checks_agree_on_it(days: list[int], urls: str, lasting: str | None) -> None:
    start = datetime(2026, 11, 1, tzinfo=UTC)
    checks = [(start + timedelta(days=day), None if url == "-" else url) for day, url in zip(days, urls, strict=True)]
    assert lasting_address(checks, StatusPolicy()) == lasting
