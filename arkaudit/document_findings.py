"""Findings about documents, said as they come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

from arkaudit.exits import say
from extractors.document_model import ABOUT_CITATIONS, Finding


def report_findings(document: str, findings: Sequence[Finding], to: TextIO | None) -> None:
    """Write the *findings* about a document to *to*, and say those that are not about citations or links."""
    if not findings:
        return
    from crawler.sources.gate import ABOUT_LINKS

    for finding in findings:
        if to is not None:
            row = {"document": document, "kind": finding.kind, "detail": finding.detail}
            to.write(json.dumps(row, ensure_ascii=False) + "\n")
            to.flush()
        if finding.kind not in ABOUT_CITATIONS | ABOUT_LINKS:
            say(f"{document}: {finding.kind}: {finding.detail}")
