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

#: Overrides the folder of the copy.
CACHE_VARIABLE = "ARKAUDIT_CACHE"
#: Bytes of a registry, before and after decompression; the public one had a little over one million in 2024.
REGISTRY_LIMIT = 64 * 2**20

#: The names of the copy and of its provenance.
COPY = "naan-registry"
PROVENANCE = "naan-registry.provenance.json"


class Provenance(BaseModel):
    """The origin of a copy, with the data to check if it is current; stored next to it."""

    model_config = ConfigDict(frozen=True)

    source: str
    checked_at: AwareDatetime
    """The time of the last request to the source."""
    sha256: str
    """The digest of the copy; a provenance next to other bytes is ignored."""
    etag: str | None = None
    last_modified: str | None = None

    @property
    def conditions(self) -> dict[str, str]:
        """The headers of a request that only returns newer content (RFC 9110, 13.1)."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


def cache_folder() -> Path:
    """Return the user's cache folder, which contains the copy of the registry; ``ARKAUDIT_CACHE`` overrides it."""
    chosen_folder = os.environ.get(CACHE_VARIABLE)
    return Path(chosen_folder) if chosen_folder else user_cache_path("arkaudit", appauthor=False)


def load_registry(folder: Path | None = None) -> Registry:
    """Return the copy in *folder*, by default the user's cache, or else the built-in registry.

    `Registry.warning` names an unusable copy.

    >>> load_registry(Path("/no/such/folder")).source
    'built in'
    """
    path = (folder or cache_folder()) / COPY
    try:
        return load_registry_copy(path)[0]
    except FileNotFoundError:
        return Registry.builtin()
    except (OSError, NotARegistry) as problem:
        fault = getattr(problem, "strerror", None) or problem
    warning = f"the copy of the NAAN registry at {path} can't be used: {fault}; `arkaudit registry update` replaces it"
    return replace(Registry.builtin(), warning=warning)


def load_registry_copy(path: Path) -> tuple[Registry, Provenance | None]:
    """Return the copy at *path* and its provenance, if that belongs to it. Raises OSError and `NotARegistry`."""
    data = read_bounded(path)
    with suppress(OSError, ValidationError):
        provenance = Provenance.model_validate_json(path.with_name(PROVENANCE).read_bytes())
        if provenance.sha256 == hashlib.sha256(data).hexdigest():
            source, checked_at = provenance.source, provenance.checked_at
            return read_registry(data, source=source, fetched_at=checked_at), provenance
    return read_registry(data, source=str(path)), None


def read_bounded(path: Path) -> bytes:
    """Return the bytes of a file. Raises OSError, and `NotARegistry` above `REGISTRY_LIMIT`."""
    with path.open("rb") as file:
        data = file.read(REGISTRY_LIMIT + 1)
    if len(data) > REGISTRY_LIMIT:
        raise NotARegistry(f"more than {REGISTRY_LIMIT} bytes")
    return data


# -- The Maptr procedure: resolvers from NAPTR records, for a NAAN without one in the registry (2005, 4.2)


#: Maximum number of names that are looked up for one NAAN, each once.
MOST_NAMES = 10
#: Seconds for one look-up at all name servers together.
LOOK_UP_S = 5.0


@dataclass(frozen=True, slots=True)
class Naptr:
    """The parts of a NAPTR record that Maptr uses; order, preference and regular expression are ignored."""

    flags: str
    service: str
    replacement: str


#: A function from a domain name to its NAPTR records; empty if there are none or the look-up fails.
LookUp = Callable[[str], Sequence[Naptr]]


def resolvers(naan: str, look_up: LookUp) -> Iterator[ResolverTarget]:
    """Yield the resolvers in the NAPTR records of *naan*, in order.

    A record with flag ``h`` names a resolver as host and port, one without a flag a domain to look up next.

    >>> list(resolvers("12026", lambda name: [Naptr("h", "ark", "lhc.nlm.nih.gov:8080")]))
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
    """Return *registry* with resolvers from NAPTR records for those of *naans* without a resolver in it."""
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
    """Return a function that looks up NAPTR records at the system's name servers, or with *resolver*. It never raises."""
    import dns.exception
    import dns.rdatatype
    import dns.resolver

    dns_resolver = resolver or dns.resolver.Resolver()

    def look_up(name: str) -> Sequence[Naptr]:
        try:
            answer: Any = dns_resolver.resolve(name, dns.rdatatype.NAPTR, lifetime=LOOK_UP_S, search=False)
        except dns.exception.DNSException:
            return ()
        records = []
        for record in answer:
            flags, service = (part.decode("ascii", "replace") for part in (record.flags, record.service))
            replacement = record.replacement.to_text(omit_final_dot=True)
            records.append(Naptr(flags, service, replacement))
        return records

    return look_up
