"""Texts that attack a pattern, derived from its parse tree: each repeat is pumped after the prefix that it needs.

A pattern of the module `regex` is read as a similar one of `re`, which is enough to find texts.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

#: Characters that patterns distinguish, in addition to those in the pattern.
_ALPHABET = "a0 \n\t-_./:;,=\"'<>()[]{}&%#?@\\|*+~^$!kAé–\u0301\x00"
#: Repeats of fewer times than this cost a constant.
_MANY = 1000
_MOST_REPEATS = 40
_MOST_SETS = 80
#: Endings after a pumped repeat that make the match fail.
_ENDS = ("", "\x00", "\n\x00 ", "!")
_MOST_TEXTS = 120


@dataclass(frozen=True, slots=True)
class Attack:
    """A text of any length: its parts are repeated between fixed words."""

    before: str
    first: str
    between: str
    second: str
    end: str

    def text(self, chars: int) -> str:
        """Return the attack as a text of about *chars* characters."""
        if not self.second:
            return self.before + self.first * max(chars // len(self.first), 1) + self.end
        half = chars // 2
        first = self.first * max(half // len(self.first), 1)
        second = self.second * max(half // len(self.second), 1)
        return self.before + first + self.between + second + self.end


def attacks_on(pattern: str, flags: int) -> list[Attack]:
    """Return texts that might make *pattern* take long.

    >>> Attack("<", "a", "", "", "!") in attacks_on("<[a-z]*>", 0)
    True
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = _parser.parse(pattern, flags & ~re.DEBUG)
    sampler = _Sampler(tree, flags)
    return _first_of(sampler.attacks(), _MOST_TEXTS)


def _first_of(items: Iterable[Any], most: int) -> list[Any]:
    """Return the first different items, at most so many; the others are not made."""
    found: dict[Any, None] = {}
    for item in items:
        found[item] = None
        if len(found) == most:
            break
    return list(found)


def as_re(pattern: str) -> str:
    r"""Return a pattern of `regex` as one of `re` that matches about the same.

    >>> as_re(r"(?r)[\p{L}--\p{Lm}]+")
    '[a-zA-Zé]+'
    """
    pattern = re.sub(r"\(\?[a-zA-Z0-9]*[rV][a-zA-Z0-9]*\)", "", pattern)
    pattern = re.sub(r"\(\?P<\w+>", "(", pattern)  # here two groups may have one name
    pattern = re.sub(r"--(?:\\p\{\w+\}|\[[^\]]*\]|[^\]\[]+)(?=\])", "", pattern)
    pattern = re.sub(r"\[\[([^\]]*)\]\]", r"[\1]", pattern)
    out, is_set, at = [], False, 0
    while at < len(pattern):
        named = re.compile(r"\\[pP]\{(\w+)\}").match(pattern, at)
        if named:
            chars = _PROPERTIES.get(named[1], "a-zA-Zé")
            out.append(chars if is_set else f"[{chars}]")
            at = named.end()
            continue
        char = pattern[at]
        if char == "\\":
            out.append(pattern[at : at + 2])
            at += 2
            continue
        if char == "[" and not is_set:
            is_set = True
        elif char == "]" and is_set and pattern[at - 1] != "[":
            is_set = False
        out.append(char)
        at += 1
    return "".join(out)


_PROPERTIES = {"N": "0-9", "Nd": "0-9", "M": "\u0301", "Lm": "ʰ", "Pd": "\\-–", "Latin": "a-zA-Z"}


class _Sampler:
    """Makes words that parts of a parse tree match."""

    def __init__(self, tree: Any, flags: int) -> None:
        self._tree = tree
        self._flags = flags | tree.state.flags
        self._groups: dict[int, Any] = {}
        self._held: dict[tuple[Any, Any, str], bool] = {}
        sets = list({str(node): node for node in self._sets(tree)}.values())[:_MOST_SETS]
        chars = dict.fromkeys([*_ALPHABET, *(chr(item) for _, item in sets if isinstance(item, int))])
        by_kind: dict[tuple[bool, ...], str] = {}
        for char in chars:
            by_kind.setdefault(tuple(self._holds(node, char) for node in sets), char)
        #: One character of each kind that the pattern distinguishes.
        self._chars = tuple(by_kind.values())

    def attacks(self) -> Iterator[Attack]:
        repeats = list(islice(self._repeats(self._tree, ""), _MOST_REPEATS))
        for before, bodies, _ in repeats:
            for word in bodies:
                for end in _ENDS:
                    yield Attack(before, word, "", "", end)
                    if before:
                        yield Attack("", before + word, "", "", end)
                        yield Attack(before, word, "", before + word, end)
        whole = self._word(self._tree, "", 1)
        if whole:
            yield Attack("", whole, "", "", "")
            yield Attack("", whole[:-1] or whole, "", "", "")
        for (before, firsts, _), (upto, seconds, _) in zip_pairs(repeats):
            between = upto[len(before) :] if upto.startswith(before) else ""
            for first, second in islice(product(firsts, seconds), 12):
                if first != second:
                    yield Attack(before, first, between, second, "\x00")
                    yield Attack(before, first + second, "", "", "\x00")

    def _repeats(self, nodes: Any, before: str) -> Iterator[tuple[str, list[str], Any]]:
        """Give each repeat below *nodes*: the word before it, and words that its body matches."""
        for kind, value in nodes:
            if kind in _REPEATS:
                _, high, body = value
                if high >= _MANY:
                    words = (word for char in self._chars for word in self._words(body, char) if word)
                    yield before, _first_of(words, 12), value
                yield from self._repeats(body, before)
            else:
                for inner in _inner(kind, value):
                    yield from self._repeats(inner, before)
            if kind not in (op.ASSERT, op.ASSERT_NOT):
                before += self._word([(kind, value)], "", 0)
            elif kind is op.ASSERT and value[0] < 0:
                before += self._word(value[1], "", 0)

    def _words(self, nodes: Any, char: str) -> Iterator[str]:
        """Yield words that *nodes* match, one for each branch, with *char* at every place that allows it."""
        for least in (0, 1):
            for branch in range(6):
                yield self._word(nodes, char, least, branch)

    def _word(self, nodes: Any, char: str, least: int, branch: int = 0) -> str:
        return "".join(self._piece(kind, value, char, least, branch) for kind, value in nodes)

    def _piece(self, kind: Any, value: Any, char: str, least: int, branch: int) -> str:
        if kind in _REPEATS:
            low, high, body = value
            return self._word(body, char, least, branch) * min(max(low, least), high, 40)
        if kind is op.SUBPATTERN:
            word = self._word(value[3], char, least, branch)
            if value[0] is not None:
                self._groups[value[0]] = word
            return word
        if kind is op.ATOMIC_GROUP:
            return self._word(value, char, least, branch)
        if kind is op.BRANCH:
            return self._word(value[1][min(branch, len(value[1]) - 1)], char, least, branch)
        if kind is op.GROUPREF:
            return self._groups.get(value, "")
        if kind is op.GROUPREF_EXISTS:
            return self._word(value[1], char, least, branch)
        if kind in _ONE_CHARACTER:
            wanted = (char, *self._chars) if char else self._chars
            return next((each for each in wanted if self._holds((kind, value), each)), "")
        return ""

    def _sets(self, nodes: Any) -> Iterator[tuple[Any, Any]]:
        for kind, value in nodes:
            if kind in _ONE_CHARACTER:
                yield (kind, value)
                if kind is op.IN:
                    for inner, chars in value:
                        if inner is op.LITERAL:
                            yield (inner, chars)
                        elif inner is op.RANGE:
                            yield (op.LITERAL, chars[0])
            elif kind in _REPEATS:
                yield from self._sets(value[2])
            else:
                for inner in _inner(kind, value):
                    yield from self._sets(inner)

    def _holds(self, node: tuple[Any, Any], char: str) -> bool:
        kind, value = node
        key = (kind, id(value) if isinstance(value, list) else value, char)
        if key not in self._held:
            self._held[key] = self._is_in(node, char)
        return self._held[key]

    def _is_in(self, node: tuple[Any, Any], char: str) -> bool:
        kind, value = node
        if kind is op.LITERAL:
            same = chr(value) == char
            return same or bool(self._flags & re.IGNORECASE and chr(value).lower() == char.lower())
        if kind is op.NOT_LITERAL:
            return chr(value) != char
        if kind is op.ANY:
            return char != "\n" or bool(self._flags & re.DOTALL)
        inside, is_negated = False, False
        for inner, chars in value:
            if inner is op.NEGATE:
                is_negated = True
            elif inner is op.RANGE:
                cases = {char, char.lower(), char.upper()} if self._flags & re.IGNORECASE else {char}
                inside |= any(len(each) == 1 and chars[0] <= ord(each) <= chars[1] for each in cases)
            elif inner is op.CATEGORY:
                inside |= _CATEGORIES[chars].match(char) is not None
            else:
                inside |= self._is_in((inner, chars), char)
        return inside is not is_negated


def zip_pairs(repeats: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Return each repeat with the three that follow it."""
    return [(one, other) for at, one in enumerate(repeats) for other in repeats[at + 1 : at + 4]]


def _inner(kind: Any, value: Any) -> list[Any]:
    """Return the sequences inside of a node that is no repeat."""
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.ATOMIC_GROUP:
        return [value]
    if kind is op.BRANCH:
        return list(value[1])
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return [value[1]]
    if kind is op.GROUPREF_EXISTS:
        return [each for each in value[1:] if each is not None]
    return []


_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_ONE_CHARACTER = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_CATEGORIES = {
    op.CATEGORY_DIGIT: re.compile(r"\d"),
    op.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    op.CATEGORY_SPACE: re.compile(r"\s"),
    op.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    op.CATEGORY_WORD: re.compile(r"\w"),
    op.CATEGORY_NOT_WORD: re.compile(r"\W"),
}
