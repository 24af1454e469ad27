"""Content of ``docs/verdicts.md``: the outcomes with their meanings, and the rules that lead to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from crawler.answers.facts import UNKNOWN_STATUSES
from crawler.model.observations import FAMILY_OF, CommitmentOutcome, MetadataOutcome, ObjectOutcome
from crawler.model.resolving import statuses_in_words
from crawler.verdicts.access import OBJECT_RULES, WORTH
from crawler.verdicts.commitment import COMMITMENT_RULES
from crawler.verdicts.controls import CONTROL_RULES
from crawler.verdicts.inflection import METADATA_RULES
from crawler.verdicts.rules import RuleTable, VerdictRule
from crawler.verdicts.verdict import OUTCOMES_WITHOUT_RULES, UNASKED_RULES
from reports.tables.wording import COMMITMENT_MEANINGS, METADATA_MEANINGS, OBJECT_MEANINGS

#: The tables by the letter of their rule numbers.
TABLES: dict[str, RuleTable[Any, Any]] = {
    "O": OBJECT_RULES,
    "C": CONTROL_RULES,
    "M": METADATA_RULES,
    "N": UNASKED_RULES,
    "P": COMMITMENT_RULES,
}
SERVICES = (("object", ObjectOutcome, "O"), ("metadata", MetadataOutcome, "MN"), ("commitment", CommitmentOutcome, "P"))
#: The meanings of the outcomes by service.
MEANINGS: dict[str, Mapping[Any, str]] = {
    "object": OBJECT_MEANINGS,
    "metadata": METADATA_MEANINGS,
    "commitment": COMMITMENT_MEANINGS,
}
_INTRODUCTION = """# Rules of verdicts

This page defines the outcomes and lists every rule that leads to one, for readers of a report who want to check a
verdict. See the rules at work:

```console
$ arkaudit explain ark:12148/btv1b8449691v
```

The first rule that matches decides the outcome of a service, and the evidence of the verdict gives the reasons. "2020"
is draft-castelan-ark-uri, "2023" is draft-kunze-ark-38. A *control* is a request for a name that can't exist, at the
same resolver and NAAN. The *worth* of a success is in the [table at the end](#the-worth-of-a-success).

- A page *describes an object* if it labels at least two of who, what and when.
- A *log-in page* has two of these: the address of a log-in, such a title, a field for a password.
- An *error record* is JSON, XML or an ERC that reports an error in place of a description.
- An *inflection* is `?`, `??` or `?info` at the end of an ARK. The [glossary](glossary.md) has the other terms.

This page is generated from `crawler/verdicts/` by `make generated`.
"""
_FURTHER_REQUESTS = """## Further requests

If the object is not reached as written, arkaudit tries other requests. The rules O judge each answer, and the first
that works counts.

{other_ways}

The metadata are requested wherever a success or a refusal (such as 403) was the last answer, also if its page counts as
an error page; and if a 410 explains why the object is not available. Otherwise they are `not-asked`.

If `[render]` is on, a browser renders an answer that may be an *app shell*: a page with scripts that is the same for the
control. The same rules judge the rendered page ([usage.md](usage.md#pages-that-need-javascript)).
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
    requests = _FURTHER_REQUESTS.format(other_ways=ways)
    return "\n".join([_INTRODUCTION, *_outcomes(), requests, *_tables(), *_worth()]).rstrip() + "\n"


def _outcomes() -> Iterator[str]:
    yield "## Outcomes\n"
    for service, outcomes, _ in SERVICES:
        has_families = outcomes is ObjectOutcome
        head = "| outcome | family | meaning |" if has_families else "| outcome | meaning |"
        yield f"### {service}\n\n{head}\n|{'---|' * (head.count('|') - 1)}"
        for outcome in outcomes:
            family = f" {FAMILY_OF[outcome]} |" if has_families else ""
            yield f"| `{outcome}` |{family} {MEANINGS[service][outcome]} |"
        yield ""
        if has_families:
            yield "Without a rule:\n"
            yield from (f"- `{outcome}`: {when}" for outcome, when in OUTCOMES_WITHOUT_RULES)
            yield ""


def _tables() -> Iterator[str]:
    for letter, table in TABLES.items():
        yield f"## {table.title}\n"
        if len({rule.outcome for rule in table.rules}) == 1:
            yield f"Always `{table.rules[0].outcome}`.\n"
            continue
        number = 1
        for group in table.groups:
            if len(table.groups) > 1:
                yield f"For {group.when}:\n"
            yield from _rules(letter, number, group.rules)
            yield ""
            number += len(group.rules)


def _rules(letter: str, first: int, rules: tuple[VerdictRule[Any, Any], ...]) -> Iterator[str]:
    """Yield the rows of a group; a group of the ends of chains is one sentence."""
    numbers = f"{letter}{first} to {letter}{first + len(rules) - 1}"
    if all(rule.when == f"its end: {rule.outcome}" for rule in rules):
        yield f"{numbers}: the outcome is the end of the chain ({rules[0].basis})."
        return
    yield f"| rule | when | {'control' if letter == 'C' else 'outcome'} |\n|---|---|---|"
    for number, rule in enumerate(rules, start=first):
        basis = f" ({rule.basis})" if rule.basis else ""
        yield f"| {letter}{number} | {rule.when}{basis} | `{rule.outcome}` |"


def _worth() -> Iterator[str]:
    yield "## The worth of a success\n"
    yield (
        "The worth depends on the reply to the control, the number of signs of absence, and the page: *its own page* "
        "names this ARK or describes an object, *any page* does neither. Two pages are *the same* if they differ only in "
        "the name, in times and in a few words. A control is *refused* by 400, 404, 410 or an error of the server: by the "
        "host that answers for the object, or by a resolver on the way. *Nothing* is a control without an answer. A sign "
        "of absence is a title, a beginning of the text, or an address at the end of the chain that reports that nothing "
        "was found; a title of this kind that is all of the text counts twice. Other signs are the page of an idle host, "
        "an error record, the home page of a site at the end of the chain, and a page of text alone, without a "
        f"description, that the control gets with {statuses_in_words(UNKNOWN_STATUSES)}.\n"
    )
    columns = [f"{signs.name.lower()}, {_OWN_PAGE[is_particular]}" for signs, is_particular in _COLUMNS]
    yield f"| the control's reply | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}"
    for reply, row in groupby(WORTH.items(), key=lambda item: item[0][0]):
        outcomes = {(signs, is_particular): outcome for (_, signs, is_particular), outcome in row}
        yield f"| {reply} | {' | '.join(f'`{outcomes[column]}`' for column in _COLUMNS)} |"


_OWN_PAGE = {True: "its own page", False: "any page"}
_COLUMNS = list(dict.fromkeys((signs, is_particular) for _, signs, is_particular in WORTH))
