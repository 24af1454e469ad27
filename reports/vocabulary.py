"""The words that a report is asked for in: its formats, and what `--only` understands. Light to import."""

from __future__ import annotations

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import CommitmentOutcome, Family, MetadataOutcome, ObjectOutcome
from reports.remediation.causes import Cause

#: Every format, and what it is.
FORMATS = {
    "html": "one page that needs nothing else",
    "csv": "one file a table, in UTF-8",
    "md": "the report in brief, for an issue or the summary of a CI job",
    "json": "one document with every table, which docs/report.schema.json describes",
    "xlsx": "one workbook with a sheet a table, for spreadsheets",
    "parquet": "one file a table, for other tools",
    "junit": "each cited ARK as a test case of its document, for CI",
    "badge": "how many ARKs resolve, as a picture and as JSON for shields.io",
    "sarif": "each place to fix as a result, for code hosts and editors",
}
#: The modules that formats need, which are extras of the same names as the formats.
FORMAT_MODULES = {"xlsx": "xlsxwriter"}
#: What is written when nothing else is asked for.
DEFAULT_FORMATS = ("html", "csv")

#: The words that ``--only`` understands; one that is in several vocabularies means them all.
ONLY = tuple(
    dict.fromkeys(
        str(word)
        for words in (
            Family,
            ObjectOutcome,
            MetadataOutcome,
            CommitmentOutcome,
            ArkState,
            EventKind,
            Cause,
        )
        for word in words
    )
)
