"""Resolvers for the loopback web, each a function from a request target to a `DemoAnswer`.

The documents name real institutions, as any document does. The answers are invented after the behaviour of real
resolvers. Hosts that misbehave have names under ``.example``.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk

#: Delay that exceeds the timeout of the demo.
TOO_SLOW_S = 12.0


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """An HTTP answer, and its delay."""

    status: int
    body: str | bytes = ""
    media_type: str = "text/html; charset=utf-8"
    location: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


#: A function from the request target (path and query, as sent) to the answer.
Behaviour = Callable[[str], DemoAnswer]

NOT_FOUND = DemoAnswer(404, "<title>404 Not Found</title><h1>Not Found</h1>")

_GALLICA = """bpt6k65413493 btv1b8449691v bpt6k107371t btv1b10025411c bpt6k2102478 btv1b8555834s btv1b8419219x
    bpt6k9907264 bpt6k62056165 bpt6k1513763h btv1b10087435j cb41026403m cb34454105m cb40636779s cb12205670t"""
_UNT = """metadc107835 metapth304825 metapth346793 metadc406416 metadc1033338 metadc2846 metadc331136 metadc673735
    metadc1089525 metapth245858"""
_BODLEIAN = "x05d86p0901q x03j3333070j x0ww72b989xj x0gx41mh87jf"
_ARKLET = """t1pg22p71 t00000018 t1pg9dv6k t78s5b569 t2s47dp7t t58d0dn7n t4sj1rf0v t9x09qv5c t48q2f20n t70w4tz8j
    t8cg89f76"""
#: Names in the database of the real resolver.
ARKLET_NAMES: tuple[str, ...] = tuple(_ARKLET.split())


def _parse_target(target: str) -> tuple[Ark | None, str]:
    """Return the ARK, if any, and the query of a request target; the label may be percent-encoded."""
    path, _, query = target.partition("?")
    path = re.sub("%3a", ":", re.sub("%2f", "/", path, flags=re.IGNORECASE), flags=re.IGNORECASE)
    try:
        return Ark.parse(path), query
    except NotAnArk:
        return None, query


def _page(title: str, *sentences: str) -> str:
    text = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
    return f"<!doctype html><html lang=en><title>{html.escape(title)}</title><h1>{html.escape(title)}</h1>{text}"


def global_resolver(target: str) -> DemoAnswer:
    """Redirect every ARK with its inflection to the resolver of its NAAN, as N2T does."""
    ark, _ = _parse_target(target)
    resolvers = {
        "12148": "https://gallica.bnf.fr",
        "13960": "https://ark.archive.org",
        "29072": "https://medieval.bodleian.ox.ac.uk",
        "67531": "https://digital.library.unt.edu",
        "53355": "https://missing.example",
        "81055": "https://slow.example",
        "87278": "http://circle.example",
        "88435": "https://withdrawn.example",
    }
    if ark is not None and str(ark) == "ark:99152/p0v":
        return DemoAnswer(303, location="https://terms.example/p0v")
    if ark is None or ark.naan not in resolvers:
        return DemoAnswer(404, json.dumps({"error": f"No match was found for {target}"}), "application/json")
    return DemoAnswer(302, location=resolvers[ark.naan] + target)


def with_erc(target: str) -> DemoAnswer:
    """Answer ``?info`` and ``??`` with an ERC in text/plain that names the ARK and states a commitment."""
    ark, query = _parse_target(target)
    if ark is None or ark.name not in _UNT.split():
        return NOT_FOUND
    title = f"Flood gauge readings, notebook {ark.name.strip('metadcph')}"
    if query in ("info", "?"):
        record = (
            f"erc:\nwho: River Survey Office\nwhat: {title}\nwhen: 1952\nwhere: https://digital.library.unt.edu/{ark}\n"
            "erc-support:\nwho: University Libraries\nwhat: Permanent: Stable Content:\nwhen: 20081203\n"
            "where: https://digital.library.unt.edu/\n"
        )
        thump = {"THUMP-Status": "0.6 200 OK", "Link": f'</{ark}>; rel="describes"'}
        return DemoAnswer(200, record, "text/plain; charset=utf-8", headers=thump)
    return DemoAnswer(200, _page(title, f"This notebook is {ark}.", "Forty pages of readings at the lower gauge."))


def query_ignored(target: str) -> DemoAnswer:
    """Show the same page for any query."""
    ark, _ = _parse_target(target)
    if ark is None or ark.name not in _GALLICA.split():
        return NOT_FOUND
    return DemoAnswer(
        200, _page(f"Document {ark.name}", f"Identifiant : {ark}", f"Vue {ark.qualifier or 'principale'}.")
    )


def related_object(target: str) -> DemoAnswer:
    """Redirect by 303 to the description of a physical manuscript."""
    ark, query = _parse_target(target)
    entry = target.removeprefix("/catalogue/")
    if entry.partition("?")[0] in _BODLEIAN.split():
        return DemoAnswer(200, _page("A manuscript", "Parchment, 212 leaves, in the reading room.", entry))
    if ark is None or ark.name not in _BODLEIAN.split():
        return NOT_FOUND
    return DemoAnswer(303, location=f"/catalogue/{ark.name}" + (f"?{query}" if query else ""))


def not_found(_: str) -> DemoAnswer:
    """Answer 404 to all requests."""
    return DemoAnswer(404, _page("Not found", "No such object."))


def gone(_: str) -> DemoAnswer:
    """Answer 410 to all requests."""
    return DemoAnswer(410, _page("Gone", "This resolver has been switched off."))


def circle(target: str) -> DemoAnswer:
    """Redirect in a circle."""
    path = target.partition("?")[0]
    return DemoAnswer(302, location=path.removesuffix("/round") if path.endswith("/round") else path + "/round")


def slow(_: str) -> DemoAnswer:
    """Answer after the client's timeout."""
    return DemoAnswer(200, _page("At last", "Thank you for waiting."), delay_s=TOO_SLOW_S)


def soft_404(target: str) -> DemoAnswer:
    """Answer 200 with a page that means 404."""
    return DemoAnswer(200, _page("Page not found", f"We could not find {target.partition('?')[0]}. Try our search."))


def forbidden(_: str) -> DemoAnswer:
    """Refuse programs by 403."""
    return DemoAnswer(403, _page("Forbidden", "Are you a robot?"))


def plain(target: str) -> DemoAnswer:
    """Answer *target* as a resolver without https, which describes the two ARKs of a small collection in HTML."""
    ark, query = _parse_target(target)
    if ark is None or ark.name not in ("b3xx0k", "b3ww9m"):
        return NOT_FOUND
    if query == "info":
        return DemoAnswer(200, _page(
            "Description", f"Identifier: {ark}", "Who: Weir Keepers' Guild", "What: Logbook", "When: 1911",
            "Title: Logbook of the upper weir. Commitment: none yet.",
        ))  # fmt: skip
    return DemoAnswer(200, _page(f"Logbook {ark.name}", "Thirty leaves, water-stained.", str(ark)))


def landing_page(target: str) -> DemoAnswer:
    """Show the page of an item, the target of the real resolver."""
    name = target.partition("?")[0].removeprefix("/details/")
    if name not in ARKLET_NAMES:
        return NOT_FOUND
    return DemoAnswer(200, _page(f"Item {name}", "Scanned from the original.", f"ark:13960/{name}"))


def term(target: str) -> DemoAnswer:
    """Show the definition of a term."""
    if target.startswith("/p0v"):
        return DemoAnswer(200, _page("high water", "The highest level reached by a flood at a gauge.", "ark:99152/p0v"))
    return NOT_FOUND


#: Behaviour by scheme and host.
HOSTS: Mapping[tuple[str, str], Behaviour] = {
    ("https", "n2t.net"): global_resolver,
    ("https", "digital.library.unt.edu"): with_erc,
    ("https", "gallica.bnf.fr"): query_ignored,
    ("https", "catalogue.bnf.fr"): query_ignored,
    ("https", "medieval.bodleian.ox.ac.uk"): related_object,
    ("https", "missing.example"): not_found,
    ("https", "withdrawn.example"): gone,
    ("http", "circle.example"): circle,
    ("https", "slow.example"): slow,
    ("https", "pretend.example"): soft_404,
    ("https", "guarded.example"): forbidden,
    ("http", "plain.example"): plain,
    ("https", "archive.org"): landing_page,
    ("https", "terms.example"): term,
}
