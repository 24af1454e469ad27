"""JUnit: each cited ARK as a test case of its document, for the test view of a CI service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final
from xml.etree import ElementTree

from crawler.model.observations import Family
from reports.ark_statuses import families
from reports.definitions import records_of
from reports.display import escaped
from reports.formats.report import Files, OfWholeReport, Report, ReportFormat
from reports.remediation.known import with_decisions

_PATH: Final = PurePosixPath("junit.xml")
#: Where an ARK stands that was asked about without a document.
NO_DOCUMENT: Final = "(no document)"


def junit(report: Report) -> str:
    """One suite a document, one case an ARK and URL cited there: failed, in error (no answer), skipped, or passed.

    What somebody has acknowledged or ignored is skipped, with what was decided.

    The time of every case is 0: what a host took says nothing of an ARK, and the same run gives the same bytes.
    """
    root = ElementTree.Element("testsuites", {"name": "arkaudit"})
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for document, cases in _suites(report):
        suite = ElementTree.SubElement(root, "testsuite", {"name": escaped(document)})
        counts = dict.fromkeys(totals, 0)
        for case in cases:
            kind = _add_case(suite, escaped(document), case)
            counts["tests"] += 1
            if kind:
                counts[kind] += 1
        suite.attrib.update({name: str(count) for name, count in counts.items()})
        suite.attrib.update({"time": "0", "timestamp": _began(report), "hostname": "localhost"})
        totals = {name: totals[name] + counts[name] for name in totals}
    root.attrib.update({name: str(count) for name, count in totals.items()})
    root.set("time", "0")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _began(report: Report) -> str:
    moments = [f"{moment:%Y-%m-%dT%H:%M:%S}" for moment in report.frames.run["started_at"].dropna()]
    return moments[0] if moments else "1970-01-01T00:00:00"


def _suites(report: Report) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    frames = report.frames
    outcomes = frames.verdicts[["ark_id", "ark", "request_url", "object", "object_evidence"]]
    cited = frames.mentions[["document", "ark_id", "ark", "request_url"]].drop_duplicates()
    rows = cited.merge(outcomes.drop(columns="ark"), on=["ark_id", "request_url"], how="left")
    alone = outcomes[~outcomes["request_url"].isin(cited["request_url"])].assign(document=NO_DOCUMENT)
    rows, alone = (with_decisions(frames, part) for part in (rows, alone))
    for part in (rows, alone):
        judged = part.assign(family=families(part["object"])).sort_values(["document", "ark", "request_url"])
        for document, cases in judged.groupby("document"):
            named = cases[["ark", "request_url", "object", "object_evidence", "family", "treatment", "decision"]]
            yield str(document), list(records_of(named))


def _add_case(suite: ElementTree.Element, document: str, case: dict[str, Any]) -> str | None:
    """Add one case; returns which count of its suite it belongs to, none when it passed."""
    url = escaped(case["request_url"] or "not asked")
    name = f"{escaped(case['ark'])} at {url}"
    element = ElementTree.SubElement(suite, "testcase", {"name": name, "classname": document, "time": "0"})
    outcome, evidence = case["object"] or "not asked", escaped(case["object_evidence"] or "")
    if case["treatment"] and case["family"] != Family.WORKS:
        ElementTree.SubElement(element, "skipped", {"message": f"{outcome}, known: {escaped(case['decision'])}"})
        return "skipped"
    match case["family"]:
        case Family.FAILS:
            failure = ElementTree.SubElement(element, "failure", {"message": outcome, "type": outcome})
            failure.text = evidence
            return "failures"
        case Family.UNREACHABLE:
            error = ElementTree.SubElement(
                element, "error", {"message": f"{outcome}: no answer today", "type": outcome}
            )
            error.text = evidence
            return "errors"
        case Family.NOT_JUDGED:
            ElementTree.SubElement(element, "skipped", {"message": outcome})
            return "skipped"
    return None


def _files(report: Report) -> Files:
    yield _PATH, [junit(report).encode("utf-8", "backslashreplace")]


JUNIT = ReportFormat("junit", (_PATH,), lambda report: OfWholeReport(report, _files))
