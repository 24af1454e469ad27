"""Pure: the THUMP-Status header, by which a server says how the question behind an inflection went (2023, 5.2)."""

from __future__ import annotations

import re

from crawler.observations import Observation

_STATUS = re.compile(r"\s*(?:\S+\s+)?(?P<code>\d{3})\b(?!\.)")


def thump_code(answer: Observation) -> int | None:
    """The code of a THUMP-Status header (``0.6 200 OK``, the version perhaps missing); 400 and above outweigh HTTP."""
    headers = answer.hops[-1].headers if answer.hops else {}
    told = next((value for name, value in headers.items() if name.lower() == "thump-status"), "")
    found = _STATUS.match(told)
    return int(found["code"]) if found else None
