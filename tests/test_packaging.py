"""The built wheel, installed apart and run from folders that try to mislead it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {"arkaudit", "crawler", "extractors", "reports"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    copy = tmp_path_factory.mktemp("source") / "arkaudit"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
    # Built in a copy, so that no build folder is left in the checkout, and without a network for a build environment.
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(copy)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel unpacked as pip would, in a folder that stands first on the path instead of the checkout."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run(site: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # -P keeps the current folder off the path, as an installed console script does.
    start = f"import sys; sys.path.insert(0, {str(site)!r}); from arkaudit.cli import main; main(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-P", "-c", start, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_wheel_holds_our_packages_and_their_data_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == PACKAGES
    for needed in (
        "reports/page/templates/page.html.j2",
        "reports/languages/fr.po",
        "reports/languages/de.po",
        "reports/languages/es.po",
        "arkaudit/demo/site/index.html",
        "arkaudit/demo/site/flood-marks.pdf",
        "crawler/spiders/arks_spider.py",
        *(f"{package}/py.typed" for package in PACKAGES),
    ):
        assert needed in names


def test_the_wheel_works_from_an_empty_folder(site: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ark:/67531/metadc2846")
    done = run(site, tmp_path, "extract", "a.txt")
    assert '"ark": "ark:67531/metadc2846"' in done.stdout, done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/api.md"])
def test_the_examples_of_the_library_hold(page: str, site: Path, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text((ROOT / page).read_text("utf-8"), "utf-8")
    start = (
        f"import sys; sys.path.insert(0, {str(site)!r}); import doctest, arkaudit;"
        f" assert arkaudit.__file__.startswith({str(site)!r}), arkaudit.__file__;"
        " failed, tried = doctest.testfile('page.md', module_relative=False); sys.exit(failed or not tried)"
    )
    environment = {**os.environ, "ARKAUDIT_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", start], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_foreign_project_around_it_does_not_mislead_it(site: Path, tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = foreign.settings\n")
    (tmp_path / "crawler").mkdir()
    (tmp_path / "crawler" / "__init__.py").write_text("raise RuntimeError('not ours')")
    (tmp_path / "page.html").write_text("<p>ark:/12345/x5")
    done = run(site, tmp_path, "run", "page.html", "--delay", "0", "--only-routed", "--out", "report")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report" / "index.html").is_file()


@pytest.mark.parametrize(
    ("missing", "arguments", "words"),
    [
        ("trustme", ["demo"], "the demo needs trustme: pip install 'arkaudit[demo]'"),
        ("apscheduler", ["schedule", "run"], "`schedule run` needs apscheduler: pip install 'arkaudit[scheduler]'"),
        ("dns", ["check", "-c", "arkaudit.toml", "ark:12345/x5"], "resolve.maptr: needs dnspython: pip install"),
    ],
)
def test_an_extra_that_is_not_there_is_named_in_one_line(
    missing: str, arguments: list[str], words: str, site: Path, tmp_path: Path
) -> None:
    audits = '[audits.a]\nseeds = ["http://site.example/"]\nschedule = "0 3 * * *"\n'
    (tmp_path / "arkaudit.toml").write_text(audits if missing == "apscheduler" else "[resolve]\nmaptr = true\n")
    start = (
        f"import sys; sys.path.insert(0, {str(site)!r}); sys.modules[{missing!r}] = None;"
        f" from arkaudit.cli import main; main({arguments!r})"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", start], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_extras_that_are_not_there_are_missed_by_nothing_else(site: Path, tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text(
        '[resolve]\nmaptr = false\n[audits.a]\nseeds = ["http://site.example/"]\nschedule = "0 3 * * *"\n'
    )
    for arguments in (["check", "-c", "arkaudit.toml", "ark:12345/x5"], ["schedule", "due", "--dry-run"]):
        start = (
            f"import sys; sys.path.insert(0, {str(site)!r});"
            " sys.modules |= dict.fromkeys(['trustme', 'django', 'arklet', 'apscheduler', 'dns']);"
            f" from arkaudit.cli import main; main({arguments!r})"
        )
        done = subprocess.run(
            [sys.executable, "-P", "-c", start], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
