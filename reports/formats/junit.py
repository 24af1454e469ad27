"""JUnit: each cited ARK as a test case of its document, for the test view of a CI service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from crawler.model.observations import Family
from reports.formats.json_document import json_text
from reports.languages.display import escape_invisible
from reports.remediation.causes import ADVICE, FAULT_OF, Cause, Fault
from reports.tables.ark_statuses import families
from reports.tables.definitions import PAIR, in_order, records_of, rows_of
from reports.tables.known import with_known
from reports.tables.report_tables import Report

#: The suite of ARKs that were checked without a document.
NO_DOCUMENT = "(no document)"


def junit(report: Report) -> str:
    """Return JUnit XML with one suite per document, and one case per cited ARK and URL.

    An ARK that fails is a failed case, one without an answer is an error, and a known problem is skipped. The time of
    every case is 0, so that the same run gives the same bytes.
    """
    root = ElementTree.Element("testsuites", {"name": "arkaudit"})
    started_at = next(iter(report.frames.run["started_at"].dropna()), datetime(1970, 1, 1))
    count_names = ("tests", "failures", "errors", "skipped")
    totals: Counter[str] = Counter()
    for document, cases in _suites(report):
        suite = ElementTree.SubElement(root, "testsuite", {"name": escape_invisible(document)})
        counts = Counter(_add_case(suite, escape_invisible(document), case) for case in cases)
        counts["tests"] = len(cases)
        suite.attrib.update({kind: str(counts[kind]) for kind in count_names})
        suite.attrib.update({"time": "0", "timestamp": f"{started_at:%Y-%m-%dT%H:%M:%S}", "hostname": "localhost"})
        totals += counts
    root.attrib.update({**{kind: str(totals[kind]) for kind in count_names}, "time": "0"})
    return xml_text(root)


def xml_text(root: ElementTree.Element) -> str:
    """Return an indented XML document for a file in UTF-8; `ElementTree` would declare the encoding of the locale."""
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suites(report: Report) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each document with its cases, last `NO_DOCUMENT` with the ARKs that no document cites."""
    frames = report.frames
    outcomes = frames.verdicts[[*PAIR, "ark", "object", "object_evidence"]]
    cited_pairs = frames.mentions[["document", "ark", *PAIR]].drop_duplicates()
    rows = cited_pairs.merge(outcomes.drop(columns="ark"), on=PAIR, how="left")
    uncited = outcomes[~outcomes["request_url"].isin(cited_pairs["request_url"])].assign(document=NO_DOCUMENT)
    for rows_of_part in (rows, uncited):
        cases_of_part = with_known(frames, rows_of_part).assign(family=families(rows_of_part["object"]))
        for document, cases in in_order(cases_of_part, "document", "ark", "request_url").groupby("document"):
            case_rows = cases[["ark", "request_url", "object", "object_evidence", "family", "known"]]
            yield str(document), list(records_of(case_rows))


def _add_case(suite: ElementTree.Element, document: str, case: dict[str, Any]) -> str:
    """Add a test case to *suite*; return ``skipped``, ``errors`` or ``failures``, or an empty string if it passed."""
    url = escape_invisible(case["request_url"] or "not asked")
    name = f"{escape_invisible(case['ark'])} at {url}"
    element = ElementTree.SubElement(suite, "testcase", {"name": name, "classname": document, "time": "0"})
    outcome, family = case["object"] or "not asked", case["family"]
    if family == Family.WORKS:
        return ""
    if case["known"] or family == Family.NOT_JUDGED:
        known_words = f", known: {escape_invisible(case['known'])}" if case["known"] else ""
        ElementTree.SubElement(element, "skipped", {"message": outcome + known_words})
        return "skipped"
    is_unreachable = family == Family.UNREACHABLE
    message = f"{outcome}: no answer today" if is_unreachable else outcome
    tag = "error" if is_unreachable else "failure"
    problem = ElementTree.SubElement(element, tag, {"message": message, "type": outcome})
    problem.text = escape_invisible(case["object_evidence"] or "")
    return f"{tag}s"


# SARIF: each place to fix as a result, for code hosts and editors that show results next to the text.

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: The severity of a result for the editors of the document.
LEVELS = dict.fromkeys(Fault, "warning") | {Fault.CITATION: "error", Fault.NOBODY: "note"}


def sarif(report: Report) -> str:
    """Return the table of failures as a SARIF 2.1.0 log (JSON); causes are rules, and known problems are suppressed."""
    version = next((row[0] for row in rows_of(report.frames.run[["version"]])), "")
    rules = [
        {
            "id": cause.value,
            "name": cause.value.title().replace("-", ""),
            "shortDescription": {"text": cause.value.replace("-", " ")},
            "help": {"text": ADVICE[cause]},
            "defaultConfiguration": {"level": LEVELS[FAULT_OF[cause]]},
        }
        for cause in Cause
    ]
    driver = {"name": "arkaudit", "rules": rules, **({"version": version} if version else {})}
    results = [_result(row) for row in records_of(report.tables["failures"])]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the SARIF result for a row of the table of failures."""
    cause_order = [cause.value for cause in Cause]
    correction = f" It should be {row['should_be']} ({row['because']})." if row["should_be"] else ""
    text = f"{row['ark']}: {row['object']} at {row['request_url']}.{correction} {ADVICE[Cause(row['cause'])]}"
    result: dict[str, Any] = {
        "ruleId": row["cause"],
        "ruleIndex": cause_order.index(row["cause"]),
        "level": LEVELS[Fault(row["fault"])],
        "message": {"text": escape_invisible(text)},
        "partialFingerprints": {
            "citation/v1": "|".join(escape_invisible(str(row[key])) for key in ("document", "ark", "place"))
        },
        "properties": {key: row[key] for key in ("fault", "host", "should_be") if row[key]},
    }
    if row["document"]:
        # The logical place, because offsets refer to the extracted text, not to the file.
        place = " ".join(filter(None, (row["page"] and f"page {row['page']}", row["place"], row["role"])))
        physical_location: dict[str, Any] = {
            "artifactLocation": {"uri": quote(row["document"], safe="%/:=&?~#+!$,;'@()*[]")}
        }
        # Code hosts show a result only at a line.
        if row["line"]:
            physical_location["region"] = {"startLine": row["line"]}
        location = {
            "physicalLocation": physical_location,
            "logicalLocations": [{"name": place or "text", "kind": "element"}],
            "message": {"text": escape_invisible(row["as_written"] or "")},
        }
        result["locations"] = [location]
    if row["known"]:
        justification = escape_invisible(row["known"])
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    return result
