"""The Maptr procedure by tables of answers."""

from crawler.model.registry import MOST_NAMES, Naptr, resolvers, with_resolvers
from extractors.model.ark import Ark
from extractors.model.naan import Registry, RegistryEntry, ResolverTarget

ZONE = {
    "12026.ark.arpa": [
        Naptr("h", "ark", "lhc.nlm.example:8080"),
        Naptr("", "ark", "dlc.spct.example."),
        Naptr("h", "http", "other-service.example"),
        Naptr("u", "ark", "."),
    ],
    "dlc.spct.example": [Naptr("H", "ARK", "sneezy.dopey.example"), Naptr("", "ark", "12026.ark.arpa")],
}


HOSTS = ["http://lhc.nlm.example:8080/ark:/${content}", "http://sneezy.dopey.example/ark:/${content}"]


def in_zone(name: str) -> list[Naptr]:
    return ZONE.get(name, [])


def test_resolvers_are_found_through_other_domains_and_no_name_is_asked_twice() -> None:
    assert [target.template for target in resolvers("12026", in_zone)] == HOSTS
    assert list(resolvers("99999", in_zone)) == []


def test_a_chain_of_domains_comes_to_an_end() -> None:
    asked = []

    def endless(name: str) -> list[Naptr]:
        asked.append(name)
        return [Naptr("", "ark", f"x{len(asked)}.example"), Naptr("", "ark", f"y{len(asked)}.example")]

    assert list(resolvers("12026", endless)) == []
    assert len(asked) == MOST_NAMES


def test_registered_naans_are_not_looked_up() -> None:
    known = Registry(
        (RegistryEntry("12148", targets=(ResolverTarget("https://ark.bnf.example/${pid}"),)), RegistryEntry("12026")),
        "a test",
    )
    asked = []

    def look_up(name: str) -> list[Naptr]:
        asked.append(name)
        return in_zone(name)

    more = with_resolvers(known, ["12148", "12026"], look_up)
    assert asked == ["12026.ark.arpa", "dlc.spct.example"]
    assert more.target(Ark("12026", "x5")) == "http://lhc.nlm.example:8080/ark:/12026/x5"
    assert more.target(Ark("12148", "x5")) == known.target(Ark("12148", "x5"))


def test_a_host_that_can_not_be_is_no_resolver() -> None:
    odd = [Naptr("h", "ark", host) for host in ("localhost", "a b.example", "x@y.example")]
    assert with_resolvers(Registry((), "a test"), ["12026"], lambda _: odd).target(Ark("12026", "x5")) is None
