"""Bodies made to keep their reader busy: the cost of half a megabyte is bounded for every kind."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from crawler.answers.answer import read_answer

SIZE = 500_000
#: Of the processor's time. Time in proportion to the size is a second or two; to its square, minutes to hours.
MOST_S = 20

#: A media type, and the beginning, the repeated part and the end of a body.
BODIES = {
    "elements in one another": ("text/html", "", "<div>", "x"),
    "a label, then all that follows in one another": ("text/html", "", "<b>who</b><div>", ""),
    "definitions in definitions": ("text/html", "", "<dl><dt>who<dd>", ""),
    "terms in one another": ("text/html", "<dl>", "<dt>who<dd><b>", ""),
    "tables in tables": ("text/html", "", "<table><tr><td>who<td>", ""),
    "rows of headings": ("text/html", "<table>", "<tr><th>a<th>b<th>c", ""),
    "properties in properties": ("text/html", "", "<b property=name>", "x"),
    "headings in headings": ("text/html", "", "<h1><b>", "x"),
    "menus in menus": ("text/html", "", "<nav>", "x"),
    "menus beside one another": ("text/html", "", "x<nav></nav>", "x"),
    "main parts in one another": ("text/html", "", "<main><h1>", "x"),
    "labels with colons": ("text/html", "", "who:\n", ""),
    "links to ARKs": ("text/html", "", "<a href='/ark:/12148/x'>x</a>", ""),
    "relations": ("text/html", "<link rel='", "canonical ", "'>"),
    "a style": ("text/html", "<div style='", "display:", "'>x"),
    "white space in a refresh": ("text/html", "<meta http-equiv=refresh content='", " ", "'>"),
    "white space behind the seconds of a refresh": ("text/html", "<meta http-equiv=refresh content='0;", " ", "'>"),
    "white space before the word refresh": ("text/html", "<meta http-equiv='", " ", "x' content=x>"),
    "comments that don't end": ("text/html", "", "<!--", ""),
    "JSON-LD in JSON-LD": ("text/html", "<script type=application/ld+json>", '{"a":', ""),
    "white space as JSON": ("application/json", "", " ", "x"),
    "white space behind JSON": ("application/json", "{}", " ", "x"),
    "ends of JSON": ("application/json", "{", "} ", "x"),
    "calls that don't end": ("application/json", "", "a(", ""),
    "lists in lists": ("application/json", "", "[", ""),
    "a list of records": ("application/json", "[", '{"title":"x"},', "{}]"),
    "YAML in YAML": ("application/x-yaml", "", "{", ""),
    "lines of YAML": ("application/x-yaml", "", "a: 1\n", ""),
    "RDF in RDF": ("text/turtle", "@prefix a: <b> .\n<a> a:b ", "[", ""),
    "comments of Turtle": ("text/turtle", "", "#\n", ""),
    "URLs without an end": ("text/plain", "", "http://", ""),
    "beginnings of ARKs": ("text/plain", "", "ark:/1", ""),
    "one long ARK": ("text/plain", "ark:/12148/", "/x", ""),
    "lines of an ERC": ("text/plain", "erc:\nwho: x\n", "  y\n", ""),
    "codes of an ERC": ("text/plain", "erc.who: ", "(:", ""),
    "dates of an ERC": ("text/plain", "erc.when: ", "1999-", ""),
    "words of absence": ("text/plain", "", "we could not ", ""),
}  # fmt: skip


@contextmanager
def cpu_limit() -> Iterator[None]:
    """Fail a test that takes too much CPU time; other programs make no difference."""

    def end(*_: object) -> None:
        raise AssertionError(f"more than {MOST_S} s of the processor's time")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BODIES)
def test_a_body_costs_no_more_than_its_size_allows(kind: str) -> None:
    media_type, begins, goes_on, ends = BODIES[kind]
    body = begins + goes_on * (SIZE // len(goes_on)) + ends
    with cpu_limit():
        answer = read_answer(body.encode(), media_type)
    assert answer.media_type == media_type


def test_a_label_in_a_few_elements_is_a_label() -> None:
    answer = read_answer(b"<p><b><i>Who:</i></b></p><div><span>Rossi</span></div>", "text/html")
    assert answer.facts.kernel_values["who"] == "Rossi"
