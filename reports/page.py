"""A report as one page that needs nothing else: no script, no network, no trust in what came from the web."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jinja2
import pandas as pd
from markupsafe import Markup

from crawler.observations import DESCRIBED, FAMILY_OF, CommitmentOutcome, Family, MetadataOutcome, ObjectOutcome
from reports.charts import Chart, charts_of
from reports.display import ColumnType, escaped, heading, link, shown
from reports.frames import Frames
from reports.overviews import host
from reports.summary import sentences
from reports.tables import TABLES, TableDefinition, rows_of
from reports.words import FAMILY_MEANINGS, FAMILY_NAMES, OBJECT_MEANINGS, counted

#: Rows of a table that the page shows; its file has them all.
MOST_ROWS = 500
#: Servers with failing ARKs that the page tells of, and ARKs that it tells of one by one at each.
MOST_HOSTS = 30
MOST_ACTIONS = 10

_TEMPLATES = Path(__file__).parent / "templates"


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
    rows: tuple[tuple[Cell, ...], ...]
    row_count: int


@dataclass(frozen=True, slots=True)
class Action:
    """An ARK and URL that somebody should look at, in words."""

    ark: str
    outcome: str
    meaning: str
    evidence: str
    asked: Cell
    ended: Cell | None
    cited: str
    document: Cell | None
    elsewhere: Cell | None
    """A URL at which the same ARK works."""


@dataclass(frozen=True, slots=True)
class ActionGroup:
    """What fails at one host: mostly one cause, and one person to write to."""

    host: str
    count: str
    actions: tuple[Action, ...]
    more: int
    """How many rows there are beyond those that are told of."""


def page(frames: Frames, tables: Mapping[str, pd.DataFrame]) -> str:
    """The whole page as HTML. The same run and tables give the same text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["heading"] = heading
    style = (_TEMPLATES / "page.css").read_text("utf-8")
    groups = _action_groups(tables["arks"])
    text = environment.get_template("page.html.j2").render(
        style=Markup(style),
        policy=content_security_policy(style),
        run=_run_facts(frames),
        sentences=sentences(tables["summary"]),
        tiles=_tiles(_values(tables)),
        families=[(family.value, FAMILY_NAMES[family], meaning) for family, meaning in FAMILY_MEANINGS.items()],
        charts=[(chart, _data_url(chart)) for chart in charts_of(tables)],
        action_groups=groups[:MOST_HOSTS],
        more_hosts=max(0, len(groups) - MOST_HOSTS),
        also=_also(_values(tables)),
        tables=[_shown_table(definition, tables[definition.name]) for definition in TABLES],
        requests=_values(tables)["requests sent"],
    )
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def content_security_policy(style: str) -> str:
    """The policy of the page: nothing is loaded, run or sent; its own style and pictures are all there is."""
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _run_facts(frames: Frames) -> list[tuple[str, str]]:
    """What there is to say of how the report came about; nothing for an empty store."""
    if frames.run.empty:
        return []
    run = next(_records(frames.run))
    texts = {
        "arkaudit": run["version"],
        "Run": f"{run['run_id']} ({run['command']}, {run['state']})",
        "Started": shown(run["started_at"], ColumnType.MOMENT),
        "Ended": shown(run["ended_at"], ColumnType.MOMENT) or "not yet",
        "Resolver for ARKs without one": run["resolver"],
        "User agent": run["user_agent"],
    }
    return [(name, escaped(text)) for name, text in texts.items()]


def _values(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, int]:
    summary = tables["summary"]
    return dict(zip(summary["measure"], summary["value"], strict=True))


def _tiles(values: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """The numbers that are shown large: number, name and tone."""
    named = [
        ("citations", "citations", ""),
        ("ARKs", "ARKs", ""),
        *((f"ARKs: {family}", name, family.value) for family, name in FAMILY_NAMES.items()),
        ("ARKs described", "described when asked", ""),
        ("ARKs with a stated commitment", "with a commitment", ""),
    ]
    return [(f"{values[measure]:,}", name, tone) for measure, name, tone in named]


def _data_url(chart: Chart) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(chart.svg.encode('utf-8')).decode('ascii')}"


def _action_groups(arks: pd.DataFrame) -> list[ActionGroup]:
    """The failing ARKs by the host that answered last, the host with most of them first."""
    failing = arks[arks["family"].eq(Family.FAILS)]
    working = arks[arks["family"].eq(Family.WORKS)].drop_duplicates("ark").set_index("ark")["request_url"]
    by_host = failing.groupby(failing["final_url"].fillna(failing["request_url"]).map(host))
    return [
        ActionGroup(
            host=escaped(name),
            count=counted(rows["ark"].nunique(), "ARK"),
            actions=tuple(_action(row, working) for row in _records(rows.head(MOST_ACTIONS))),
            more=max(0, len(rows) - MOST_ACTIONS),
        )
        for name, rows in sorted(by_host, key=lambda group: (-len(group[1]), group[0]))
    ]


def _records(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    return (dict(zip(rows.columns, row, strict=True)) for row in rows_of(rows))


def _action(row: Mapping[str, Any], working: pd.Series) -> Action:
    moved_on = row["final_url"] not in (None, row["request_url"])
    cited = f"{counted(row['citations'], 'citation')} in {counted(row['documents'], 'document')}"
    return Action(
        ark=escaped(row["ark"]),
        outcome=row["object"],
        meaning=OBJECT_MEANINGS[ObjectOutcome(row["object"])],
        evidence=shown(row["object_evidence"], ColumnType.TEXT),
        asked=_cell(row["request_url"], ColumnType.URL),
        ended=_cell(row["final_url"], ColumnType.URL) if moved_on else None,
        cited=cited,
        document=_cell(row["first_document"], ColumnType.URL) if row["first_document"] else None,
        elsewhere=_cell(working[row["ark"]], ColumnType.URL) if row["ark"] in working.index else None,
    )


def _also(values: Mapping[str, int]) -> Iterator[str]:
    """What else deserves a look, one sentence each."""
    for measure, noun, what in (
        (f"URLs asked: {ObjectOutcome.WORKS_ELSEWHERE}", "URL", "failed, while another resolver found the object"),
        ("citations ambiguous", "citation", "can be read in more than one way"),
        ("documents not readable", "document", "could not be read"),
        ("documents not reached", "document", "could not be had"),
    ):
        if values.get(measure):
            yield f"{counted(values[measure], noun)} that {what}."


def _shown_table(definition: TableDefinition, table: pd.DataFrame) -> ShownTable:
    kinds = [column.type for column in definition.columns]
    rows = tuple(
        tuple(_cell(value, kind) for value, kind in zip(row, kinds, strict=True))
        for row in rows_of(table.head(MOST_ROWS))
    )
    return ShownTable(definition, rows, len(table))


def _cell(value: Any, kind: ColumnType) -> Cell:
    text = shown(value, kind)
    if kind is ColumnType.URL:
        return Cell(text, kind, href=link(value or ""))
    if kind is ColumnType.TOKEN:
        return Cell(_NAMES.get(text, text), kind, tone=TONES.get(text))
    return Cell(text, kind)


def _tones() -> Mapping[str, str]:
    """Every token that is shown as a badge, with the family whose colour it gets."""
    given = {*DESCRIBED, CommitmentOutcome.STATED}
    others = (*MetadataOutcome, *CommitmentOutcome)
    return {
        **{str(outcome): Family.WORKS if outcome in given else Family.NOT_JUDGED for outcome in others},
        **{str(outcome): family.value for outcome, family in FAMILY_OF.items()},
        **{str(family): family.value for family in Family},
    }


TONES: Final = _tones()
_NAMES: Final = {str(family): name for family, name in FAMILY_NAMES.items()}
