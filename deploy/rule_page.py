"""Writes ``docs/verdicts.md``: for each outcome the rules that lead to it, and for each rule the facts it rests on.

python -m deploy.rule_page docs/verdicts.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from inspect import get_annotations, getdoc, getmembers
from pathlib import Path
from types import FunctionType
from typing import Any

from crawler.answers.facts import AnswerFacts
from crawler.answers.metadata_facts import MetadataFacts
from crawler.answers.notices import PageWords
from crawler.answers.object_facts import ObjectFacts
from crawler.model.observations import CommitmentOutcome, MetadataOutcome, ObjectOutcome
from crawler.verdicts.access import OBJECT_RULES, WORTH
from crawler.verdicts.commitment import COMMITMENT_RULES, CommitmentFacts, StatementFacts
from crawler.verdicts.inflection import METADATA_RULES
from crawler.verdicts.rules import RuleTable
from crawler.verdicts.verdict import CLOSED_RULES, UNASKED_RULES, WITHOUT_RULES, ClosedFacts

#: The tables, each under the letter that its rules are numbered with.
TABLES: dict[str, RuleTable[Any, Any]] = {
    "O": OBJECT_RULES,
    "C": CLOSED_RULES,
    "M": METADATA_RULES,
    "N": UNASKED_RULES,
    "P": COMMITMENT_RULES,
}
SERVICES = (
    ("object", ObjectOutcome, "OC"),
    ("metadata", MetadataOutcome, "MN"),
    ("commitment", CommitmentOutcome, "P"),
)
FACTS = (AnswerFacts, PageWords, ObjectFacts, ClosedFacts, MetadataFacts, CommitmentFacts, StatementFacts)
_INTRODUCTION = """# How a verdict comes about

This page is made from the rules in `crawler/verdicts/` by `python -m deploy.rule_page docs/verdicts.md`.

Each answer is read once into *facts*. Questions and verdicts rest on these facts. A verdict on a service is the outcome
of the first rule that holds; its evidence names the rule's facts in words. "2020" is draft-castelan-ark-uri, "2023" is
draft-kunze-ark-38. A *control* is a name that can't exist, asked for at the same resolver and NAAN.

Where the object is not reached as written, other ways to ask for it are tried. Each answer is judged by the rules O;
the first that works counts.

{other_ways}

Where `[render]` is on, an answer that may be an *app shell* (a page with scripts that is no other for the control, and
is `undetermined` or `soft-404` by these rules) is shown by a browser, and so is the control's. What was shown is then
judged by the same rules, in its place; where either page is not whole, the outcome stays, and the evidence says why.
"""
#: What is answered as written, and how the object is asked for then.
_OTHER_WAYS = (
    (
        "the host that has the last word says 404 or 410",
        (
            "without the slash at its end, without its hyphens, with the other form of the label, with both changed: "
            "whatever of these was handed to that host as it is written"
        ),
    ),
    (
        "the resolver itself says 404 or 410",
        "under the path that its host names; then at the registry's target and at the global resolver",
    ),
    ("the resolver itself fails, or is dead", "at the registry's target and at the global resolver"),
    (
        "the ARK was passed on as it is written, to a host that says 404 or 410, fails or is dead",
        "at the same two: who passes everything on need not know the name",
    ),
    ("a 410 whose page explains that this object was withdrawn", "nowhere else: it knew the name"),
    (
        "a success that looks like a page for what is not there",
        "without its hyphens; where the control gets the same, at the registry's target and at the global resolver",
    ),
    ("the resolver leads to a place of its own choice, and that is missing", "nowhere else: it knows the name"),
)


def page() -> str:
    """The page as it should stand in the documentation."""
    rows = [f"| {answered} | {asked} |" for answered, asked in _OTHER_WAYS]
    ways = "\n".join(["| as written | is asked for besides |", "|---|---|", *rows])
    introduction = _INTRODUCTION.format(other_ways=ways)
    return "\n".join([introduction, *_outcomes(), *_tables(), *_worth(), *_facts()]).rstrip() + "\n"


def _outcomes() -> Iterator[str]:
    yield "## Outcomes\n"
    for service, outcomes, letters in SERVICES:
        yield f"### {service}\n\n| outcome | rules |\n|---|---|"
        for outcome in outcomes:
            rules = [
                f"{letter}{number}"
                for letter in letters
                for number, rule in enumerate(TABLES[letter].rules, start=1)
                if rule.outcome is outcome
            ]
            words = [when for each, when in WITHOUT_RULES if each is outcome]
            yield f"| `{outcome}` | {'; '.join(([', '.join(rules)] if rules else []) + words)} |"
        yield ""


def _tables() -> Iterator[str]:
    for letter, table in TABLES.items():
        yield f"## {table.title}\n"
        number = 0
        for group in table.groups:
            if len(table.groups) > 1:
                yield f"Of {group.when}:\n"
            yield "| rule | when | facts | outcome | basis |\n|---|---|---|---|---|"
            for rule in group.rules:
                number += 1
                facts = ", ".join(f"`{name}`" for name in sorted(_facts_in(rule.holds)))
                yield f"| {letter}{number} | {rule.when} | {facts} | `{rule.outcome}` | {rule.basis} |"
            yield ""


def _worth() -> Iterator[str]:
    yield "## The worth of a success\n"
    yield "By the reply to the control, by the signs of absence, and by whether the page says that it is this ARK's.\n"
    yield "| the control's reply | signs | its own page | outcome |\n|---|---|---|---|"
    for (reply, signs, is_particular), outcome in WORTH.items():
        yield f"| {reply} | {signs.name.lower()} | {'yes' if is_particular else 'no'} | `{outcome}` |"
    yield ""


def _facts() -> Iterator[str]:
    yield "## Facts\n"
    for kind in FACTS:
        yield f"### {kind.__name__}\n\n{(getdoc(kind) or '').splitlines()[0]}\n"
        yield "| fact | type | meaning |\n|---|---|---|"
        for name, read in _readers(kind):
            kind_of_fact = str(get_annotations(read).get("return", "")).replace("|", "or")
            meaning = " ".join((getdoc(read) or "").split("\n\n")[0].split())
            yield f"| `{name}` | {kind_of_fact} | {meaning} |"
        yield ""


def _readers(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The facts of a class by name, each with the function that reads it."""
    for name, member in getmembers(kind):
        read = (
            member.fget
            if isinstance(member, property)
            else member.func
            if isinstance(member, cached_property)
            else None
        )
        if read is not None and not name.startswith("_"):
            yield name, read


def _facts_in(condition: Callable[..., Any]) -> set[str]:
    """The names of the facts that a condition looks at, also within the functions that it calls."""
    assert isinstance(condition, FunctionType)
    within = [cell.cell_contents for cell in condition.__closure__ or ()]
    within += [condition.__globals__.get(name) for name in condition.__code__.co_names]
    called = (each for each in within if isinstance(each, FunctionType) and each.__module__ == condition.__module__)
    names = {name for name in condition.__code__.co_names if name in _NAMES}
    return names.union(*map(_facts_in, called))


_NAMES = frozenset(name for kind in FACTS for name, _ in _readers(kind)) | {"status", "record", "end", "text"}


def main(arguments: Sequence[str]) -> int:
    """Write the page to the path that is given."""
    Path(arguments[0]).write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
