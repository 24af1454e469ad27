"""The documentation as a site, and as manual pages."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.real.loopback import ON_LOOPBACK, run_command, select
from tools.documentation.generated import ROOT


def run_module(*command: str | Path) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
