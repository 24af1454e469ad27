"""The distinct ARKs of a dataset, as mentions that can be asked about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from extractors.dataset.evidence_files import ark_in_normal_form
from extractors.dataset.manifest import manifest_in
from extractors.dataset.storage import Storage, open_storage
from extractors.document_model import Role
from extractors.mentions.mention import STANDS_WHOLE, Mention
from extractors.wraps.wrap import Confidence

#: What tells two targets apart; alternatives are gathered.
_COLUMNS = ["ark", "repaired", "resolver"]


@dataclass(frozen=True, slots=True, order=True)
class _Target:
    ark: str
    repaired: str
    resolver: str

    def mention(self, alternatives: set[str]) -> Mention:
        return Mention(
            ark=ark_in_normal_form(self.ark), as_written=self.repaired, spans=((0, len(self.repaired)),),
            repaired=self.repaired, resolver=self.resolver or None, inflection="", role=Role.LINK_TARGET, page=None,
            place="", context="", repairs=(), confidence=Confidence.CERTAIN, reason=STANDS_WHOLE,
            alternatives=tuple(sorted(alternatives)),
        )  # fmt: skip


def dataset_mentions(place: str) -> list[Mention]:
    """Return one mention for each ARK, resolver and spelling in the dataset at *place*, sorted, with all alternatives.

    Raises `extractors.shared_errors.UserMistake` where there is no dataset that is finished.
    """
    storage = open_storage(place)
    found: dict[_Target, set[str]] = {}
    for name in manifest_in(storage).tables["mentions"].files:
        for target, alternatives in _targets_in(storage, name):
            found.setdefault(target, set()).update(alternatives)
    return [target.mention(found[target]) for target in sorted(found)]


def _targets_in(storage: Storage, name: str) -> Iterator[tuple[_Target, list[str]]]:
    """The distinct targets of one file, some with alternatives."""
    with storage.local(name) as path, pq.ParquetFile(path) as file:
        table = file.read(columns=[*_COLUMNS, "alternatives"])
    distinct = table.group_by(_COLUMNS).aggregate([])
    for ark, repaired, resolver in _rows(distinct):
        yield _Target(ark, repaired, resolver or ""), []
    doubtful = table.filter(pc.list_value_length(table["alternatives"]).cast("bool"))
    for row in doubtful.to_pylist():
        yield _Target(row["ark"], row["repaired"], row["resolver"] or ""), row["alternatives"]


def _rows(table: pa.Table) -> Iterator[tuple[str, str, str | None]]:
    return zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True)
