"""Do what `--dry-run` does: list what would be asked of whom, and send and write nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from arkaudit.exits import say
from extractors.model.ark import Ark

if TYPE_CHECKING:
    from arkaudit.config import Config
    from arkaudit.datasets.documents import DatasetDocuments
    from crawler.history.rechecking import KnownArk
    from crawler.spiders.seeds import Seeds


def tell_of_check(asked: Sequence[str], config: Config) -> None:
    """Print what a check of the lines *asked* would ask of whom."""
    from arkaudit.checking import targets

    _tell_of_arks(targets(asked, config), config)


def tell_of_due(again: Sequence[KnownArk], config: Config) -> None:
    """Print what a check of what is due would ask of whom."""
    _tell_of_arks([(Ark.parse(due_ark.ark), due_ark.request_url) for due_ark in again], config)


def tell_of_dataset(dataset: DatasetDocuments, config: Config) -> None:
    """Print what a check of a *dataset* would ask of whom."""
    from crawler.model.registry import cache_folder
    from crawler.model.registry import load as load_registry

    registry = load_registry(cache_folder())
    targets = dataset.targets(config.resolver)
    _tell_of_arks([(ark, url) for ark, url in targets if not registry.names_only(ark)], config)


def _tell_of_arks(targets: Sequence[tuple[Ark, str]], config: Config) -> None:
    from arkaudit.forecast import plan_of_arks, print_forecast

    _tell_of_archive(config)
    _tell_of_rendering(config)

    print_forecast(plan_of_arks(_asked_at(targets, config), config.allowance), Console())


def tell_of_run(seeds: Seeds, config: Config, store_file: Path) -> None:
    """Print what a run over *seeds* would ask of whom, as far as the last one in the store lets it be known.

    Raises `crawler.store.store_errors.StoreUnopenable`.
    """
    from arkaudit.forecast import plan_of_crawl, print_forecast
    from crawler.runs.previous_run import last_run
    from extractors.documents import document_name

    named = [*seeds.urls, *map(document_name, seeds.files)]
    _tell_of_archive(config)
    _tell_of_rendering(config)

    print_forecast(plan_of_crawl(seeds.urls, last_run(store_file, named), config.allowance), Console())


def _tell_of_archive(config: Config) -> None:
    """Say that an archive would be asked besides: how much is only known once it is known what fails."""
    if config.memento.timegate:
        say(f"and of {config.memento.timegate}, about each ARK that fails: one to twenty requests")


def _tell_of_rendering(config: Config) -> None:
    """Say that pages would be shown by a browser besides: what they ask for, only they know."""
    if config.render.enabled:
        most = config.render.max_requests
        say(f"and each page that only a browser shows once more, with up to {most} requests of its own")


def _asked_at(targets: Sequence[tuple[Ark, str]], config: Config) -> list[tuple[Ark, str]]:
    """The URLs where the objects are asked for first: with ``--direct``, that may be the registry's own target."""
    if not config.resolve.direct:
        return list(targets)
    from crawler.asking.questions import Places
    from crawler.model.registry import cache_folder
    from crawler.model.registry import load as load_registry

    registry = load_registry(cache_folder())
    asked = []
    for ark, url in targets:
        places = Places.of(ark, url, registry=registry, global_resolver=config.resolver)
        is_direct = places.at_registry is not None and places.at_global is None
        asked.append((ark, places.at_registry if is_direct and places.at_registry else url))
    return asked
