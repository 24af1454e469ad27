"""The page: its words and first rows as HTML, its tables and charts as data, its libraries and styles inside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jinja2
import pandas as pd
from markupsafe import Markup

from crawler.history.ark_status import ArkState
from crawler.observations import DESCRIBED, FAMILY_OF, CommitmentOutcome, Family, MetadataOutcome, ObjectOutcome
from reports.ark_statuses import families
from reports.at_once import in_order
from reports.audited import audited
from reports.definitions import COUNT, MOMENT, TEXT, TOKEN, URL, Column, TableDefinition, rows_of
from reports.display import ColumnType, counted, escaped, heading, link, shown
from reports.frames import Frames
from reports.page.charts import Chart, charts_of
from reports.page.payload import described, most_embedded, packed
from reports.remediation.causes import ADVICE, Cause, Fault
from reports.remediation.known import known_sentence
from reports.summary import REQUESTS_SENT, sentences
from reports.tables import TABLES
from reports.wording import CAUSE_NAMES, FAMILY_MEANINGS, FAMILY_NAMES, FAULT_NAMES

#: Rows of a table that stand in the page as HTML, for readers without scripts and for paper; the data has them all.
MOST_ROWS: Final = 60
MOST_LISTED: Final = 15
#: Causes that the page explains.
MOST_CAUSES: Final = 12

_HERE: Final = Path(__file__).parent
#: The tables that most readers look for.
FOREMOST: Final = ("changes", "naans", "resolvers", "landing_hosts", "documents", "failures", "arks")
#: What runs in the page, in this order.
SCRIPTS: Final = ("dataTables.min.js", "data.js", "tables.js", "detail.js", "charts.js")
#: What runs only when a chart comes into view.
CHART_LIBRARY: Final = "echarts.min.js"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table as the page shows it."""

    text: str
    kind: ColumnType
    href: str | None = None
    tone: str | None = None
    """The family that a badge has its colour from; none for no badge."""


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table as the page shows it: its first rows."""

    definition: TableDefinition
    columns: tuple[Column, ...]
    """Those in which there is anything, or all of a table without a row."""
    rows: tuple[tuple[Cell, ...], ...]
    row_count: int
    held: int
    """How many of its rows the page holds."""
    data: str


@dataclass(frozen=True, slots=True)
class ActionCard:
    """A cause of failures that somebody should look at, in words."""

    number: int
    name: str
    cause: str
    tone: str
    fault: str
    counts: str
    advice: str
    facts: tuple[tuple[str, Cell], ...]


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
    actions = list(_actions(tables["causes"]))
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
        sentences=sentences(tables["summary"]),
        tiles=_tiles(tables["summary"]),
        families=[(family.value, FAMILY_NAMES[family], meaning) for family, meaning in FAMILY_MEANINGS.items()],
        charts=charts,
        actions=actions[:MOST_CAUSES],
        known=known_sentence(tables["summary"]),
        more_causes=max(0, len(actions) - MOST_CAUSES),
        also=_also(_values(tables)),
        tables=list(in_order(lambda definition: _shown_table(definition, tables[definition.name]), TABLES)),
        life=packed(_lives(frames).head(most_embedded(LIFE.name)), LIFE.columns),
        script_data=Markup(_script_data(charts)),
        foremost=FOREMOST,
        requests=_values(tables)[REQUESTS_SENT],
    )
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


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
_DRAWN_FROM: Final = ("name", "height", "option", "leads_to")


def _script_data(charts: Sequence[Chart]) -> str:
    """Return what the scripts must know, as JSON that can stand in HTML."""
    data = {
        "tables": {definition.name: described(definition) for definition in (*TABLES, LIFE)},
        "tones": TONES,
        "names": _NAMES,
        "advice": {cause.value: advice for cause, advice in ADVICE.items()},
        "charts": [{name: getattr(chart, name) for name in _DRAWN_FROM} for chart in charts],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _run_facts(frames: Frames) -> list[tuple[str, str]]:
    """Return what there is to say of how the report came about; nothing for an empty store."""
    if frames.run.empty:
        return []
    run = next(_records(frames.run))
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


def _tiles(summary: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    """The numbers that are shown large: number, name, tone, and how it has changed since the run before."""
    named = [
        ("citations", "citations", ""),
        ("ARKs", "ARKs", ""),
        *((f"ARKs: {family}", name, family.value) for family, name in FAMILY_NAMES.items()),
        ("ARKs described", "described when asked", ""),
        ("ARKs with a stated commitment", "with a commitment", ""),
    ]
    rows = {row["measure"]: row for row in _records(summary)}
    return [(f"{rows[measure]['value']:,}", name, tone, _change(rows[measure])) for measure, name, tone in named]


def _change(row: Mapping[str, Any]) -> str:
    change = row["since_change"] if row["since_change"] is not None else row["change"]
    if change is None:
        return ""
    return "as before" if change == 0 else f"{change:+,} since then".replace("-", "−")


def _actions(causes: pd.DataFrame) -> Iterator[ActionCard]:
    for row in _records(causes):
        facts = [
            ("Should be", row["should_be"], URL),
            ("Because", row["because"], TEXT),
            ("Addresses", row["pattern"], TEXT),
            ("For example", row["example_ark"], ColumnType.ARK),
            ("Cited in", row["example_document"], URL),
            ("Assigned to", row["assignees"], TEXT),
            ("Contact", row["contact"], TEXT),
            ("Evidence", row["evidence"], TEXT),
        ]
        yield ActionCard(
            number=row["number"],
            name=CAUSE_NAMES[Cause(row["cause"])],
            cause=row["cause"],
            tone=Family.UNREACHABLE.value if row["fault"] == Fault.NOBODY else Family.FAILS.value,
            fault=f"{FAULT_NAMES[Fault(row['fault'])]}: {escaped(row['host'] or 'no host')}",
            counts=(
                f"{counted(row['citations'], 'citation')} of {counted(row['arks'], 'ARK')} "
                f"in {counted(row['documents'], 'document')}"
            ),
            advice=row["advice"],
            facts=tuple((name, _cell(value, kind)) for name, value, kind in facts if value),
        )


def _records(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    return (dict(zip(rows.columns, row, strict=True)) for row in rows_of(rows))


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


def _shown_table(definition: TableDefinition, table: pd.DataFrame) -> ShownTable:
    columns = tuple(column for column in definition.columns if table.empty or table[column.name].notna().any())
    most = MOST_LISTED if definition.is_listing else MOST_ROWS
    first = table.head(most)[[column.name for column in columns]]
    rows = tuple(
        tuple(_cell(value, column.type) for value, column in zip(row, columns, strict=True)) for row in rows_of(first)
    )
    held = table.head(most_embedded(definition.name))
    return ShownTable(definition, columns, rows, len(table), len(held), packed(held, definition.columns))


def _cell(value: Any, kind: ColumnType) -> Cell:
    text = shown(value, kind)
    if kind is ColumnType.URL:
        return Cell(text, kind, href=link(value or ""))
    if kind is ColumnType.TOKEN:
        return Cell(_NAMES.get(text, text), kind, tone=TONES.get(text))
    return Cell(text, kind)


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


def _tones() -> Mapping[str, str]:
    """Every token that is shown as a badge, with the family whose colour it gets."""
    given = {*DESCRIBED, CommitmentOutcome.STATED}
    others = (*MetadataOutcome, *CommitmentOutcome)
    states = {
        ArkState.HEALTHY: Family.WORKS,
        ArkState.FAILING: Family.UNREACHABLE,
        ArkState.FLAPPING: Family.UNREACHABLE,
        ArkState.CONFIRMED_BROKEN: Family.FAILS,
    }
    return {
        **{str(state): states.get(state, Family.NOT_JUDGED).value for state in ArkState},
        **{str(outcome): (Family.WORKS if outcome in given else Family.NOT_JUDGED).value for outcome in others},
        **{str(outcome): family.value for outcome, family in FAMILY_OF.items()},
        **{str(family): family.value for family in Family},
    }


TONES: Final = _tones()
_NAMES: Final = {str(family): name for family, name in FAMILY_NAMES.items()}
