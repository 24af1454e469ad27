"""Versions and metadata of a release, and the content of the image."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from arkaudit import __version__
from tools import release_check, release_links

ROOT = Path(__file__).parents[3]

TOOLS = Path(sys.executable).parent


def tool(*command: str | Path) -> subprocess.CompletedProcess[str]:
    name, *arguments = command
    return subprocess.run([TOOLS / name, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_image_copies_the_whole_package() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    lines = [line.split() for line in re.findall(r"^COPY (?!--)(.*)$", dockerfile, re.MULTILINE)]
    copied = {source for *sources, _ in lines for source in sources}
    # A folder keeps its name in the image.
    assert all(target in ("./", *sources) for *sources, target in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {name.removesuffix("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    files = {project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"}
    assert copied == packages | files | {"tools/constraints.txt"}
    assert all((ROOT / name).exists() for name in copied)
    context = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]["arkaudit"]["build"]
    assert (ROOT / "deploy" / context["context"]).resolve() == ROOT
    assert (ROOT / context["dockerfile"]).is_file()


# -- a release


def test_a_tag_is_released_that_version_changelog_and_citation_name() -> None:
    texts = {name: (ROOT / name).read_text() for name in ("CHANGELOG.md", "CITATION.cff", "arkaudit/__init__.py")}
    assert release_check.version_of(texts["arkaudit/__init__.py"]) == __version__
    released = re.sub(r"^(## [\d.]+), .*$", r"\1, 2026-12-01", texts["CHANGELOG.md"], count=1, flags=re.MULTILINE)
    of = {"version": __version__, "citation": texts["CITATION.cff"]}
    assert list(release_check.faults(f"v{__version__}", changelog=released, **of)) == []
    assert len(list(release_check.faults("v9.9.9", changelog=released, **of))) == 1


@pytest.mark.parametrize(
    ("changelog", "citation", "faults"),
    [
        pytest.param("## 1.2.0, not released yet\n", "version: 1.2.0\n", 1, id="without a date"),
        pytest.param("## 1.2.0, 2026-12-01\n", "version: 1.1.0\n", 1, id="the citation of another version"),
        pytest.param("see ## 1.2.0, 2026-12-01\n", "", 2, id="in neither"),
        pytest.param("## 1x2.0, 2026-12-01\n", "version: 1.2.0\n", 1, id="a dot is a dot"),
    ],
)
def test_release_fails_if_a_file_names_another_version(changelog: str, citation: str, faults: int) -> None:
    found = list(release_check.faults("v1.2.0", version="1.2.0", changelog=changelog, citation=citation))
    assert len(found) == faults


def test_published_metadata_links_to_the_repository() -> None:
    description = release_links.linked_description(
        (ROOT / "README.md").read_text(), "https://code.example/o/a", "v1.2.0"
    )
    targets = re.findall(r"\]\(([^)\s]+)", description)
    assert "https://code.example/o/a/blob/v1.2.0/docs/tutorial.md" in targets
    assert "https://code.example/o/a/raw/v1.2.0/docs/images/report.png" in targets
    assert not [target for target in targets if not target.startswith("https://")]
    urls = tomllib.loads(release_links.project_urls("https://code.example/o/a", "v1.2.0"))["project"]["urls"]
    assert urls["Source"] == "https://code.example/o/a"
