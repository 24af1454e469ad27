"""A host that answers with whatever takes time or memory to read, next to two sound ones, over real sockets."""

import gzip
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest

from tests.real.loopback import RawServer, Responder, check_rows, reply

HTML = "text/html; charset=utf-8"
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:dc="http://purl.org/dc/terms/"><rdf:Description rdf:about="http://a.example/">'
)
END_OF_RDF = "</rdf:Description></rdf:RDF>"
PAGE = "<title>A map</title><h1>A map of the city</h1>"


def raw(head: str, body: bytes = b"<title>A map</title>A map of the city", status: str = "200 OK") -> bytes:
    """Return an answer with this head, whatever it is, and the length of its body."""
    lines = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{head}\r\n"
    return lines.encode("latin-1") + body


def answer_of(media_type: str, body: str) -> bytes:
    return raw(f"Content-Type: {media_type}\r\n", body.encode("utf-8", "surrogatepass"))


def turtle(literal: str) -> bytes:
    return answer_of(
        "text/turtle", f"@prefix dc: <http://purl.org/dc/terms/> . <http://a.example/> dc:title {literal} ."
    )


def typed_literal(text: str, kind: str) -> bytes:
    return turtle(f'"{text}"^^<http://www.w3.org/2001/XMLSchema#{kind}>')


def rdf_xml(body: str) -> bytes:
    return answer_of("application/rdf+xml", RDF + body + END_OF_RDF)


def compress_times(times: int, name: str = "gzip") -> bytes:
    body = b"<title>A map</title>"
    for _ in range(times):
        body = gzip.compress(body)
    return raw(f"Content-Type: {HTML}\r\nContent-Encoding: {', '.join([name] * times)}\r\n", body)


#: Answers of the hostile host, by name.
HOSTILE: dict[str, bytes] = {
    # headers
    "blanks in Retry-After": raw(f"Retry-After: 0h{' ' * 65_000}x\r\n", status="503 Down"),
    "digits in Retry-After": raw(f"Retry-After: {'9' * 100_000}\r\n", status="503 Down"),
    "colons in Retry-After": raw(f"Retry-After: Sat, 21 Nov {'1:' * 60_000}\r\n", status="503 Down"),
    "semicolons in Content-Type": raw(f'Content-Type: text/html; a="{";" * 131_000}\r\n'),
    "parameters of Content-Type": raw(f"Content-Type: text/html{'; a=b' * 20_000}\r\n"),
    "escapes in Content-Type": raw(f'Content-Type: text/html; charset="{chr(92) * 100_000}\r\n'),
    "parameters of Link": raw(f"Link: <http://a.example/>{'; rel=x' * 20_000}\r\n"),
    "links": raw(f"Link: {'<x>; rel=cite-as, ' * 20_000}\r\n"),
    "beginnings of links": raw(f"Link: {'<' * 200_000}\r\n"),
    "quotes in Link": raw('Link: <x>; rel="' + '\\"' * 60_000 + "\r\n"),
    "headers": raw("a: b\r\n" * 100_000),
    "one header, folded": raw("Link: <x>\r\n" + " ; a\r\n" * 100_000),
    "names of headers": raw("".join(f"x{number}: y\r\n" for number in range(50_000))),
    "cookies": raw("".join(f"Set-Cookie: c{n}={'x' * 90}; path=/\r\n" for n in range(600))),
    "expiry of a cookie": raw(f"Set-Cookie: a=b; expires={'1-' * 60_000}\r\n"),
    "blanks in a cookie": raw(f"Set-Cookie: a=b;{' ' * 60_000}x\r\n"),
    "refresh": raw(f"Refresh: 0;{' ' * 60_000}url=x\r\n"),
    "THUMP-Status": raw(f"THUMP-Status: {'0 ' * 60_000}\r\n"),
    "a date": raw(f"Last-Modified: {'Sat, ' * 40_000}\r\n"),
    "the length": raw(f"Content-Length: {'9' * 60_000}\r\n"),
    "status": raw("", status="9" * 5_000),
    "a large status": raw("", status=f"{2**70} OK"),
    "words of the status": raw("", status="200 " + "x " * 100_000),
    "a host of other letters": raw(f"Location: http://{'xn--' + 'a' * 4_000}.example/\r\n", status="302 F"),
    "a host of many labels": raw(f"Location: http://{'a.' * 3_900}example/\r\n", status="302 F"),
    "a host of digits": raw(f"Location: http://{'9' * 7_000}/\r\n", status="302 F"),
    "a host in brackets": raw(f"Location: http://[{':' * 7_000}]/\r\n", status="302 F"),
    "dots in a path": raw(f"Location: {'../' * 60_000}x\r\n", status="302 F"),
    "escapes in a path": raw(f"Location: /{'%' * 7_900}/abc\r\n", status="302 F"),
    "labels of ARKs in a path": raw(f"Location: /{'ark:/' * 1_500}/abc\r\n", status="302 F"),
    "codings": compress_times(6),
    "unknown codings": compress_times(5, "x-nothing"),
    "names of codings": raw(f"Content-Encoding: {'gzip, ' * 20_000}\r\n", gzip.compress(b"x")),
    # charsets
    **{
        f"charset {name}": answer_of(f"text/plain; charset={name}", "erc:\nwho: Rossi\nwhat: A map\nwhen: 1784\n" * 50)
        for name in (
            "undefined", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "base64",
            "hex", "rot13", "zlib", "bz2", "uu", "utf-7", "no-such-thing", "x" * 5_000, "utf-8\\0", '"',
        )
    },
    "charset of a page": answer_of(HTML, "<meta charset=unicode_escape>" + PAGE),
    "encoding of XML": answer_of("application/xml", '<?xml version="1.0" encoding="punycode"?><a>b</a>'),
    # RDF
    "a large decimal": typed_literal("1E1000000000", "decimal"),
    "a small decimal": typed_literal("1E-1000000000", "decimal"),
    "a large double": typed_literal("1" * 50_000, "double"),
    "a large integer": typed_literal("9" * 60_000, "integer"),
    "a duration": typed_literal("P" + "9" * 50_000 + "Y", "duration"),
    "a year": typed_literal("9" * 50_000, "gYear"),
    "a date of digits": typed_literal("2020-01-01T" + "0" * 50_000, "dateTime"),
    "octets in hex": typed_literal("ab" * 30_000, "hexBinary"),
    "XML as a literal": turtle(
        f'''"{'<b>' * 15_000}"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>'''
    ),
    "HTML as a literal": turtle(
        f'''"{'<b>' * 15_000}"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML>'''
    ),
    "JSON as a literal": turtle(f"""'{'[' * 30_000}'^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON>"""),
    "a number without quotes": turtle("9" * 60_000),
    "an exponent without quotes": turtle("1e999999999"),
    "a tag of a language": turtle(f'"x"@{"a-" * 30_000}a'),
    "lists of Turtle": turtle("(" * 30_000),
    "prefixes": answer_of("text/turtle", "@prefix a: <b> . " * 3_000),
    "bases": answer_of("text/turtle", "@base <a/> . <x> <y> <z> . " * 2_000),
    "triples": answer_of("application/n-triples", "<http://a.example/x> <http://purl.org/dc/terms/title> \"y\" .\n" * 900),
    "XML in RDF": rdf_xml(f'<dc:title rdf:parseType="Literal">{"<b/>" * 2_000}</dc:title>'),
    "much XML in RDF": rdf_xml(f'<dc:title rdf:parseType="Literal">{"<b/>" * 15_000}</dc:title>'),
    "nodes in nodes": rdf_xml("<dc:title><rdf:Description>" * 800 + "</rdf:Description></dc:title>" * 800),
    "members of a list": rdf_xml("<rdf:li>x</rdf:li>" * 1_500),
    "collections": rdf_xml(
        f'<dc:title rdf:parseType="Collection">{"<rdf:Description/>" * 1_500}</dc:title>'
    ),
    # XML
    "entities": answer_of(
        "application/xml",
        '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb">'
        + "".join(f"<!ENTITY b{n + 1} '" + f"&b{n};" * 10 + "'>" for n in range(1, 9))
        + "<!ENTITY b1 'b'>]><a>&b9;</a>",
    ),
    "an entity from elsewhere": answer_of("text/xml", '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'),
    "elements in elements": answer_of("application/xml", "<a>" * 50_000),
    "attributes": answer_of("application/xml", "<a " + "".join(f'x{n}="y" ' for n in range(40_000)) + "/>"),
    "namespaces": answer_of("application/xml", "".join(f'<a xmlns:n{n}="u{n}">' for n in range(5_000))),
    # JSON and YAML
    "lists of JSON": answer_of("application/json", "[" * 500_000),
    "objects of JSON": answer_of("application/json", '{"title":' * 60_000),
    "a number of JSON": answer_of("application/json", f'{{"title": {"9" * 100_000}}}'),
    "an exponent of JSON": answer_of("application/json", '{"title": 1e999999999, "date": -1e999999999}'),
    "keys of JSON": answer_of("application/json", "{" + ",".join(f'"k{n}": {n}' for n in range(40_000)) + "}"),
    "a long title of JSON": answer_of("application/json", '{"title": "' + "x" * 500_000 + '"}'),
    "lone surrogates": answer_of("application/json", '{"title": "' + "\\ud800" * 50_000 + '"}'),
    "contexts of JSON-LD": answer_of(
        "application/ld+json",
        '{"@context": ["http://127.0.0.1:9/c", {"@import": "file:///etc/passwd"}], "title": "A map", "creator": "R"}',
    ),
    "JSON-LD in JSON-LD": answer_of("application/ld+json", '{"@graph": [' * 20_000),
    "aliases of YAML": answer_of(
        "application/yaml",
        "a: &a [x,x,x,x,x,x,x,x]\n"
        + "".join(f"{after}: &{after} [{f'*{one},' * 8}]\n" for one, after in pairwise("abcdefghi")),
    ),
    "an integer of YAML": answer_of("application/yaml", f"title: {'9' * 60_000}\nwho: {'1:' * 5_000}1\n"),
    "moments of YAML": answer_of("application/yaml", "title: 2001-12-14t21:59:43.10-05:00\nwho: 99999-99-99\n" * 500),
    "merge keys of YAML": answer_of("application/yaml", "title: x\n" + "<<: {a: b}\n" * 2_000),
    "tags of YAML": answer_of("application/yaml", "title: !!python/object/apply:os.system ['true']\nwho: x\n"),
    "flows of YAML": answer_of("application/yaml", "title: " + "{a: " * 15_000),
    "blocks of YAML": answer_of("application/yaml", "".join(" " * n + "- \n" for n in range(340))),
    "anchors of YAML": answer_of("application/yaml", "title: &a x\n" * 4_000),
    # plain text
    "success of EZID": answer_of("text/plain", "success: " + "a" * 32_768 + "\n" * 32_768),
    "lines of EZID": answer_of("text/plain", "success: ark:/1/x\n" + "a: b\n" * 90_000),
    "stories": answer_of("text/plain", "erc-" + "a" * 32_768 + "\n#" * 32_768),
    "comments of an ERC": answer_of("text/plain", "erc:\n" + "#\n" * 200_000),
    "an error": answer_of("text/plain", "error" + " " * 500_000 + ":"),
    "percents": answer_of("text/plain", "erc:\nwho: " + "%{ " * 150_000),
    "commas": answer_of("text/plain", "erc:\nwho: ," + "a," * 200_000),
    "pipes": answer_of("text/plain", "erc:\nwho: " + "|" * 400_000),
    "labels": answer_of("text/plain", "erc:\n" + "".join(f"label{n}: x\n" for n in range(30_000))),
    "blanks": answer_of("text/plain", " " * 500_000 + "x"),
    "ARKs": answer_of("text/plain", "ark:/12148/abc " * 30_000),
    "combining marks": answer_of("text/plain", "erc:\nwho: e" + "\N{COMBINING ACUTE ACCENT}" * 150_000),
    # pages
    "tags in tags": answer_of(HTML, "<div>" * 100_000),
    "attributes of a tag": answer_of(HTML, PAGE + "<p " + "".join(f"a{n}=b " for n in range(15_000)) + ">"),
    "titles": answer_of(HTML, "<title>x</title>" * 8_000),
    "a long title": answer_of(HTML, "<title>" + "x" * 130_000),
    "words in a title": answer_of(HTML, "<title>" + "not found " * 12_000),
    "refreshes": answer_of(HTML, "<meta http-equiv=refresh content='0;url=x'>" * 3_000),
    "JSON-LD of a page": answer_of(HTML, PAGE + f"<script type=application/ld+json>{'[' * 100_000}</script>"),
    "labels of a page": answer_of(HTML, "<dl>" + "<dt>who<dd>x" * 5_000),
    "canonical links": answer_of(HTML, "<link rel=canonical href='" + "ark:/12148/x" * 10_000 + "'>"),
    "entities of a page": answer_of(HTML, PAGE + "&#1114112;" * 12_000 + "&#99999999999999999999;"),
    "table cells": answer_of(HTML, "<table>" + "<tr><td>who<td>x" * 4_000),
}  # fmt: skip


#: The outcomes of the object and its metadata, and words of the reason; for most answers, those of `USUAL`.
USUAL = ("resolved", "query-ignored", "answered 200; a name that can't exist is answered 404")
EXPECTED = dict.fromkeys(HOSTILE, USUAL) | {
    **{f"{what} in Retry-After": ("server-error", "not-asked", "answered 503") for what in ("blanks", "digits", "colons")},
    "status": ("protocol-error", "not-asked", "the answer is no HTTP"),
    "a large status": ("protocol-error", "not-asked", "no status of three digits"),
    **{
        f"a host {what}": ("bad-redirect", "not-asked", "no name that a host can have")
        for what in ("of other letters", "of many labels", "of digits")
    },
    "a host in brackets": ("bad-redirect", "not-asked", "does not appear to be an IPv4 or IPv6 address"),
    "dots in a path": ("undetermined", "not-asked", "more than the limit of 8000"),
    "escapes in a path": ("loop", "not-asked", "%%%%"),
    "labels of ARKs in a path": ("loop", "not-asked", "ark:/ark:/"),
    **dict.fromkeys(("codings", "names of codings"), ("resolved", "undetermined", "its body could not be read")),
    **{name: ("resolved", "erc", USUAL[2]) for name in HOSTILE if name.startswith("charset ")},
    "charset of a page": USUAL,
    **dict.fromkeys(("commas", "combining marks"), ("resolved", "erc", USUAL[2])),
    **dict.fromkeys(("percents", "pipes", "labels"), ("resolved", "undetermined", USUAL[2])),
    "an error": ("undetermined", "query-ignored", "the page says only 'error :'"),
    "words in a title": ("resolved", "query-ignored", "the page's title says 'not found'"),
    "refreshes": ("undetermined", "query-ignored", "the page refreshes to x, which was not followed"),
    "canonical links": ("resolved", "query-ignored", "the page identifies itself as that of another ARK"),
}  # fmt: skip


def hostile(answer: bytes) -> Responder:
    """Return a host that answers so for every name that begins with an h; other names are not found."""

    def respond(target: str) -> bytes:
        name = target.partition("?")[0].rpartition("/")[2]
        return answer if len(name) == 3 else reply("404 Not Found", "nothing")

    return respond


def sound(target: str) -> bytes:
    """Return the answer of a sound host: a page and a description of every name that begins like its own."""
    path, _, query = target.partition("?")
    name = path.rpartition("/")[2]
    if len(name) != 3:
        return reply("404 Not Found", "<title>Not found</title>There is no such thing")
    if query == "info":
        record = f"erc:\nwho: Rossi, Ada\nwhat: A map\nwhen: 1784\nwhere: ark:98765/{name}\n"
        return reply("200 OK", record, "text/plain")
    return reply("200 OK", f"<title>Map {name}</title><h1>Map {name}</h1>Drawn by hand, ark:98765/{name}")


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, Any]]]:
    """Return the verdicts on the rows of `HOSTILE`, and on ten ARKs at each of two sound hosts, of one run."""
    with ExitStack() as stack:
        hosts = {name: stack.enter_context(RawServer(hostile(HOSTILE[name]))) for name in HOSTILE}
        others = [stack.enter_context(RawServer(sound)) for _ in range(2)]
        asked = {
            "hostile": [f"{host.url}/ark:/98765/h00" for host in hosts.values()],
            "sound": [f"{host.url}/ark:/98765/x{n:02}" for host in others for n in range(10)],
        }
        of_run = check_rows(*(url for urls in asked.values() for url in urls))
    by_url = {row["asked"]: row for row in of_run}
    return {name: [by_url[url] for url in urls] for name, urls in asked.items()}


def test_run_judges_sound_hosts_next_to_hostile_one(rows: dict[str, list[dict[str, Any]]]) -> None:
    services = [tuple(row[name]["outcome"] for name in ("object", "metadata", "commitment")) for row in rows["sound"]]
    assert services == [("resolved", "erc", "absent")] * 20


def test_each_hostile_answer_has_its_outcome_and_reason(rows: dict[str, list[dict[str, Any]]]) -> None:
    wrong = {}
    for row, (name, (outcome, metadata, words)) in zip(rows["hostile"], EXPECTED.items(), strict=True):
        given = (row["object"]["outcome"], row["metadata"]["outcome"])
        if given != (outcome, metadata) or words not in "; ".join(row["object"]["evidence"]):
            wrong[name] = (*given, row["object"]["evidence"])
    assert wrong == {}
