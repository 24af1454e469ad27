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
from reports.languages import N_, Forms
from reports.remediation.causes import Cause, Fault, Grade

FAMILY_NAMES = {
    Family.WORKS: N_("works"),
    Family.FAILS: N_("fails"),
    Family.UNREACHABLE: N_("no answer today"),
    Family.NOT_JUDGED: N_("not judged"),
}

#: The same with a number of ARKs.
FAMILY_COUNTS = {
    Family.WORKS: Forms("{number} works", "{number} work"),
    Family.FAILS: Forms("{number} fails", "{number} fail"),
    Family.UNREACHABLE: Forms("{number} gave no answer today", "{number} gave no answer today"),
    Family.NOT_JUDGED: Forms("{number} was not judged", "{number} were not judged"),
}

FAMILY_MEANINGS = {
    Family.WORKS: N_("The ARK leads to its object, or to the provider's explanation why it is not available."),
    Family.FAILS: N_("The provider answered, but not with the object: this should be checked."),
    Family.UNREACHABLE: N_(
        "No answer today; not link rot. The server, not the identifier, could not be reached (“unreachable” "
        "in the tables). Check again before you conclude anything."
    ),
    Family.NOT_JUDGED: N_("Not judged: an example or test, access refused to programs, or not asked."),
}

OBJECT_MEANINGS = {
    ObjectOutcome.RESOLVED: N_("The ARK leads to its object."),
    ObjectOutcome.RELATED: N_(
        "The ARK leads, through a 303 redirect, to a page about the object, not to the object itself."
    ),
    ObjectOutcome.NON_WEB: N_("The ARK leads to an address that is not a web address; no further request was made."),
    ObjectOutcome.EXPLAINED: N_(
        "The provider explains why the object is not available: withdrawn, or not freely accessible."
    ),
    ObjectOutcome.WORKS_ELSEWHERE: N_("The cited resolver fails, but another resolver finds the object."),
    ObjectOutcome.SOFT_404: N_("The server reports success, but its page does not show the object."),
    ObjectOutcome.BROKEN: N_("The provider answered that it has nothing under this identifier."),
    ObjectOutcome.SERVER_ERROR: N_("The server reported an internal error."),
    ObjectOutcome.DNS: N_("The name of the server could not be found."),
    ObjectOutcome.REFUSED: N_("The server refused the connection."),
    ObjectOutcome.TIMEOUT: N_("The server did not answer in time."),
    ObjectOutcome.RESET: N_("The server broke off the connection."),
    ObjectOutcome.TLS: N_("No secure connection to the server could be made."),
    ObjectOutcome.PROTOCOL_ERROR: N_("The server's answer was not valid HTTP."),
    ObjectOutcome.LOOP: N_("The redirects form a loop."),
    ObjectOutcome.TOO_MANY_REDIRECTS: N_("There were too many redirects to follow."),
    ObjectOutcome.BAD_REDIRECT: N_("The server redirects, but not to a usable address."),
    ObjectOutcome.BLOCKED: N_("The server refuses programs, or asks for a password; a person may get through."),
    ObjectOutcome.ROBOTS: N_("The server asks programs not to request this address, and it was not requested."),
    ObjectOutcome.SKIPPED: N_("An example or a test identifier: counted, never requested."),
    ObjectOutcome.REFUSED_ADDRESS: N_("The address lies in a private network and was not requested."),
    ObjectOutcome.INVALID: N_("The ARK or its URL is malformed, so nothing was requested."),
    ObjectOutcome.UNDETERMINED: N_("The answers don't allow a judgement."),
}

METADATA_MEANINGS = {
    MetadataOutcome.ERC: N_("Metadata about the object as an electronic resource citation (ERC)."),
    MetadataOutcome.STRUCTURED: N_("Metadata about the object for programs: JSON, YAML, RDF or similar."),
    MetadataOutcome.HTML: N_("Metadata about the object as a web page."),
    MetadataOutcome.REGISTRY_LEVEL: N_("Metadata about the organization's NAAN or shoulder, not about the object."),
    MetadataOutcome.QUERY_IGNORED: N_("The server ignored the metadata request and returned the object."),
    MetadataOutcome.QUERY_DROPPED: N_("A redirect dropped the metadata request."),
    MetadataOutcome.ANSWERS_ANYTHING: N_("The same answer as for a made-up identifier."),
    MetadataOutcome.UNSUPPORTED: N_("An error, although the object itself is available."),
    MetadataOutcome.BLOCKED: N_("The server refuses metadata requests from programs."),
    MetadataOutcome.UNDETERMINED: N_("The answers don't allow a judgement."),
    MetadataOutcome.NOT_ASKED: N_("Not requested."),
}

COMMITMENT_MEANINGS = {
    CommitmentOutcome.STATED: N_("The provider states a commitment."),
    CommitmentOutcome.PLACEHOLDER: N_("The commitment is empty or an unfilled template."),
    CommitmentOutcome.ABSENT: N_("The provider states no commitment."),
    CommitmentOutcome.UNDETERMINED: N_("The answers don't allow a judgement."),
    CommitmentOutcome.NOT_ASKED: N_("Not requested."),
}


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
    who = f"{policy['organization']}, for {policy['of']}" if policy.get("organization") else policy["of"]
    return f"{who}: {', '.join(phrases)}"


STATE_MEANINGS = {
    ArkState.HEALTHY: "It worked at its last check.",
    ArkState.FLAPPING: "It goes back and forth between working and failing.",
    ArkState.FAILING: N_("It failed or gave no answer, but not yet often and long enough to confirm it."),
    ArkState.CONFIRMED_BROKEN: N_("It failed at several checks over days, so this is no outage."),
    ArkState.BLOCKED: "The provider refuses programs.",
    ArkState.UNDETERMINED: "Its checks don't allow a judgement.",
    ArkState.SKIPPED: "An example or a test: never requested.",
}

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
GRADE_NAMES = {Grade.HIGH: N_("high"), Grade.MEDIUM: N_("medium"), Grade.LOW: N_("low"), Grade.WAIT: N_("wait")}
#: Every token that the page shows by a name.
TOKEN_NAMES = {
    **{str(grade): name for grade, name in GRADE_NAMES.items()},
    **{str(family): name for family, name in FAMILY_NAMES.items()},
    **FAILURE_TERMS,
    str(EventKind.CONFIRMED): FAILURE_TERMS[str(ArkState.CONFIRMED_BROKEN)],
}

#: The kinds of changes, the most serious first.
CHANGE_NAMES = {
    str(EventKind.CONFIRMED): N_("Newly confirmed broken"),
    str(ArkState.FAILING): N_("Newly failing"),
    str(EventKind.GONE): N_("No longer cited"),
    str(EventKind.MOVED): N_("Leads to another address than before"),
    str(EventKind.CHANGED): N_("Changed"),
    str(EventKind.RECOVERED): N_("Recovered"),
    str(EventKind.NEW): N_("Newly cited"),
}

FAULT_NAMES = {
    Fault.CITATION: N_("the citation"),
    Fault.RESOLVER: N_("the resolver"),
    Fault.LANDING_HOST: N_("the landing host"),
    Fault.NOBODY: N_("not yet clear"),
}

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
#: The formats of plug-ins: the place of the `reports.exports.ReportFormat`.
PLUGIN_FORMATS: dict[str, str] = {}


def add_report_formats(added: Mapping[str, tuple[str, str]]) -> None:
    """Add formats of plug-ins: meaning and place by name. Raises ValueError if a name is in use."""
    for name, (meaning, place) in added.items():
        if PLUGIN_FORMATS.get(name) == place:
            continue
        if name in FORMATS:
            raise ValueError(f"the report format {name!r} has the name of another")
        FORMATS[name], PLUGIN_FORMATS[name] = meaning, place


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
EVENT_SEVERITY = (
    EventKind.CONFIRMED,
    EventKind.GONE,
    EventKind.MOVED,
    EventKind.CHANGED,
    EventKind.RECOVERED,
    EventKind.NEW,
)
#: The tokens by kind, the most serious of each first; tokens of different kinds are not compared.
SEVERITY = {
    "state": tuple(map(str, STATE_SEVERITY)),
    "event": tuple(map(str, EVENT_SEVERITY)),
    "outcome": tuple(map(str, OUTCOME_SEVERITY)),
    "document": (str(DocumentOutcome.UNREADABLE),),
}
#: All tokens; one that is both a state and an outcome means both.
TOKENS = tuple(dict.fromkeys(token for tokens in SEVERITY.values() for token in tokens))


def at_least(token: str) -> frozenset[str]:
    """Return the tokens that are at least as serious as *token*, of the same kind.

    >>> sorted(at_least("flapping")), sorted(at_least("gone"))
    (['confirmed-broken', 'flapping'], ['confirmed', 'gone'])
    """
    orders = [tokens[: tokens.index(token) + 1] for tokens in (*SEVERITY.values(), (MISTYPED,)) if token in tokens]
    return frozenset(serious for order in orders for serious in order)


def reached_tokens(fail_on: Iterable[str], occurring: Iterable[str]) -> list[str]:
    """Return the distinct tokens in *occurring* that are at least as serious as one in *fail_on*, in order.

    >>> reached_tokens(["dns"], ["resolved", "broken"]), reached_tokens(["confirmed-broken"], ["broken"])
    (['broken'], [])
    """
    serious = frozenset(token for asked in fail_on for token in at_least(asked))
    return [token for token in dict.fromkeys(occurring) if token in serious]
