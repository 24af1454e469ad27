"""Checks before a run: `run` and `run --dry-run` refuse the same mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from arkaudit.configuration.config import Config
from reports.tables.wording import DEFAULT_FORMATS


def checks_before_run(
    config: Config, store_file: Path, out: Path | None, formats: Sequence[str] = DEFAULT_FORMATS
) -> Mapping[str, Callable[[], object]]:
    """Return checks by topic. Each raises `ArkauditError` or `OSError` for a mistake, and writes nothing."""
    from arkaudit.schedules.notification import check_channels
    from crawler.store.files import real_path, refuse_foreign
    from reports.exports import check_out
    from reports.store.inventory import read_inventory

    def check_store() -> None:
        refuse_foreign(real_path(store_file))

    return {
        **({"inventory": partial(read_inventory, config.inventory)} if config.inventory else {}),
        "notify": partial(check_channels, config),
        "store": check_store,
        **({"report": partial(check_out, out, formats)} if out else {}),
        **({"overview": partial(check_out, config.overview.out, ())} if config.overview.out else {}),
    }
