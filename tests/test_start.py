"""Each command imports only the modules that it uses."""

import subprocess
import sys
from pathlib import Path

import pytest

from crawler.store.store import Store

#: Libraries that take long to load.
HEAVY = frozenset({
    "aiohttp", "dns", "lxml", "numpy", "openpyxl", "pandas", "pikepdf", "pyarrow", "pydantic", "pypdfium2", "rdflib",
    "regex", "requests", "rich", "scrapy", "sqlalchemy", "tldextract", "twisted",
})  # fmt: skip

SCRAPY = ("scrapy", "twisted")
_RUN = (
    "import atexit, sys\n"
    "listed, *arguments = sys.argv[1:]\n"
    "atexit.register(lambda: open(listed, 'w').write(' '.join(sys.modules)))\n"
    "sys.argv = ['arkaudit', *arguments]\n"
    "from arkaudit.__main__ import main\n"
    "main()\n"
)


def imported_packages(folder: Path, *arguments: str) -> set[str]:
    """Run the command in a process of its own, and return the top-level packages that it has imported."""
    listed = folder / "modules.txt"
    subprocess.run([sys.executable, "-c", _RUN, str(listed), *arguments], check=False, capture_output=True, cwd=folder)
    return {name.partition(".")[0] for name in listed.read_text().split()}


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["nonsense"], set()),
        (["schedule", "--help"], set()),
        (["store", "--help"], set()),
        (["demo", "--help"], set()),
        (["doctor", "--help"], set()),
        (["extract", "--help"], set()),
        (["extract", "a.txt"], {"lxml", "regex"}),
        (["extract", "a.html"], {"lxml", "regex"}),
        (["extract", "--format", "csv", "folder"], {"lxml", "regex"}),
        (["extract", "--format", "table", "a.txt"], {"lxml", "regex", "rich"}),
        (["extract", "--log-level", "error", "a.txt"], {"lxml", "regex", "pydantic"}),
        (["recheck", "--store", "a.db"], {"lxml", "pydantic", "regex", "rich", "sqlalchemy"}),
        (["check", "ark:12345/x"], {"lxml", "pydantic", "regex", "rich", "sqlalchemy", *SCRAPY}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_uses(arguments: list[str], allowed: set[str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a.txt", "a.html", "folder/b.txt"):
        (tmp_path / name).write_text("see ark:/12148/bpt6k107371t")
    Store.open(tmp_path / "a.db").close()
    modules = imported_packages(tmp_path, *arguments)
    assert "arkaudit" in modules
    assert modules & HEAVY <= allowed
