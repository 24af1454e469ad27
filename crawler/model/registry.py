"""Load the copy of the NAAN registry in the user's cache, and add resolvers that NAPTR records name."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_cache_path
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from extractors.model.naan import NotARegistry, Registry, RegistryEntry, ResolverTarget, read_registry

if TYPE_CHECKING:
    from dns.resolver import Resolver

#: Overrides where the copy is kept.
CACHE_VARIABLE = "ARKAUDIT_CACHE"
#: Bytes of a registry, before and after decompression; the public one had a little over one million in 2024.
REGISTRY_LIMIT = 64 * 2**20

#: The names of the copy, and of what is known of it.
COPY = "naan-registry"
PROVENANCE = "naan-registry.provenance.json"


class Provenance(BaseModel):
    """The provenance of a copy, and how to ask whether it is still the newest; kept next to it."""

    model_config = ConfigDict(frozen=True)

    source: str
    checked_at: AwareDatetime
    """When the source was last asked."""
    sha256: str
    """Of the copy: a provenance next to other bytes is not theirs."""
    etag: str | None = None
    last_modified: str | None = None

    @property
    def conditions(self) -> dict[str, str]:
        """The headers of a request that wants an answer only if there is something newer (RFC 9110, 13.1)."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


def cache_folder() -> Path:
    """The folder of the user's cache in which the copy is kept; ``ARKAUDIT_CACHE`` overrides it."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else user_cache_path("arkaudit", appauthor=False)


def load(folder: Path) -> Registry:
    """The copy in *folder*; without one, what is built in. `Registry.warning` names one that can't be used.

    >>> load(Path("/no/such/folder")).source
    'built in'
    """
    path = folder / COPY
    try:
        return kept(path)[0]
    except FileNotFoundError:
        return Registry.builtin()
    except (OSError, NotARegistry) as problem:
        fault = getattr(problem, "strerror", None) or problem
    warning = f"the copy of the NAAN registry at {path} can't be used: {fault}; `arkaudit registry update` replaces it"
    return replace(Registry.builtin(), warning=warning)


def kept(path: Path) -> tuple[Registry, Provenance | None]:
    """The copy at *path* and its provenance, if that is this copy's. Raises OSError and `NotARegistry`."""
    data = bounded(path)
    with suppress(OSError, ValidationError):
        provenance = Provenance.model_validate_json(path.with_name(PROVENANCE).read_bytes())
        if provenance.sha256 == hashlib.sha256(data).hexdigest():
            source, checked_at = provenance.source, provenance.checked_at
            return read_registry(data, source=source, fetched_at=checked_at), provenance
    return read_registry(data, source=str(path)), None


def bounded(path: Path) -> bytes:
    """The bytes of a file that isn't larger than a registry may be. Raises OSError and `NotARegistry`."""
    with path.open("rb") as file:
        data = file.read(REGISTRY_LIMIT + 1)
    if len(data) > REGISTRY_LIMIT:
        raise NotARegistry(f"more than {REGISTRY_LIMIT} bytes")
    return data


# -- The Maptr procedure: resolvers of a NAAN from NAPTR records, for whom the registry knows none (2005, 4.2)


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
    [ResolverTarget(template='http://lhc.nlm.nih.gov:8080/ark:/${content}', status=None)]
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
                yield ResolverTarget(f"http://{record.replacement.rstrip('.')}/ark:/${{content}}")
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
            entries.append(replace(entry or RegistryEntry(naan), targets=targets))
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
        records = []
        for record in answer:
            octets = (record.flags, record.service, record.regexp)
            flags, service, regexp = (part.decode("ascii", "replace") for part in octets)
            replacement = record.replacement.to_text(omit_final_dot=True)
            records.append(Naptr(flags, service, regexp, replacement))
        return records

    return look_up
