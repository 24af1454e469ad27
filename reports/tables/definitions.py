"""The definition of a report's table: its name, its row, its order and its columns, from which every format is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.languages import N_
from reports.languages.display import ColumnType
from reports.store.frames import Frames
from reports.tables.distinct import values_of

TEXT, TOKEN, URL = ColumnType.TEXT, ColumnType.TOKEN, ColumnType.URL
NAAN, ARK = ColumnType.NAAN, ColumnType.ARK
COUNT, NUMBER, SHARE = ColumnType.COUNT, ColumnType.NUMBER, ColumnType.SHARE
TRUTH, MOMENT = ColumnType.TRUTH, ColumnType.MOMENT

#: The dtype of a column in a frame, by its type. Words of a vocabulary may be categories, too.
DTYPES: Final[Mapping[ColumnType, str]] = {
    **dict.fromkeys((TEXT, TOKEN, NAAN, ARK, URL), "str"),
    COUNT: "Int64",
    **dict.fromkeys((NUMBER, SHARE), "Float64"),
    TRUTH: "boolean",
    MOMENT: "datetime64[ms, UTC]",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One published column."""

    name: str
    type: ColumnType
    meaning: str
    unit: str = ""
    varies: bool = False
    """Whether two audits of the same world differ in it: a time, a duration, a number of attempts."""
    is_ours: bool = False
    """Whether its texts are sentences of ours, which people read in their own language; files for programs have them
    in English."""

    def dtype_of(self, cells: pd.Series) -> Any:
        """Return the dtype that *cells* get in this column: it follows from the type; categories of words stay."""
        is_word = self.type is TOKEN and isinstance(cells.dtype, pd.CategoricalDtype)
        return cells.dtype if is_word else DTYPES[self.type]


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """One published table: what a row is, and how its frame is made."""

    name: str
    title: str
    caption: str
    function: Callable[[Frames], pd.DataFrame]
    columns: tuple[Column, ...]
    is_listing: bool = False
    """Whether it lists single things rather than counts: too much for paper."""

    def shaped(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of this table out of *rows*, in their order, each with the dtype of its type."""
        columns = rows[[column.name for column in self.columns]]
        dtypes = {column.name: column.dtype_of(columns[column.name]) for column in self.columns}
        return columns.astype({name: dtype for name, dtype in dtypes.items() if dtype != columns[name].dtype})


def rows_of(table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """The rows of a table as plain values, None for what is missing."""
    return zip(*(values_of(table.iloc[:, number]) for number in range(table.shape[1])), strict=True)


def records_of(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The same, each by the names of the columns."""
    names = list(table.columns)  # an index would make its texts anew for each row
    return (dict(zip(names, row, strict=True)) for row in rows_of(table))


NAAN_COLUMN: Final = Column("naan", NAAN, "Name Assigning Authority Number, as in the normal form")
ORGANIZATION_COLUMN: Final = Column(
    "organization", TEXT, "who assigns there, as the copy of the NAAN registry says; empty where it doesn't"
)
ARKS_COLUMN: Final = Column("arks", COUNT, "distinct ARKs of this row", "ARKs")
CITATIONS_COLUMN: Final = Column(
    "citations", COUNT, "citations of these ARKs in documents; a link and its text are one", "citations"
)
DOCUMENTS_COLUMN: Final = Column("documents", COUNT, "documents that cite them", "documents")
FAMILY_COUNT_COLUMNS: Final = (
    Column("works", COUNT, "ARKs that lead to their object or to the provider's words about it", "ARKs"),
    Column("fails", COUNT, "ARKs for which the provider answers, but not with the object", "ARKs"),
    Column("unreachable", COUNT, "ARKs whose server gave no answer today; not link rot", "ARKs"),
    Column("not_judged", COUNT, "ARKs that were skipped, held back, refused to programs, or not asked", "ARKs"),
)
SHARE_COLUMN: Final = Column("share_works", SHARE, "works / (works + fails); empty when both are 0", "1")
REQUEST_URL_COLUMN: Final = Column("request_url", URL, "URL that was asked for the object; empty when none was")
OBJECT_COLUMN: Final = Column("object", TOKEN, "outcome of the object service at this URL; empty when it was not asked")

#: The units of columns, to be said in other languages, too.
UNITS: Final = (
    N_("ARKs"), N_("ARKs at a URL"), N_("ARKs or URLs"), N_("ARKs, documents, answers, questions or links"),
    N_("HTTP status"), N_("as the measure says"), N_("citations"), N_("code points from 0"), N_("days"),
    N_("documents"), N_("findings"), N_("number"), N_("number from 1"), N_("page number from 1"), N_("pauses"),
    N_("places"), N_("redirects"), N_("requests"), N_("runs"), N_("seconds"), N_("services"), N_("spells"),
)  # fmt: skip
