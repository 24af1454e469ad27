"""The Maptr procedure: resolvers of a NAAN from NAPTR records, for whom the registry knows none (2005, 4.2).

The domain ``ark.arpa`` was never delegated, so this is off unless it is asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from extractors.model.naan import Registry, RegistryEntry, ResolverTarget

if TYPE_CHECKING:
    from dns.resolver import Resolver

#: So many names are looked up for one NAAN at most, each once.
MOST_NAMES = 10
#: Seconds for one look-up, all name servers together.
LOOK_UP_S = 5.0


@dataclass(frozen=True, slots=True)
class Naptr:
    """As much of a NAPTR record as Maptr looks at; order and preference are ignored."""

    flags: str
    service: str
    regexp: str
    replacement: str


#: From a domain name to its NAPTR records; none for a name that has none, or can't be looked up.
LookUp = Callable[[str], Sequence[Naptr]]


def resolvers(naan: str, look_up: LookUp) -> Iterator[ResolverTarget]:
    """The resolvers that NAPTR records name for *naan*, in their order.

    A record with flag ``h`` names a resolver as host and port, one without a flag a domain to look up in turn.

    >>> list(resolvers("12026", lambda name: [Naptr("h", "ark", "USLC", "lhc.nlm.nih.gov:8080")]))
    [ResolverTarget(template='http://lhc.nlm.nih.gov:8080/ark:/${content}', status=None, label='USLC')]
    """
    pending, looked_up = deque([f"{naan}.ark.arpa"]), set[str]()
    while pending and len(looked_up) < MOST_NAMES:
        name = pending.popleft().lower().rstrip(".")
        if name in looked_up:
            continue
        looked_up.add(name)
        for record in look_up(name):
            if record.service.lower() != "ark":
                continue
            if record.flags.lower() == "h":
                yield ResolverTarget(f"http://{record.replacement.rstrip('.')}/ark:/${{content}}", label=record.regexp)
            elif record.flags == "":
                pending.append(record.replacement)


def with_resolvers(registry: Registry, naans: Iterable[str], look_up: LookUp) -> Registry:
    """*registry* with the resolvers that NAPTR records name for those of *naans* for which it knows none."""
    entries = []
    for naan in sorted(set(naans)):
        entry = registry.entry(naan)
        if entry is not None and any(target.fault is None for target in entry.targets):
            continue
        targets = tuple(target for target in resolvers(naan, look_up) if target.fault is None)
        if targets:
            entries.append(
                replace(entry, targets=targets) if entry is not None else RegistryEntry(naan, targets=targets)
            )
    return replace(registry, entries=(*registry.entries, *entries)) if entries else registry


def dns_look_up(resolver: Resolver | None = None) -> LookUp:
    """Looks NAPTR records up by the machine's own name servers, or by *resolver*'s. Never raises."""
    import dns.exception
    import dns.rdatatype
    import dns.resolver

    asked = resolver or dns.resolver.Resolver()

    def look_up(name: str) -> Sequence[Naptr]:
        try:
            answer: Any = asked.resolve(name, dns.rdatatype.NAPTR, lifetime=LOOK_UP_S, search=False)
        except dns.exception.DNSException:
            return ()
        return [_record(record) for record in answer]

    return look_up


def _record(record: Any) -> Naptr:
    flags, service, regexp = (part.decode("ascii", "replace") for part in (record.flags, record.service, record.regexp))
    return Naptr(flags, service, regexp, record.replacement.to_text(omit_final_dot=True))
