"""Each hostile answer to a page or a file gives exactly one row about that document, with the reason."""

import gzip
import sqlite3
import struct
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trustme

from crawler.model.observations import ChainEnd, DocumentOutcome, ObjectOutcome
from crawler.model.resolving import URL_LIMIT
from tests.real.arkaudit.test_cli import ODD_ANSWERS
from tests.real.crawler.zoo import Animal, Answer, Zoo, animals
from tests.real.crawler.zoo_visit import run_of
from tests.real.loopback import RawServer, check_rows, reply, run_command, select

ANIMALS = [animal for animal in animals() if "://" in animal.url and animal.place != "nowhere"]
#: A document gets the outcome of its request, as an ARK does, but no judgement of its answer.
OF_A_CHAIN = {str(end) for end in ChainEnd} - {str(ChainEnd.ANSWERED), str(ChainEnd.UNDETERMINED)}
#: Animals that are served as files, too: they fail before their content counts.
ODD_ON_THE_WIRE = [
    animal for animal in ANIMALS
    if animal.object in OF_A_CHAIN or any(each.fault or each.raw for given in animal.on.values() for each in given)
]  # fmt: skip
PDF = (Path(__file__).parents[3] / "tools" / "demo" / "site" / "annual-report.pdf").read_bytes()
ARK = "ark:/67531/metadc2846"
OK = b"HTTP/1.1 200 OK\r\n"


def body(data: bytes, *headers: str) -> bytes:
    lines = "".join(f"{line}\r\n" for line in (*headers, f"Content-Length: {len(data)}", "Connection: close"))
    return OK + lines.encode("latin-1") + b"\r\n" + data


def chunk(*chunks: bytes) -> bytes:
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in chunks)


PAGE = f"<!DOCTYPE html><title>A page</title><p>{ARK} Forty leaves, with drawings.".encode()
#: Answers with the outcome of the document and words of a finding about it, where there must be one.
ANSWERS: Mapping[str, tuple[bytes, str, str]] = {
    "a page": (body(PAGE, "Content-Type: text/html"), "read", ""),
    "a page that is called a PDF": (body(PAGE, "Content-Type: application/pdf"), "read", ""),
    "a PDF that is called a page": (body(PDF, "Content-Type: text/html"), "read", ""),
    "a picture": (body(b"\xff\xd8\xff\xe0" + bytes(9000), "Content-Type: image/jpeg"), "unreadable", "no document"),
    "a picture that is called a page": (
        body(b"\xff\xd8\xff\xe0" + bytes(9000), "Content-Type: text/html"), "unreadable", "unknown-format",
    ),
    "nothing at all in it": (body(b"", "Content-Type: text/html"), "unreadable", "empty"),
    "a page that is compressed": (body(gzip.compress(PAGE), "Content-Encoding: gzip"), "read", ""),
    "a page that is compressed without the wrapper": (
        body(zlib.compress(PAGE)[2:-4], "Content-Encoding: deflate"), "read", "",
    ),
    "a page that is compressed twice": (
        body(gzip.compress(gzip.compress(PAGE)), "Content-Encoding: gzip, gzip"), "read", "",
    ),
    "a page that is compressed too often": (
        body(gzip.compress(PAGE), "Content-Encoding: " + "gzip, " * 200 + "gzip"), "unreadable", "undecodable",
    ),
    "a compressed page that is cut off": (
        body(gzip.compress(PAGE * 900 + bytes(range(256)) * 9)[:-300], "Content-Encoding: gzip"), "incomplete", "incomplete",
    ),
    "no gzip, though it is called so": (body(PAGE, "Content-Encoding: gzip"), "unreadable", "undecodable"),
    "a bomb": (body(gzip.compress(bytes(2**26), 9), "Content-Encoding: gzip"), "unreadable", "undecodable"),
    "a page with an unknown coding": (body(PAGE, "Content-Encoding: x-snappy"), "read", ""),
    "fewer bytes than were promised": (
        OK + b"Content-Type: text/html\r\nContent-Length: 90000\r\n\r\n" + PAGE, "incomplete", "incomplete",
    ),
    "a chunk whose size is no number, behind a good one": (
        chunk(PAGE) + b"zz\r\nx\r\n", "incomplete", "incomplete",
    ),
    "a status line and nothing else": (b"HTTP/1.1 200 OK\r\n\r\n", "unreadable", "empty"),
    "more headers than are read": (
        OK + b"X-More: " + b"x" * (2**20 + 9) + b"\r\n\r\n", "protocol-error", "never end",
    ),
    "a thousand headers": (
        OK + b"".join(b"X-%d: %d\r\n" % (at, at) for at in range(1000)) + b"\r\n" + PAGE, "read", "",
    ),
    "a Location longer than any URL": (
        reply("302 Found", Location="/" + "x" * (URL_LIMIT + 1)), "undetermined", "characters",
    ),
    "a data URL of a megabyte": (reply("302 Found", Location="data:," + "x" * 900_000), "non-web", "data:,"),
    "a title with control sequences of a terminal": (body(b"<title>\x1b]0;owned\x07\xe2\x80\xae</title>" + PAGE), "read", ""),
    "a charset that breaks decoders": (body(PAGE, "Content-Type: text/html; charset=idna"), "read", ""),
    "a hundred thousand elements inside each other": (
        body(b"<div>" * 100_000 + PAGE, "Content-Type: text/html"), "read", "",
    ),
    "a tag with a hundred thousand attributes": (
        body(b"<p " + b"".join(b"a%d " % at for at in range(100_000)) + b">" + PAGE, "Content-Type: text/html"),
        "read", "",
    ),
    "an XML bomb": (
        body(
            b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(b'<!ENTITY %c "&%c;&%c;&%c;&%c;&%c;">' % (b + 1, b, b, b, b, b) for b in range(97, 120))
            + b"]><x>&x;</x>", "Content-Type: application/xml",
        ), "*", "",
    ),
    "a ZIP bomb by its own account": (
        body(
            b"PK\3\4\x14\0\0\0\x08\0" + bytes(4) + struct.pack("<IIIHH", 0, 20, 2**32 - 1, 1, 0) + b"a"
            + zlib.compress(bytes(2**20))[2:22], "Content-Type: application/zip",
        ), "*", "",
    ),
    **{f"{why} (of the ARKs' list)": (raw, "*", "") for why, raw in ODD_ANSWERS.items()},
}  # fmt: skip


class Repository(Zoo):
    """The zoo; every animal also serves its page as a file, below ``/files``."""

    def _given(self, animal: Animal, host: str, target: str, *, is_secure: bool) -> tuple[Answer, ...]:
        given = super()._given(animal, host, target.removeprefix("/files"), is_secure=is_secure)
        return tuple(map(_as_file, given)) if target.startswith("/files/") else given


def _as_file(answer: Answer) -> Answer:
    has_page = answer.status == 200 and answer.raw is None and answer.location is None
    return (
        replace(answer, type="application/pdf", body=PDF.decode("latin-1"), encoding="latin-1") if has_page else answer
    )


def as_file(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}/files{slash}{path}"


ASKED = [*((animal, animal.url) for animal in ANIMALS), *((animal, as_file(animal.url)) for animal in ODD_ON_THE_WIRE)]
ZOO_URLS = [url for _, url in ASKED]
SILENT = [url for animal, url in ASKED if run_of(animal) == "never done"]
ANSWERING = [url for url in ZOO_URLS if url not in SILENT]


@dataclass(frozen=True)
class Audit:
    """The results of a crawl of all animals."""

    rows: list[tuple[str, str]]
    findings: dict[str, list[str]]
    answers: Mapping[str, str]
    """The URL of each of `ANSWERS`."""
    said: str
    landings: set[str]
    """Where redirects have led: documents with a row of their own."""

    def outcome(self, url: str) -> str:
        [outcome] = [outcome for name, outcome in self.rows if name == url]
        return outcome


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = tmp_path_factory.mktemp("hostile")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    paths = {f"/{number}": answer for number, (answer, _, _) in enumerate(ANSWERS.values())}
    with ExitStack() as stack:
        repository = stack.enter_context(Repository(ANIMALS, authority))
        server = stack.enter_context(RawServer(lambda target: paths.get(target, reply("404 Not Found"))))
        urls = {why: f"{server.url}{path}" for why, path in zip(ANSWERS, paths, strict=True)}
        (folder / "arkaudit.toml").write_text(f"[network]\nconnect_to = {repository.routes!r}\n")
        common = (
            "-c", folder / "arkaudit.toml", "--depth", "0", "--store", folder / "a.db", "--delay", "0",
            "--backoff", "0.2", "--only-routed", "--allow-address", "127.0.0.0/8", "--allow-address", "::1/128",
            "--ca-file", folder / "ca.pem",
        )  # fmt: skip
        answering = run_command("crawl", *common, "--timeout", "25", *ANSWERING, *urls.values())
        # Silent hosts get little time, and all others more than a busy machine needs.
        silent = run_command("crawl", *common, "--timeout", "3", "--attempts", "1", *SILENT)
    assert (answering.returncode, silent.returncode) == (0, 0), answering.stderr + silent.stderr
    findings: dict[str, list[str]] = {}
    with sqlite3.connect(folder / "a.db") as store:
        for subject, kind, detail in store.execute("select subject, kind, detail from finding"):
            findings.setdefault(subject, []).append(f"{kind}: {detail}")
        rows = store.execute("select url, outcome from document").fetchall()
        landings = {url for (url,) in store.execute("select final_url from document where outcome = 'redirected'")}
    return Audit(rows, findings, urls, answering.stderr + silent.stderr, landings)


@pytest.mark.promise
def test_there_is_one_row_for_each_document_and_no_exception(audit: Audit) -> None:
    own = [url for url, _ in audit.rows if "!/" not in url]  # members of an archive have their own rows
    assert len(own) == len(set(own))
    assert set(own) - audit.landings == {*ZOO_URLS, *audit.answers.values()}
    assert "Traceback" not in audit.said
    assert {outcome for _, outcome in audit.rows} <= {*map(str, DocumentOutcome), *map(str, ObjectOutcome)}


@pytest.mark.promise
def test_unread_documents_have_a_reason(audit: Audit) -> None:
    told = {"read", "redirected"}
    assert [url for url, outcome in audit.rows if outcome not in told and not audit.findings.get(url)] == []
    assert audit.landings <= {url for url, _ in audit.rows}, "with the target of the redirect"


@pytest.mark.promise
@pytest.mark.parametrize(
    "animal",
    # The refresh of a page is followed for an ARK only.
    [animal for animal in ANIMALS if animal.object in OF_A_CHAIN and not animal.name.startswith("refresh-")],
    ids=lambda animal: f"{animal.name}: {animal.why}",
)
def test_unanswered_document_has_the_outcome_of_an_ark(animal: Animal, audit: Audit) -> None:
    assert audit.outcome(animal.url) == animal.object, audit.findings.get(animal.url)
    if animal.object != ChainEnd.ROBOTS:  # rules are for paths, and the file has another
        assert audit.outcome(as_file(animal.url)) == animal.object, audit.findings.get(as_file(animal.url))


@pytest.mark.promise
@pytest.mark.parametrize("why", ANSWERS)
def test_an_answer_makes_a_document_or_a_reason(why: str, audit: Audit) -> None:
    _, expected, words = ANSWERS[why]
    url = audit.answers[why]
    assert expected in ("*", audit.outcome(url)), audit.findings.get(url)
    assert any(words in told for told in audit.findings.get(url, [""]))


def test_same_answers_give_an_ark_the_same_outcomes(tmp_path: Path) -> None:
    paths = {f"/ark:/12x45/n{number}": answer for number, (answer, _, _) in enumerate(ANSWERS.values())}
    with RawServer(lambda target: paths.get(target.partition("?")[0], reply("404 Not Found"))) as server:
        urls = [f"{server.url}{path}" for path in paths]
        rows = check_rows("--attempts", "1", "--resolver", server.url, "--store", tmp_path / "a.db", *urls)
    assert [row["asked"] for row in rows] == urls
    seen = select(
        tmp_path / "a.db",
        "select request_url, chain_end, body_complete, remarks from observation where question = 'object'",
    )
    told = {url: (end, is_complete, remarks) for url, end, is_complete, remarks in seen}
    for url, (why, (_, outcome, words)) in zip(urls, ANSWERS.items(), strict=True):
        end, is_complete, remarks = told[url]
        if outcome != "*":
            assert end == ("answered" if outcome in ("read", "incomplete", "unreadable") else outcome), why
        if words in ("incomplete", "undecodable"):
            assert (is_complete, "not the whole answer" in remarks) == (0, True), why
