"""Secrets are removed from all texts that repeat them, in each possible form."""

import base64
import gzip
import html
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import ChainEnd, DocumentOutcome, DocumentRecord, Hop, Observation, Pause, Question
from crawler.wire.credentialed import RecordRedactor
from crawler.wire.credentials import Credential, Credentials, proxy_credential
from crawler.wire.redaction import HIDDEN, Redactor
from extractors.model.ark import Ark
from extractors.model.documents import Finding
from extractors.model.urls import Origin
from tests.loopback import ON_LOOPBACK, RawServer, reply, run_command

TOKEN = 'S3cr3t/42+x=&"z\\'
COOKIE = "c00kie/of+mine=="


def _percent(text: str, *, upper: bool = True) -> str:
    digits = "%{:02X}" if upper else "%{:02x}"
    return "".join(digits.format(byte) for byte in text.encode())


#: Forms in which programs quote a text in their answers.
ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "as it is": str,
    "percent": lambda text: quote(text, safe=""),
    "percent, lower": lambda text: re.sub("%..", lambda each: each[0].lower(), quote(text, safe="")),
    "percent, all of it": _percent,
    "percent, all of it, lower": lambda text: _percent(text, upper=False),
    "percent, but slashes": lambda text: quote(text, safe="/"),
    "form": quote_plus,
    "percent, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "percent, three times": lambda text: quote(quote(quote(text, safe=""), safe=""), safe=""),
    "percent, five times": lambda text: reduce(lambda told, _: quote(told, safe=""), range(5), text),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON of PHP": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text))[3:-3],
    "JSON, all of it": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "JSON, all of it, upper": lambda text: "".join(f"\\u{ord(each):04X}" for each in text),
    "JavaScript": lambda text: re.sub(r"[^\w€]", lambda each: f"\\x{ord(each[0]):02x}", text),
    "HTML": html.escape,
    "HTML, twice": lambda text: html.escape(html.escape(text)),
    "HTML, decimal": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "HTML, decimal with zeros": lambda text: "".join(f"&#{ord(each):05d};" for each in text),
    "HTML, hex": lambda text: "".join(f"&#x{ord(each):X};" for each in text),
    "HTML, named": lambda text: text.replace("&", "&amp;").replace("/", "&sol;").replace("+", "&plus;"),
    "HTML, named without semicolons": lambda text: re.sub("&(amp|lt|gt|quot);", r"&\1", html.escape(text)),
    "HTML, five times": lambda text: reduce(lambda told, _: html.escape(told), range(5), text),
    "HTML of percent": lambda text: html.escape(quote(text, safe="")),
    "percent of HTML": lambda text: quote(html.escape(text), safe=""),
    "HTML of JSON": lambda text: html.escape(json.dumps(text))[6:-6],
    "JSON of HTML": lambda text: json.dumps(html.escape(text))[1:-1],
    "JSON of percent of HTML": lambda text: json.dumps(quote(html.escape(text)))[1:-1],
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, moved by one": lambda text: base64.b64encode(b"u" + text.encode()).decode(),
    "base64, moved by two": lambda text: base64.b64encode(b"me" + text.encode() + b"x").decode(),
    "base64 of user and password": lambda text: base64.b64encode(b"user:" + text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(b"user:" + text.encode()).decode().rstrip("="),
    "base64 in lines": lambda text: base64.encodebytes(b"u" * 50 + text.encode()).decode(),
    "base64 in percent": lambda text: quote(base64.b64encode(text.encode()), safe=""),
    "hex": lambda text: text.encode().hex(),
    "by turns": lambda text: "".join(
        (each, _percent(each), f"\\u{ord(each):04x}", f"&#{ord(each)};", f"%25{ord(each):02x}")[at % 5]
        for at, each in enumerate(text)
    ),
}  # fmt: skip

#: The part of a token in base64 that must not be visible: all characters that encode no neighbour.
_MARGIN = 3


def shows(text: str, secret: str) -> bool:
    """Return True if decoding *text*, in any order and several times, shows *secret*."""
    seen = {text}
    todo = [text]
    for _ in range(6):
        following = []
        for each in todo:
            for decode in (_percent_decode, html.unescape, _unescape):
                if (decoded := decode(each)) not in seen:
                    seen.add(decoded)
                    following.append(decoded)
        todo = following[:20]
    forms = {each.replace("+", " ") for each in seen} | seen
    wanted = {secret, secret.replace("+", " ")}
    packed = {base64.b64encode(bytes(k) + secret.encode())[_MARGIN + k : -_MARGIN].decode() for k in range(3)}
    packed |= {each.replace("+", "-").replace("/", "_") for each in packed} | {secret.encode().hex()}
    return any(word in form for word in wanted for form in forms) or any(
        word in form.replace("\n", "") for word in packed for form in seen
    )


def _percent_decode(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace")


def _unescape(text: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        return chr(int(escape[1] or escape[2], 16)) if escape[1] or escape[2] else escape[3]

    return re.sub(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\(.)", meant, text)


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS.keys())
@pytest.mark.parametrize(
    "secret", [TOKEN, COOKIE, "plain-t0ken", "two words here", "pässwörd/ü€", "%2Fquoted%20already"]
)
def test_a_secret_is_taken_out_in_each_form(encoding: Callable[[str], str], secret: str) -> None:
    told = encoding(secret)
    quiet = Redactor.for_secrets([secret])
    for text in (told, f"<a href='/x?tok={told}&y=1'>", f'{{"a": "{told}"}}'):
        cleaned = quiet.text(text)
        assert HIDDEN in cleaned, text
        assert not shows(cleaned, secret), cleaned
        assert quiet.bytes(text.encode()).decode() == cleaned


_SECRETS = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x17F, exclude_categories=["Cc"]), min_size=6, max_size=20
)


def _spellings(draw: st.DrawFn, character: str) -> str:
    forms = [character, _percent(character), _percent(character, upper=False), f"&#{ord(character)};"]
    forms += [f"&#x{ord(character):x};", f"\\u{ord(character):04X}", _percent(character).replace("%", "%25")]
    return draw(st.sampled_from(forms))


@st.composite
def secret_and_spelling(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a secret and a spelling of it: each character in a form of its own, then the whole in one more form."""
    secret = draw(_SECRETS.filter(lambda text: len(text.strip()) >= 6))
    told = "".join(_spellings(draw, each) for each in secret)
    again = draw(st.sampled_from(["as it is", "percent", "percent, lower", "JSON", "HTML", "form"]))
    return secret, ENCODINGS[again](told)


@given(secret_and_spelling(), st.text(max_size=8), st.text(max_size=8))
@example(("abcdef/x", "abcdef%2Fx"), "%", "")
@example(("0041secret", "0041secret"), "\\u", "")
def test_no_mixture_of_forms_shows_a_secret(told: tuple[str, str], before: str, behind: str) -> None:
    secret, written = told
    cleaned = Redactor.for_secrets([secret]).text(before + written + behind)
    assert written not in cleaned
    assert HIDDEN in cleaned


@given(st.binary(max_size=60), st.integers(0, 60), st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-16-be"]))
def test_a_secret_is_found_in_any_bytes(data: bytes, at: int, charset: str) -> None:
    page = data.replace(b"\0", b"") if charset == "utf-8" else data.hex().encode().decode().encode(charset)
    at = min(at, len(page)) // 2 * 2
    told = TOKEN.encode(charset.replace("utf-16", "utf-16-le") if charset == "utf-16" else charset)
    assert told not in Redactor.for_secrets([TOKEN]).bytes(page[:at] + told + page[at:])


def test_a_page_in_utf_16_stays_one() -> None:
    page = f"<title>\u00e9 {TOKEN}</title> ark:/12148/x5 {quote(TOKEN)} \u00e9"
    for charset in ("utf-16-le", "utf-16-be"):
        assert Redactor.for_secrets([TOKEN]).bytes(page.encode(charset)).decode(charset) == (
            f"<title>\u00e9 {HIDDEN}</title> ark:/12148/x5 {HIDDEN} \u00e9"
        )


@given(st.text(max_size=200))
def test_nothing_else_is_changed(text: str) -> None:
    assert Redactor.for_secrets(["S3cr3t-of-nobody"]).text(text) == text
    data = text.encode("utf-8", "surrogatepass")
    assert Redactor.for_secrets(["S3cr3t-of-nobody"]).bytes(data) is data


def test_secret_cut_at_the_edge_of_an_excerpt_is_removed() -> None:
    quiet = Redactor.for_secrets(["S3cr3t-open-sesame"])
    assert quiet.text("your token is S3cr3t-open-se") == f"your token is {HIDDEN}"
    assert quiet.text("pen-sesame is your token") == f"{HIDDEN} is your token"
    escaped = Redactor.for_secrets(["Bearer S3cr3t/42+x"])
    assert escaped.text("see Bearer%20S3cr3t%2") == escaped.text("see Bearer%2520S3cr3t%2") == f"see {HIDDEN}"
    assert escaped.text("2F42%2Bx and so on") == "2F42%2Bx and so on"  # too short to count
    assert escaped.text("r%20S3cr3t%2F42%2Bx and") == f"{HIDDEN} and"


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("Bearer S3cr3t/42+x", "S3cr3t/42+x"),
        ('Token token="S3cr3t/42+x", id=3', "S3cr3t/42+x"),
        ("ApiKey me:S3cr3t/42+x", "S3cr3t/42+x"),
        (f"Basic {base64.b64encode(b'me:S3cr3t/42+x').decode()}", "S3cr3t/42+x"),
        (f"Basic {base64.b64encode('me:pässwört'.encode('latin-1')).decode()}", "pässwört"),
        ("%7B%22id%22%3A%22S3cr3t-42%22%7D", '{"id":"S3cr3t-42"}'),
    ],
)
def test_parts_of_a_value_are_secrets_as_well(value: str, secret: str) -> None:
    quiet = Redactor.for_secrets(Credential({"Authorization": value}).secrets)
    assert not shows(quiet.text(f"you are {secret}, or {quote(secret, safe='')}"), secret)


def test_a_proxy_has_secrets() -> None:
    assert "p/w-open" in proxy_credential("http://me:p%2Fw-open@proxy.example:3128/").secrets
    assert proxy_credential("http://proxy.example:3128/").secrets == ()


def test_records_are_kept_without_the_secrets_of_their_hosts() -> None:
    own = Credentials({Origin.from_name("http://own.example"): Credential({"X-Key": "S3cr3t/42+x"})})
    withheld = RecordRedactor(own)
    hop = Hop("http://own.example/a", "GET", "2026-11-21T10:00:00.000+00:00", error="bad line: 'S3cr3t%2F42%2Bx'")
    asked = "http://own.example/a?S3cr3t/42+x"
    seen = Observation(
        Ark.parse("ark:12x45/a"), asked, Question.OBJECT, asked, (hop,), ChainEnd.RESET, text="a S3cr3t/42+x"
    )
    kept = withheld(seen)
    assert (kept.request_url, kept.hops[0].error, kept.text) == (asked, f"bad line: '{HIDDEN}'", f"a {HIDDEN}")
    crawl_request = CrawlRequest.to_page("http://own.example/b?S3cr3t%2F42%2Bx", found_on="http://own.example/a")
    way = DocumentRecord(
        "http://own.example/w", None, "", DocumentOutcome.READ, (hop,), title="S3cr3t/42+x", settles="S3cr3t/42+x"
    )
    document = DocumentRecord(
        "http://own.example/a", None, "", DocumentOutcome.READ, (hop,), new_requests=(crawl_request,), led_by=way,
        findings=(Finding("x", "S3cr3t&#47;42+x"),),
    )  # fmt: skip
    recorded = withheld(document)
    assert "S3cr3t" not in repr(recorded).replace("settles='S3cr3t/42+x'", "")
    assert "S3cr3t" not in repr(withheld(Pause("http://own.example", "http://own.example/S3cr3t/42+x", "", 1, True)))
    elsewhere = DocumentRecord("http://other.example/", None, "", DocumentOutcome.READ, title="S3cr3t/42+x")
    assert withheld(elsewhere) is elsewhere


def _zip_text(text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", text)
        archive.writestr(f"{quote(TOKEN, safe='')}.html", f"<title>{html.escape(text)}</title>")
    return packed.getvalue()


def test_no_form_of_a_secret_reaches_store_log_or_report(tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text(
        f"""
        [hosts."http://own.example"]
        headers = {{ Authorization = "Bearer {TOKEN.replace(chr(92), chr(92) * 2).replace('"', chr(92) + '"')}" }}
        cookies = {{ session = "{COOKIE}" }}
        interval = 0
        concurrency = 4
        """
    )
    forms = [encode(secret) for encode in ENCODINGS.values() for secret in (f"Bearer {TOKEN}", COOKIE)]
    said = " ".join(form.replace("\n", "") for form in forms)
    pages = [f"/p{number}?tok={quote(form, safe='%&+=')}" for number, form in enumerate(forms)]

    def respond(target: str) -> bytes:
        number = int(found[1]) if (found := re.search(r"[pm](\d+)", target)) else 0
        form = forms[number % len(forms)].replace("\n", "")
        if target == "/":
            links = "".join(f"<a href='/m{n}'>m</a>" for n in range(len(forms)))
            own = "".join(f"<a href='{html.escape(page)}'>p</a>" for page in pages)
            return reply(body=f"<title>{form}</title>{links}{own}<a href='/z'>z</a><a href='/g'>g</a> ark:/12x45/x5")
        if target.startswith("/m"):
            return reply("302 Found", Location=f"/landed?tok={form}")
        if target == "/z":
            data = _zip_text(f"see ark:/12x45/zip1 at {said} and ark:/12x45/zip2")
            head = f"Content-Type: application/zip\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
            return b"HTTP/1.1 200 OK\r\n" + head.encode() + data
        if target == "/g":
            data = gzip.compress(f"see ark:/12x45/gz1 {said}".encode())
            head = f"Content-Type: application/gzip\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
            return b"HTTP/1.1 200 OK\r\n" + head.encode() + data
        if target == "/broken" or "x6" in target:
            return f"HTTP/1.1 {form}\r\nbad {form}\r\n\r\n".encode()
        page = f"<title>{html.escape(form)}</title><h1>{form}</h1><a href='/broken'>b</a> ark:/12x45/x6 {form} x"
        return reply(body=page, X_Server=form, Link=f'<{form}>; rel="cite-as"', Content_Language=form)

    with RawServer(respond) as server:
        done = run_command(
            "run", "-c", tmp_path / "arkaudit.toml", "--connect-to", f"own.example:80=127.0.0.1:{server.port}",
            *ON_LOOPBACK, "--resolver", "http://own.example/", "--attempts", "1", "--depth", "2",
            "--log-file", tmp_path / "a.log", "--log-level", "debug",
            "--store", tmp_path / "a.db", "--out", tmp_path / "report", "http://own.example/",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert {"/z", "/g", "/broken"} <= set(server.targets)
        assert any("Bearer" in head for head in server.heads)
    files = [each for each in tmp_path.rglob("*") if each.is_file() and each.name != "arkaudit.toml"]
    assert {"a.log", "a.db", "index.html"} <= {each.name for each in files}
    texts = {str(each): each.read_bytes().decode("latin-1") for each in files}
    texts |= {"stdout": done.stdout, "stderr": done.stderr}
    assert HIDDEN in texts[str(tmp_path / "a.db")]
    for name, text in texts.items():
        if name.endswith(".xlsx"):
            with zipfile.ZipFile(name) as book:
                text = "".join(book.read(each).decode("latin-1") for each in book.namelist())
        for secret in (TOKEN, COOKIE):
            for encode in ENCODINGS.values():
                assert encode(secret).replace("\n", "") not in text, (name, encode(secret))
        lines = [line for line in text.splitlines() if "S3cr3t" in line or "c00kie" in line]
        assert not lines, (name, lines[:3])
