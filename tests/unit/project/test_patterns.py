"""Every pattern takes time that is linear in the length of its text, also over texts that are made to hurt it."""

import ast
import importlib
import pkgutil
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import regex

import arkaudit
import crawler
import extractors
import reports
from crawler.answers.quirks import quirks
from crawler.answers.withdrawals import _patterns
from tests.growth import LINEAR, SIZES, growth, seconds
from tests.unit.project.attack_texts import as_re, attacks_on

ROOT = Path(__file__).parents[3]
PACKAGES = (arkaudit, crawler, extractors, reports)
OUR_NAMES = frozenset(package.__name__ for package in PACKAGES)
#: Functions that make patterns once, of tables.
MAKERS = (quirks, _patterns)
#: Patterns that may take longer, and why that does no harm.
BOUNDED = {
    "arkaudit.features.fix.left_out._ADDRESS_BEFORE": "it looks at 300 characters",
    "crawler.answers.withdrawals._patterns [5]": "it looks at some hundred characters",
    "extractors.extraction._LAST_WORD": "it looks at 300 characters",
    "extractors.mentions.possible_labels._HIDDEN": "it looks at 300 characters",
    "extractors.mentions.open_ends._ARK_ABOVE": "it looks at 300 characters",
    "extractors.mentions.open_ends._OPEN_WORD": "it looks at 300 characters",
    "extractors.mentions.resolvers._HOST_ONLY": "it looks at 600 characters",
    "extractors.mentions.resolvers._WHOLE_HOST": "it looks at 600 characters",
    "reports.page.translations._ATTRIBUTE": "it reads our own template",
    "reports.page.translations._TAG": "it reads our own template",
    "reports.remediation.causes._ANY_NAAN": "it reads a URL, which is cut",
}
#: Functions that make patterns, and why these are linear.
COMPUTED = {
    "arkaudit/features/fix/sources.py: Source.occurrences": "it has literals, and white space that is never given back",
    "crawler/answers/quirks.py: _pattern_of": "it is in `MAKERS`",
    "crawler/answers/quirks.py: Addresses.error_page_parameter": "it is in `MAKERS`",
    "crawler/answers/quirks.py: Addresses.error_page_path": "it is in `MAKERS`",
    "crawler/answers/quirks.py: Addresses.root_path": "it is in `MAKERS`",
    "crawler/answers/quirks.py: Addresses.search_path": "it is in `MAKERS`",
    "crawler/answers/quirks.py: ChallengeWords.no_robot": "it is in `MAKERS`",
    "crawler/answers/quirks.py: Closure.end": "it is in `MAKERS`",
    "crawler/answers/quirks.py: LogIn.paths": "it is in `MAKERS`",
    "crawler/answers/quirks.py: ObjectWords.this_object": "it is in `MAKERS`",
    "crawler/answers/quirks.py: Standards.number": "it is in `MAKERS`",
    "crawler/answers/withdrawals.py: _WithdrawalPhrases._compile": "it is in `MAKERS`",
    "arkaudit/features/rendering/page_visit.py: PageVisit._visit": "it matches anything",
    "crawler/sources/gate.py: LinkPatterns.__init__": "the user writes it",
    "crawler/wire/robots.py: applicable_rules": "it is a literal",
    "extractors/mentions/mention_reader.py: MentionReader._ends_with_markup": "it looks at 60 characters",
    "extractors/model/ark.py: _body_has": "its patterns are of one character",
}
#: Lengths of texts that are tried in turn, until one takes longer than `soon_s`; then a longer one is tried.
CHARS = (400, 3000)
#: Number of repeats that take no time, unless the time doubles with each.
FEW = 22
#: A pattern that takes long for this number of texts, and is linear over the slowest, is slow but safe.
MOST_SLOW = 40
#: Methods that are assumed of a pattern whose uses are unknown.
EVERYWHERE = frozenset({"match", "fullmatch", "search", "finditer"})
FLAGS = ("ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE", "VERSION1")


def modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                try:
                    yield importlib.import_module(found.name)
                except ImportError:  # a requirement is not installed
                    continue


def compiled(name: str, value: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield the patterns in *value*, its containers and our objects, each with the last name that leads to it."""
    value = getattr(value, "__self__", value)  # of a method such as `re.compile("x").match`
    if isinstance(value, re.Pattern | regex.Pattern):
        yield name, value
        return
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = [(name, each) for each in (*value, *value.values())]
    elif isinstance(value, tuple | list | set | frozenset):
        inner = [(name, each) for each in value]
    elif type(value).__module__.partition(".")[0] in OUR_NAMES:
        names = {*getattr(value, "__slots__", ()), *getattr(value, "__dict__", ())}
        for attribute, each in vars(type(value)).items():
            if isinstance(each, cached_property):
                names.add(attribute)
        inner = [(attribute, getattr(value, attribute, None)) for attribute in sorted(names)]
    for attribute, each in inner:
        yield from compiled(attribute, each, seen)


def inline(tree: ast.AST) -> Iterator[tuple[Any, str]]:
    """Give the patterns that calls such as `re.sub` have as their first argument, with the method."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re" | "regex" as name), attr=method),
                args=[ast.Constant(value=str() | bytes() as pattern), *_],
            ):
                module = {"re": re, "regex": regex}[name]
                words = ast.unparse(node)
                flags = sum(int(getattr(module, flag)) for flag in FLAGS if f".{flag}" in words)
                yield module.compile(pattern, flags), method


def computed_in(tree: ast.AST, place: str = "") -> Iterator[str]:
    """Give the functions and classes in *tree* that make patterns, which modules do not show."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re" | "regex"), attr=method), args=[first, *_]) if (
                place
            ):
                if method == "compile" or not (method == "escape" or isinstance(first, ast.Constant | ast.Name)):
                    yield place
        is_named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from computed_in(node, f"{place}.{node.name}" if is_named else place)


@cache
def sources() -> Mapping[Path, tuple[str, ast.AST]]:
    """Return the text and the tree of each of our modules."""
    texts = {path: path.read_text() for name in OUR_NAMES for path in (ROOT / name).rglob("*.py")}
    return {path: (text, ast.parse(text)) for path, text in texts.items()}


def all_patterns() -> Mapping[str, tuple[Any, frozenset[str]]]:
    """Return every pattern by name, with the methods that are called on its last name."""
    methods = defaultdict(set)
    found: dict[str, tuple[Any, frozenset[str]]] = {}
    named: set[Any] = set()
    for path, (source, _) in sources().items():
        module_name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name, method in re.findall(
            r"\b(\w+)(?:\[\w+\])?\s*\.(match|fullmatch|search|finditer|findall|subn?|split)\b", source
        ):
            methods[name].add(method)
            methods[f"{module_name}.{name}"].add(method)
    roots = [(module.__name__, dict(vars(module))) for module in modules()]
    roots += [(maker.__module__, {maker.__name__: maker()}) for maker in MAKERS]
    seen: set[int] = set()
    for module_name, values in roots:
        for root, value in values.items():
            if isinstance(value, ModuleType) or root.startswith("__"):
                continue
            for number, (name, pattern) in enumerate(compiled(root, value, seen)):
                if pattern not in named:
                    named.add(pattern)
                    own = methods[f"{module_name}.{name}"] if name.startswith("_") else set()
                    used = frozenset(own or methods[name]) or EVERYWHERE
                    which = f" [{number}]" if number else ""
                    found[f"{module_name}.{root}{which}"] = (pattern, used)
    for path, (_, tree) in sources().items():
        for number, (pattern, method) in enumerate(inline(tree)):
            if pattern not in named and method != "compile":
                found[f"{path.relative_to(ROOT)} ({number})"] = (pattern, frozenset({method}))
    return found


@cache
def soon_s() -> float:
    """Return half the time that a quadratic pattern takes on this machine for a text of 2,000 characters."""
    quadratic, text = re.compile("<[^>]*>"), "<" * 2_000
    return seconds(lambda: quadratic.search(text), 5) / 2


def ways(pattern: Any, methods: frozenset[str]) -> Iterator[tuple[str, Callable[[str | bytes], object]]]:
    for name in ("match", "fullmatch", "search"):
        if name in methods:
            yield name, getattr(pattern, name)
    if methods - {"match", "fullmatch", "search"}:
        yield "finditer", lambda text: sum(1 for _ in pattern.finditer(text))


def lasting_fault(pattern: Any, methods: frozenset[str]) -> str | None:
    """Return a text on which *pattern* is not linear at each of three attempts; others may fail by other programs' load."""
    words = None
    for _ in range(3):
        words = fault(pattern, methods)
        if words is None:
            break
    return words


def fault(pattern: Any, methods: frozenset[str]) -> str | None:
    """Return a text on which *pattern* is not linear, or None."""
    is_bytes = isinstance(pattern.pattern, bytes)
    words = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
    flags = pattern.flags & ~(re.LOCALE | (re.UNICODE if is_bytes else 0))
    if isinstance(pattern, regex.Pattern):
        words = as_re(words)
        flags = sum(int(getattr(re, flag)) for flag in "IMSX" if flags & getattr(regex, flag))
    #: How long texts took that were found to be linear: others that take no longer aren't measured again.
    linear: dict[tuple[str, int], float] = {}
    slow_texts = 0
    for attack in attacks_on(words, flags):

        def text(chars: int, attack: Any = attack) -> Any:
            made = attack.text(chars)
            return made.encode("latin-1", "replace") if is_bytes else made

        for name, way in ways(pattern, methods):
            few = text(FEW * len(attack.first))
            if seconds(lambda: way(few)) > soon_s() and seconds(lambda: way(few), 2) > soon_s():  # noqa: B023
                return f"{name} takes for ever for {attack}"
            for chars in CHARS:
                tried = text(chars)
                most = max(soon_s(), 2.5 * linear.get((name, chars), 0.0))
                taken = seconds(lambda: way(tried))  # noqa: B023
                slow_texts += taken > soon_s()
                if taken < most:
                    continue
                texts = {chars: tried, SIZES * chars: text(SIZES * chars)}
                times = growth(lambda size: way(texts[size]), chars)  # noqa: B023
                if times > LINEAR:
                    return f"{name} takes {times:.1f} times as long for twice as much of {attack}"
                linear[name, chars] = taken
                break
        if slow_texts > MOST_SLOW:
            break
    return None


@pytest.mark.slow
def test_every_pattern_is_linear() -> None:
    patterns = all_patterns()
    assert len(patterns) > 500
    assert patterns.keys() >= BOUNDED.keys()
    faults = {
        name: words
        for name, (pattern, methods) in patterns.items()
        if name not in BOUNDED and (words := lasting_fault(pattern, methods))
    }
    assert faults == {}


def test_every_other_pattern_is_known_to_be_linear() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {place.removeprefix('.')}"
        for path, (_, tree) in sources().items()
        for place in computed_in(tree)
    }
    assert found == COMPUTED.keys()


@pytest.mark.slow
def test_check_finds_nonlinear_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    for good in (r"(?<!a)a*+b", r"(?<!\s)\s++b", r"<[^<>]{0,80}>"):
        assert fault(re.compile(good), EVERYWHERE) is None, good
    # These take 64 times as long for eight times as much: one measurement of shorter texts shows that.
    monkeypatch.setattr("tests.unit.project.test_patterns.CHARS", (400, 2_000))
    monkeypatch.setattr(
        "tests.unit.project.test_patterns.growth",
        lambda work, n: (seconds(lambda: work(SIZES * n)) / seconds(lambda: work(n), 2)) ** (1 / 3),
    )
    for bad in (r"(?:a+)+b", r"\s*b", r"a\s*\s*b", r"<[^>]*>", r"x(?:.*\n)+?y", r"<\w+\d+!"):
        assert fault(re.compile(bad), EVERYWHERE), bad


if __name__ == "__main__":  # prints the time of each
    for its_name, (its_pattern, its_methods) in all_patterns().items():
        began = time.process_time()
        bad = fault(its_pattern, its_methods)
        if bad or time.process_time() - began > 0.3:
            print(its_name, round(time.process_time() - began, 1), bad, flush=True)
