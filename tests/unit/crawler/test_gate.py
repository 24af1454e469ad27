"""URLs at the gate: traps and honest lists, scope, content hosts, and the wishes of a page."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.crawl_requests import (
    CrawlRequest,
    Extent,
    ListedItem,
    Reach,
    Scope,
    SourceKind,
    SourceReading,
    canonical_form,
)
from crawler.sources.gate import MOST_CUT_OFF, Gate, GateResult, LinkPatterns, Rules
from crawler.sources.links import MOST_DEPTH, Headers, Rule, Traps, turns_page
from extractors.extraction import read_document
from extractors.model.documents import Reading
from tests.vectors import vectors

HOME = "https://www.library.example/"


# -- when two URLs are one document


@pytest.mark.parametrize("vector", vectors("canonical_form"))
def test_urls_are_compared_in_a_stated_form(vector: dict[str, Any]) -> None:
    assert len({canonical_form(url) for url in vector.get("same", [])}) <= 1
    apart = vector.get("apart", [])
    assert len({canonical_form(url) for url in apart}) == len(apart)


@given(
    st.builds(
        "{}://{}{}/{}{}".format,
        st.sampled_from(["http", "https", "HTTP"]),
        st.sampled_from(["a.example", "A.Example.", "me@a.example", "[::1]"]),
        st.sampled_from(["", ":80", ":8080"]),
        st.text("abC/.%7e;=é é_-~", max_size=12),
        st.sampled_from(["", "?", "?b=1&a=%c3", "?sid=0123456789abcdef0", "#x"]),
    )
)
def test_the_form_of_a_form_is_itself(url: str) -> None:
    once = canonical_form(url)
    assert canonical_form(once) == once


# -- traps


def traps_of(vector: dict[str, Any]) -> Traps:
    traps = Traps()
    facets = [f"facet{number}" for number in range(6)] if "combinations" in vector else []
    for one, other in itertools.product(facets, facets):
        traps.remember(
            f"http://a.example/search?{one}=1&{other}=1" if one != other else f"http://a.example/search?{one}=1"
        )
    for number in range(vector.get("combinations", 0)):
        traps.remember(f"http://a.example/search?subject=s{number}&year={number}")
    return traps


@pytest.mark.parametrize("vector", vectors("traps"))
def test_trap_is_recognized_by_a_stated_rule(vector: dict[str, Any]) -> None:
    traps = traps_of(vector)
    *before, last = vector["urls"]
    for url in before:
        assert traps.rule(url) is None
        traps.remember(url)
    assert traps.rule(last) == (Rule(vector["rule"]) if vector["rule"] else None)


def test_a_url_of_4096_characters_is_asked_for_and_a_longer_one_is_not() -> None:
    url = "http://a.example/" + "x" * 4079
    assert (len(url), Traps().rule(url), Traps().rule(url + "x")) == (4096, None, Rule.LENGTH)


def expand(pattern: str) -> Iterator[str]:
    """The URLs of a pattern, ``{1..3}``, ``{0..100..20}`` or ``{A..C}`` being a range."""
    pieces = re.split(r"\{(\w+)\.\.(\w+)(?:\.\.(\d+))?\}", pattern)
    ranges = []
    for first, last, step in zip(pieces[1::4], pieces[2::4], pieces[3::4], strict=True):
        if first.isdigit():
            ranges.append([str(n) for n in range(int(first), int(last) + 1, int(step or 1))])
        else:
            ranges.append([chr(n) for n in range(ord(first), ord(last) + 1)])
    for values in itertools.product(*ranges):
        yield "".join(itertools.chain(*itertools.zip_longest(pieces[0::4], values, fillvalue="")))


@pytest.mark.parametrize("vector", vectors("honest_urls"))
def test_the_lists_of_honest_repositories_pass_untouched(vector: dict[str, Any]) -> None:
    traps = Traps()
    refused = {}
    urls = [url for pattern in vector["urls"] for url in itertools.islice(expand(pattern), 2500)]
    for url in urls:
        rule = traps.rule(url)
        if rule is not None:
            refused[url] = rule
        traps.remember(url)
    assert len(urls) > 600
    assert not refused
    assert not [url for url in urls if traps.rule(url)], "nor when they are met again"


def test_memory_of_the_gate_survives_replay() -> None:
    urls = [f"http://a.example/search?subject=s{n}&year={n}" for n in range(150)]
    urls += ["http://a.example/search?subject=maps", "http://a.example/search?year=1784"]
    forwards, again = Traps(), Traps()
    for url in urls:
        forwards.remember(url)
    for url in [*urls, *urls]:
        again.remember(url)
    assert [forwards.rule(url) for url in urls] == [again.rule(url) for url in urls]


@pytest.mark.parametrize(
    ("url", "to", "is_turned"),
    [
        ("http://a.example/b?page=2", "http://a.example/b", True),
        ("http://a.example/b?c=1&offset=20", "http://a.example/b?offset=40&c=1", True),
        ("http://a.example/b?page=2", "http://a.example/b?page=2", False),
        ("http://a.example/b", "http://a.example/item/1", False),
        ("http://a.example/b", "http://b.example/b?page=2", False),
        ("http://a.example/b?month=1", "http://a.example/b?month=2", False),
    ],
)
def test_turning_a_page_is_no_step(url: str, to: str, is_turned: bool) -> None:
    assert turns_page(url, to) is is_turned


# -- the gate


def gate(
    *seeds: str, rules: Rules | None = None, extent: Extent = Extent.SITE, content_hosts: tuple[str, ...] = ()
) -> Gate:
    scope = Scope.from_seeds(seeds or [HOME], extent=extent, content_hosts=content_hosts)
    return Gate(scope, rules or Rules(), Traps())


def from_page(
    html: str,
    *,
    at: Gate | None = None,
    crawl_request: CrawlRequest | None = None,
    headers: Headers | None = None,
    url: str = HOME,
) -> GateResult:
    reading = read_document(html.encode(), media_type="text/html")
    return (at or gate()).page(
        crawl_request or CrawlRequest.to_page(url), reading, url=url, headers=headers or Headers()
    )


def urls(passed: GateResult) -> list[str]:
    return [crawl_request.url.removeprefix(HOME) for crawl_request in passed.new_requests]


def kinds(passed: GateResult) -> list[str]:
    return [finding.kind for finding in passed.findings]


@pytest.mark.parametrize("vector", vectors("page_leads"))
def test_a_page_leads_where_its_links_lead(vector: dict[str, Any]) -> None:
    headers = Headers(**{name: tuple(values) for name, values in vector.get("headers", {}).items()})
    told = vector.get("rules", {})
    patterns = {name: LinkPatterns(told.get(name, [])) for name in ("include", "exclude")}
    at = gate(rules=Rules(**patterns, follows_nofollow=told.get("follows_nofollow", False)))
    passed = from_page(vector["html"], headers=headers, url=vector.get("url", HOME), at=at)
    assert urls(passed) == vector["leads"]
    assert kinds(passed) == vector.get("findings", [])


def test_link_adds_one_step_and_paging_adds_zero() -> None:
    at = HOME + "browse"
    passed = from_page(
        "<a href='?page=2'>2</a><a href='/item/1'>1</a>",
        crawl_request=CrawlRequest.to_page(at, found_on=HOME, depth=3),
        url=at,
    )
    assert [(crawl_request.url.removeprefix(HOME), crawl_request.depth) for crawl_request in passed.new_requests] == [
        ("browse?page=2", 3),
        ("item/1", 4),
    ]


def test_the_depth_that_the_user_gives_ends_a_crawl_without_a_word() -> None:
    limited = gate(rules=Rules(depth=2))
    html = "<a href='/a'>a</a>"
    assert urls(from_page(html, at=limited, crawl_request=CrawlRequest.to_page(HOME, found_on=HOME, depth=1))) == ["a"]
    assert from_page(html, at=limited, crawl_request=CrawlRequest.to_page(HOME, found_on=HOME, depth=2)) == GateResult()


def test_depth_limit_against_traps_is_reported() -> None:
    assert urls(
        from_page("<a href='/a'>a</a>", crawl_request=CrawlRequest.to_page(HOME, found_on=HOME, depth=MOST_DEPTH - 1))
    ) == ["a"]
    passed = from_page(
        "<a href='/a'>a</a><a href='/b'>b</a>",
        crawl_request=CrawlRequest.to_page(HOME, found_on=HOME, depth=MOST_DEPTH),
    )
    assert passed.new_requests == ()
    [finding] = passed.findings
    assert (finding.kind, finding.detail.partition(":")[2].split(",")[0]) == ("trap-depth", " 2")


def test_of_a_page_with_too_many_links_the_first_are_followed_and_the_others_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("crawler.sources.gate.MOST_LINKS", 20)
    passed = from_page("".join(f"<a href='/{n}'>{n}</a>" for n in range(25)))
    assert len(passed.new_requests) == 20
    [finding] = passed.findings
    assert finding.kind == "trap-links"
    assert finding.detail.startswith(f"links not followed: 5, the first {HOME}20: ")


def test_traps_on_one_page_are_one_finding_a_rule_with_their_number_and_the_first() -> None:
    html = "".join(f"<a href='/find?f[0]=1&f[1]=2&f[2]={number}'>{number}</a>" for number in range(11))
    html += "<a href='/events/2027/01'>2027</a><a href='/events/2028/01'>2028</a>"
    html += "<a href='/x/map/x/map/x/map'>loop</a>"
    passed = from_page(html)
    assert urls(passed) == ["events/2027/01", "events/2028/01"]
    assert [(each.kind, each.detail.split(":", 1)[1].split(",")[0].strip()) for each in passed.findings] == [
        ("trap-repeated-path", "1"), ("trap-combinations", "11"),
    ]  # fmt: skip


@pytest.mark.parametrize("told", ["meta", "header", "header for us"])
def test_nofollow_page_is_not_followed_and_reported(told: str) -> None:
    html, headers = "<a href='/a'>a</a><a href='/b'>b</a>", Headers()
    if told == "meta":
        html = f"<meta name=Robots content='NOINDEX, NoFollow'>{html}"
    else:
        headers = Headers(x_robots_tag=("nofollow" if told == "header" else "otherbot: all", "arkaudit: none"))
    passed = from_page(html, headers=headers)
    assert passed.new_requests == ()
    [finding] = [finding for finding in passed.findings if finding.kind == "nofollow-page"]
    assert "2, as the page asks" in finding.detail
    followed = from_page(html, headers=headers, at=gate(rules=Rules(follows_nofollow=True)))
    assert urls(followed) == ["a", "b"]


@pytest.mark.parametrize(
    ("extent", "followed"),
    [
        (Extent.SITE, ["maps/a", "b", "https://files.library.example/c", "https://files.library.example/d.pdf"]),
        (Extent.HOST, ["maps/a", "b", "https://files.library.example/d.pdf"]),
        (Extent.PATH, ["maps/a", "https://files.library.example/d.pdf"]),
    ],
)
def test_the_scope_is_a_site_a_host_or_a_path_and_documents_beside_it_belong_to_it(
    extent: Extent, followed: list[str]
) -> None:
    html = "<a href='a'>a</a><a href='/b'>b</a><a href='https://files.library.example/c'>c</a>"
    html += "<a href='https://files.library.example/d.pdf'>d</a><a href='https://elsewhere.example/e.pdf'>e</a>"
    seed = HOME + "maps/index.html"
    passed = from_page(html, at=gate(seed, extent=extent), url=seed)
    assert urls(passed) == followed
    reaches = {crawl_request.url: crawl_request.reach for crawl_request in passed.new_requests}
    within = Reach.SITE if extent is Extent.SITE else Reach.LEAF
    assert reaches["https://files.library.example/d.pdf"] is within


def test_from_a_content_host_everything_is_fetched_and_nothing_followed() -> None:
    here = gate(content_hosts=("CDN.example",))
    [crawl_request] = from_page("<a href='https://cdn.example/bitstream/1'>1</a>", at=here).new_requests
    assert crawl_request.reach is Reach.LEAF
    assert (
        from_page("<a href='/more'>more</a>", at=here, crawl_request=crawl_request, url=crawl_request.url).new_requests
        == ()
    )


def test_a_landing_page_leads_to_its_documents_and_nowhere_else() -> None:
    landing = "https://repository.elsewhere.example/item/7"
    html = """<meta name=citation_pdf_url content='https://repository.elsewhere.example/bitstream/7'>
        <a href='/'>home</a> <a href='thesis.pdf'>PDF</a> <a href='https://files.elsewhere.example/data.CSV'>data</a>
        <a href='https://third.example/other.pdf'>cited</a>"""
    headers = Headers(link=('<https://repository.elsewhere.example/item/7/docx>; rel="item"; type="x"',))
    passed = from_page(
        html,
        crawl_request=CrawlRequest.to_page(landing, found_on="oai:r:7", depth=1, reach=Reach.ITEM),
        url=landing,
        headers=headers,
    )
    assert [crawl_request.url.removeprefix("https://") for crawl_request in passed.new_requests] == [
        "repository.elsewhere.example/item/7/docx",
        "repository.elsewhere.example/bitstream/7",
        "repository.elsewhere.example/item/thesis.pdf",
        "files.elsewhere.example/data.CSV",
    ]
    assert {crawl_request.reach for crawl_request in passed.new_requests} == {Reach.LEAF}


def test_a_landing_page_that_goes_on_by_itself_stays_a_landing_page() -> None:
    crawl_request = CrawlRequest.to_page("https://r.example/1", found_on="x", depth=1, reach=Reach.ITEM)
    [further] = from_page(
        "<meta http-equiv=refresh content='0; url=/2'>", crawl_request=crawl_request, url=crawl_request.url
    ).new_requests
    assert (further.reach, further.depth) == (Reach.ITEM, 1)


# -- sources


def test_urls_of_a_named_source_pass_everywhere_and_its_parts_come_first() -> None:
    read = SourceReading(
        SourceKind.FEED, (ListedItem("https://elsewhere.example/1"), ListedItem(HOME + "2")), (HOME + "feed?p=2",)
    )
    passed = gate().source(CrawlRequest.to_page(HOME + "feed"), read)
    assert [
        (crawl_request.url, crawl_request.reach, crawl_request.depth, crawl_request.part)
        for crawl_request in passed.new_requests
    ] == [
        (HOME + "feed?p=2", Reach.ITEM, 0, 1),
        ("https://elsewhere.example/1", Reach.ITEM, 1, 0),
        (HOME + "2", Reach.ITEM, 1, 0),
    ]
    assert passed.new_requests[0].source is SourceKind.FEED


def test_a_source_that_a_crawl_comes_upon_stays_in_its_scope() -> None:
    read = SourceReading(SourceKind.SITEMAP, (ListedItem("https://elsewhere.example/1"), ListedItem(HOME + "2")))
    passed = gate().source(CrawlRequest.to_page(HOME + "sitemap.xml", found_on=HOME, depth=1), read)
    assert [(crawl_request.url, crawl_request.reach) for crawl_request in passed.new_requests] == [
        (HOME + "2", Reach.SITE)
    ]


def test_links_of_a_record_that_are_not_its_own_place_are_followed_in_scope_only() -> None:
    items = (
        ListedItem("https://doi.example/1", "r:1"),
        ListedItem("https://rights.example/by", "r:1", is_elsewhere=False),
    )
    read = SourceReading(SourceKind.OAI, (*items, ListedItem(HOME + "galley/1", "r:1", is_elsewhere=False)))
    passed = gate().source(CrawlRequest.to_page(HOME + "oai", source=SourceKind.OAI), read)
    assert [(crawl_request.url, crawl_request.found_on) for crawl_request in passed.new_requests] == [
        ("https://doi.example/1", "r:1"), (HOME + "galley/1", "r:1"),
    ]  # fmt: skip


def test_pictures_examples_and_traps_are_not_asked_for_by_a_source_either() -> None:
    listed = (HOME + "scan.jpg", HOME + "ark:/12345/x5", HOME + "map/map/map/", HOME + "ok", "http://[broken/")
    passed = gate().source(
        CrawlRequest.to_page(HOME + "list"), SourceReading(SourceKind.LIST, tuple(map(ListedItem, listed)))
    )
    assert (urls(passed), kinds(passed)) == (["ok"], ["trap-repeated-path"])


def test_depth_zero_follows_nothing_and_reports_source_claims() -> None:
    read = read_nothing = SourceReading(SourceKind.SITEMAP, (ListedItem(HOME + "1"),), (HOME + "s2.xml",))
    assert gate(rules=Rules(depth=0)).source(CrawlRequest.to_page(HOME), read) == GateResult(
        findings=read_nothing.findings
    )


@given(st.lists(st.text(max_size=40), max_size=6), st.text(max_size=60))
def test_no_link_and_no_header_is_too_odd(links: list[str], header: str) -> None:
    reading = Reading("text/html", links=tuple(links), base=header, robots=(header,))
    told = Headers((header,), (header,), (header,))
    passed = gate().page(CrawlRequest.to_page(HOME), reading, url=HOME, headers=told)
    assert all(
        crawl_request.url.isascii() and crawl_request.url.startswith(("http", "HTTP"))
        for crawl_request in passed.new_requests
    )


SLOW = r"(a|a|aa)+$"


def test_a_pattern_that_takes_too_long_is_a_finding_and_no_hang() -> None:
    page = "".join(f"<a href='/{'a' * 60}{n}!'>x</a>" for n in range(300)) + "<a href='/item/b'>b</a>"
    for rules in (Rules(exclude=LinkPatterns([SLOW])), Rules(include=LinkPatterns([SLOW, "/item/"]))):
        passed = from_page(page, at=gate(rules=rules))
        kinds = {finding.kind: finding.detail for finding in passed.findings}
        assert kinds["slow-pattern"].startswith("links not followed: 30")
        assert "a pattern of --include or --exclude takes too long" in kinds["slow-pattern"]
        assert [crawl_request.url for crawl_request in passed.new_requests] == (
            [f"{HOME}item/b"] if rules.include else []
        )


def test_a_pattern_that_was_cut_off_some_times_is_searched_for_no_more() -> None:
    patterns = LinkPatterns([SLOW])
    for _ in range(MOST_CUT_OFF):
        with pytest.raises(TimeoutError):
            patterns.is_found("https://a.example/" + "a" * 60 + "!")
    with pytest.raises(TimeoutError):
        patterns.is_found("https://a.example/b")
