"""Words for the tokens of the closed vocabularies, for readers who keep collections, not servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from crawler.history.ark_status import ArkState
from crawler.observations import CommitmentOutcome, Family, MetadataOutcome, ObjectOutcome
from reports.remediation.causes import Cause, Fault

FAMILY_NAMES: Final[Mapping[Family, str]] = {
    Family.WORKS: "works",
    Family.FAILS: "fails",
    Family.UNREACHABLE: "no answer today",
    Family.NOT_JUDGED: "not judged",
}

FAMILY_MEANINGS: Final[Mapping[Family, str]] = {
    Family.WORKS: "The ARK leads to its object, or to the provider's own words about it.",
    Family.FAILS: "The provider answered, and not with the object: somebody should look.",
    Family.UNREACHABLE: (
        "No answer today; not link rot. The server, not the identifier, could not be reached "
        "(“unreachable” in the tables). Ask again before you conclude."
    ),
    Family.NOT_JUDGED: (
        "Nothing is said about the ARK: an example or a test, an access that the provider refuses to "
        "programs, or a question that was not asked."
    ),
}

OBJECT_MEANINGS: Final[Mapping[ObjectOutcome, str]] = {
    ObjectOutcome.RESOLVED: "The ARK led to an answer for the object.",
    ObjectOutcome.RELATED: "The ARK led, through a 303, to a page about the object, not to itself.",
    ObjectOutcome.NON_WEB: "The ARK led to an address that is not a web address; nobody asked further.",
    ObjectOutcome.EXPLAINED: "The provider explains why the object can't be had: withdrawn, or not free.",
    ObjectOutcome.WORKS_ELSEWHERE: "The cited resolver fails, but another resolver finds the object.",
    ObjectOutcome.SOFT_404: "The server reports success, but the page says that there is nothing.",
    ObjectOutcome.BROKEN: "The provider answered that it does not know this identifier.",
    ObjectOutcome.SERVER_ERROR: "The server reported a fault of its own.",
    ObjectOutcome.DNS: "The name of the server could not be found.",
    ObjectOutcome.REFUSED: "The server refused the connection.",
    ObjectOutcome.TIMEOUT: "The server did not answer in time.",
    ObjectOutcome.RESET: "The server broke off the connection.",
    ObjectOutcome.TLS: "No secure connection to the server could be made.",
    ObjectOutcome.PROTOCOL_ERROR: "The server's answer was not proper HTTP.",
    ObjectOutcome.LOOP: "The redirects lead in a circle.",
    ObjectOutcome.TOO_MANY_REDIRECTS: "There were more redirects than anybody would follow.",
    ObjectOutcome.BAD_REDIRECT: "The server redirects, but not to a usable address.",
    ObjectOutcome.BLOCKED: "The server keeps programs out, or asks for a password; a person may see more.",
    ObjectOutcome.ROBOTS: "The server asks programs not to request this address, and it was not requested.",
    ObjectOutcome.SKIPPED: "An example or a test identifier: counted, never requested.",
    ObjectOutcome.REFUSED_ADDRESS: "The address lies in a private network and was not requested.",
    ObjectOutcome.INVALID: "There is no ARK here to ask for.",
    ObjectOutcome.UNDETERMINED: "The answers don't allow a judgement.",
}

METADATA_MEANINGS: Final[Mapping[MetadataOutcome, str]] = {
    MetadataOutcome.ERC: "A description of the object as an electronic resource citation.",
    MetadataOutcome.STRUCTURED: "A description of the object for programs: JSON, YAML, RDF or the like.",
    MetadataOutcome.HTML: "A description of the object as a web page.",
    MetadataOutcome.REGISTRY_LEVEL: "A description of the organization's number space, not of the object.",
    MetadataOutcome.QUERY_IGNORED: "The object again: the question was not understood.",
    MetadataOutcome.QUERY_DROPPED: "The question was lost in a redirect.",
    MetadataOutcome.ANSWERS_ANYTHING: "The same answer that an invented identifier gets.",
    MetadataOutcome.UNSUPPORTED: "An error, although the object itself is there.",
    MetadataOutcome.BLOCKED: "The server does not let programs ask.",
    MetadataOutcome.UNDETERMINED: "The answers don't allow a judgement.",
    MetadataOutcome.NOT_ASKED: "The question was not asked.",
}

COMMITMENT_MEANINGS: Final[Mapping[CommitmentOutcome, str]] = {
    CommitmentOutcome.STATED: "The provider says what it promises.",
    CommitmentOutcome.PLACEHOLDER: "The place for a promise is filled with a template, or with nothing.",
    CommitmentOutcome.ABSENT: "The provider promises nothing.",
    CommitmentOutcome.UNDETERMINED: "The answers don't allow a judgement.",
    CommitmentOutcome.NOT_ASKED: "The question was not asked.",
}


#: What the NAAN registry's short words for practices mean.
PRACTICES: Final[Mapping[str, str]] = {
    "NR": "names are never re-assigned",
    "OP": "names are opaque",
    "CC": "names carry a check character",
}


def naan_policy_words(policy: Mapping[str, Any]) -> str:
    """Return what the NAAN registry says of an assigner's policy, in words; nothing where it says nothing.

    >>> naan_policy_words({"of": "12148", "organization": "BnF", "practices": ["NR", "CC"], "url": "https://a.example/"})
    'BnF, for 12148: names are never re-assigned, names carry a check character, as told at https://a.example/'
    """
    if not policy:
        return ""
    phrases = [*(PRACTICES.get(practice, practice) for practice in policy.get("practices", ()))]
    if policy.get("url"):
        phrases.append(f"as told at {policy['url']}" if phrases else f"a policy at {policy['url']}")
    who = f"{policy['organization']}, for {policy['of']}" if policy.get("organization") else policy["of"]
    return f"{who}: {', '.join(phrases)}"


STATE_MEANINGS: Final[Mapping[ArkState, str]] = {
    ArkState.HEALTHY: "It worked when it was asked last.",
    ArkState.FLAPPING: "It goes back and forth between working and failing.",
    ArkState.FAILING: "It failed, not yet often and long enough to be sure.",
    ArkState.CONFIRMED_BROKEN: "It has failed often and long enough: no outage.",
    ArkState.BLOCKED: "The provider keeps programs out.",
    ArkState.UNDETERMINED: "Its checks don't allow a judgement.",
    ArkState.SKIPPED: "An example or a test: never requested.",
}

CAUSE_NAMES: Final[Mapping[Cause, str]] = {
    Cause.LABEL_FORM: "the resolver knows only one form of the label",
    Cause.HYPHENS: "the resolver minds hyphens",
    Cause.MOVED_RESOLVER: "the cited resolver fails, another works",
    Cause.MISTYPED: "probably mistyped: the check character fails",
    Cause.CUT_SHORT: "cut short: a longer ARK works",
    Cause.RUN_ON: "too long: something is glued to it",
    Cause.UNKNOWN_PART: "the whole works, this part does not",
    Cause.REFUSED_HERE: "refused here, works at another address",
    Cause.DEAD_HOST: "the host is gone",
    Cause.SILENT_HOST: "the host gives no answer today",
    Cause.PASSING: "no answer today, though the host answers others",
    Cause.LOOP: "the redirects lead in a circle",
    Cause.BAD_REDIRECT: "the redirect leads nowhere",
    Cause.CHANGED_PATH: "the site has changed its paths",
    Cause.UNKNOWN_NAAN: "the resolver knows no ARK of this NAAN",
    Cause.WITHDRAWN: "gone for good, without an explanation",
    Cause.MISSING_PAGE: "the page that it leads to is not there",
    Cause.UNKNOWN_NAME: "the resolver does not know this name",
}

FAULT_NAMES: Final[Mapping[Fault, str]] = {
    Fault.CITATION: "the citation",
    Fault.RESOLVER: "the resolver",
    Fault.LANDING_HOST: "the landing host",
    Fault.NOBODY: "nobody yet",
}
