"""Datasets: the citations of very many documents as Parquet files, made part by part (`docs/dataset.md`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from arkaudit.hooks import ArkSource, hookimpl
from extractors.model.files import is_folder


@hookimpl
def commands() -> Mapping[str, tuple[str, str]]:
    """Return the command `dataset`."""
    return {"dataset": (f"{__name__}.command:dataset", "Make a dataset of very many documents.")}


@hookimpl(trylast=True)
def ark_sources(place: str) -> ArkSource | None:
    """Return the dataset at *place*; None if it is a file or a log. Raises `UserMistake`."""
    if not ("://" in place or is_folder(Path(place))):
        return None
    from arkaudit.features.datasets.documents import DatasetDocuments

    return DatasetDocuments.at(place)
