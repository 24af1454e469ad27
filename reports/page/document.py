"""The page: texts and first rows as HTML, tables and charts as data, with libraries and styles embedded."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from reports.languages import LANGUAGES, Language, LanguageChoice
from reports.languages.display import FORMULA, NEUTRALIZED_FORMULA, escape_invisible
from reports.languages.templates import template, words_of
from reports.page.cards import action_cards, card_macros
from reports.page.charts import CHART_TABLES, charts_of
from reports.page.shown_tables import (
    MOST_LISTED,
    TONES,
    cell_of,
    change_lists,
    columns_of,
    pack_rows,
    shown_table,
    table_description,
)
from reports.page.translations import Texts, changes, script_texts
from reports.remediation.causes import ADVICE
from reports.store.frames import Frames
from reports.tables.ark_statuses import families
from reports.tables.definitions import DECLARED, in_order, records_of, table_definition
from reports.tables.report_tables import TABLES, Report
from reports.tables.summary import SUMMARY_TABLES
from reports.tables.wording import FAILURE_MEANINGS, FAMILY_MEANINGS, TOKEN_NAMES

if TYPE_CHECKING:
    from jinja2 import Template

#: The tables that the page needs to the end.
NEEDED_TABLES = (*SUMMARY_TABLES, "failures", "hosts")
#: Number of causes with a card.
MOST_CAUSES = 12

_HERE = Path(__file__).parent
#: The scripts of the page, in order.
SCRIPTS = (
    "dataTables.min.js",
    "data.js",
    "language.js",
    "tables.js",
    "detail.js",
    "charts.js",
    "cards.js",
    "navigation.js",
)
#: The library that runs only when a chart comes into view.
CHART_LIBRARY = "echarts.min.js"


def page_pieces(report: Report) -> Iterator[bytes | None]:
    """Yield None for each of `TABLES`, which can be dropped from memory then; after them, the page as HTML in pieces.

    The page is in the chosen language, English by default, and contains the texts of the other languages. The reader's
    browser selects the language unless the user chose one.
    """
    frames, language_choice = report.frames, report.language_choice
    texts, shown_tables, charts_by_table = Texts(language_choice.language.code), {}, {}
    for definition in TABLES:
        name = definition.name
        shown_tables[name] = shown_table(definition, report.tables[name], frames, texts)
        charts_by_table[name] = [*charts_of(name, report.tables[name], frames, texts)]
        yield None
    tables, summary = report.tables, report.summary
    own_sentences = dict.fromkeys(
        [*ADVICE.values(), *(text for table in shown_tables.values() for text in table.sentences)]
    )
    cards, words_of_cards = action_cards(frames, tables, MOST_CAUSES, texts), card_macros(texts)
    refusing_hosts = in_order(tables["hosts"].query("arks_not_judged > 0"), "-arks_not_judged", "host")
    has_arks = shown_tables["naans"].row_count
    charts = [chart for name in CHART_TABLES for chart in charts_by_table[name] if has_arks]
    values: dict[str, Any] = {
        "frames": frames,
        "run": next(records_of(frames.run), None),
        "choice": report.choice.words,
        "summary": summary,
        "tiles": DECLARED["tile"],
        "measures": {row["measure"]: row for row in records_of(tables["summary"])},
        "actions": cards,
        "refusing_hosts": list(records_of(refusing_hosts.head(MOST_LISTED))),
        "refusal_advice": next(brief["caption"] for brief in DECLARED["brief"] if brief["table"] == "hosts"),
        "more_causes": len(tables["causes"]) - len(cards),
        "card": words_of_cards,
        "cell_of": cell_of,
        "terms": {**FAMILY_MEANINGS, **FAILURE_MEANINGS},
        "tones": TONES,
        "names": TOKEN_NAMES,
        "charts": charts,
        "comparison": change_lists(tables["changes"]) if frames.compared_run else [],
        "most_listed": MOST_LISTED,
        "topics": [(topic, [shown_tables[name] for name in topic["tables"]]) for topic in DECLARED["topic"]],
        "columns_of": columns_of,
        "details": DETAILS,
    }
    title = texts.mark(summary.title)
    marked_values = {
        "check_list": str(words_of_cards.check_list(title, [card.row for card in cards])).splitlines(),
        "charts": [{"name": chart.name, "title": chart.title, "alt": chart.alt, **chart.drawing} for chart in charts],
    }
    script_values = {
        "tables": {definition.name: table_description(definition) for definition in (*TABLES, *DETAILS)},
        "audit": f"{summary.scope['store']}, {summary.scope['run'] or ''}",
        "advice": ADVICE,
    }
    data = {name: table.packed for name, table in shown_tables.items()}
    data |= {detail.name: pack_rows(detail.table(frames), columns_of(detail)) for detail in DETAILS}
    values_by_language = {
        code: {**_script_values(list(own_sentences), language), **texts.fill_marks(marked_values, code)}
        for code, language in LANGUAGES.items()
    }
    library = (_HERE / "static" / CHART_LIBRARY).read_text("utf-8")
    yield from multilingual_page(
        template("page.html.j2", "reports.page"),
        values,
        texts,
        SCRIPTS,
        values_by_language,
        script_values,
        language_choice=language_choice,
        data=data,
        library=library,
    )


def multilingual_page(
    page_template: Template,
    values: Mapping[str, Any],
    texts: Texts,
    script_names: Sequence[str | Path],
    values_by_language: Mapping[str, Any],
    script_values: Mapping[str, Any],
    *,
    language_choice: LanguageChoice,
    data: Mapping[str, str] = MappingProxyType({}),
    library: str = "",
    own_style: Path | None = None,
) -> Iterator[bytes]:
    """Yield the HTML of a page in pieces, from *page_template* and *values*, which contain marks of *texts*.

    *script_names* are names in ``static``, or paths. The scripts get *script_values*, and *values_by_language* by
    language code. *data* (Base64 by name of the table) and *library* (JavaScript) are embedded in the page. *own_style*
    is the path of a style sheet that follows the one of all pages.
    """
    styles = [_HERE / "templates" / "page.css", *([own_style] if own_style else [])]
    style = "".join(file.read_text("utf-8") for file in styles)
    scripts = [(_HERE / "static" / script).read_text("utf-8") for script in script_names]
    values = {
        **values,
        **words_of(texts),
        "lang": texts.mark(lambda language: language.code),
        "languages": LANGUAGES.values(),
    }
    # Large content that is the same in every language is left out while the positions of texts are counted.
    empty_values = {"style": "", "library": "", "policy": "", "script_data": "", "scripts": [""] * len(scripts)}
    texts_by_language = texts.places(page_template.render({**values, **empty_values, "data": dict.fromkeys(data, "")}))
    script_data = {
        **script_values,
        "tones": TONES,
        "formula": {"pattern": FORMULA, "replacement": NEUTRALIZED_FORMULA},
        "scripted": values_by_language[texts.code],
        "languages": {
            code: {
                **texts_by_language[code],
                "scripted": changes(values_by_language[texts.code], values_by_language[code]),
            }
            for code in LANGUAGES
        },
        "written": texts.code,
        "is_asked_for": language_choice.is_asked_for,
    }
    pieces = page_template.generate(
        {
            **values,
            "style": Markup(style),
            "scripts": [Markup(script) for script in scripts],
            "library": Markup(library),
            "policy": content_security_policy(style, [text for text in (*scripts, library) if text]),
            "data": data,
            "script_data": Markup(_in_html(script_data)),
        }
    )
    return (texts.fill_page(piece).encode("utf-8", errors="backslashreplace") for piece in pieces)


def _script_values(own_sentences: Sequence[str], language: Language) -> dict[str, Any]:
    """Return the texts of the scripts in *language*, with *own_sentences* translated, and its date and percent forms."""
    return {
        "code": language.code,
        "words": script_texts(language),
        "names": {token: language.gettext(name) for token, name in TOKEN_NAMES.items()},
        "sentences": {escape_invisible(text): escape_invisible(language.gettext(text)) for text in own_sentences},
        "day": language.day_pattern(),
        "percent": language.share(0, 0).removeprefix("0"),
    }


def content_security_policy(style: str, scripts: Sequence[str]) -> str:
    """Return the Content-Security-Policy of the page: no request, and only the given scripts and style, by digest."""
    script_sources = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {script_sources}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _in_html(data: Mapping[str, Any]) -> str:
    """Return *data* as JSON that can be embedded in HTML."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# -- the details of an ARK: its history, and every request about it


def _ark_checks(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and judged run, with the best outcome of its URLs; ordered by ARK and time."""
    sorted_arks = frames.arks[["ark_id", "ark"]].sort_values("ark", ignore_index=True)
    rows = frames.history.merge(sorted_arks[["ark_id"]].assign(place=sorted_arks.index), on="ark_id")
    rows = rows.assign(family=families(rows["object"]))
    best_outcomes = rows.sort_values(["family", "object"]).drop_duplicates(["ark_id", "run_id"])
    sorted_rows = best_outcomes.sort_values(["place", "started_at", "run_id"], ignore_index=True)
    sorted_rows = sorted_rows.assign(ark=sorted_arks["ark"].take(sorted_rows["place"].to_numpy()).array)
    return sorted_rows.rename(columns={"run_id": "run", "started_at": "at"})


LIFE = table_definition("history", _ark_checks)


def _ark_requests(frames: Frames) -> pd.DataFrame:
    """Return one row per hop of a question about an ARK."""
    key = ["ark", "request_url", "question", "attempt"]
    questions = frames.observations[["observation_id", *key]]
    # Sort the texts once for all hops.
    text_order = questions.groupby(key, observed=True, dropna=False).ngroup()
    hop_columns = ["observation_id", "ordinal", "url", "status", "location", "error", "at", "elapsed_s"]
    rows = frames.hops[hop_columns].rename(columns={"ordinal": "hop"})
    return rows.merge(questions.assign(turn=text_order), on="observation_id")


REQUESTS = table_definition("requests", _ark_requests)

#: The tables of the page that the report does not have.
DETAILS = (LIFE, REQUESTS)
