"""The outcome of a conformance test: as text, JSON, JUnit, Markdown, a page, and a badge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from xml.etree import ElementTree

from crawler.conformance.conformance import SAME, Comparison, RequirementOutcome, RequirementResult, score
from crawler.model.observations import ChainEnd
from reports.formats.badge import AMISS, FINE, Badge, svg
from reports.formats.json_document import json_text
from reports.languages.display import escape_invisible
from reports.page import template

#: The outcomes of which it is said how to mend them.
UNMET = (RequirementOutcome.FAILS, RequirementOutcome.WARNS)


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """The outcomes of a test, with the resolver that was tested."""

    resolver: str
    results: Sequence[RequirementResult]

    @property
    def share(self) -> str:
        """How many requirements are met, of those of which it could be told: ``27/30``."""
        met, told = score(self.results)
        return f"{met}/{told}"

    @property
    def fails(self) -> bool:
        """True if something that must be is not."""
        return any(result.outcome is RequirementOutcome.FAILS for result in self.results)

    @property
    def no_answer_reason(self) -> str | None:
        """Why no request was answered at all, if none was: then nothing was tested."""
        answers = [answer for result in self.results for answer in result.observations]
        if not answers or any(answer.end is ChainEnd.ANSWERED for answer in answers):
            return None
        is_refused = answers[0].end is ChainEnd.REFUSED_ADDRESS
        hint = "; --allow-address lets it be asked" if is_refused else ""
        return f"{self.resolver} answered nothing: {answers[0].hops[-1].error or answers[0].end.value}{hint}"

    def sections(self) -> Iterator[tuple[str, list[RequirementResult]]]:
        """The results of each section, by its title."""
        for title, results in groupby(self.results, lambda result: result.requirement.section):
            yield title, list(results)


def as_text(report: ConformanceReport) -> str:
    """A line for each requirement, by section, with what to do where one is not met."""
    lines, indent = [], " " * 33
    for title, results in report.sections():
        lines += ["", title]
        for result in results:
            row = result.requirement
            lines.append(f"  {row.number:8} {row.level:6} {result.outcome:14} {row.question}")
            if result.outcome in UNMET:
                lines += [indent + row.failure, f"{indent}To mend it: {row.remedy}"]
            lines += [indent + escape_invisible(reason) for reason in result.reasons]
    lines += ["", f"ARK conformance of {report.resolver}: {report.share}", ""]
    return "\n".join(lines).lstrip()


def as_json(report: ConformanceReport) -> str:
    """All that is known, with the requests behind each outcome."""
    met, told = score(report.results)
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
    document = {"resolver": report.resolver, "met": met, "told": told, "requirements": rows}
    return json_text(document)


def as_junit(report: ConformanceReport) -> str:
    """A suite a section, a case a requirement: failed where it must be met and is not."""
    root = ElementTree.Element("testsuites", {"name": f"ARK conformance of {report.resolver}"})
    for title, results in report.sections():
        suite = ElementTree.SubElement(root, "testsuite", {"name": title, "tests": str(len(results))})
        counted = {"failures": RequirementOutcome.FAILS, "skipped": RequirementOutcome.NOT_APPLICABLE}
        for kind, outcome in counted.items():
            suite.set(kind, str(sum(result.outcome is outcome for result in results)))
        for result in results:
            row, reasons = result.requirement, "; ".join(map(escape_invisible, result.reasons))
            name = {"classname": row.number, "name": row.question, "time": "0"}
            case = ElementTree.SubElement(suite, "testcase", name)
            if result.outcome is RequirementOutcome.FAILS:
                fault = ElementTree.SubElement(case, "failure", {"message": row.failure})
                fault.text = f"{reasons}\nTo mend it: {row.remedy}"
            elif result.outcome is RequirementOutcome.WARNS:
                ElementTree.SubElement(case, "system-out").text = f"{row.failure} {reasons}"
            elif result.outcome is not RequirementOutcome.PASSES:
                words = {"message": reasons or result.outcome.value}
                ElementTree.SubElement(case, "skipped", words)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_markdown(report: ConformanceReport) -> str:
    """A table a section."""
    lines = [f"# ARK conformance of {report.resolver}: {report.share}"]
    for title, results in report.sections():
        lines += ["", f"## {title}", "", "| | level | requirement | outcome | |", "|---|---|---|---|---|"]
        for result in results:
            row = result.requirement
            reasons = "; ".join(map(escape_invisible, result.reasons)).replace("|", "\\|")
            words = f"{row.failure} {row.remedy} ({reasons})" if result.outcome in UNMET else reasons
            lines.append(f"| {row.number} | {row.level} | {row.question} | {result.outcome} | {words} |")
    return "\n".join(lines) + "\n"


def as_page(report: ConformanceReport) -> str:
    """A page that can be published: every request and answer is behind its row."""
    return template("conformance.html.j2").render(report=report, unmet=UNMET)


def as_badge(report: ConformanceReport) -> str:
    """The share as a picture."""
    return svg(Badge(report.share, AMISS if report.fails else FINE, "ARK conformance"))


# -- one resolver held against another


def comparison_text(compared: Sequence[Comparison], old: str, new: str) -> str:
    """A line for each name that differs, and how many there are of each kind."""
    lines = [
        f"{comparison.ark}  {comparison.subject}: {escape_invisible(comparison.old)} before, "
        f"{escape_invisible(comparison.new)} now"
        for comparison in compared
        if comparison.subject != SAME
    ]
    counts = Counter(comparison.subject for comparison in compared)
    words = ", ".join(f"{count} {subject}" for subject, count in counts.most_common())
    return "\n".join([*lines, f"{new} against {old}: {words}", ""])


def comparison_json(compared: Sequence[Comparison], old: str, new: str) -> str:
    """A row for each name, those that differ first."""
    rows = [{**asdict(comparison), "ark": str(comparison.ark)} for comparison in compared]
    return json_text({"old": old, "new": new, "names": rows})


#: The formats of `arkaudit conform`, and what makes each.
FORMATS: Mapping[str, Callable[[ConformanceReport], str]] = {
    "text": as_text,
    "json": as_json,
    "junit": as_junit,
    "html": as_page,
    "md": as_markdown,
    "badge": as_badge,
}
COMPARISON_FORMATS: Mapping[str, Callable[[Sequence[Comparison], str, str], str]] = {
    "text": comparison_text,
    "json": comparison_json,
}
