"""JUnit: each cited ARK as a test case of its document, for the test view of a CI service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from crawler.model.observations import Family
from reports.formats.json_document import json_text
from reports.formats.report import Files, OfWholeReport, Report, ReportFormat
from reports.languages.display import escaped
from reports.remediation.causes import ADVICE, FAULT_OF, Cause, Fault
from reports.tables.ark_statuses import families
from reports.tables.definitions import records_of, rows_of
from reports.tables.known import with_decisions

_PATH = PurePosixPath("junit.xml")
#: The suite of ARKs that were asked about without a document.
NO_DOCUMENT = "(no document)"


def junit(report: Report) -> str:
    """One suite a document, one case an ARK and URL cited there: failed, in error (no answer), skipped, or passed.

    What was acknowledged or ignored is skipped, with what was decided.

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


# SARIF: each place to fix as a result, for code hosts and editors that show such things next to the text.

_PATH_SARIF = PurePosixPath("report.sarif")
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: How much a result matters to the keepers of the document.
LEVELS = {
    Fault.CITATION: "error",
    Fault.RESOLVER: "warning",
    Fault.LANDING_HOST: "warning",
    Fault.NOBODY: "note",
}


def sarif(report: Report) -> dict[str, Any]:
    """The places to fix as a SARIF log, version 2.1.0; each cause is a rule."""
    version = next((row[0] for row in rows_of(report.frames.run[["version"]])), "")
    driver = {"name": "arkaudit", "rules": [_rule(cause) for cause in Cause]}
    if version:
        driver["version"] = version
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": list(_results(report)),
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(cause: Cause) -> dict[str, Any]:
    return {
        "id": cause.value,
        "name": cause.value.title().replace("-", ""),
        "shortDescription": {"text": cause.value.replace("-", " ")},
        "help": {"text": ADVICE[cause]},
        "defaultConfiguration": {"level": LEVELS[FAULT_OF[cause]]},
    }


def _results(report: Report) -> Iterator[dict[str, Any]]:
    """Every place to fix, then those of known problems, as suppressed."""
    for row in records_of(report.tables["failures"]):
        yield _result(row)
    known_problems = report.tables["known"]
    for row in records_of(known_problems[known_problems["cause"].notna()]):
        suppression = {"kind": "external", "status": "accepted", "justification": escaped(row["decision"])}
        yield {**_result({"contact": None, **row}), "suppressions": [suppression]}


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    order = [cause.value for cause in Cause]
    better = f" It should be {row['should_be']} ({row['because']})." if row["should_be"] else ""
    text = f"{row['ark']}: {row['object']} at {row['request_url']}.{better} {ADVICE[Cause(row['cause'])]}"
    result: dict[str, Any] = {
        "ruleId": row["cause"],
        "ruleIndex": order.index(row["cause"]),
        "level": LEVELS[Fault(row["fault"])],
        "message": {"text": escaped(text)},
        "partialFingerprints": {
            "citation/v1": "|".join(escaped(str(row[key])) for key in ("document", "ark", "place"))
        },
        "properties": {key: row[key] for key in ("fault", "host", "should_be", "contact") if row[key]},
    }
    if row["document"]:
        result["locations"] = [_location(row)]
    return result


def _location(row: Mapping[str, Any]) -> dict[str, Any]:
    """The document, and the logical place in it: its offsets are those of the reader's text, not of the file."""
    name = " ".join(
        part for part in (f"page {row['page']}" if row["page"] else "", row["place"] or "", row["role"] or "") if part
    )
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(row["document"], safe="%/:=&?~#+!$,;'@()*[]")}},
        "logicalLocations": [{"name": name or "text", "kind": "element"}],
        "message": {"text": escaped(row["as_written"] or "")},
    }


def _files_of_sarif(report: Report) -> Files:
    yield _PATH_SARIF, [json_text(sarif(report)).encode("utf-8", "backslashreplace")]


SARIF = ReportFormat(
    "sarif",
    (_PATH_SARIF,),
    lambda report: OfWholeReport(report, _files_of_sarif),
    needs=frozenset({"failures", "known"}),
)
