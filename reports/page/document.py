"""The page: its words and first rows as HTML, its tables and charts as data, its libraries and styles inside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
import pandas as pd
from markupsafe import Markup

from crawler.observations import ObjectOutcome
from reports.ark_statuses import families
from reports.at_once import in_order
from reports.audited import audited
from reports.definitions import COUNT, MOMENT, TOKEN, Column, TableDefinition
from reports.display import ColumnType, counted, escaped, heading, shown
from reports.frames import Frames
from reports.headline import counts_of, headline
from reports.page.cards import action_cards, check_list
from reports.page.chart import Chart
from reports.page.charts import charts_of
from reports.page.first_screen import tiles_of
from reports.page.payload import described, most_embedded, packed
from reports.page.shown_tables import NAMES, TONES, ShownTable, records_of, shown_table
from reports.page.topics import TOPICS, Topic, nothing_words
from reports.page.words import WORDS
from reports.remediation.causes import ADVICE
from reports.remediation.known import known_sentence
from reports.summary import REQUESTS_SENT, sentences
from reports.tables import TABLES
from reports.wording import FAMILY_MEANINGS, FAMILY_NAMES

#: Causes that the page explains.
MOST_CAUSES: Final = 12

_HERE: Final = Path(__file__).parent
#: What runs in the page, in this order.
SCRIPTS: Final = ("dataTables.min.js", "data.js", "tables.js", "detail.js", "charts.js", "cards.js", "navigation.js")
#: What runs only when a chart comes into view.
CHART_LIBRARY: Final = "echarts.min.js"


def page(frames: Frames, tables: Mapping[str, pd.DataFrame], *, choice: str = "") -> str:
    """The whole page as HTML. The same run and tables give the same text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["heading"] = heading
    style = (_HERE / "templates" / "page.css").read_text("utf-8")
    scripts = [(_HERE / "static" / name).read_text("utf-8") for name in SCRIPTS]
    library = (_HERE / "static" / CHART_LIBRARY).read_text("utf-8")
    charts = charts_of(tables)
    about = audited(frames)
    cards = action_cards(frames, tables, MOST_CAUSES)
    text = environment.get_template("page.html.j2").render(
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        library=Markup(library),
        policy=content_security_policy(style, [*scripts, library]),
        run=_run_facts(frames),
        choice=escaped(choice),
        suspicion=_suspicion(frames),
        title=escaped(about.title),
        audited=[escaped(sentence) for sentence in about.sentences],
        headline=headline(counts_of(frames, tables)),
        sentences=sentences(tables["summary"]),
        tiles=tiles_of(tables["summary"]),
        families=[(family.value, FAMILY_NAMES[family], meaning) for family, meaning in FAMILY_MEANINGS.items()],
        charts=charts,
        actions=cards,
        known=known_sentence(tables["summary"]),
        more_causes=len(tables["causes"]) - len(cards),
        also=_also(_values(tables)),
        topics=_topics(frames, tables),
        life=packed(_lives(frames).head(most_embedded(LIFE.name)), LIFE.columns),
        script_data=Markup(_script_data(charts, list(check_list(about.title, cards)), about.facts)),
        requests=_values(tables)[REQUESTS_SENT],
    )
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def _topics(frames: Frames, tables: Mapping[str, pd.DataFrame]) -> list[tuple[Topic, list[ShownTable]]]:
    """The tables of the page, by topic."""

    def one(definition: TableDefinition) -> ShownTable:
        table = tables[definition.name]
        return shown_table(definition, table, nothing_words(definition, table, frames))

    made = {table.definition.name: table for table in in_order(one, TABLES)}
    return [(topic, [made[name] for name in topic.tables]) for topic in TOPICS]


def content_security_policy(style: str, scripts: Sequence[str]) -> str:
    """The policy of the page: nothing is loaded or sent, and nothing runs or styles but what is there by its digest."""
    allowed = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


#: What the scripts must know of a chart.
_DRAWN_FROM: Final = ("name", "title", "alt", "height", "option", "leads_to", "widest_number")


def _script_data(charts: Sequence[Chart], check_list: Sequence[str], about: Mapping[str, Any]) -> str:
    """Return what the scripts must know, as JSON that can stand in HTML."""
    data = {
        "tables": {definition.name: described(definition) for definition in (*TABLES, LIFE)},
        "tones": TONES,
        "names": NAMES,
        "words": WORDS,
        "check_list": check_list,
        "audit": f"{about['store']}, {about.get('run', '')}",
        "advice": {cause.value: advice for cause, advice in ADVICE.items()},
        "charts": [{name: getattr(chart, name) for name in _DRAWN_FROM} for chart in charts],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _run_facts(frames: Frames) -> list[tuple[str, str]]:
    """Return what there is to say of how the report came about; nothing for an empty store."""
    if frames.run.empty:
        return []
    run = next(records_of(frames.run))
    texts = {
        "arkaudit": run["version"],
        "Run": f"{run['run_id']} ({run['command']}, {run['state']})",
        "Started": shown(run["started_at"], ColumnType.MOMENT),
        "Ended": shown(run["ended_at"], ColumnType.MOMENT) or "not yet",
        "Compared with": _compared(frames),
        "Resolver for ARKs without one": run["resolver"],
        "User agent": run["user_agent"],
    }
    return [(name, escaped(text)) for name, text in texts.items() if text]


def _compared(frames: Frames) -> str:
    runs = [(name, earlier) for name, earlier in (("before", frames.previous), ("chosen", frames.since)) if earlier]
    return "; ".join(f"run {int(earlier.run['run_id'].iloc[0])} ({name})" for name, earlier in runs)


def _suspicion(frames: Frames) -> str:
    """Return why the failures of this run prove nothing, where they don't."""
    suspect = frames.run[frames.run["is_suspect"].fillna(False)]
    return escaped(str(suspect["suspicion"].iloc[0])) if len(suspect) else ""


def _values(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, int]:
    summary = tables["summary"]
    return dict(zip(summary["measure"], summary["value"], strict=True))


def _also(values: Mapping[str, int]) -> Iterator[str]:
    """Return what else deserves a look, one sentence each."""
    for measure, noun, what in (
        (f"URLs asked: {ObjectOutcome.WORKS_ELSEWHERE}", "URL", "failed, while another resolver found the object"),
        ("citations ambiguous", "citation", "can be read in more than one way"),
        ("documents not readable", "document", "could not be read"),
        ("documents not reached", "document", "could not be had"),
    ):
        if values.get(measure):
            yield f"{counted(values[measure], noun)} that {what}."


# -- the life of an ARK


def _lives(frames: Frames) -> pd.DataFrame:
    """One row an ARK and run in which it was judged, with the best outcome of its URLs; ordered by ARK and moment."""
    names = frames.arks[["ark_id", "ark"]].sort_values("ark", ignore_index=True)
    rows = frames.history.merge(names[["ark_id"]].assign(place=names.index), on="ark_id")
    rows = rows.assign(family=families(rows["object"]))
    best = rows.sort_values(["family", "object"]).drop_duplicates(["ark_id", "run_id"])
    ordered = best.sort_values(["place", "started_at", "run_id"], ignore_index=True)
    ordered = ordered.assign(ark=names["ark"].take(ordered["place"].to_numpy()).array)
    return ordered.rename(columns={"run_id": "run", "started_at": "at"})[[column.name for column in LIFE.columns]]


LIFE: Final = TableDefinition(
    "history",
    "Checks so far",
    "One row an ARK and run.",
    _lives,
    (
        Column("ark", ColumnType.ARK, "ARK in normal form"),
        Column("run", COUNT, "number of the run", "number from 1"),
        Column("at", MOMENT, "beginning of the run", "UTC"),
        Column("family", TOKEN, "what the best outcome amounts to"),
        Column("object", TOKEN, "best outcome of the object service"),
    ),
)
