"""Scripts in a page: JSON of any kind, and the string literals of programs; only what may hold an ARK."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from extractors.budget import as_time_allows
from extractors.document_model import Block, Role
from extractors.readers.markup.targets import label_places, may_hold_ark

_JSON_TYPES = frozenset({"importmap", "speculationrules"})
#: JSON can spell what no text can hold (``"\\ud800"``), and no file or database takes it.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\n": ""}
_QUOTES = "\"'`"
_END_OF_LITERAL = re.compile(rf"[{_QUOTES}\n\r\u2028\u2029]")
#: A literal is read so far to either side of a label: scripts may be one line of megabytes.
_REACH = 2000


def script_blocks(source: str, media_type: str) -> Iterator[Block]:
    r"""The strings that may hold an ARK, decoded: the values of JSON, the literals of anything else.

    A program builds strings at its pleasure; only what stands in one literal is found.

    >>> [block.text for block in script_blocks(r'{"@id": "ark\u003a\/12148\/x5", "is": ["y", 1]}', "application/json")]
    ['ark:/12148/x5']
    >>> [block.text for block in script_blocks(r'let a = "\x61rk:\/12148/x5", b = "c";', "")]
    ['ark:/12148/x5']
    """
    if not label_places(source):
        return
    kind = media_type.partition(";")[0].strip().lower()
    values: Iterator[str] | None = None
    if kind.endswith("json") or kind in _JSON_TYPES:
        values = _json_strings(source)
    place = f"script[type={kind}]" if kind else "script"
    for value in values or _literals(source):
        if may_hold_ark(value):
            yield Block(_whole_characters(value), Role.STRUCTURED_DATA, place=place)


def _json_strings(source: str) -> Iterator[str] | None:
    """Every string that is a value, in order; None where *source* is no JSON."""
    try:
        document = json.loads(source)
    except (ValueError, RecursionError):
        return None
    return _strings(document)


def _strings(document: object) -> Iterator[str]:
    pending = [document]
    while pending:  # a stack, not recursion: strangers choose the depth
        value = pending.pop()
        if isinstance(value, dict):
            pending.extend(reversed(value.values()))
        elif isinstance(value, list):
            pending.extend(reversed(value))
        elif isinstance(value, str):
            yield value


def _literals(source: str) -> Iterator[str]:
    """Return what stands between quotes around each label, decoded as JavaScript does; not, if a line ends before.

    Which of two quotes opens is not asked: another one within a literal ends an ARK as well.
    """
    done = 0
    for at in as_time_allows(label_places(source), "label"):
        if at < done:
            continue
        first = max(done, at - _REACH)
        before = _END_OF_LITERAL.split(source[first:at])[-1]
        start = at - len(before)
        ended = _END_OF_LITERAL.search(source, at, at + _REACH)
        end = ended.start() if ended else min(len(source), at + _REACH)
        is_long = start == first > done
        begins = is_long or (start > 0 and source[start - 1] in _QUOTES)
        if begins and (ended is None or ended[0] in _QUOTES):
            yield _ESCAPE.sub(_unescaped, source[start:end])
        done = end


def _unescaped(escape: re.Match[str]) -> str:
    braced, unit, octet, char = escape.groups()
    if char is not None:
        return _CONTROLS.get(char, char)
    code = int(braced or unit or octet, 16)
    return chr(code) if code <= 0x10FFFF else _UNKNOWN


def _whole_characters(text: str) -> str:
    """*text* with pairs of surrogates joined, and U+FFFD for those without their other half."""
    if not _LONE_SURROGATE.search(text):
        return text
    joined = _SURROGATE_PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _LONE_SURROGATE.sub(_UNKNOWN, joined)
