"""Words for the closed vocabularies, for librarians and for options.

Light to import: the command line uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from crawler.model.outcomes import (
    MISTYPED,
    STATE_SEVERITY,
    ArkState,
    CommitmentOutcome,
    DocumentOutcome,
    EventKind,
    Family,
    MetadataOutcome,
    ObjectOutcome,
)
from crawler.model.outcomes import SEVERITY as OUTCOME_SEVERITY
from reports.languages import N_, VOCABULARY
from reports.remediation.causes import Cause

_FAMILIES = VOCABULARY["family"]
FAMILY_NAMES = {family: _FAMILIES[family]["name"] for family in Family}
FAMILY_MEANINGS = {family: _FAMILIES[family]["meaning"] for family in Family}
OBJECT_MEANINGS: Mapping[str, str] = VOCABULARY["object"]
METADATA_MEANINGS, COMMITMENT_MEANINGS = VOCABULARY["metadata"], VOCABULARY["commitment"]
STATE_MEANINGS: Mapping[str, str] = VOCABULARY["state"]

#: Meanings of the NAAN registry's codes for practices.
PRACTICES = {"NR": "names are never re-assigned", "OP": "names are opaque", "CC": "names carry a check character"}


def naan_policy_words(policy: Mapping[str, Any]) -> str:
    """Return the NAAN registry's entry on an organization's policy in words; empty without an entry.

    >>> naan_policy_words({"of": "12148", "organization": "BnF", "practices": ["NR", "CC"], "url": "https://a.example/"})
    'BnF, for 12148: names are never re-assigned, names carry a check character, as stated at https://a.example/'
    """
    if not policy:
        return ""
    phrases = [*(PRACTICES.get(practice, practice) for practice in policy.get("practices", ()))]
    if policy.get("url"):
        phrases.append(f"as stated at {policy['url']}" if phrases else f"a policy at {policy['url']}")
    subject = f"{policy['organization']}, for {policy['of']}" if policy.get("organization") else policy["of"]
    return f"{subject}: {', '.join(phrases)}"


#: The three terms for ARKs that do not work, by token, from one check to several.
FAILURE_TERMS = {
    str(Family.FAILS): FAMILY_NAMES[Family.FAILS],
    str(ArkState.FAILING): N_("failing"),
    str(ArkState.CONFIRMED_BROKEN): N_("confirmed broken"),
}
#: Their meanings.
FAILURE_MEANINGS = {
    str(Family.FAILS): FAMILY_MEANINGS[Family.FAILS],
    **{str(state): STATE_MEANINGS[state] for state in (ArkState.FAILING, ArkState.CONFIRMED_BROKEN)},
}
#: Every token that the page shows by a name.
TOKEN_NAMES = {
    **VOCABULARY["grade"],
    **{str(family): name for family, name in FAMILY_NAMES.items()},
    **FAILURE_TERMS,
    str(EventKind.CONFIRMED): FAILURE_TERMS[str(ArkState.CONFIRMED_BROKEN)],
}

#: The kinds of changes, the most serious first.
CHANGE_NAMES = VOCABULARY["change"]

# The words of the options of a report.

#: Every format with its description.
FORMATS = {
    "html": "one self-contained page",
    "csv": "one file per table, in UTF-8",
    "csv-bom": "the same files with a byte order mark, by which Excel recognizes UTF-8",
    "md": "the report in brief, for an issue or the summary of a CI job",
    "json": "one document with every table, which docs/report.schema.json describes",
    "xlsx": "one workbook with a sheet per table, for spreadsheets",
    "parquet": "one file per table, for other tools",
    "junit": "each cited ARK as a test case of its document, for CI",
    "sarif": "each place to fix as a result, for code hosts and editors",
}
#: The modules that formats need; they are extras named like the formats.
FORMAT_MODULES = {"xlsx": "xlsxwriter"}
#: The formats of plug-ins: the path of the `reports.exports.ReportFormat`, ``package.module:name``, by name.
PLUGIN_FORMATS: dict[str, str] = {}


def add_report_formats(formats: Mapping[str, tuple[str, str]]) -> None:
    """Add formats of plug-ins: (meaning, path of the `ReportFormat`) by name. Raises ValueError if a name is taken."""
    for name, (meaning, object_path) in formats.items():
        if PLUGIN_FORMATS.get(name) == object_path:
            continue
        if name in FORMATS:
            raise ValueError(f"the report format {name!r} has the name of another")
        FORMATS[name], PLUGIN_FORMATS[name] = meaning, object_path


#: The formats written by default.
DEFAULT_FORMATS = ("html", "csv")

#: The values of ``--only``; a word in several vocabularies selects all of them.
ONLY = tuple(
    dict.fromkeys(
        str(word)
        for words in (Family, ObjectOutcome, MetadataOutcome, CommitmentOutcome, ArkState, EventKind, Cause)
        for word in words
    )
)

#: The events, the most serious first.
EVENT_SEVERITY = tuple(EventKind(kind) for kind in CHANGE_NAMES if kind != ArkState.FAILING)
#: The tokens by kind, the most serious of each first; tokens of different kinds are not compared.
SEVERITY = {
    "state": tuple(map(str, STATE_SEVERITY)),
    "event": tuple(map(str, EVENT_SEVERITY)),
    "outcome": tuple(map(str, OUTCOME_SEVERITY)),
    "document": (str(DocumentOutcome.UNREADABLE),),
}
#: All tokens; one that is both a state and an outcome means both.
TOKENS = tuple(dict.fromkeys(token for tokens in SEVERITY.values() for token in tokens))


def reached_tokens(fail_on: Iterable[str], occurring: Iterable[str]) -> list[str]:
    """Return the distinct tokens of *occurring*, in order, that reach a limit in *fail_on*.

    A token reaches a limit if it is of the same kind, such as an outcome or a state, and at least as serious.

    >>> reached_tokens(["dns"], ["resolved", "broken"]), reached_tokens(["confirmed-broken"], ["broken"])
    (['broken'], [])
    >>> reached_tokens(["flapping", "gone"], ["failing", "moved", "confirmed-broken", "confirmed"])
    ['confirmed-broken', 'confirmed']
    """
    orders = (*SEVERITY.values(), (MISTYPED,))
    limits = [(order, order.index(token)) for token in fail_on for order in orders if token in order]
    return [
        token
        for token in dict.fromkeys(occurring)
        if any(token in order and order.index(token) <= limit for order, limit in limits)
    ]
