"""Pages of the documentation compared with the code: generated parts, names, settings, kinds of sources."""

import inspect
import re
from collections.abc import Iterator
from tomllib import loads
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from arkaudit.configuration.config_files import models
from crawler.model.crawl_requests import SourceKind
from crawler.sources.links import Rule
from extractors.mentions.confidence import confidence_in
from tools.documentation.generated import GENERATED, ROOT


@pytest.mark.parametrize("place", GENERATED)
def test_generated_page_is_current(place: str) -> None:
    assert (ROOT / place).read_text("utf-8") == GENERATED[place](), "run: make generated"


def test_page_about_extraction_quotes_the_definition_of_certain() -> None:
    definition = (inspect.getdoc(confidence_in) or "").partition("The ARK is certain\n")[2]
    page = (ROOT / "docs" / "extraction.md").read_text("utf-8")
    assert definition.strip() in page, "quote the docstring of confidence_in in docs/extraction.md"


def setting_names(section: type[BaseModel]) -> Iterator[str]:
    """Yield the names of the settings of a section and of the sections in it."""
    for name, field in section.model_fields.items():
        yield field.alias or name
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from setting_names(kind)


def keys_in(value: Any) -> Iterator[str]:
    """Yield the keys of all tables in a TOML value."""
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_in(part)


def test_every_setting_is_shown_in_an_example() -> None:
    text = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("configuration.md", "scheduling.md"))
    shown = {
        key for example in re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S) for key in keys_in(loads(example))
    }
    missing = sorted(
        set(setting_names(models()["Config"])) - shown - {"name"}
    )  # "name" is the key of the audit's table
    assert missing == [], "add them to docs/configuration.md"


@pytest.mark.parametrize("token", [*map("`{}`".format, Rule), *map("`{}:`".format, SourceKind)])
def test_page_about_sources_names_each_kind_and_rule(token: str) -> None:
    assert token in (ROOT / "docs" / "sources.md").read_text("utf-8")


def test_recipes_name_existing_files_and_names() -> None:
    folders = ("arkaudit", "crawler", "docs", "extractors", "reports", "tests", "tools")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    code = "".join(path.read_text("utf-8") for path in files if path.suffix == ".py")
    recipes = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Recipes")[2]
    named = set(re.findall(r"`([\w./-]+)`", recipes)) - {"read_NAME", "tools/fuzzing/found/"}
    paths = {name for name in named if "/" in name or re.search(r"\.(?:json|md|py|toml)$", name)}
    known = {path.name for path in files}
    assert {path for path in paths if not (ROOT / path).exists() and ("/" in path or path not in known)} == set()
    assert {name for name in named - paths if "_" in name and not re.search(rf"\b{name}\b", code)} == set()


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("**/*.md")),
    ],
)
def test_each_module_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|toml|json))`", (ROOT / page).read_text("utf-8"))
    folders = [ROOT, *(ROOT / package for package in ("extractors", "crawler", "reports", "arkaudit"))]
    assert [path for path in named if not any((folder / path).exists() for folder in folders)] == []


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted((ROOT / "docs" / "adr").iterdir())
    titles = [page.read_text("utf-8").split(".", 1)[0] for page in pages]
    assert [f"# {int(page.name[:4])}" for page in pages] == titles == [f"# {n}" for n in range(1, len(pages) + 1)]
