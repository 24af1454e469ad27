"""The documentation as a site, and as manual pages."""

import inspect
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tomllib import loads
from typing import Any, get_args

import pytest
from bs4 import BeautifulSoup
from pydantic import BaseModel

from arkaudit.configuration.config_files import models
from crawler.model.crawl_requests import SourceKind
from crawler.sources.links import Rule
from extractors.mentions.confidence import confidence_in
from tests.loopback import ON_LOOPBACK, run_command, select
from tools.documentation.generated import GENERATED, ROOT


def run_module(*command: str | Path) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("place", GENERATED)
def test_generated_page_is_current(place: str) -> None:
    assert (ROOT / place).read_text("utf-8") == GENERATED[place](), "run: make generated"


def test_page_about_extraction_quotes_the_definition_of_certain() -> None:
    definition = (inspect.getdoc(confidence_in) or "").partition("It is certain\n")[2]
    page = (ROOT / "docs" / "extraction.md").read_text("utf-8")
    assert definition.strip() in page, "quote the docstring of confidence_in in docs/extraction.md"


def setting_names(section: type[BaseModel]) -> Iterator[str]:
    """Yield the names of the settings of a section and of the sections in it."""
    for name, field in section.model_fields.items():
        yield field.alias or name
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from setting_names(kind)


def keys_in(value: Any) -> Iterator[str]:
    """Yield the keys of all tables in a TOML value."""
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_in(part)


def test_every_setting_is_shown_in_an_example() -> None:
    text = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("configuration.md", "scheduling.md"))
    shown = {
        key for example in re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S) for key in keys_in(loads(example))
    }
    missing = sorted(
        set(setting_names(models()["Config"])) - shown - {"name"}
    )  # "name" is the key of the audit's table
    assert missing == [], "add them to docs/configuration.md"


@pytest.mark.parametrize("token", [*map("`{}`".format, Rule), *map("`{}:`".format, SourceKind)])
def test_page_about_sources_names_each_kind_and_rule(token: str) -> None:
    assert token in (ROOT / "docs" / "sources.md").read_text("utf-8")


def test_recipes_name_existing_files_and_names() -> None:
    folders = ("arkaudit", "crawler", "docs", "extractors", "reports", "tests", "tools")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    code = "".join(path.read_text("utf-8") for path in files if path.suffix == ".py")
    recipes = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Recipes")[2]
    named = set(re.findall(r"`([\w./-]+)`", recipes)) - {"read_NAME", "tools/fuzzing/found/"}
    paths = {name for name in named if "/" in name or re.search(r"\.(?:json|md|py|toml)$", name)}
    known = {path.name for path in files}
    assert {path for path in paths if not (ROOT / path).exists() and ("/" in path or path not in known)} == set()
    assert {name for name in named - paths if "_" in name and not re.search(rf"\b{name}\b", code)} == set()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; MkDocs fails for a link, an anchor or a page that leads nowhere, or is in no list."""
    folder = tmp_path_factory.mktemp("site")
    run_module("mkdocs", "build", "--quiet", "--site-dir", folder)
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_own_crawl_reaches_every_linked_page_of_the_site(address: str, site: Path, tmp_path: Path) -> None:
    store = tmp_path / "docs.db"
    done = run_command("crawl", *ON_LOOPBACK, address, "--store", store)
    assert done.returncode == 0, done.stderr
    rows = select(store, "select url, outcome from document")
    assert {url for url, outcome in rows if outcome not in ("read", "redirected", "unreadable")} == set()
    read = {url.removeprefix(address) or "index.html" for url, _ in rows}
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert pages - {"404.html"} <= read, "a page that no other one leads to"


def test_the_page_about_commands_has_each_of_them(site: Path) -> None:
    page = (site / "commands.html").read_text("utf-8")
    for words in ("--fail-on", "--dry-run", "arkaudit known add", "--part-size"):
        assert words in page
    code = [block.get_text() for block in BeautifulSoup(page, "html.parser").select("pre code")]
    assert any("--out report\narkaudit run -c arkaudit.toml\n" in each for each in code), "each line has one example"
    assert "Sentinel" not in page


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        for mark in ('src="http', "src=http", "@import", "fonts.googleapis", 'rel="stylesheet" href="http'):
            assert mark not in text, page


def test_each_command_has_a_manual_page(tmp_path: Path) -> None:
    run_module("tools.documentation.documented_commands", tmp_path)
    page = (tmp_path / "arkaudit-extract.1").read_text("utf-8")
    assert "arkaudit extract thesis.pdf\n" in page
    assert {"arkaudit.1", "arkaudit-run.1", "arkaudit-known-add.1"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("**/*.md")),
    ],
)
def test_each_module_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|toml|json))`", (ROOT / page).read_text("utf-8"))
    folders = [ROOT, *(ROOT / package for package in ("extractors", "crawler", "reports", "arkaudit"))]
    assert [path for path in named if not any((folder / path).exists() for folder in folders)] == []


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted((ROOT / "docs" / "adr").iterdir())
    titles = [page.read_text("utf-8").split(".", 1)[0] for page in pages]
    assert [f"# {int(page.name[:4])}" for page in pages] == titles == [f"# {n}" for n in range(1, len(pages) + 1)]
