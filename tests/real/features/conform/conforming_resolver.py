"""A resolver on loopback that does all that the specification asks for, or all but one thing."""

import json
import re
import ssl
import threading
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote_to_bytes

import trustme

NAAN, NAME, GONE = "98b65", "Fk7qx2", "t9gone3"
HYPHENATED = "Fk7-qx2"
ARK = f"ark:{NAAN}/{NAME}"
RECORD = """erc:
who: Harbour Office
what: Plan of the harbour of Marseille
when: 1784
where: https://ark.archives.test/{ark}

erc-support:
who: City Archives
what: Permanent: Stable Content:
when: 20081203
where: https://ark.archives.test/policy
"""
PAGE = "<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1><p>{text}"
OBJECT = PAGE.format(title="Plan of the harbour", text="Drawn in ink on paper by Rossi, shelf 4.")


@dataclass
class Answer:
    """An answer to a request."""

    status: int
    body: str = ""
    media_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)


def redirect(target: str, status: int = 302, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, headers={"Location": target, **named})


NOT_FOUND = Answer(404, PAGE.format(title="Not found", text="No such ARK is known here."))


def plain_name(written: str, broken: Set[str]) -> tuple[str, str] | None:
    """Return the NAAN and name in a path after the label, normalized (3.2); None for octets outside the repertoire."""
    decoded = written
    if "escapes" not in broken:
        decoded = re.sub("%([2-7][0-9A-Fa-f])", _plain, written)
    if "look-alikes" not in broken:
        decoded = re.sub("%E2%80%9[0-5]", "", decoded)
    if "hyphens of stored names" in broken:
        decoded = decoded.replace(NAME, "z").replace(HYPHENATED, NAME)
    elif "hyphens" not in broken:
        decoded = decoded.replace("-", "")
    if "doubled-slash" not in broken:
        decoded = re.sub("//+", "/", decoded)
    if "final-slash" not in broken:
        decoded = decoded.rstrip("/")
    if "final-period" not in broken:
        decoded = decoded.rstrip(".")
    naan, slash, name = decoded.partition("/")
    if not slash or b"\0" in unquote_to_bytes(name):
        return None
    if "name-case" in broken:
        name = NAME + name[len(NAME) :] if name.lower().startswith(NAME.lower()) else name
    return (naan if "naan-case" in broken else naan.lower()), name


def _plain(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character.isalnum() or character in "=~*+@_$" else escape[0]


def answer(method: str, target: str, headers: dict[str, str], broken: Set[str]) -> Answer:
    """Return the answer of the resolver; *broken* are the requirements that it does not meet."""
    path, mark, query = target.partition("?")
    if path == "/":
        return (
            NOT_FOUND if "front-page" in broken else Answer(200, PAGE.format(title="Resolver", text="By the archives."))
        )
    if path.startswith("/objects/"):
        return object_page(path, query, broken)
    label = re.match("/ark:/?", path, 0 if "label-case" in broken else re.IGNORECASE)
    if label is None or ("label-forms" in broken and label[0].endswith("/")):
        return NOT_FOUND
    if method == "HEAD" and "head" in broken:
        return Answer(405)
    if headers.get("Accept", "").startswith("application/x-") and "accept" in broken:
        return Answer(500)
    written = path[label.end() :]
    if len(written) > 2_000:
        return Answer(500) if "over-long" in broken else Answer(414)
    if len(written) > 200 and "length" in broken:
        return Answer(400)
    named = plain_name(written, broken)
    if named is None:
        return Answer(500) if "odd-octets" in broken else NOT_FOUND
    naan, name = named
    if len(naan) > 9 and "naan-length" in broken:
        return Answer(400)
    if naan != NAAN:
        is_taken = naan == "00000" and "unknown-naan" in broken
        return Answer(200, OBJECT) if is_taken else redirect(f"/objects/elsewhere?{quote(naan)}")
    if name == GONE:
        reason = "was withdrawn on 4 May 2021 at the request of its owner"
        if "tombstone" in broken:
            return NOT_FOUND
        return Answer(410, PAGE.format(title="Withdrawn", text=f"This object {reason}."))
    is_info = query in ("info", "?") or (mark and not query)
    if is_info and query != "info" and ("double" if query else "single") in broken:
        is_info = False
    if not name.startswith(NAME):
        if "unknown-name" in broken and not mark:
            return Answer(200, PAGE.format(title="Catalogue", text="All that we have. " * 30))
        if "description-of-nothing" in broken and query == "info":
            return Answer(200, "erc:\nwho: (:unkn)\nwhat: (:unkn)\nwhen: (:unkn)\n", "text/plain; charset=utf-8")
        return NOT_FOUND
    suffix = name[len(NAME) :]
    if is_info:
        if query != "info" and "description" in broken:
            broken = broken - {"description"}  # by the older inflections it is described
        return NOT_FOUND if suffix and "ancestor" in broken else description_answer(broken)
    if suffix and "passthrough" in broken:
        return NOT_FOUND
    return to_object(suffix, query, broken)


def description_answer(broken: Set[str]) -> Answer:
    """Return the answer to ?info."""
    record, kind = RECORD.format(ark=ARK), "text/plain; charset=utf-8"
    extra = {"THUMP-Status": "0.6 200 OK", "Link": f'</{ARK}>; rel="describes"', "Access-Control-Allow-Origin": "*"}
    lost = {"thump-status": "THUMP-Status", "describes-link": "Link", "cors": "Access-Control-Allow-Origin"}
    for name in lost.keys() & broken:
        del extra[lost[name]]
    if "description" in broken:
        return redirect("/objects/7")
    if "policy" in broken:
        record = record.partition("\nerc-support")[0]
    if "policy-says-something" in broken:
        record = record.replace("Permanent: Stable Content:", "(:tba)")
    if "kernel" in broken:
        record = record.replace("when: 1784\n", "")
    if "where" in broken:
        record = record.replace(f"https://ark.archives.test/{ARK}", "https://ark.archives.test/objects/7")
    if "media-type" in broken:
        kind = "application/octet-stream"
    if "erc" in broken:
        kind = "application/json"
        values = {"who": "Harbour Office", "what": "Plan of the harbour of Marseille"}
        values |= {"when": "1784", "where": ARK, "persistence": "Permanent: Stable Content"}
        record = json.dumps(values)
    if "erc-order" in broken:
        lines = "who: Harbour Office\n", "when: 1784\n"
        record = record.replace(lines[0], "").replace(lines[1], lines[1] + lines[0])
    return Answer(200, record, kind, extra)


def to_object(suffix: str, query: str, broken: Set[str]) -> Answer:
    """Return the redirect to the object, with the rest of name and query."""
    target = f"/objects/7{suffix}" + (f"?{query}" if query and "query" not in broken else "")
    status = 301 if "temporary-redirect" in broken else 303 if "not-just-related" in broken else 302
    age = "31536000" if "caching" in broken else "3600"
    if "few-hops" in broken:
        target = target.replace("/objects/", "/objects/hop/6/")
    return redirect(target, status, Cache_Control=f"max-age={age}", Access_Control_Allow_Origin="*")


def object_page(path: str, query: str, broken: Set[str]) -> Answer:
    """Return the page of the object, to which the resolver redirects."""
    if hop := re.match("/objects/hop/([0-9])/(.*)", path):
        left = int(hop[1]) - 1
        rest = hop[2] + (f"?{query}" if query else "")
        return redirect(f"/objects/hop/{left}/{rest}" if left else f"/objects/{rest}")
    if not path.startswith("/objects/7") or path.endswith(("/", ".")) or "access" in broken:
        return NOT_FOUND
    return Answer(200, OBJECT)


HOST = "ark.archives.test"
_AUTHORITY = trustme.CA()


@dataclass(frozen=True)
class Resolver:
    """A resolver on loopback, by https and http."""

    url: str
    options: tuple[str, ...]
    """Return the options by which a command reaches the resolver."""
    asked: list[str]
    """Request targets received, as written."""


def _server(broken: Set[str], host: str, asked: list[str], *, is_plain: bool) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/robots.txt":
                self.send_error(404)
                return
            asked.append(self.path)
            if "rate" in broken and len(asked) > 100:
                reply = Answer(429)
            elif is_plain and "https" not in broken:
                reply = redirect(f"https://{self.headers['Host']}{self.path}")
            else:
                reply = answer(self.command, self.path, dict(self.headers), broken)
            body = b"" if self.command == "HEAD" else reply.body.encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", reply.media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if not is_plain:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _AUTHORITY.issue_cert(host).configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


@contextmanager
def resolver(*unmet: str, host: str = HOST) -> Iterator[Resolver]:
    """Yield a resolver named *host* that meets all requirements except *unmet*."""
    broken = frozenset(unmet)
    asked: list[str] = []
    with (
        _server(broken, host, asked, is_plain=False) as secure,
        _server(broken, host, asked, is_plain=True) as plain,
        _AUTHORITY.cert_pem.tempfile() as ca_file,
    ):
        options = ["--ca-file", ca_file]
        for port, server in ((443, secure), (80, plain)):
            threading.Thread(target=server.serve_forever, daemon=True).start()
            options += ["--connect-to", f"{host}:{port}=127.0.0.1:{server.server_port}"]
        try:
            yield Resolver(f"https://{host}/", tuple(options), asked)
        finally:
            secure.shutdown()
            plain.shutdown()
