"""Lists of ARKs or documents, from a file or from standard input (``--from``)."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from arkaudit.commands.options import lines_of, listed_places
from extractors.model.errors import UserMistake


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a.md\n\n  b c.md \r\n", {1: "a.md", 3: "b c.md"}),
        (gzip.compress(b"a.md\nb.md"), {1: "a.md", 2: "b.md"}),
        (b"a\nb.md\0 c.md \0", {1: "a\nb.md", 2: " c.md "}),
        ("\N{ZERO WIDTH NO-BREAK SPACE}a.md".encode(), {1: "a.md"}),
        (b" \n\n", {}),
    ],
    ids=["lines", "compressed", "NUL-separated", "byte order mark", "blank"],
)
def test_lines_of_a_file_and_of_standard_input_are_the_same(
    data: bytes, lines: dict[int, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "list").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert lines_of(str(tmp_path / "list")) == lines
    assert lines_of("-") == lines


def test_names_of_documents_keep_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"caf\xe9.txt\n")
    [name] = listed_places(str(tmp_path / "list"))
    assert name.encode("utf-8", "surrogateescape") == b"caf\xe9.txt"


@pytest.mark.parametrize(
    ("data", "words"), [(None, "No such file"), (b"\n", "is empty"), (b"\x1f\x8b\x08", "Compressed")]
)
def test_unusable_list_of_documents_is_a_mistake(data: bytes | None, words: str, tmp_path: Path) -> None:
    if data is not None:
        (tmp_path / "list").write_bytes(data)
    with pytest.raises(UserMistake, match=words):
        listed_places(str(tmp_path / "list"))


def test_empty_standard_input_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert listed_places("-") == []
