"""The user's choice among the ARKs that a store knows: by NAAN, by the beginning of the ARK, by host."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crawler.history.rechecking import KnownArk

_BEGINNING = re.compile(r"(?:ark:/?)?(?P<naan>[0-9a-z]{5,})(?:/(?P<name>.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class KnownSelection:
    """What an ARK must be to be chosen: one of each kind that is named; nothing named leaves nothing out."""

    naans: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Beginnings of normal forms (`beginning_of`)."""
    hosts: tuple[str, ...] = ()
    """Hosts that are asked first."""

    def __bool__(self) -> bool:
        return any((self.naans, self.prefixes, self.hosts))

    @property
    def words(self) -> str:
        """The choice in words.

        >>> KnownSelection(naans=("12148",), hosts=("n2t.net",)).words
        'NAAN 12148; host n2t.net'
        """
        parts = (("NAAN", self.naans), ("prefix", self.prefixes), ("host", self.hosts))
        return "; ".join(f"{name} {', '.join(given)}" for name, given in parts if given)

    def names(self, ark: str, naan: str) -> bool:
        """Return whether an ARK, in normal form, is of the NAANs and prefixes."""
        return (not self.naans or naan in self.naans) and (not self.prefixes or ark.startswith(self.prefixes))

    def holds(self, known: KnownArk) -> bool:
        """Return whether an ARK of a store is chosen."""
        return self.names(known.ark, known.naan) and (not self.hosts or known.host in self.hosts)


def beginning_of(text: str) -> str:
    """Return the beginning of normal forms that a user may have written as of ARKs (draft-kunze-ark-38, 3.2).

    Raises ValueError for what is no beginning of an ARK.

    >>> beginning_of("ark:/12148/bpt6-k"), beginning_of("12148/"), beginning_of("12148")
    ('ark:12148/bpt6k', 'ark:12148/', 'ark:12148/')
    """
    found = _BEGINNING.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"no ARK begins with {text!r}: write ark:NAAN/NAME, as far as it is the same")
    return f"ark:{found['naan'].lower()}/{(found['name'] or '').replace('-', '')}"
