"""A site that writes for terminals, spreadsheets and browsers, through a whole audit: nothing of it runs anywhere."""

import csv
import io
import json
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.browser import browser_page, needs_browser
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command

#: Unescaped, these would run a script, end a text, control a terminal, calculate, or change the direction.
ATTACKS = (
    "<script>document.title='owned'</script>",
    "</title></style></textarea><img src=x onerror=\"document.title='owned'\">",
    "'\"><svg onload=document.title='owned'>",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "=HYPERLINK(\"http://evil.example/\",\"pay\")",
    "@SUM(1+1)*cmd|'/C calc'!A0",
    "\x1b]0;owned\x07\x1b[31mred\x1b[2J",
    "\u202egnp.exe\u2066 \u200b\u00ad",
    "\x9b31mc1\x85",
    "[link](javascript:alert(1)) | a | table",
)  # fmt: skip
ALL = " ".join(ATTACKS)
PERMANENCE = "\n".join((
    f"erc:\nwho: {ATTACKS[0]}", f"what: {ATTACKS[2]} {ATTACKS[4]}", "when: 1952", "where: javascript:alert(1)", "",
    f"erc-support:\nwho: {ATTACKS[1]}", f"what: Permanent {ATTACKS[6]} {ATTACKS[7]}", "when: 2019", "",
))  # fmt: skip
HOST = "site.example"


def archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as members:
        for number, attack in enumerate(ATTACKS):
            members.writestr(f"{number} {attack}.txt".replace("\x00", ""), f"ark:/12x45/z{number} {attack}")
            members.writestr(f"{number} {attack}.pdf", b"%PDF-1.7 " + attack.encode())
    return packed.getvalue()


def site(target: str) -> bytes:
    path, _, query = target.partition("?")
    name = path.rpartition("/")[2]
    if target == "/":
        mentions = "\n".join(
            f"<p>{attack} http://{HOST}/ark:/12x45/x{number} {attack} <a href='ark:/12x45/a{number}' title='{attack}'>"
            f"{attack}</a> https://{HOST}/'><script>owned()</script>/ark:/12x45/y{number}"
            for number, attack in enumerate(ATTACKS)
        )
        links = "<a href='/archive.zip'>z</a> <a href=\"/a'><script>x</script>\">s</a> <a href='/gone\x1b[31m'>g</a>"
        return reply(body=f"<title>{ALL}</title>{mentions}{links}", Server=ATTACKS[0], media_type="text/html")
    if path == "/archive.zip":
        data = archive()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: {len(data)}\r\n\r\n"
        return head.encode() + data
    if name.startswith("x") and query == "info":
        return reply(body=PERMANENCE, media_type="text/plain")
    if name == "x0":
        return reply("302 Found", Location="javascript:document.title='owned'//<script>")
    if name == "x1":
        return reply("302 Found", Location="data:text/html,<script>parent.document.title='owned'</script>")
    if name == "x2":
        return reply("302 Found", Location="http://'\"><script>owned()</script>.example/")
    if name == "x3":
        return reply(
            "410 <script>document.title='owned'</script>", body=f"<title>{ALL}</title>This was withdrawn. {ALL}"
        )
    if name[:1] in "xyaz" and name[1:2].isdigit():
        return reply(
            body=f"<title>{ALL} {name}</title><p>{name} {ALL}", THUMP_Status=f"1.0 {ATTACKS[2]}", Link=f"<{ATTACKS[2]}>"
        )
    return reply(f"404 {ATTACKS[2]}", body=ALL, media_type=f"text/html; {ATTACKS[2]}")


@dataclass(frozen=True)
class Audit:
    report: Path
    said: dict[str, str]
    """The standard output and standard error of each command."""


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = tmp_path_factory.mktemp("hostile")
    said: dict[str, str] = {}

    def told(name: str, *arguments: str | Path) -> None:
        done = run_command(*arguments, COLUMNS="200")
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr
        said[name], said[f"{name} (beside)"] = done.stdout, done.stderr

    with RawServer(site) as server:
        log = ("--log-file", folder / "a.log", "--log-level", "debug")
        there = (*ON_LOOPBACK, *log, "--attempts", "1", "--connect-to", f"{HOST}:80=127.0.0.1:{server.port}")
        resolver = ("--resolver", f"http://{HOST}/")
        told("run", "run", *there, *resolver, f"http://{HOST}/", "--store", folder / "a.db", "--out", folder / "report")
        arks = [f"http://{HOST}/ark:/12x45/x{number}" for number in range(5)]
        told("explain", "explain", *there, *resolver, *arks, f"no \x1b[31m ark {ATTACKS[7]}")
        told("check", "check", *there, *resolver, *arks, f"no \x1b[31m ark {ATTACKS[7]}")
        told("table", "check", *there, *resolver, "--format", "table", *arks)
    (folder / "letter.txt").write_text("\n".join(f"{each} ark:/12x45/t {each}" for each in ATTACKS))
    for form in ("jsonl", "csv", "table"):
        told(f"extract {form}", "extract", "--format", form, folder / "letter.txt")
    said["log"] = (folder / "a.log").read_text()
    return Audit(folder / "report", said)


def invisible(text: str) -> set[str]:
    """Return the characters of a text that a terminal may obey or that change how others are shown."""
    return {
        f"U+{ord(char):04X}"
        for char in text
        if (char != "\n" and unicodedata.category(char)[0] == "C") or char in "\u2028\u2029"
    }


def test_a_terminal_is_given_nothing_that_it_obeys(audit: Audit) -> None:
    shown = {name: text for name, text in audit.said.items() if name != "extract csv"}
    assert {name: found for name, text in shown.items() if (found := invisible(text))} == {}
    assert "[U+001B]" in audit.said["explain"] + audit.said["extract table"]


def test_json_lines_hold_every_character_all_the_same(audit: Audit) -> None:
    rows = [json.loads(line) for line in audit.said["extract jsonl"].splitlines()]
    assert any("\u202e" in row["context"] for row in rows)


def test_no_cell_of_a_table_begins_a_formula(audit: Audit) -> None:
    files = sorted(audit.report.rglob("*.csv"))
    texts = {path.name: path.read_text("utf-8") for path in files} | {"extract": audit.said["extract csv"]}
    assert len(texts) > 5
    for name, text in texts.items():
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert [cell for cell in cells if cell[:1] in "=+@" and cell] == [], name


@needs_browser
def test_a_browser_runs_nothing_of_it_and_has_no_complaint(audit: Audit, tmp_path: Path) -> None:
    with browser_page() as browser:
        browser.open(audit.report / "index.html")
        assert browser.complaints == []
        assert browser.requested_urls == [(audit.report / "index.html").resolve().as_uri()]
        assert browser.value("document.title").startswith("Which ARKs persist? http")
        # The policy of the page allows its own scripts by digest; the audited site supplied no script.
        assert browser.value("[...document.scripts].every(script => !script.src)")
        links = browser.value("[...document.links].map(link => link.href)")
        assert links
        assert {link.partition(":")[0] for link in links} <= {"http", "https", "file"}
        assert (
            browser.value("document.querySelectorAll('[onerror],[onload],svg script,iframe,object,embed').length") == 0
        )
        assert invisible(browser.value("document.body.innerText").replace("\t", " ")) == set()
