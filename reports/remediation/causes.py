"""Pure: why an ARK fails at a URL, whose fault that is, and what the citation should be.

Plain values come in, a `Diagnosis` goes out; nothing is asked and nothing is read here. A cause is never more than
what the answers of one run show, and "unknown" is among them: an outage is not link rot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, urlsplit

from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome, Question
from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk
from reports.languages import N_


class Cause(StrEnum):
    """The cause of an ARK's failure, as far as one run shows; the first that fits counts."""

    LABEL_FORM = "label-form"
    """The resolver knows only the other form of the label; both are equal for ever (2023, 3.2)."""
    HYPHENS = "hyphens"
    """The resolver takes hyphens for part of the name; they are without meaning (2023, 3.2)."""
    MOVED_RESOLVER = "moved-resolver"
    """The cited resolver fails, and another one works."""
    MISTYPED = "mistyped"
    """The check character fails: what is cited was never assigned."""
    CUT_SHORT = "cut-short"
    """It is the beginning of another cited ARK that works."""
    RUN_ON = "run-on"
    """It is another cited ARK that works, with more glued to its name."""
    UNKNOWN_PART = "unknown-part"
    """The whole works, this part of it does not."""
    REFUSED_HERE = "refused-here"
    """The same ARK works at another URL at which it is cited."""
    DEAD_HOST = "dead-host"
    """The host gave no usable answer to any ARK, and that has lasted over several runs and days."""
    SILENT_HOST = "silent-host"
    """The host gave no usable answer to any ARK of this run: an outage, until it has lasted."""
    PASSING = "passing"
    """The host answers for other ARKs, and gave none for this one: it may pass."""
    LOOP = "loop"
    """The redirects lead in a circle, or never end."""
    BAD_REDIRECT = "bad-redirect"
    """The redirect leads to no usable address."""
    CHANGED_PATH = "changed-path"
    """Every ARK that is led to addresses of this pattern fails there: the site has changed its paths."""
    UNKNOWN_NAAN = "unknown-naan"
    """The resolver knows no ARK of this NAAN."""
    WITHDRAWN = "withdrawn"
    """The object was there, and is gone for good (410)."""
    MISSING_PAGE = "missing-page"
    """The resolver knows the ARK, and the page that it leads to is not there."""
    UNKNOWN_NAME = "unknown-name"
    """The resolver knows other ARKs of the NAAN, and not this one."""


class Fault(StrEnum):
    """With whom a repair begins."""

    CITATION = "citation"
    """The document: what it cites is not what was assigned."""
    RESOLVER = "resolver"
    """Those who run the resolver, or keep its table of targets."""
    LANDING_HOST = "landing-host"
    """Those who hold the object: its pages went without a word to the resolver."""
    NOBODY = "nobody"
    """No one yet: ask again before you conclude."""


#: Who is asked for a repair first; where both a citation and a resolver may be wrong, the document is nearer.
FAULT_OF = {
    Cause.LABEL_FORM: Fault.RESOLVER,
    Cause.HYPHENS: Fault.RESOLVER,
    Cause.MOVED_RESOLVER: Fault.RESOLVER,
    Cause.MISTYPED: Fault.CITATION,
    Cause.CUT_SHORT: Fault.CITATION,
    Cause.RUN_ON: Fault.CITATION,
    Cause.UNKNOWN_PART: Fault.RESOLVER,
    Cause.REFUSED_HERE: Fault.RESOLVER,
    Cause.DEAD_HOST: Fault.RESOLVER,
    Cause.SILENT_HOST: Fault.NOBODY,
    Cause.PASSING: Fault.NOBODY,
    Cause.LOOP: Fault.RESOLVER,
    Cause.BAD_REDIRECT: Fault.RESOLVER,
    Cause.CHANGED_PATH: Fault.LANDING_HOST,
    Cause.UNKNOWN_NAAN: Fault.RESOLVER,
    Cause.WITHDRAWN: Fault.LANDING_HOST,
    Cause.MISSING_PAGE: Fault.LANDING_HOST,
    Cause.UNKNOWN_NAME: Fault.RESOLVER,
}

#: What to do, in words; the same for every ARK of one cause.
ADVICE = {
    Cause.LABEL_FORM: N_("Ask the resolver to accept ark: and ark:/ alike; until then cite the form that works."),
    Cause.HYPHENS: N_("Ask the resolver to ignore hyphens; until then cite the ARK without them."),
    Cause.MOVED_RESOLVER: N_("Cite the ARK at the resolver that works, and ask the old one to redirect there."),
    Cause.MISTYPED: N_("Compare the citation with its source: its check character does not fit."),
    Cause.CUT_SHORT: N_("Complete the citation: a longer ARK that begins like it works."),
    Cause.RUN_ON: N_("Shorten the citation: the ARK without what is glued to its end works."),
    Cause.UNKNOWN_PART: N_("Cite the whole, or compare what follows its name with the source."),
    Cause.REFUSED_HERE: N_("Cite the ARK at the address that works, and inform the operator of the one that does not."),
    Cause.DEAD_HOST: N_("Look for a successor of the host; cite the ARKs at a resolver that knows them."),
    Cause.SILENT_HOST: N_("Ask again before you conclude; if the host still does not answer, write to its operator."),
    Cause.PASSING: N_("Ask again: the host answers for other ARKs."),
    Cause.LOOP: N_("Tell the host that its redirects lead in a circle."),
    Cause.BAD_REDIRECT: N_("Tell the resolver that its redirect leads to no usable address."),
    Cause.CHANGED_PATH: N_("One redirect repairs all of these: tell the landing host and the resolver of the pattern."),
    Cause.UNKNOWN_NAAN: N_("Find out which resolver serves this NAAN; cite the ARKs there."),
    Cause.WITHDRAWN: N_("Ask the holder for a tombstone that explains the withdrawal, at the ARK itself."),
    Cause.MISSING_PAGE: N_("Tell the holder which pages are gone, so that the resolver's targets can be corrected."),
    Cause.UNKNOWN_NAME: N_("Compare the citation with its source; if it is right, ask the resolver for this name."),
}

#: Ways by which the object was reached although the way as written failed, and what that says.
_BY_WAY = {
    Question.OTHER_LABEL: Cause.LABEL_FORM,
    Question.HYPHENS: Cause.HYPHENS,
    Question.PLAIN: Cause.REFUSED_HERE,
    Question.NO_SLASH: Cause.REFUSED_HERE,
    Question.AT_PATH: Cause.MOVED_RESOLVER,
    Question.AT_REGISTRY: Cause.MOVED_RESOLVER,
    Question.AT_GLOBAL: Cause.MOVED_RESOLVER,
    Question.CONFIRMED: Cause.MOVED_RESOLVER,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One ARK that was not reached as cited: at which URL, how, and what else is known of it."""

    ark: str
    """Normal form."""
    request_url: str
    outcome: ObjectOutcome
    last_url: str
    """The URL of the last request of the object's chain, whether or not it was answered."""
    status: int | None = None
    way: Question | None = None
    """The way by which it was reached all the same; none for a failure, or for the way as written."""
    way_url: str | None = None
    """The URL that was asked that way."""
    check: str = "unknown"
    """What its check character says: passes, fails, none or unknown."""
    suggestions: tuple[str, ...] = ()
    last_good_url: str | None = None
    """Where it led in an earlier run, when it worked."""
    has_lasted: bool = False
    """Whether it has failed long enough, and often enough, that an outage is no longer likely."""


@dataclass(frozen=True, slots=True)
class CauseContext:
    """The evidence of the run's other ARKs about the places where one fails."""

    works_at: str | None = None
    """Another URL at which the same ARK works."""
    longer: str | None = None
    """A cited ARK that works and begins with this one."""
    shorter: str | None = None
    """A cited ARK that works and with which this one begins, inside its name."""
    whole: str | None = None
    """The ARK of the whole, or of a greater part, where that works and this is a part of it."""
    host_answers: bool = True
    """Whether the host that ended the chain answered for any ARK of the run."""
    naan_known: bool = True
    """Whether the host that was asked first led any ARK of this NAAN to an object."""
    pattern_works: bool = True
    """Whether any ARK works that was led to an address of the same pattern."""
    pattern_count: int = 1
    """How many ARKs were led to addresses of this pattern."""
    living: frozenset[str] = frozenset()
    """Those ARKs and URLs that this audit saw living, of what checks of a character and earlier runs propose."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The diagnosis of a failure: its cause, with whom a repair begins, and what would be right."""

    cause: Cause
    fault: Fault
    host: str
    """The host that the repair is about."""
    pattern: str
    """What the failures that one fix repairs have in common, as an address with ``{ark}`` or ``{name}`` in it."""
    should_be: str | None = None
    """What the document should say instead, if anything is known to be better."""
    because: str | None = None
    """Where that comes from."""

    @property
    def rule(self) -> str:
        """Return the rule that one repair would change, for ARKs of any NAAN; empty where it is no rule that fails.

        >>> Diagnosis(Cause.CHANGED_PATH, Fault.LANDING_HOST, "l.example", "https://l.example/ark:/12148/{name}").rule
        'https://l.example/ark:/{naan}/{name}'
        """
        return _ANY_NAAN.sub(r"\1{naan}/", self.pattern) if self.cause is Cause.CHANGED_PATH else ""


def diagnose(failure: Failure, around: CauseContext) -> Diagnosis:
    """The first cause that fits, in the order of `Cause` but for what a check character says.

    >>> failed = Failure("ark:53355/cl010", "https://m.example/ark:/53355/cl010", ObjectOutcome.BROKEN,
    ...                  "https://m.example/ark:/53355/cl010", 404)
    >>> diagnose(failed, CauseContext(naan_known=False)).cause.value
    'unknown-naan'
    """
    cause = _cause(failure, around)
    fault = FAULT_OF[cause]
    asked, ended = _host(failure.request_url), _host(failure.last_url)
    if cause in (Cause.DEAD_HOST, Cause.LOOP) and ended != asked:
        fault = Fault.LANDING_HOST
    at_landing = fault is Fault.LANDING_HOST or cause in (Cause.SILENT_HOST, Cause.PASSING)
    url = failure.last_url if at_landing else failure.request_url
    should_be, because = _better(failure, around, cause)
    return Diagnosis(cause, fault, _host(url), _common(cause, failure, url), should_be, because)


def _cause(failure: Failure, around: CauseContext) -> Cause:
    if failure.way is not None and failure.way in _BY_WAY:
        return _BY_WAY[failure.way]
    family = FAMILY_OF[failure.outcome]
    if family is Family.UNREACHABLE:
        if around.works_at:
            return Cause.REFUSED_HERE
        if around.host_answers:
            return Cause.PASSING
        return Cause.DEAD_HOST if failure.has_lasted else Cause.SILENT_HOST
    if failure.check == "fails":
        return Cause.MISTYPED
    if around.longer:
        return Cause.CUT_SHORT
    if around.shorter:
        return Cause.RUN_ON
    if around.works_at:
        return _spelling_refused(failure.request_url, around.works_at)
    if around.whole:
        return Cause.UNKNOWN_PART
    if failure.outcome in (ObjectOutcome.LOOP, ObjectOutcome.TOO_MANY_REDIRECTS):
        return Cause.LOOP
    if failure.outcome is ObjectOutcome.BAD_REDIRECT:
        return Cause.BAD_REDIRECT
    return _refusal(failure, around)


def _spelling_refused(refused: str, works: str) -> Cause:
    """Return why one URL of an ARK is refused while another works: for its spelling, where nothing else differs.

    >>> _spelling_refused("https://n2t.net/ark:/13960/t58d-0dn7n", "https://n2t.net/ark:/13960/t58d0dn7n").value
    'hyphens'
    """
    if refused.replace("ark:/", "ark:") == works.replace("ark:/", "ark:"):
        return Cause.LABEL_FORM
    if refused.replace("-", "") == works.replace("-", ""):
        return Cause.HYPHENS
    return Cause.REFUSED_HERE


def _refusal(failure: Failure, around: CauseContext) -> Cause:
    """Return why an ARK was refused by word: by the host that answered last, and what it does for others."""
    if failure.status == 410:
        return Cause.WITHDRAWN
    if _host(failure.request_url) != _host(failure.last_url):
        changed = not around.pattern_works and around.pattern_count > 1
        return Cause.CHANGED_PATH if changed else Cause.MISSING_PAGE
    return Cause.UNKNOWN_NAME if around.naan_known else Cause.UNKNOWN_NAAN


def _better(failure: Failure, around: CauseContext, cause: Cause) -> tuple[str | None, str | None]:
    """Return what the document should say, and how that is known; the surest first.

    Nothing is proposed that this audit saw failing, or did not see living; nor anything during an outage.
    """
    if FAULT_OF[cause] is Fault.NOBODY:
        return None, None
    if failure.way is not None and failure.way_url:
        return failure.way_url, N_("it works there")
    if cause is Cause.CUT_SHORT:
        return around.longer, N_("a longer ARK that is cited elsewhere works")
    if cause is Cause.RUN_ON:
        return around.shorter, N_("the ARK without its end is cited elsewhere and works")
    if cause is Cause.UNKNOWN_PART:
        return around.whole, N_("the whole works")
    if around.works_at:
        return around.works_at, N_("the same ARK is cited there and works")
    living = [suggestion for suggestion in failure.suggestions if suggestion in around.living]
    if living:
        return living[0], N_("did you mean: its check character fits, and one character differs")
    if failure.last_good_url in around.living:
        return failure.last_good_url, N_("it led there when it last worked")
    return None, None


def _common(cause: Cause, failure: Failure, url: str) -> str:
    """Return what a group of failures has in common: the host alone where the host is the matter, else the address."""
    if cause in (Cause.DEAD_HOST, Cause.SILENT_HOST, Cause.PASSING):
        return f"{urlsplit(url).scheme}://{_host(url)}/" if _host(url) else url
    if FAULT_OF[cause] is Fault.CITATION:  # the document is to be mended
        return failure.ark
    return pattern(url, failure.ark)


def pattern(url: str, ark: str) -> str:
    """*url* with whatever names *ark* in it left out, so that addresses made by one rule are one text.

    What holds neither the ARK nor its name gives its last step for a wild card.

    >>> pattern("https://gallica.example/ark:/12148/btv1b84.item", "ark:12148/btv1b84")
    'https://gallica.example/ark:/12148/{name}.item'
    >>> pattern("https://gallica.example/view/449691?lang=fr", "ark:12148/btv1b84")
    'https://gallica.example/view/*'
    """
    address = url.partition("#")[0]
    rest = ark.partition("/")[2] if ark.startswith("ark:") else ""  # in the normal form: the name with its qualifier
    if rest and rest in address:
        before, _, after = address.partition(rest)
        return f"{before}{{name}}{after}"
    may_be_spelled = _MAY_BE_SPELLED.search(address)
    if not may_be_spelled and _PLAIN_ARK.fullmatch(ark):
        return _with_wildcard(address)  # its one name was looked for
    for name in filter(None, _names(ark)):
        before, spelling, after = address.partition(name)
        if not spelling and may_be_spelled:
            before, spelling, after = _find_spelling(address, name)
        if spelling:
            return f"{before}{{name}}{after}"
    return _with_wildcard(address)


def _names(ark: str) -> tuple[str, ...]:
    """The name of an ARK with its qualifier, and without it; nothing of what is no ARK."""
    plain = _PLAIN_ARK.fullmatch(ark)
    if plain:
        return plain[1], plain[2]
    try:
        parsed = Ark.parse(ark)
    except NotAnArk:
        return ()
    return parsed.name + parsed.qualifier, parsed.name


#: An ARK without a qualifier in which nothing could be written in another way.
_PLAIN_ARK = re.compile("ark:[0-9a-z]+/(([0-9A-Za-z]+))")
#: What a URL has in it where a name may be spelled otherwise than in the normal form.
_MAY_BE_SPELLED = re.compile("[-%A-Z]")


def _find_spelling(address: str, name: str) -> tuple[str, str, str]:
    """Return the text before a name, the name, and the text after it: hyphens anywhere, characters escaped or
    not.
    """
    characters = (f"(?:{re.escape(char)}|{re.escape(quote(char, safe=''))})" for char in name)
    spelling = re.search("(?:-|%2D)*".join(characters), address, re.IGNORECASE)
    return (address[: spelling.start()], spelling[0], address[spelling.end() :]) if spelling else (address, "", "")


def _with_wildcard(url: str) -> str:
    path = url.partition("?")[0]
    return f"{path.rpartition('/')[0]}/*" if "/" in path.partition("://")[2] else path


#: What names the NAAN in an address that is made by a rule.
_ANY_NAAN = re.compile(r"(ark:/?)[0-9b-z]+/(?=.*\{name\})", re.IGNORECASE)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""
