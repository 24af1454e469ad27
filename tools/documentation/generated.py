"""Write the generated pages of the documentation, and the schema of ``report.json``: ``make generated``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from reports.formats.json_document import json_text
from tools.documentation import configuration_page, conformance_page, data_dictionary, report_schema, rule_page

ROOT = Path(__file__).parents[2]
#: The functions that return the content of each file.
GENERATED: Mapping[str, Callable[[], str]] = {
    "docs/configuration.md": configuration_page.page,
    "docs/conformance.md": conformance_page.page,
    "docs/data-dictionary.md": data_dictionary.page,
    "docs/report.schema.json": lambda: json_text(report_schema.schema()),
    "docs/verdicts.md": rule_page.page,
}

if __name__ == "__main__":
    for place, content in GENERATED.items():
        (ROOT / place).write_text(content(), "utf-8")
