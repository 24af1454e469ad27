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
from reports.page.cards import action_cards, card_words
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
from reports.page.translations import Texts, changes, words_in
from reports.remediation.causes import ADVICE
from reports.store.frames import Frames
from reports.tables.ark_statuses import families
from reports.tables.definitions import DECLARED, records_of, table_definition
from reports.tables.report_tables import TABLES, Report
from reports.tables.summary import SUMMARY_TABLES
from reports.tables.wording import CHANGE_NAMES, FAILURE_MEANINGS, FAMILY_MEANINGS, TOKEN_NAMES

if TYPE_CHECKING:
    from jinja2 import Template

#: The tables that the page needs to the end.
NEEDED_TABLES = (*SUMMARY_TABLES, "failures")
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


def page_pieces(report: Report) -> Iterator[bytes]:
    """Yield the page as HTML, after an empty piece for each of `TABLES`: only its `ShownTable` is needed from then on.

    It is written in the chosen language, English by default, and contains the texts of the others. The reader's browser
    selects among them unless a language was chosen.
    """
    frames, language_choice = report.frames, report.language_choice
    texts, shown, charts_by_table = Texts(language_choice.language.code), {}, {}
    for definition in TABLES:
        name = definition.name
        shown[name] = shown_table(definition, report.tables[name], frames, texts)
        charts_by_table[name] = [*charts_of(name, report.tables[name], frames, texts)]
        yield b""
    tables, summary = report.tables, report.summary
    own_sentences = dict.fromkeys([*ADVICE.values(), *(text for table in shown.values() for text in table.sentences)])
    cards, words = action_cards(frames, tables, MOST_CAUSES, texts), card_words(texts)
    has_arks = shown["naans"].row_count
    charts = [chart for name in CHART_TABLES for chart in charts_by_table[name] if has_arks]
    values: dict[str, Any] = {
        "frames": frames,
        "run": next(records_of(frames.run), None),
        "choice": report.choice.words,
        "summary": summary,
        "tiles": DECLARED["tile"],
        "measures": {row["measure"]: row for row in records_of(tables["summary"])},
        "actions": cards,
        "more_causes": len(tables["causes"]) - len(cards),
        "card": words,
        "cell_of": cell_of,
        "terms": {**FAMILY_MEANINGS, **FAILURE_MEANINGS},
        "tones": TONES,
        "names": TOKEN_NAMES,
        "charts": charts,
        "comparison": change_lists(tables["changes"]) if frames.compared_run else [],
        "change_names": CHANGE_NAMES,
        "most_listed": MOST_LISTED,
        "topics": [(topic, [shown[name] for name in topic["tables"]]) for topic in DECLARED["topic"]],
        "columns_of": columns_of,
        "details": DETAILS,
    }
    title = texts.mark(summary.title)
    for_scripts = {
        "check_list": str(words.check_list(title, [card.row for card in cards])).splitlines(),
        "charts": [{"name": chart.name, "title": chart.title, "alt": chart.alt, **chart.drawing} for chart in charts],
    }
    told = {
        "tables": {definition.name: table_description(definition) for definition in (*TABLES, *DETAILS)},
        "audit": f"{summary.scope['store']}, {summary.scope['run'] or ''}",
        "advice": ADVICE,
    }
    data = {name: table.packed for name, table in shown.items()}
    data |= {detail.name: pack_rows(detail.table(frames), columns_of(detail)) for detail in DETAILS}
    scripted = {
        code: {**_script_values(list(own_sentences), language), **texts.fill_marks(for_scripts, code)}
        for code, language in LANGUAGES.items()
    }
    library = (_HERE / "static" / CHART_LIBRARY).read_text("utf-8")
    yield from multilingual_page(
        template("page.html.j2", "reports.page"),
        values,
        texts,
        SCRIPTS,
        scripted,
        told,
        language_choice=language_choice,
        data=data,
        library=library,
    )


def multilingual_page(
    whole: Template,
    values: Mapping[str, Any],
    texts: Texts,
    script_names: Sequence[str | Path],
    scripted: Mapping[str, Any],
    told: Mapping[str, Any],
    *,
    language_choice: LanguageChoice,
    data: Mapping[str, str] = MappingProxyType({}),
    library: str = "",
    own_style: Path | None = None,
) -> Iterator[bytes]:
    """Yield a page from the template *whole* and *values* with marks of *texts*.

    A script of another package is named by its path. The scripts get *told*, and *scripted* by language; *data* and
    *library* are embedded in the page. *own_style* follows the styles of all pages.
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
    nothing = {"style": "", "library": "", "policy": "", "script_data": "", "scripts": [""] * len(scripts)}
    places = texts.places(whole.render({**values, **nothing, "data": dict.fromkeys(data, "")}))
    script_data = {
        **told,
        "tones": TONES,
        "formula": {"pattern": FORMULA, "replacement": NEUTRALIZED_FORMULA},
        "scripted": scripted[texts.code],
        "languages": {
            code: {**places[code], "scripted": changes(scripted[texts.code], scripted[code])} for code in LANGUAGES
        },
        "written": texts.code,
        "is_asked_for": language_choice.is_asked_for,
    }
    pieces = whole.generate(
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
    """Return the texts of the scripts in a language, and its forms of numbers and dates."""
    return {
        "code": language.code,
        "words": words_in(language),
        "names": {token: language.gettext(name) for token, name in TOKEN_NAMES.items()},
        "sentences": {escape_invisible(text): escape_invisible(language.gettext(text)) for text in own_sentences},
        "day": language.day_pattern(),
        "percent": language.share(0, 0).removeprefix("0"),
    }


def content_security_policy(style: str, scripts: Sequence[str]) -> str:
    """Return the policy of the page: no request, and only the embedded scripts and styles, by digest."""
    allowed = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data:; "
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


def _lives(frames: Frames) -> pd.DataFrame:
    """Return one row per ARK and judged run, with the best outcome of its URLs; ordered by ARK and time."""
    names = frames.arks[["ark_id", "ark"]].sort_values("ark", ignore_index=True)
    rows = frames.history.merge(names[["ark_id"]].assign(place=names.index), on="ark_id")
    rows = rows.assign(family=families(rows["object"]))
    best = rows.sort_values(["family", "object"]).drop_duplicates(["ark_id", "run_id"])
    ordered = best.sort_values(["place", "started_at", "run_id"], ignore_index=True)
    ordered = ordered.assign(ark=names["ark"].take(ordered["place"].to_numpy()).array)
    return ordered.rename(columns={"run_id": "run", "started_at": "at"})


LIFE = table_definition("history", _lives)


def _requests(frames: Frames) -> pd.DataFrame:
    """Return one row per hop of a question about an ARK."""
    key = ["ark", "request_url", "question", "attempt"]
    asked = frames.observations[["observation_id", *key]]
    # Sort the texts once for all hops.
    turn = asked.groupby(key, observed=True, dropna=False).ngroup()
    of_hop = ["observation_id", "ordinal", "url", "status", "location", "error", "at", "elapsed_s"]
    rows = frames.hops[of_hop].rename(columns={"ordinal": "hop"})
    return rows.merge(asked.assign(turn=turn), on="observation_id")


REQUESTS = table_definition("requests", _requests)

#: The tables of the page that the report does not have.
DETAILS = (LIFE, REQUESTS)
