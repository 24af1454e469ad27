"""Computed links: the target of a field of a text document, or of the formula of a cell."""

from __future__ import annotations

import re

_HYPERLINK_FIELD = re.compile(r"\s*HYPERLINK\b(?P<arguments>.*)", re.IGNORECASE | re.DOTALL)
_ARGUMENT = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<bare>[^\s"]+)', re.DOTALL)
_SWITCHES_WITH_ARGUMENT = frozenset({"\\l", "\\o", "\\t"})
_HYPERLINK_FORMULA = re.compile(r'HYPERLINK\(\s*"(?P<target>(?:[^"]|"")*)"', re.IGNORECASE)


def hyperlink_target(code: str) -> str:
    r"""Return where the code of a HYPERLINK field leads; empty for another field, or a place in the same document.

    >>> hyperlink_target(r' HYPERLINK "https://n2t.net/ark:12148/x5" \l "p3" \o "a tip" ')
    'https://n2t.net/ark:12148/x5#p3'
    """
    found = _HYPERLINK_FIELD.match(code)
    target = fragment = switch = ""
    for argument in _ARGUMENT.finditer(found["arguments"]) if found else ():
        bare, quoted = argument["bare"], argument["quoted"]
        if bare and bare.startswith("\\") and len(bare) == 2:
            switch = bare if bare in _SWITCHES_WITH_ARGUMENT else ""
            continue
        value = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        if switch == "\\l":
            fragment = fragment or value
        elif not switch:
            target = target or value
        switch = ""
    return f"{target}#{fragment}" if target and fragment else target


def formula_target(formula: str) -> str:
    """Return where a formula leads that shows a link; empty if it isn't one, or has its target from another cell.

    >>> formula_target('of:=HYPERLINK("https://n2t.net/ark:12148/x5";"scan")')
    'https://n2t.net/ark:12148/x5'
    """
    found = _HYPERLINK_FORMULA.search(formula)
    return found["target"].replace('""', '"') if found else ""
