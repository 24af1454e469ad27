"""Pure: names that can't exist, and what each speaks for: the answers about them show what a mere 200 is worth."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from crawler.model.resolving import resolver_of
from extractors.model.ark import BETANUMERIC, Ark, shoulder_of
from extractors.model.check_characters import KNOWN, CheckCharacter
from extractors.model.naan import Registry
from extractors.model.normalize import LABEL

#: A shoulder that no one has registered is one from so many names on; a digit at the start of a few is chance.
ENOUGH_NAMES = 3
#: So many invented characters make it all but impossible that a name exists by chance,
_INVENTED = 10
#: and so many do where a wrong check character rules it out.
_INVENTED_CHECKED = 4
_CONSONANTS = "".join(letter for letter in BETANUMERIC if letter.isalpha())
_HEXADECIMAL = re.compile(r"[0-9a-f-]{16,}\Z")
_PREFIX = re.compile(r"[A-Za-z]+(?=[0-9])")
#: A part of an address with so many digits names one thing of many: ``/item/20391/view``.
_NUMBERED = re.compile(r"(?:\D*\d){3}")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,4}\Z")


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The names that one control speaks for: those of one resolver, NAAN and shoulder."""

    place: str
    """The resolver, as a URL up to the label, or to the path where there is no label."""
    naan: str
    shoulder: str = ""


@dataclass(frozen=True, slots=True)
class Shoulders:
    """The shoulders of ARKs: registered ones, or those that several of the ARKs at hand have."""

    registry: Registry
    known: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    @classmethod
    def among(cls, arks: Iterable[Ark], registry: Registry) -> Shoulders:
        """The shoulders of *arks*.

        >>> arks = [Ark("12148", f"btv1b{number}") for number in range(3)] + [Ark("12148", "cb1z")]
        >>> shoulders = Shoulders.among(arks, Registry.builtin())
        >>> [shoulders.of(ark) for ark in arks[2:]]
        ['btv1', '']
        """
        names_by_shoulder = Counter((ark.naan, shoulder) for ark in set(arks) if (shoulder := shoulder_of(ark.name)))
        return cls(
            registry, frozenset(shoulder_ for shoulder_, names in names_by_shoulder.items() if names >= ENOUGH_NAMES)
        )

    def of(self, ark: Ark) -> str:
        """The shoulder of *ark*, or nothing when it has none that is known."""
        entry = self.registry.entry(ark)
        if entry is not None and entry.shoulder:
            return entry.shoulder
        shoulder = shoulder_of(ark.name) or ""
        return shoulder if (ark.naan, shoulder) in self.known else ""

    def neighbourhood(self, url: str, ark: Ark) -> Neighbourhood:
        """Return what a control for *ark*, asked for at *url*, speaks for."""
        return Neighbourhood(place_of(url), ark.naan, self.of(ark))


def place_of(url: str) -> str:
    """The resolver that a request URL is for, also where the URL holds no label.

    >>> place_of("https://n2t.net/r/ark:/12148/btv1b84"), place_of("https://example.org/brunner/06l?v=1")
    ('https://n2t.net/r/', 'https://example.org/')
    """
    if LABEL.search(url):
        return resolver_of(url)
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


def control_ark(ark: Ark, resolver: str) -> Ark:
    """A name under the NAAN and shoulder of *ark* that can't exist at *resolver*.

    It has the real one's shape: a digit means a digit and a letter for a letter, in the alphabet of its kind;
    its check character is wrong where one is known. The same name comes out again for the same ARK and place.

    >>> real = Ark.parse("ark:12148/btv1b8449691v")
    >>> control = control_ark(real, "https://n2t.net/")
    >>> control == control_ark(real, "https://n2t.net/"), control.shoulder, len(control.name) == len(real.name)
    (True, 'btv1', True)
    """
    prefix = _PREFIX.match(ark.name)
    kept = ark.shoulder or (prefix[0] if prefix else "")
    shape = ark.name[len(kept) :]
    least = _INVENTED_CHECKED if KNOWN.check(ark) in (CheckCharacter.PASSES, CheckCharacter.FAILS) else _INVENTED
    shape += (shape[-1:] if shape[-1:].isalnum() else "x") * max(0, least - sum(map(str.isalnum, shape)))
    seed = hashlib.sha256(f"{resolver} {ark.naan} {kept} {len(shape)}".encode()).digest()
    octets = _octets(seed)
    is_hexadecimal = bool(_HEXADECIMAL.match(ark.name))
    name = kept + "".join(_stand_in(character, next(octets), is_hexadecimal=is_hexadecimal) for character in shape)
    invented = Ark(ark.naan, name)
    if KNOWN.check(invented) is CheckCharacter.PASSES or invented.name == ark.name:
        return Ark(ark.naan, name[:-1] + ("b" if name[-1] != "b" else "c"))
    return invented


def _octets(seed: bytes) -> Iterator[int]:
    while True:
        yield from seed
        seed = hashlib.sha256(seed).digest()


def _stand_in(character: str, octet: int, *, is_hexadecimal: bool) -> str:
    """Another character of the same kind; what is neither letter nor digit stays."""
    if character.isdigit():
        return str(octet % 10)
    if not character.isalpha():
        return character
    letters = "abcdef" if is_hexadecimal else _CONSONANTS
    letter = letters[octet % len(letters)]
    return letter.upper() if character.isupper() else letter


def control_url(url: str, ark: Ark, registry: Registry) -> str | None:
    """The URL that asks where *url* does for a name that can't exist; None where no such URL can be made.

    >>> control_url("https://n2t.net/ark:/12148/btv1b8449691v", Ark.parse("ark:12148/btv1b8449691v"),
    ...             Registry.builtin()).startswith("https://n2t.net/ark:/12148/btv1")
    True
    """
    invented = control_ark(ark, place_of(url))
    label = LABEL.search(url)
    if label is not None:
        slash = "/" if url.endswith("/") else ""  # some know no name without it, and would refuse any
        return f"{url[: label.end()]}{invented.naan}/{invented.name}{slash}"
    return registry.target(invented) if url == registry.target(ark) else None


def landing_pattern(url: str) -> str:
    """The URL that a control for *url* has, with ``*`` for what names one thing.

    >>> landing_pattern("https://library.example/item/20391/view"), landing_pattern("https://library.example/")
    ('https://library.example/item/*/*', 'https://library.example/*')
    >>> landing_pattern("https://library.example/show.php?id=7")
    'https://library.example/show.php?id=*'
    """
    return _with_names(url, lambda name: "*")


def landing_control(url: str) -> str:
    """The URL of a thing that can't exist where redirects have led.

    The last segment of the path is changed, or the values of the query, and all segments that are numbers: sites that
    know a thing by its number show it whatever the title after the number is.

    >>> landing_control("https://library.example/item/7.html").startswith("https://library.example/item/")
    True
    """
    octets = _octets(hashlib.sha256(landing_pattern(url).encode()).digest())

    def invented(name: str) -> str:
        head, slash, last = unquote(name).rpartition("/")
        extension = _EXTENSION.search(last)
        stem = last[: extension.start()] if extension else last
        shape = stem + (stem[-1:] if stem[-1:].isalnum() else "x") * max(0, _INVENTED - sum(map(str.isalnum, stem)))
        is_hexadecimal = bool(_HEXADECIMAL.match(stem))
        made = "".join(_stand_in(character, next(octets), is_hexadecimal=is_hexadecimal) for character in shape)
        return quote(head + slash + made + (extension[0] if extension else ""), safe="/:@,;+~")

    return _with_names(url, invented)


def _with_names(url: str, change: Callable[[str], str]) -> str:
    """*url* with a change to each part of it that may name one thing of many."""
    label = LABEL.search(url)
    if label is not None:
        naan, slash, name = url[label.end() :].partition("?")[0].rstrip("/").partition("/")
        return f"{url[: label.end()]}{naan}/{change(name)}"
    parts = urlsplit(url)
    segments = (parts.path.rstrip("/") or "/").split("/")
    fields = [field.rpartition("=") for field in parts.query.split("&") if field]
    named = {at for at, (_, _, value) in enumerate(fields) if any(map(str.isdigit, value))} or {len(fields) - 1}
    last = len(segments) - 1
    path = [
        change(segment) if _NUMBERED.match(segment) or (at == last and not fields) else segment
        for at, segment in enumerate(segments)
    ]
    query = [f"{key}{sign}{change(value) if at in named else value}" for at, (key, sign, value) in enumerate(fields)]
    slash = "/" if parts.path.endswith("/") and len(parts.path) > 1 else ""
    return urlunsplit((parts.scheme, parts.netloc, "/".join(path) + slash, "&".join(query), ""))
