"""The result of a conformance test as text, JSON, JUnit, Markdown and HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from xml.etree import ElementTree

from arkaudit.features.conform.requirements import SAME, Comparison, RequirementOutcome, RequirementResult, score
from crawler.answers.facts import AnswerFacts
from crawler.model.observations import ChainEnd
from reports.formats.json_document import json_text
from reports.formats.junit import xml_text
from reports.languages.display import escape_invisible
from reports.languages.templates import template

#: Outcomes for which the report prints how to fix the resolver.
UNMET = (RequirementOutcome.FAILS, RequirementOutcome.WARNS)


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """The results of a conformance test of one resolver."""

    resolver: str
    results: Sequence[RequirementResult]

    @property
    def share(self) -> str:
        """Requirements met out of those that could be tested, as ``27/30``."""
        met_count, tested_count = score(self.results)
        return f"{met_count}/{tested_count}"

    @property
    def share_words(self) -> str:
        """The share in words, as ``27 of 30 requirements met``."""
        met_count, tested_count = score(self.results)
        return f"{met_count} of {tested_count} requirements met"

    @property
    def is_failing(self) -> bool:
        """True if a mandatory requirement is not met."""
        return any(result.outcome is RequirementOutcome.FAILS for result in self.results)

    @property
    def no_answer_reason(self) -> str | None:
        """The reason why the resolver answered no request or refused all; None if it answered at least one."""
        answers = [AnswerFacts.from_observation(answer) for result in self.results for answer in result.observations]
        if not answers or any(answer.is_answered and not answer.refuses_access for answer in answers):
            return None
        refusal = next((answer for answer in answers if answer.is_answered), None)
        if refusal is not None:
            return f"{self.resolver} refused each request: answered {refusal.status} at {refusal.asked_url}"
        is_refused = answers[0].end is ChainEnd.REFUSED_ADDRESS
        hint = "; --allow-address lets it be asked" if is_refused else ""
        return f"{self.resolver} answered nothing: {answers[0].hops[-1].error or answers[0].end.value}{hint}"

    def sections(self) -> Iterator[tuple[str, list[RequirementResult]]]:
        """Yield the title of each section of the specification, and its results."""
        for title, results in groupby(self.results, lambda result: result.requirement.section):
            yield title, list(results)


def as_text(report: ConformanceReport) -> str:
    """Return one line per requirement, by section, then all requirements that are not met, with ways to fix them."""
    return _render("conformance.txt.j2", report)


def as_markdown(report: ConformanceReport) -> str:
    """Return the results as Markdown, with one table per section."""
    return _render("conformance.md.j2", report)


def as_page(report: ConformanceReport) -> str:
    """Return the results as an HTML page that can be published, with the requests for each result."""
    return _render("conformance.html.j2", report)


def _render(name: str, report: ConformanceReport) -> str:
    return template(name, __package__).render(report=report, unmet=UNMET)


def as_json(report: ConformanceReport) -> str:
    """Return all results as JSON, with the requests for each outcome."""
    met_count, tested_count = score(report.results)
    rows = [
        {
            "number": result.requirement.number,
            "name": result.requirement.name,
            "level": result.requirement.level,
            "question": result.requirement.question,
            "outcome": result.outcome,
            "reasons": result.reasons,
            "requests": [
                {"question": answer.question, "url": answer.asked_url, "hops": [hop.json for hop in answer.hops]}
                for answer in result.observations
            ],
        }
        for result in report.results
    ]
    document = {"resolver": report.resolver, "met": met_count, "told": tested_count, "requirements": rows}
    return json_text(document)


def as_junit(report: ConformanceReport) -> str:
    """Return JUnit XML: one suite per section, one case per requirement, failed if a mandatory one is not met."""
    root = ElementTree.Element("testsuites", {"name": f"ARK conformance of {report.resolver}"})
    for title, results in report.sections():
        suite = ElementTree.SubElement(root, "testsuite", {"name": title, "tests": str(len(results))})
        outcome_by_attribute = {"failures": RequirementOutcome.FAILS, "skipped": RequirementOutcome.NOT_APPLICABLE}
        for attribute, outcome in outcome_by_attribute.items():
            suite.set(attribute, str(sum(result.outcome is outcome for result in results)))
        for result in results:
            requirement, reasons = result.requirement, "; ".join(map(escape_invisible, result.reasons))
            case_attributes = {"classname": requirement.number, "name": requirement.question, "time": "0"}
            case = ElementTree.SubElement(suite, "testcase", case_attributes)
            if result.outcome is RequirementOutcome.FAILS:
                fault = ElementTree.SubElement(case, "failure", {"message": requirement.failure})
                fault.text = f"{reasons}\nTo fix it: {requirement.remedy}"
            elif result.outcome is RequirementOutcome.WARNS:
                ElementTree.SubElement(case, "system-out").text = f"{requirement.failure} {reasons}"
            elif result.outcome is not RequirementOutcome.PASSES:
                skip_attributes = {"message": reasons or result.outcome.value}
                ElementTree.SubElement(case, "skipped", skip_attributes)
    return xml_text(root)


# -- comparison of two resolvers


def comparison_text(comparisons: Sequence[Comparison], old_resolver: str, new_resolver: str) -> str:
    """Return one line per ARK whose answers differ, and the number of ARKs by kind of difference."""
    lines = [
        f"{comparison.ark}  {comparison.subject}: {escape_invisible(comparison.old)} before, "
        f"{escape_invisible(comparison.new)} now"
        for comparison in comparisons
        if comparison.subject != SAME
    ]
    counts = Counter(comparison.subject for comparison in comparisons)
    count_words = ", ".join(f"{count} {subject}" for subject, count in counts.most_common())
    return "\n".join([*lines, f"{new_resolver} against {old_resolver}: {count_words}", ""])


def comparison_json(comparisons: Sequence[Comparison], old_resolver: str, new_resolver: str) -> str:
    """Return the comparisons as JSON, with one object per ARK, in their order."""
    rows = [{**asdict(comparison), "ark": str(comparison.ark)} for comparison in comparisons]
    return json_text({"old": old_resolver, "new": new_resolver, "names": rows})


#: The formats of `arkaudit conform`, each with its writer.
FORMATS: Mapping[str, Callable[[ConformanceReport], str]] = {
    "text": as_text,
    "json": as_json,
    "junit": as_junit,
    "html": as_page,
    "md": as_markdown,
}
COMPARISON_FORMATS: Mapping[str, Callable[[Sequence[Comparison], str, str], str]] = {
    "text": comparison_text,
    "json": comparison_json,
}
