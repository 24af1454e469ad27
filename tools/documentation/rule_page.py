"""Content of ``docs/verdicts.md``: the rules that lead to each outcome, and the facts of each rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from inspect import get_annotations, getdoc, getmembers
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
from crawler.verdicts.verdict import UNASKED_RULES, WITHOUT_RULES

#: The tables by the letter of their rule numbers.
TABLES: dict[str, RuleTable[Any, Any]] = {
    "O": OBJECT_RULES,
    "M": METADATA_RULES,
    "N": UNASKED_RULES,
    "P": COMMITMENT_RULES,
}
SERVICES = (("object", ObjectOutcome, "O"), ("metadata", MetadataOutcome, "MN"), ("commitment", CommitmentOutcome, "P"))
FACTS = (AnswerFacts, PageWords, ObjectFacts, MetadataFacts, CommitmentFacts, StatementFacts)
_INTRODUCTION = """# Rules of verdicts

This page lists every rule that leads to a verdict, for readers of a report who want to check one. See the rules at
work:

```console
$ arkaudit explain ark:12148/btv1b8449691v
```

Each answer is read once into *facts*. Requests and verdicts depend on these facts. The first rule that matches decides
the outcome of a service, and the evidence of a verdict names the facts of that rule. "2020" is draft-castelan-ark-uri,
"2023" is draft-kunze-ark-38. A *control* is a request for a name that can't exist, at the same resolver and NAAN.

If the object is not reached as written, arkaudit tries other requests. The rules O judge each answer, and the first
that works counts.

{other_ways}

If `[render]` is on, a browser renders an answer that may be an *app shell*, and the answer to the control. An app shell
is a page with scripts that is the same for the control and is `undetermined` or `soft-404` by these rules. The rendered
page is then judged by the same rules in its place. If either page is not whole, the outcome stays, and the evidence
gives the reason.

This page is generated from `crawler/verdicts/` by `make generated`.
"""
#: The answer to the ARK as written, and the requests that follow.
_OTHER_WAYS = (
    (
        "the host at the end of the chain answers 404 or 410",
        (
            "without its final slash, without its hyphens, with the other form of the label, with both changes: "
            "each change only if that part was passed to that host as written"
        ),
    ),
    (
        "the resolver itself answers 404 or 410",
        "under the path that its host names; then at the registry's target and the global resolver",
    ),
    ("the resolver itself fails or is dead", "at the registry's target and the global resolver"),
    (
        "the ARK was passed on as written to a host that answers 404 or 410, fails or is dead",
        "at the same two, because a resolver that passes everything on need not know the name",
    ),
    ("a 410 whose page explains that this object was withdrawn", "nowhere else, because it knew the name"),
    (
        "a success that looks like an error page",
        "without its hyphens; if the control gets the same, at the registry's target and the global resolver",
    ),
    (
        "the resolver redirects to a target of its own choice, which is missing",
        "nowhere else, because it knows the name",
    ),
)


def page() -> str:
    """Return the page as Markdown."""
    rows = [f"| {answered} | {asked} |" for answered, asked in _OTHER_WAYS]
    ways = "\n".join(["| answer to the ARK as written | further requests |", "|---|---|", *rows])
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
                yield f"For {group.when}:\n"
            yield "| rule | when | facts | outcome | basis |\n|---|---|---|---|---|"
            for rule in group.rules:
                number += 1
                facts = ", ".join(f"`{name}`" for name in sorted(_facts_in(rule.holds)))
                yield f"| {letter}{number} | {rule.when} | {facts} | `{rule.outcome}` | {rule.basis} |"
            yield ""


def _worth() -> Iterator[str]:
    yield "## The worth of a success\n"
    yield "The outcome depends on the reply to the control, the signs of absence, and whether the page names this ARK.\n"
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
    """Yield the name of each fact of a class and the function that reads it."""
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
    """Return the names of the facts that a condition and the functions it calls read."""
    assert isinstance(condition, FunctionType)
    within = [cell.cell_contents for cell in condition.__closure__ or ()]
    within += [condition.__globals__.get(name) for name in condition.__code__.co_names]
    called = (each for each in within if isinstance(each, FunctionType) and each.__module__ == condition.__module__)
    names = {name for name in condition.__code__.co_names if name in _NAMES}
    return names.union(*map(_facts_in, called))


_NAMES = frozenset(name for kind in FACTS for name, _ in _readers(kind)) | {"status", "record", "end", "text"}
