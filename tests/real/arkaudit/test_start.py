"""Each command imports only the modules that it uses."""

import json
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

HELP = ["--help", *(f"{name} --help" for name in ("extract", "schedule", "store"))]
SCRAPY = ("scrapy", "twisted")
_RUN = (
    "import json, sys\n"
    "for sys.argv in json.loads(sys.argv[1]):\n"
    "    try:\n"
    "        from arkaudit.__main__ import main\n"
    "        main()\n"
    "    except SystemExit:\n"
    "        pass\n"
)
_LIST = "\nwith open('modules.txt', 'w') as listed:\n    listed.write(' '.join(sys.modules))\n"


def imported_packages(folder: Path, program: str, *arguments: str) -> set[str]:
    """Run a program in a process of its own, and return the top-level packages that it has imported."""
    command = [sys.executable, "-c", program + _LIST, *arguments]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return {name.partition(".")[0] for name in (folder / "modules.txt").read_text().split()}


@pytest.mark.parametrize(
    ("commands", "allowed"),
    [
        ([*HELP, "--version", "nonsense"], set()),
        (["extract a.txt", "extract a.html", "extract --format csv folder"], {"lxml", "regex"}),
        (["extract --format table a.txt"], {"lxml", "regex", "rich"}),
        (["extract --log-level error a.txt"], {"lxml", "regex", "pydantic"}),
        (["recheck --store a.db"], {"lxml", "pydantic", "regex", "rich", "sqlalchemy"}),
        (["check ark:12345/x"], {"lxml", "pydantic", "regex", "rich", "sqlalchemy", *SCRAPY}),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_uses(commands: list[str], allowed: set[str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a.txt", "a.html", "folder/b.txt"):
        (tmp_path / name).write_text("see ark:/12148/bpt6k107371t")
    Store.open(tmp_path / "a.db").close()
    modules = imported_packages(tmp_path, _RUN, json.dumps([["arkaudit", *line.split()] for line in commands]))
    assert "arkaudit" in modules
    assert modules & HEAVY <= allowed


def test_parser_process_imports_only_parsers(tmp_path: Path) -> None:
    """A crawl starts several of these processes, and each imports the module of its function."""
    modules = imported_packages(tmp_path, "import sys, crawler.spiders.archive_members")
    assert modules & HEAVY == {"regex"}
