"""Rules of robots.txt as values: their groups, and the time that they take."""

import random

from protego import Protego

from crawler.wire.robots import MOST_WILDCARDS, applicable_rules
from tests.growth import LINEAR, growth

_LINES = (
    "User-agent: *", "User-agent: arkaudit", "User-agent: ark", "User-agent: kaudit", "User-agent: other", "useragent ark",
    "User agent: ARK*AUDIT", "User-Agent arkaudit-x", "User-agent:", "Disallow: /", "Disallow: /a", "Allow: /a/b", "Disallow:",
    "Allow /a", "Disallow: /*b", "Allow: /a$", "Disalow: /a", "Disallow /b:c", "Crawl-delay: 3", "crawl delay 7",
    "Request-rate: 1/5", "Sitemap: http://x/", "Host: x", "Foo: bar", "a line of prose", "# a comment", "",
)  # fmt: skip


def _says(rules: Protego) -> tuple[object, ...]:
    paths = ("/", "/a", "/a/b", "/b", "/ab", "/c", "/b:c")
    return (
        [rules.can_fetch(f"http://h.example{path}", "arkaudit") for path in paths],
        (rules.crawl_delay("arkaudit"), rules.request_rate("arkaudit"), [*rules.sitemaps]),
    )


def test_own_rules_equal_rules_for_all() -> None:
    dice = random.Random(36)
    for _ in range(1500):
        text = "\n".join(dice.choice(_LINES) for _ in range(dice.randint(1, 9)))
        ours = applicable_rules(text.encode(), "arkaudit").decode()
        assert _says(Protego.parse(ours)) == _says(Protego.parse(text)), text


def _large_rules(size: int) -> bytes:
    agents = "".join(f"User-agent: a{number}\n" for number in range(size))
    rules = "".join(f"Disallow: /{number}\n" for number in range(2 * size))
    return f"{agents}User-agent: *\n{rules}".encode()


def test_rules_take_time_in_line_with_their_length() -> None:
    def work(size: int) -> None:
        Protego.parse(applicable_rules(_large_rules(size), "arkaudit").decode())

    assert growth(work, 1000) < LINEAR


def test_too_many_wildcards_forbid_more_and_allow_nothing() -> None:
    many = "".join(f"Disallow: /a/*{number}\n" for number in range(MOST_WILDCARDS + 1))
    text = f"User-agent: *\nAllow: /a/b/1\n{many}"
    rules = Protego.parse(applicable_rules(text.encode(), "arkaudit").decode())
    assert [rules.can_fetch(f"http://h.example{path}", "arkaudit") for path in ("/", "/a/b/1", "/a/x")] == [
        True,
        False,
        False,
    ]
