"""A small world on loopback of several hosts, the same whenever it is asked, and commands that are killed in it."""

import json
import os
import sqlite3
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Self

import pandas as pd

import crawler.spiders.document_reading
import crawler.store.store
from crawler.verdicts.answer_sets import SHARED
from extractors.archives.members import ArchiveMember
from extractors.extraction import Extraction
from reports.page.document import REQUESTS
from reports.store.frames import load_frames
from reports.tables.report_tables import Tables
from tests.real import preloaded
from tests.real.loopback import clean_environment, select
from tests.real.waiting import PATIENCE_S

#: Duration of an answer: long enough that a kill often interrupts some.
LATENCY_S = 0.004
PAGES = 16
Answer = tuple[int, dict[str, str], str]


def _page(title: str, body: str) -> Answer:
    return 200, {"Content-Type": "text/html; charset=utf-8"}, f"<title>{title}</title><p>{body}"


def _not_found(target: str) -> Answer:
    return 404, {"Content-Type": "text/plain"}, f"not found: {target}"


def _library(target: str) -> Answer:
    """Answer as a site of pages that link to a page and a file each, redirects, and ARKs at many resolvers."""
    if target.startswith(("/old/", "/moved/")):
        place = "/hub" if target.startswith("/old/") else f"/p{target[7:]}/more"
        return 302, {"Location": place}, ""
    if target == "/hub":
        return _page("Hub", "http://two.example/ark:/12x45/c277k <a href='/p0'>page 0</a> <a href='/p1/more'>more</a>")
    if target == "/":
        links = "".join(f"<a href='/p{number}'>page {number}</a> " for number in range(PAGES))
        links += "".join(f"<a href='/old/{number}'>old</a> " for number in range(3))
        return _page("Library", f"{links}<a href='/gone'>gone</a> <a href='http://files.library.example/doubts.txt'>")
    if not target.startswith("/p") or not target[2:].partition("/")[0].isdigit():
        return _not_found(target)
    number = int(target[2:].partition("/")[0])
    if target.endswith("/more"):
        return _page(f"More of {number}", f"http://two.example/ark:/12x45/c2{number:02}k <a href='/'>home</a>")
    places = ("http://one.example", f"http://three{number}.example", "http://four.example", "http://nobody.example")
    cited = f"{places[number % 4]}/ark:/12x45/b1{number:02}x http://one.example/ark:/12x45/b1{number // 2:02}z"
    links = f"<a href='/p{number}/more'>more</a> <a href='http://files.library.example/f{number}.txt'>file</a>"
    links += f"<a href='/moved/{number}'>the same</a>" if number % 4 == 1 else ""
    return _page(f"Page {number}", f"{cited} ark:12x45/d3{number % 5}q {links}")


def _files(target: str) -> Answer:
    if target == "/doubts.txt":  # the first is broken over a line, and whole in one of the files
        text = (
            "Kept as http://one.example/ark:/12x45/x5\nk3 in the vault, and ark:/12345/x5 and ark:/12x45/b7q2\n4 too."
        )
    elif target == "/f3.txt":
        text = "See http://one.example/ark:/12x45/x5k3 and ark:/12x45/b7q2 there."
    else:
        text = f"The file {target} cites http://landing.example/ark:/12x45/f4{target[2:-4]}."
    return 200, {"Content-Type": "text/plain; charset=utf-8"}, text


#: The names that exist at one.example.
_KNOWN = {*(f"b1{number:02}{end}" for number in range(PAGES) for end in "xz"), "d30q", "d31q", "d32q", "x5k3", "b7q2"}


def _one(target: str) -> Answer:
    """Answer as a resolver that shows the object, and a record with a commitment."""
    path, _, query = target.partition("?")
    name = path.rpartition("/")[2]
    if name not in _KNOWN:
        return _not_found(path)
    if query == "info":
        erc = f"erc:\nwho: Rossi, Ada\nwhat: Notebook {name}\nwhen: 1952\nwhere: ark:/12x45/{name}\n"
        support = (
            "erc-support:\nwho: A library\nwhat: Permanent: Stable Content\nwhen: 2020\nwhere: http://one.example/\n"
        )
        return 200, {"Content-Type": "text/plain"}, erc + support
    return _page(f"Notebook {name}", f"Identifier: ark:/12x45/{name}. Forty leaves, with drawings.")


def _two(target: str) -> Answer:
    """Answer as a resolver that redirects every question about a known name."""
    name = target.partition("?")[0].rpartition("/")[2]
    return (302, {"Location": f"http://landing.example/o/{name}"}, "") if name[:2] == "c2" else _not_found(target)


def _global(target: str) -> Answer:
    is_known = target.partition("?")[0].rpartition("/")[2][:2] == "d3"
    return (302, {"Location": f"http://one.example{target}"}, "") if is_known else _not_found(target)


def _object_host(target: str) -> Answer:
    """Answer as the host of the objects, which ignores inflections."""
    path = target.partition("?")[0]
    is_known = path.startswith("/o/") or (path.startswith("/ark:/12x45/f4") and len(path) < 18)
    return _page("An object", f"Item {path}") if is_known else _not_found(path)


HOSTS: dict[str, Callable[[str], Answer]] = {
    "www.library.example": _library,
    "files.library.example": _files,
    "one.example": _one,
    "two.example": _two,
    **{f"three{number}.example": _not_found for number in range(1, PAGES, 4)},  # the first to be unknown is asked more
    "four.example": lambda target: (503, {"Content-Type": "text/plain"}, "later"),
    "landing.example": _object_host,
    "global.example": _global,
}


_CONFIGURATION = """\
resolver = "http://global.example/"
[politeness]
delay = 0
backoff = 0
timeout = 20
contact = "t@example.org"
[network]
only_routed = true
connect_to = [{routes}]
"""


class World:
    """Serves `HOSTS` until it is closed, and records the requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        """Host and target of every request but those for robots.txt."""
        self.heard = threading.Condition()

    def __enter__(self) -> Self:
        world = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                host, target = self.headers["Host"].partition(":")[0], self.path
                if target == "/robots.txt":
                    status, headers, body = 404, {}, ""
                else:
                    with world.heard:
                        world.asked.append((host, target))
                        world.heard.notify_all()
                    time.sleep(LATENCY_S)
                    status, headers, body = HOSTS[host](target)
                sent = body.encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 100

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Ignore errors: clients are killed on purpose."""

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, count: int, timeout_s: float) -> None:
        """Wait until *count* requests have come, or *seconds* have passed."""
        with self.heard:
            self.heard.wait_for(lambda: len(self.asked) >= count, timeout_s)

    def configuration(self, folder: Path) -> list[str]:
        """Return the options of a command in this world. The hosts asked do not depend on the order of the answers."""
        port = self._server.server_address[1]
        routes = "".join(f'"{host}:80=127.0.0.1:{port}",' for host in HOSTS)
        (folder / "arkaudit.toml").write_text(_CONFIGURATION.format(routes=routes), "utf-8")
        return ["-c", str(folder / "arkaudit.toml")]


def local_files(folder: Path) -> list[Path]:
    """Return documents on the disk: a text, and an archive of two."""
    folder.mkdir()
    (folder / "letter.txt").write_text("See http://one.example/ark:/12x45/b100x and ark:/99999/x5.", "utf-8")
    with zipfile.ZipFile(folder / "papers.zip", "w") as archive:
        for name in ("a.txt", "b.txt"):
            archive.writestr(name, f"{name} cites http://two.example/ark:/12x45/c2{name[0]}9k.")
    return [folder / "letter.txt", folder / "papers.zip"]


class Command:
    """The command as a process of its own, which may be killed; it is when the block ends, if it still runs."""

    def __init__(
        self, arguments: Sequence[str | Path], *, first: Callable[[], None] | None = None, **environment: str
    ) -> None:
        self._arguments = [str(each) for each in arguments]
        self._first = first
        self._environment = {**clean_environment(), "PYTHONIOENCODING": "utf-8", **environment}

    def __enter__(self) -> Self:
        self._printed, self._said = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._process = preloaded.begin(
            self._arguments, environment=self._environment, prints=self._printed, says=self._said, first=self._first
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.join()
        self._printed.close()
        self._said.close()

    @property
    def is_running(self) -> bool:
        return self._process.exitcode is None

    def wait(self, seconds: float) -> None:
        """Wait until the command has ended, or *seconds* have passed."""
        self._process.join(seconds)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()

    def send(self, number: int) -> None:
        """Send it a signal."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def exit_code(self) -> int:
        """Return the exit code, or the negative number of the signal that ended the command."""
        self._process.join(PATIENCE_S)
        assert self._process.exitcode is not None, self.errors
        return self._process.exitcode

    @property
    def output(self) -> str:
        """Return the standard output."""
        return _text(self._printed)

    @property
    def errors(self) -> str:
        """Return the standard error."""
        return _text(self._said)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def with_room_for(pages: int) -> None:
    """Let a store grow by at most *pages* pages in this process, as if the disk were full then."""
    before = crawler.store.store._set_pragmas

    def small(connection: sqlite3.Connection, record: object) -> None:
        before(connection, record)
        [count] = connection.execute("pragma page_count").fetchone()
        connection.execute(f"pragma max_page_count={count + pages}")

    crawler.store.store._set_pragmas = small


def with_trouble() -> None:
    """Let our own code stumble over documents that begin with "broken", and stay at those that begin with "slow"."""
    read = crawler.spiders.document_reading.inline_extraction

    def troubled(part: ArchiveMember, **options: Any) -> Extraction | None:
        if part.data.startswith(b"broken"):
            raise RuntimeError("a fault of ours")
        if part.data.startswith(b"slow"):
            time.sleep(PATIENCE_S)
        return read(part, **options)

    crawler.spiders.document_reading.inline_extraction = troubled


def is_made(store: Path) -> bool:
    """Return True if the store has its tables: its maker may be killed before they exist."""
    if not store.exists():
        return False
    return select(store, "select count(*) from sqlite_master where name = 'observation'")[0] == (1,)


def sent_requests(store: Path) -> Counter[tuple[str, str]]:
    """Return the requests that the store records, by host and target, in all its runs."""
    if not is_made(store):
        return Counter()
    rows = [*select(store, "select hops from observation"), *select(store, "select hops from document")]
    urls = [hop["url"] for (hops,) in rows for hop in json.loads(hops) if hop["status"] is not None]
    return Counter((url.split("/")[2], "/" + url.split("/", 3)[3]) for url in urls)


#: Columns of the published tables that hold times or the load of hosts; no table has a key of the store.
_OF_TIME_OR_COST = (
    "all_requests", "pauses_kept", "given_up", "at", "elapsed_s", "since", "checked_at", "good_at", "started_at",
    "ended_at", "began", "ended", "date", "first_at", "last_at", "failing_since",
)  # fmt: skip
#: Durations of attempts in the evidence of a verdict.
HOW_LONG = r"(?<=times) (?:over \d+ s|within a second)"

#: Tables that hold all that is published of a run; the others count and compare their rows.
_LISTINGS = ("summary", "documents", "repairs", "hosts", "failures", "arks", "citations")


def tables(store: Path) -> dict[str, pd.DataFrame]:
    """Return those tables of the newest run, without values that differ between any two runs.

    The first of several ARKs to need a shared answer asks for it, which depends on the time of answers.
    """
    frames = load_frames(store)
    report = Tables(frames)
    requests = REQUESTS.table(frames)
    requests.loc[requests["question"].isin(SHARED), ["ark", "request_url"]] = ""
    requests = requests.sort_values([*requests.columns.drop(["at", "elapsed_s"])], ignore_index=True)
    found = {name: report[name] for name in _LISTINGS} | {REQUESTS.name: requests}
    left_out = {
        name: [column for column in table if column in _OF_TIME_OR_COST or column.endswith("_s")]
        for name, table in found.items()
    }
    return {name: table.drop(columns=left_out[name]).replace(HOW_LONG, "", regex=True) for name, table in found.items()}


def counts(store: Path) -> dict[str, int]:
    """Return the number of rows of each table, including unpublished ones."""
    names = ("run", "document", "finding", "ark", "mention", "observation", "verdict", "frontier", "outlinks")
    return {name: select(store, f"select count(*) from {name}")[0][0] for name in names}
