"""Whole crawls of every kind of source over real sockets: each document is found once, in a stated order."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.sources.links import MOST_DEPTH
from tests.real.interrupted import Command, sent_requests
from tests.real.library import (
    Page,
    Web,
    arks,
    deleted_record,
    documents,
    feed,
    findings_of,
    gzip_page,
    oai_error,
    pdf,
    record,
    records,
    sitemap,
    sitemap_index,
)
from tests.real.loopback import ON_LOOPBACK, json_lines, reply, run_command, select
from tests.real.waiting import PATIENCE_S, wait_until

WWW, REPOSITORY, IMAGES, FILES = (
    "www.library.example", "oai.library.example", "iiif.library.example", "cdn.files.example",
)  # fmt: skip
HOME = f"http://{WWW}/"
MANIFEST = {
    "@context": "http://iiif.io/api/presentation/3/context.json", "type": "Manifest", "id": f"http://{IMAGES}/m1",
    "label": {"en": ["Map, ark:/12148/iiif1"]}, "rendering": [{"id": f"http://{FILES}/m1.pdf", "type": "Text"}],
}  # fmt: skip
COLLECTION = {
    "@context": "http://iiif.io/api/presentation/3/context.json", "type": "Collection",
    "items": [{"id": f"http://{IMAGES}/m1", "type": "Manifest"}, {"id": f"http://{IMAGES}/c2", "type": "Collection"}],
}  # fmt: skip
NESTED = {**COLLECTION, "items": [{"id": f"http://{IMAGES}/c1", "type": "Collection"}]}
WWW_PAGES: dict[str, Page] = {
    "/": "<a href='/maps'>m</a> <a href='/logo.png'>l</a> <a href='http://elsewhere.example/'>e</a> ark:/12148/home1",
    "/maps": "<a href='/'>home</a> <a href='/item/1'>1</a> ark:/12148/maps1",
    "/item/1": f"<link rel=item href='http://{FILES}/1.pdf'><a href='/maps'>back</a> ark:/12148/item1",
    "/item/2": f"<meta name=citation_pdf_url content='http://{FILES}/bitstream/2'><a href='/maps'>m ark:/12148/item2",
    "/item/3": "<p>ark:/12148/item3",
    "/sitemap.xml": sitemap_index(f"{HOME}s1.xml.gz", f"{HOME}s2.txt", f"{HOME}sitemap.xml"),
    "/s1.xml.gz": gzip_page(sitemap(f"{HOME}item/1", f"{HOME}item/2", "http://elsewhere.example/x")),
    "/s2.txt": (f"{HOME}item/3\n{HOME}item/3#again\n", "text/plain"),
    "/feed": feed(f"{HOME}item/2", f"http://{FILES}/feed.pdf", after="/feed?page=2"),
    "/feed?page=2": feed(f"{HOME}item/3"),
}
FILES_PAGES: dict[str, Page] = {
    "/1.pdf": pdf("ark:/12148/pdf1"), "/bitstream/2": pdf("ark:/12148/pdf2"), "/m1.pdf": pdf("ark:/12148/pdf3"),
    "/feed.pdf": pdf("ark:/12148/pdf4"), "/index.html": "<a href='/never'>n</a> ark:/12148/index1",
}  # fmt: skip
IMAGES_PAGES: dict[str, Page] = {
    "/c1": (json.dumps(COLLECTION), "application/ld+json"), "/m1": (json.dumps(MANIFEST), "application/ld+json"),
    "/c2": (json.dumps(NESTED), "application/json"),
}  # fmt: skip


def repository(target: str) -> Page:
    match target:
        case "/oai":
            return oai_error("badVerb", "no verb")
        case "/oai?verb=ListRecords&metadataPrefix=oai_dc":
            one = record("oai:lib:1", f"{HOME}item/1", "doi:10.1/1", text="See ark:/12148/rec1")
            return records(one, deleted_record("oai:lib:9"), token="p 2/+")
        case "/oai?verb=ListRecords&resumptionToken=p%202%2F%2B":
            return records(record("oai:lib:2", f"{HOME}item/2", text="ark:/12148/rec2"), token="")
        case _:
            return oai_error("badArgument", target)


def library(**robots: str) -> Web:
    hosts = {WWW: WWW_PAGES, REPOSITORY: repository, IMAGES: IMAGES_PAGES, FILES: FILES_PAGES}
    return Web(hosts, robots={WWW: robots["www"]} if "www" in robots else None)


@pytest.mark.promise
def test_a_site_is_crawled_with_the_sitemaps_of_its_robots_txt_and_its_content_host(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    with library(www=f"User-agent: *\nAllow: /\nSitemap: {HOME}sitemap.xml\n") as web:
        web.crawl(HOME, "--content-host", FILES, store=store)
        assert web.targets(WWW) == [
            "/", "/maps", "/sitemap.xml", "/item/1", "/s1.xml.gz", "/s2.txt", "/item/2", "/item/3",
        ]  # fmt: skip
        assert web.targets(FILES) == ["/1.pdf", "/bitstream/2"]
    assert sorted(set(arks(store))) == [f"ark:12148/{name}" for name in (
        "home1", "item1", "item2", "item3", "maps1", "pdf1", "pdf2")]  # fmt: skip
    assert select(store, "select url, found_on from document where url like '%item/2' or url like '%bitstream%'") == [
        (f"{HOME}item/2", f"{HOME}s1.xml.gz"), (f"http://{FILES}/bitstream/2", f"{HOME}item/2"),
    ]  # fmt: skip


def test_without_sitemaps_only_links_are_followed(tmp_path: Path) -> None:
    with library(www=f"Sitemap: {HOME}sitemap.xml\n") as web:
        web.crawl(HOME, "--no-sitemaps", store=tmp_path / "a.db")
        assert web.targets(WWW) == ["/", "/maps", "/item/1"]
        assert web.targets(FILES) == []


@pytest.mark.parametrize("seed", [f"http://{REPOSITORY}/oai", f"oai:http://{REPOSITORY}/oai"])
def test_a_repository_is_harvested_record_by_record_with_landing_pages_and_their_documents(
    tmp_path: Path, seed: str
) -> None:
    store = tmp_path / "a.db"
    with library() as web:
        web.crawl(seed, "--content-host", FILES, store=store)
        asked = ["/oai?verb=ListRecords&metadataPrefix=oai_dc", "/oai?verb=ListRecords&resumptionToken=p%202%2F%2B"]
        assert web.targets(REPOSITORY) == (asked if seed.startswith("oai:") else ["/oai", *asked])
        assert sorted(web.targets(WWW)) == ["/item/1", "/item/2"], "no link of a landing page is followed"
        assert sorted(web.targets(FILES)) == ["/1.pdf", "/bitstream/2"]
    listing = f"http://{REPOSITORY}{asked[0]}"
    assert select(store, "select url, found_on, media_type from document where url like 'oai:%' order by url") == [
        ("oai:lib:1", listing, "application/xml"),
        ("oai:lib:2", f"http://{REPOSITORY}{asked[1]}", "application/xml"),
    ]
    assert select(store, f"select url, found_on from document where url = '{HOME}item/1'") == [
        (f"{HOME}item/1", "oai:lib:1")
    ]
    assert sorted(arks(store)) == [f"ark:12148/{name}" for name in ("item1", "item2", "pdf1", "pdf2", "rec1", "rec2")]
    assert (listing, "oai-deleted", "records that the repository has deleted: 1") in findings_of(store)


def test_a_feed_is_read_to_its_end_and_its_entries_wherever_they_are(tmp_path: Path) -> None:
    with library() as web:
        web.crawl(f"{HOME}feed", store=tmp_path / "a.db")
        assert web.targets(WWW) == ["/feed", "/feed?page=2", "/item/2", "/item/3"]
        assert web.targets(FILES) == ["/feed.pdf"]


def test_a_iiif_collection_leads_to_manifests_and_their_pdfs_and_a_nested_one_that_holds_it_ends(
    tmp_path: Path,
) -> None:
    with library() as web:
        web.crawl(f"http://{IMAGES}/c1", store=tmp_path / "a.db")
        assert web.targets(IMAGES) == ["/c1", "/c2", "/m1"]
        assert web.targets(FILES) == ["/m1.pdf"]
    assert arks(tmp_path / "a.db") == ["ark:12148/iiif1", "ark:12148/pdf3"]


def test_files_that_are_named_lead_on_and_those_in_a_folder_do_not(tmp_path: Path) -> None:
    folder, store = tmp_path / "folder", tmp_path / "a.db"
    folder.mkdir()
    (folder / "urls.txt").write_text(f"{HOME}item/2\n")
    (tmp_path / "urls.txt").write_text(f"# ours\n{HOME}item/3\nark:/12148/listed1\nhttp://{IMAGES}/m1\n")
    (tmp_path / "sitemap.xml").write_text(sitemap(f"{HOME}item/1")[0])
    (tmp_path / "page.html").write_text(f"<a href='{HOME}maps'>maps</a>")
    with library() as web:
        web.crawl(tmp_path / "urls.txt", tmp_path / "sitemap.xml", tmp_path / "page.html", folder, store=store)
        assert web.targets(WWW) == ["/item/3", "/item/1"]
        assert web.targets(IMAGES) == ["/m1"]
        assert web.targets(FILES) == ["/m1.pdf"]
    assert "ark:12148/listed1" in arks(store)
    assert select(store, f"select found_on from document where url = '{HOME}item/3'") == [(str(tmp_path / "urls.txt"),)]


def test_a_list_of_arks_is_resolved_and_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "arks.txt").write_text("ark:/12148/btv1b1\nhttp://r.example/ark:/12148/btv1b2\n")
    with Web({"r.example": lambda _: "<title>An object</title>"}) as web:
        web.crawl(tmp_path / "arks.txt", store=tmp_path / "a.db")
        assert web.targets("r.example") == []
        web.crawl(f"list:{tmp_path / 'arks.txt'}", store=tmp_path / "b.db")
        assert web.targets("r.example") == ["/ark:/12148/btv1b2"], "unless it is ordered"
    assert arks(tmp_path / "a.db") == ["ark:12148/btv1b1", "ark:12148/btv1b2"]


# -- hostile ones


def test_repeated_token_ends_the_harvest_with_a_finding(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    pages = {None: ("1", "a"), "a": ("2", "b"), "b": ("3", "a")}

    def repeating(target: str) -> Page:
        identifier, token = pages[target.partition("resumptionToken=")[2] or None]
        return records(record(f"oai:r:{identifier}"), token=token)

    with Web({"r.example": repeating}) as web:
        web.crawl("oai:http://r.example/oai", store=store)
        assert len(web.targets("r.example")) == 3
    [(subject, _, words)] = [each for each in findings_of(store) if each[1] == "source-loop"]
    assert str(subject).endswith("resumptionToken=b")
    assert "earlier part" in str(words)


def test_a_repository_that_ignores_its_tokens_is_not_harvested_for_ever(tmp_path: Path) -> None:
    number = 0

    def deaf(_: str) -> Page:
        nonlocal number
        number += 1
        return records(record("oai:r:1"), record("oai:r:2"), token=f"token-{number}")

    with Web({"r.example": deaf}) as web:
        web.crawl("oai:http://r.example/oai", store=tmp_path / "a.db")
        assert len(web.targets("r.example")) == 2
    assert [kind for _, kind, _ in findings_of(tmp_path / "a.db")] == ["source-loop"]
    assert [name for name in documents(tmp_path / "a.db") if name.startswith("oai:")] == ["oai:r:1", "oai:r:2"]


def test_a_feed_that_pages_for_ever_with_the_same_entries_ends(tmp_path: Path) -> None:
    def paging(target: str) -> Page:
        page = int(target.partition("page=")[2] or 1)
        return feed("http://f.example/x", after=f"/feed?page={page + 1}") if target.startswith("/feed") else "x"

    with Web({"f.example": paging}) as web:
        web.crawl("http://f.example/feed", store=tmp_path / "a.db")
        assert web.targets("f.example") == ["/feed", "/feed?page=2", "/x"]
    assert "source-loop" in [kind for _, kind, _ in findings_of(tmp_path / "a.db")]


def test_an_expired_token_is_a_row_with_its_reason(tmp_path: Path) -> None:
    body, _ = oai_error("badResumptionToken", "expired")

    def expiring(status: str) -> Callable[[str], Page]:
        whole = reply(status, body, "text/xml"), "whole"
        return lambda target: whole if "resumptionToken" in target else records(record("oai:r:1"), token="x")

    with Web({"r.example": expiring("200 OK"), "q.example": expiring("422 Unprocessable Content")}) as web:
        web.crawl("oai:http://r.example/oai", "oai:http://q.example/oai", store=tmp_path / "a.db")
    found = [(subject, words) for subject, kind, words in findings_of(tmp_path / "a.db") if kind == "oai-error"]
    assert [words for _, words in found] == ["badResumptionToken: expired"] * 2
    for subject, _ in found:
        assert str(subject).endswith("resumptionToken=x")
        [(outcome,)] = select(tmp_path / "a.db", f"select outcome from document where url = '{subject}'")
        assert outcome != "read"


def test_a_repository_that_asks_for_a_pause_is_asked_again_after_it(tmp_path: Path) -> None:
    times: list[float] = []

    def busy(target: str) -> Page:
        times.append(time.monotonic())
        if len(times) == 2:
            return reply("503 Service Unavailable", Retry_After="1"), "whole"
        return records(record("oai:r:2")) if "resumptionToken" in target else records(record("oai:r:1"), token="x")

    with Web({"r.example": busy}) as web:
        web.crawl("oai:http://r.example/oai", store=tmp_path / "a.db")
    assert len(times) == 3
    assert times[2] - times[1] >= 0.9
    [(hops,)] = select(tmp_path / "a.db", "select hops from document where url like '%resumptionToken%'")
    assert [hop["status"] for hop in json.loads(str(hops))] == [503, 200], "the pause is on record"
    assert [name for name in documents(tmp_path / "a.db") if name.startswith("oai:")] == ["oai:r:1", "oai:r:2"]


def test_declared_source_of_another_type_is_reported(tmp_path: Path) -> None:
    with Web({"r.example": lambda _: "<title>Not found</title><a href='/x'>x</a> ark:/12148/x1"}) as web:
        web.crawl("oai:http://r.example/oai", "sitemap:http://r.example/s.xml", store=tmp_path / "a.db")
        assert web.targets("r.example") == ["/oai?verb=ListRecords&metadataPrefix=oai_dc", "/s.xml"]
    assert [kind for _, kind, _ in findings_of(tmp_path / "a.db")] == ["not-a-source", "not-a-source"]
    assert arks(tmp_path / "a.db") == ["ark:12148/x1", "ark:12148/x1"], "it is read as a page"


def test_a_sitemap_of_50_mb_is_read_in_a_process_of_its_own_and_the_crawl_goes_on(tmp_path: Path) -> None:
    entries = "".join(f"<url><loc>http://s.example/unwanted/{n:0>4000}</loc></url>\n" for n in range(12_500))
    big = f"<urlset>{entries}<url><loc>http://s.example/last</loc></url></urlset>"
    assert len(big) > 48 * 2**20
    pages: dict[str, Page] = {"/big.xml": (big, "text/xml"), "/last": "ark:/12148/x1"}
    with Web({"s.example": pages}) as web:
        web.crawl("http://s.example/big.xml", "--exclude", "/unwanted/", store=tmp_path / "a.db")
        assert web.targets("s.example") == ["/big.xml", "/last"]
    assert findings_of(tmp_path / "a.db") == []


def test_calendars_loops_and_wrong_types_do_not_keep_a_crawl(tmp_path: Path) -> None:
    def trapping(target: str) -> Page:
        if target == "/":
            return "".join(f"<a href='{link}'>x</a>" for link in ("/events/2026/01", "loop/", "/turn", "/type"))
        if target.startswith("/events/"):
            year, month = (int(each) for each in target.split("/")[2:4])
            return f"<a href='/events/{year + month // 12}/{month % 12 + 1:02}'>next</a>"
        if target == "/turn":
            return reply("302 Found", Location="/turn"), "whole"
        return "<a href='loop/'>deeper</a>" if target != "/type" else ("<a href='/no'>x</a>", "image/png")

    with Web({"t.example": trapping}) as web:
        said = web.crawl("http://t.example/", store=tmp_path / "a.db")
        targets = web.targets("t.example")
    assert targets.count("/turn") == targets.count("/type") == 1
    assert [target for target in targets if "loop" in target] == ["/loop/", "/loop/loop/"]
    assert sum("events" in target for target in targets) == MOST_DEPTH
    kinds = {kind: words for _, kind, words in findings_of(tmp_path / "a.db")}
    assert {"trap-depth", "trap-repeated-path"} <= kinds.keys()
    assert "links not followed: 1" in str(kinds["trap-depth"])
    assert "trap-depth" in said, "and it is reported once, at the end"
    assert said.count("trap-repeated-path") == 1


def test_source_is_recognized_by_content_despite_its_media_type(tmp_path: Path) -> None:
    pages: dict[str, Page] = {}
    sources = []
    for at, media_type in enumerate(("text/html", "text/plain", "application/octet-stream", "")):
        home = f"http://w.example/{at}"
        pages |= {
            f"/{at}s": (sitemap(f"{home}/1")[0], media_type), f"/{at}f": (feed(f"{home}/2")[0], media_type),
            f"/{at}o": (records(record(f"oai:w:{at}", f"{home}/3"))[0], media_type),
            f"/{at}i": (json.dumps({**MANIFEST, "rendering": f"{home}/4"}), media_type),
            f"/{at}l": (f"{home}/5\n", media_type),
        }  # fmt: skip
        sources += [f"{home}s", f"{home}f", f"oai:{home}o", f"{home}i", f"{home}l"]
    with Web({"w.example": lambda target: pages.get(target.partition("?")[0], "<p>one")}) as web:
        web.crawl(*sources, store=tmp_path / "a.db")
        assert {f"/{at}/{item}" for at in range(4) for item in range(1, 6)} <= set(web.targets("w.example"))


# -- limits of the user


def endless(target: str) -> Page:
    number = int(target.strip("/") or 0)
    return f"<a href='/{2 * number + 1}'>1</a> <a href='/{2 * number + 2}'>2</a> ark:/12148/n{number}"


def test_page_limit_is_reported_once(tmp_path: Path) -> None:
    with Web({"e.example": endless}) as web:
        said = web.crawl("http://e.example/", "--max-pages", "7", store=tmp_path / "a.db")
        assert web.targets("e.example") == [f"/{number or ''}" for number in range(7)]
    assert said.count("--max-pages") == 1
    assert [(subject, kind) for subject, kind, _ in findings_of(tmp_path / "a.db")] == [("this crawl", "max-pages")]


def test_the_time_ends_a_crawl_and_what_is_in_flight_is_recorded(tmp_path: Path) -> None:
    store = tmp_path / "a.db"

    def slow(target: str) -> Page:
        time.sleep(0.9)
        return endless(target)

    with Web({"e.example": slow}) as web:
        said = web.crawl("http://e.example/", "--max-time", "5s", store=store)
        targets = web.targets("e.example")
    assert 1 <= len(targets) <= 7
    assert [f"http://e.example{target}" for target in targets] == documents(store), "each that was asked has its row"
    assert select(store, "select distinct outcome from document") == [("read",)]
    assert "--max-time" in said
    assert select(store, "select state from run") == [("finished",)]
    assert ("this crawl", "max-time", "the crawl ended after 5 seconds (--max-time)") in findings_of(store)


def test_a_page_that_asks_not_to_be_followed_ends_a_crawl_visibly(tmp_path: Path) -> None:
    page = "<meta name=robots content='noindex,nofollow'><a href='/x'>x</a> ark:/12148/x1"
    with Web({"n.example": lambda _: page}) as web:
        said = web.crawl("http://n.example/", store=tmp_path / "a.db")
        assert web.targets("n.example") == ["/"]
        web.crawl("http://n.example/", "--ignore-nofollow", store=tmp_path / "b.db")
        assert web.targets("n.example") == ["/", "/", "/x"]
    assert {kind for _, kind, _ in findings_of(tmp_path / "a.db")} == {"noindex", "nofollow-page"}
    assert "nofollow-page" in said
    assert "--ignore-nofollow" in said


def test_a_body_that_was_cut_off_leads_nowhere_by_half_a_url(tmp_path: Path) -> None:
    listed = "http://l.example/a\nhttp://l.example/bcd"
    whole = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4000\r\n\r\n{listed}".encode()
    with Web({"l.example": lambda target: (whole, "whole") if target == "/list" else "x"}) as web:
        web.crawl("http://l.example/list", store=tmp_path / "a.db")
        assert web.targets("l.example") == ["/list", "/a"]


# -- options of the user


def test_sources_can_be_configured_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://c.example/one and more\nhttp://c.example/two\nhttp://c.example/x\n")
    (tmp_path / "a.toml").write_text(
        f"""seeds = ["list:urls.txt", "oai:http://c.example/oai"]
        store = "a.db"
        [crawl]
        exclude = ["/x$"]
        max_time = "1m"
        [crawl.oai]
        set = "maps"
        from = "2026-01-01"
        [network]
        allow_addresses = ["127.0.0.0/8"]
        [politeness]
        delay = 0
        # {tmp_path}
        """
    )
    pages = lambda target: (  # noqa: E731
        records(record("oai:c:1")) if target.startswith("/oai") else "<p>ark:/12148/c1"
    )
    with Web({"c.example": pages}) as web:
        done = run_command("run", "-c", tmp_path / "a.toml", "--only-routed", *web.routes)
        assert done.returncode == 0, done.stderr
        assert sorted(web.targets("c.example")) == [
            "/oai?verb=ListRecords&metadataPrefix=oai_dc&set=maps&from=2026-01-01", "/two",
        ]  # fmt: skip


def test_extract_reads_a_source_without_following_it(tmp_path: Path) -> None:
    with library(www=f"Sitemap: {HOME}sitemap.xml\n") as web:
        seeds = (HOME, f"oai:http://{REPOSITORY}/oai", f"{HOME}sitemap.xml")
        done = run_command("extract", *ON_LOOPBACK, *web.routes, *seeds)
        assert [row["ark"] for row in json_lines(done.stdout)] == ["ark:12148/home1", "ark:12148/rec1"]
        assert web.targets(WWW) == ["/", "/sitemap.xml"]
        assert web.targets(REPOSITORY) == ["/oai?verb=ListRecords&metadataPrefix=oai_dc"]


# -- killed, and gone on with


def test_a_harvest_that_was_killed_goes_on_where_it_was_with_landing_pages_as_landing_pages(tmp_path: Path) -> None:
    store, stop, released = tmp_path / "a.db", threading.Event(), threading.Event()

    def harvested(target: str) -> Page:
        if target.startswith("/oai"):
            page = int(target.partition("resumptionToken=")[2] or 0)
            token = str(page + 1) if page < 3 else ""
            return records(*(record(f"oai:k:{page}-{n}", f"http://k.example/{page}-{n}") for n in (1, 2)), token=token)
        if target.endswith(".pdf"):
            return pdf(f"ark:/12148/k{target[1]}x{target[3]}")
        if target == "/1-2" and not stop.is_set():
            stop.set()
            released.wait(PATIENCE_S)
        return f"<a href='{target}.pdf'>PDF</a> <a href='/home'>home</a>"

    with Web({"k.example": harvested}) as web:
        command = ["crawl", *ON_LOOPBACK, *web.routes, "oai:http://k.example/oai", "--store", store]
        with Command(command) as running:
            assert stop.wait(PATIENCE_S)
            wait_until(
                lambda: sent_requests(store).total() >= len(web.targets("k.example")) - 1, "a record of earlier answers"
            )
            running.kill()
        released.set()
        asked = len(web.targets("k.example"))
        web.crawl("oai:http://k.example/oai", store=store)
        targets = web.targets("k.example")
    names = [f"{page}-{n}" for page in range(4) for n in (1, 2)]
    assert {name for name in documents(store) if name.startswith("oai:")} == {f"oai:k:{name}" for name in names}
    assert {target for target in targets if not target.startswith("/oai")} == {
        f"/{name}{suffix}" for name in names for suffix in ("", ".pdf")
    }
    assert len(documents(store)) == len(set(documents(store))) == 4 + 3 * len(names)
    assert len(targets) - 4 - 2 * len(names) <= 4, "only requests in flight are sent again"
    assert asked < len(targets)
