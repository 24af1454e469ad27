"""A library on loopback: a site with sitemaps and feeds, a repository, IIIF, landing pages, PDFs on another host."""

import gzip
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command, select

#: From a request target to a body, a body with its media type, or a whole answer; None for 404.
Page = str | bytes | tuple[str | bytes, str] | None
Pages = Mapping[str, Page] | Callable[[str], Page]

XML = "text/xml; charset=utf-8"
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
OAI = "http://www.openarchives.org/OAI/2.0/"


def sitemap(*urls: str) -> tuple[str, str]:
    return (f"<urlset xmlns='{SITEMAP}'>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>", XML)


def sitemap_index(*urls: str) -> tuple[str, str]:
    listed = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex xmlns='{SITEMAP}'>{listed}</sitemapindex>", XML


def gzip_page(page: tuple[str, str]) -> tuple[bytes, str]:
    return gzip.compress(page[0].encode(), mtime=0), "application/gzip"


def record(identifier: str, *places: str, text: str = "") -> str:
    told = "".join(f"<dc:identifier>{place}</dc:identifier>" for place in places)
    return f"""<record><header><identifier>{identifier}</identifier><datestamp>2026-01-01</datestamp></header>
        <metadata><oai_dc:dc xmlns:oai_dc="{OAI}oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">
        <dc:title>Item {identifier}</dc:title>{told}<dc:description>{text}</dc:description>
        </oai_dc:dc></metadata></record>"""


def deleted_record(identifier: str) -> str:
    return f"<record><header status='deleted'><identifier>{identifier}</identifier></header></record>"


def records(*each: str, token: str | None = None) -> tuple[str, str]:
    goes_on = "" if token is None else f"<resumptionToken>{token}</resumptionToken>"
    return (f"<OAI-PMH xmlns='{OAI}'><ListRecords>{''.join(each)}{goes_on}</ListRecords></OAI-PMH>", XML)


def oai_error(code: str, words: str = "") -> tuple[str, str]:
    return f"<OAI-PMH xmlns='{OAI}'><error code='{code}'>{words}</error></OAI-PMH>", XML


def feed(*urls: str, after: str | None = None) -> tuple[str, str]:
    entries = "".join(f"<entry><link href='{url}'/></entry>" for url in urls)
    goes_on = f"<link rel='next' href='{after}'/>" if after else ""
    return (f"<feed xmlns='http://www.w3.org/2005/Atom'>{goes_on}{entries}</feed>", "application/atom+xml")


def pdf(text: str) -> tuple[bytes, str]:
    """A PDF of one line, as small as they come."""
    shown = f"BT /F1 11 Tf 40 700 Td ({text}) Tj ET".encode()
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources %b >>"
        % (b"<< /Font << /F1 %b >> >>" % font),
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(shown), shown),
    ]
    body = b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%b\nendobj\n" % each for each in enumerate(objects, 1))
    return body + b"trailer\n<< /Root 1 0 R >>\n%%EOF\n", "application/pdf"


def http_answer(page: Page) -> bytes:
    if page is None:
        return reply("404 Not Found")
    body, media_type = page if isinstance(page, tuple) else (page, "text/html; charset=utf-8")
    if isinstance(body, bytes) and body.startswith(b"HTTP/1.1 "):
        return body
    raw = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(raw)}\r\nConnection: close\r\n\r\n"
    return head.encode() + raw


class Web:
    """Hosts on loopback, each with its pages, and the command run over them."""

    def __init__(self, hosts: Mapping[str, Pages], *, robots: Mapping[str, str] | None = None) -> None:
        self._pages = hosts
        self._robots = robots or {}
        self._stack = ExitStack()
        self.hosts: dict[str, RawServer] = {}

    def __enter__(self) -> Self:
        for name, pages in self._pages.items():
            find = pages if callable(pages) else pages.get
            robots = {"robots": reply(body=self._robots[name], media_type="text/plain")} if name in self._robots else {}
            server = RawServer(lambda target, find=find: http_answer(find(target)), **robots)
            self.hosts[name] = self._stack.enter_context(server)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def routes(self) -> list[str]:
        return [f"--connect-to={name}:80=127.0.0.1:{server.port}" for name, server in self.hosts.items()]

    def crawl(self, *arguments: str | Path, store: Path) -> str:
        """Crawl by the command; return its standard error."""
        done = run_command("crawl", *ON_LOOPBACK, *self.routes, *arguments, "--store", store)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def targets(self, host: str) -> list[str]:
        return self.hosts[host].targets


def documents(store: Path) -> list[str]:
    """Return the documents of a store by name, in the order of their records."""
    return [str(name) for (name,) in select(store, "select url from document order by document_id")]


def findings_of(store: Path) -> list[tuple[object, ...]]:
    """Return subject, kind and detail of every finding, except those about citations."""
    query = "select subject, kind, detail from finding where kind <> 'unlinked-ark' order by subject, kind, detail"
    return select(store, query)


def arks(store: Path) -> list[str]:
    query = "select ark from mention join ark using (ark_id) order by mention_id"
    return [str(ark) for (ark,) in select(store, query)]
