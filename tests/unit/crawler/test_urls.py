"""Whatever decides by a URL gets an answer for any text: a malformed address is data, and ends no audit."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.features.conform import spellings
from crawler.answers import likeness, mementos, page_copies, probes, quirks
from crawler.asking import questions
from crawler.model import crawl_requests, resolving
from crawler.model.resolving import INFLECTIONS
from extractors.model import urls
from extractors.model.ark import Ark
from extractors.model.naan import Registry
from reports.remediation import causes

ARK = Ark("12x45", "x5")
REGISTRY = Registry.builtin()
RESOLVER = "https://n2t.net/"

MALFORMED = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTP://", "//", "ftp:", ""]),
    st.sampled_from(
        ["[zz]", "[::ffff:127.1]", "[", "a]b", "a.example:x", "a.example:99999", "\u2100.example", "@", "a..b"]
    )
    | st.text(max_size=8),
    st.sampled_from(["/ark:/12148/x9", "/item/7", "", "/?next=http://[zz]/", "\x00/%", "#["]),
    st.sampled_from(["", "?info", "?a=[&b=http://a]b/7", "//[zz]"]),
)

CALLERS: tuple[Callable[[str], Any], ...] = (
    urls.split_url, urls.origin_of, urls.authority_of, urls.host_name_of, urls.find_origin, urls.refresh_target,
    lambda url: urls.join_url(url, url),
    resolving.sendable, resolving.resolver_of, resolving.path_of_resolver, resolving.url_fault,
    resolving.label_of, resolving.with_other_label, resolving.names_skipped_ark,
    lambda url: [resolving.asked_url(url, question) for question in INFLECTIONS],
    lambda url: resolving.same_host(url, "https://a.example/"),
    lambda url: resolving.mention_url("ark:12x45/x5", url, url, RESOLVER),
    crawl_requests.canonical_form, crawl_requests.has_session_id, crawl_requests.has_expiring_permit,
    crawl_requests.site_of,
    quirks.error_page_address, quirks.is_search, quirks.is_log_in, quirks.is_visitor_counter,
    lambda url: quirks.is_home_page(url, "x5"),
    lambda url: quirks.is_sent_away([url, url], "x5"),
    lambda url: quirks.leads_back(["https://a.example/item/7", url]),
    lambda url: quirks.leads_back([url, url]),
    probes.resolver_or_host, probes.landing_pattern, probes.landing_control,
    lambda url: probes.landing_control(url, every=True),
    lambda url: probes.control_url(url, ARK, REGISTRY),
    lambda url: list(spellings.forms(url, ARK)),
    lambda url: questions.at_path(url, "/ids/"),
    lambda url: questions.FallbackUrls.for_ark(ARK, url, registry=REGISTRY, global_resolver=RESOLVER),
    likeness.last_part,
    lambda url: page_copies.page_digest([], "A map", [url], url, ARK),
    lambda url: mementos.is_same_resource(url, url),
    lambda url: causes.pattern(url, str(ARK)),
)  # fmt: skip


@pytest.mark.parametrize("decide", CALLERS)
@given(url=MALFORMED)
def test_malformed_url_raises_nowhere(decide: Callable[[str], Any], url: str) -> None:
    decide(url)
