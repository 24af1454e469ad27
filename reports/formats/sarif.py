"""SARIF: each place to fix as a result, for code hosts and editors that show such things beside the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from reports.definitions import records_of, rows_of
from reports.display import escaped
from reports.formats.json_document import json_text
from reports.formats.report import Files, OfWholeReport, Report, ReportFormat
from reports.remediation.causes import ADVICE, FAULT_OF, Cause, Fault

_PATH: Final = PurePosixPath("report.sarif")
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
#: How much a result matters to whoever keeps the document.
LEVELS: Final[Mapping[Fault, str]] = {
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
    """Every place to fix; behind them those of known problems, as suppressed."""
    for row in records_of(report.tables["failures"]):
        yield _result(row)
    known = report.tables["known"]
    for row in records_of(known[known["cause"].notna()]):
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
    place = " ".join(
        part for part in (f"page {row['page']}" if row["page"] else "", row["place"] or "", row["role"] or "") if part
    )
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(row["document"], safe="%/:=&?~#+!$,;'@()*[]")}},
        "logicalLocations": [{"name": place or "text", "kind": "element"}],
        "message": {"text": escaped(row["as_written"] or "")},
    }


def _files(report: Report) -> Files:
    yield _PATH, [json_text(sarif(report)).encode("utf-8", "backslashreplace")]


SARIF = ReportFormat(
    "sarif", (_PATH,), lambda report: OfWholeReport(report, _files), needs=frozenset({"failures", "known"})
)
