"""The built wheel, installed in an environment of its own, and run from folders that try to mislead it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.real.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
PACKAGES = {"arkaudit", "crawler", "extractors", "reports"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    copy = tmp_path_factory.mktemp("source") / "arkaudit"
    # Built of a copy, so that no build folder is left in the checkout, and without a network for a build environment.
    for name in [*PACKAGES, "pyproject.toml", "README.md", "LICENSE"]:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy / name)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(copy)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed_commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of commands of an environment with only the wheel and its requirements.

    The checkout and tools of developers are not on its path: whatever `pyproject.toml` forgets is missing.
    """
    folder = tmp_path_factory.mktemp("installed")
    versions = re.sub(r" *\\\n *--hash=\S+", "", (ROOT / "tools" / "constraints.txt").read_text())
    (folder / "versions.txt").write_text(versions)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("uv"), "pip", "install", "--quiet"),
            *("--python", str(folder / "venv/bin/python"), "--constraint", str(folder / "versions.txt")),
            f"arkaudit @ {wheel.as_uri()}",
        ],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    # Any other failure, such as requirements that contradict each other, is a fault of the project.
    if re.search("Failed to fetch|network was disabled", done.stderr):
        pytest.skip(f"the index of packages can't be reached: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return folder / "venv/bin"


def run(
    installed: Path,
    cwd: Path,
    *arguments: str,
    command: str = "arkaudit",
    timeout_s: float = PATIENCE_S,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, "ARKAUDIT_CACHE": str(cwd / "cache"), **environment}
    return subprocess.run(
        [installed / command, *arguments], cwd=cwd, env=told, capture_output=True, text=True, check=False,
        timeout=timeout_s,
    )  # fmt: skip


def run_python(installed: Path, cwd: Path, program: str) -> subprocess.CompletedProcess[str]:
    return run(installed, cwd, "-c", program, command="python")


def modules(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.split("/")[0] in PACKAGES and name.endswith(".py")}


@pytest.mark.promise
def test_the_wheel_holds_our_packages_and_their_data_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == PACKAGES
    for needed in (
        "reports/languages/fr.po", "reports/languages/de.po", "reports/languages/es.po",
        *(str(path.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("*.j2")),
        "crawler/spiders/arks_spider.py",
        *(f"{package}/py.typed" for package in PACKAGES),
    ):  # fmt: skip
        assert needed in names


def test_the_wheel_names_each_extra(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = archive.read(name).decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(re.findall(r"^Provides-Extra: (.+)$", metadata, re.MULTILINE)) == set(project["optional-dependencies"])
    assert 'http-message-signatures<4,>=3.0; extra == "identity"' in metadata


def test_the_wheel_has_each_file_of_the_tree(wheel: Path) -> None:
    tree = {
        path.relative_to(ROOT).as_posix()
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.split("/")[0] in PACKAGES}
    assert tree - names == set(), "add them to package-data in pyproject.toml"
    assert names - tree == set()


def test_each_module_can_be_imported(wheel: Path, installed_commands: Path, tmp_path: Path) -> None:
    names = sorted(
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in modules(zipfile.ZipFile(wheel).namelist())
        if not name.endswith("__main__.py")
    )
    done = run_python(
        installed_commands,
        tmp_path,
        f"""
from importlib import import_module
extras = {{"apprise", "cronsim", "xlsxwriter", "distributed", "dask", "playwright", "dns"}}
extras.add("http_message_signatures")
for name in {names!r}:
    try:
        import_module(name)
    except ModuleNotFoundError as missing:
        assert missing.name.split(".")[0] in extras, (name, missing)
""",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_wheel_works_from_an_empty_folder(installed_commands: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ark:/67531/metadc2846")
    done = run(installed_commands, tmp_path, "extract", "--format", "jsonl", "a.txt")
    assert '"ark": "ark:67531/metadc2846"' in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["report", "--store", "audit.db"], 2, id="a store that is not there"),
        pytest.param(["crawl", "http://127.0.0.1:9/", "--store", "b.db"], 3, id="a seed that can't be reached"),
        pytest.param(["extract", "a.txt", "--fail-on", "mistyped"], 1, id="a mistyped ARK"),
    ],
)
def test_installed_command_ends_as_documented(
    arguments: list[str], code: int, installed_commands: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("ark:/12148/btv1b8449691w")
    done = run(installed_commands, tmp_path, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_errors_of_the_library_can_be_imported(installed_commands: Path, tmp_path: Path) -> None:
    done = run_python(
        installed_commands, tmp_path, "import arkaudit.errors as e; assert issubclass(e.NotAnArk, e.ArkauditError)"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_modules_of_others_with_our_names_do_not_mislead_it(installed_commands: Path, tmp_path: Path) -> None:
    """As in a notebook, where the working directory is first on the path."""
    for name in PACKAGES - {"arkaudit"}:
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('foreign')")
    (tmp_path / "a.pdf").write_bytes((ROOT / "tools/demo/site/flood-marks.pdf").read_bytes())
    program = """
from arkaudit import extract, load_report
try:
    load_report("none.db")
except OSError:
    raise
except Exception as error:
    assert "none.db" in str(error), error
[document] = extract("a.pdf")
assert document.mentions and not document.is_unreadable, document.findings
"""
    done = run_python(installed_commands, tmp_path, program)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(installed_commands, tmp_path, "extract", "a.pdf", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_a_name_that_is_taken_already_is_one_clear_error(installed_commands: Path, tmp_path: Path) -> None:
    (tmp_path / "reports.py").write_text("")
    done = run_python(installed_commands, tmp_path, "import reports, arkaudit; arkaudit.find_arks('ark:12148/x')")
    assert done.stderr.splitlines()[-1].startswith("ImportError: arkaudit has a package named reports, and ")


def run_examples(page: str, folder: Path, environment: Path, **variables: str) -> None:
    """Run the examples of a page of the documentation in a folder, by the Python of an *environment*."""
    (folder / "page.md").write_text((ROOT / page).read_text("utf-8"), "utf-8")
    program = (
        "import doctest; failed, tried = doctest.testfile('page.md', module_relative=False);"
        " raise SystemExit(failed or not tried)"
    )
    done = run(environment, folder, "-c", program, command="python", **variables)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.promise
def test_examples_of_the_readme_hold(installed_commands: Path, tmp_path: Path) -> None:
    run_examples("README.md", tmp_path, installed_commands)


def test_examples_of_the_library_hold_in_a_checkout(tmp_path: Path) -> None:
    run_examples("docs/api.md", tmp_path, Path(sys.executable).parent, PYTHONPATH=str(ROOT))


def test_a_foreign_project_around_it_does_not_mislead_it(installed_commands: Path, tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = foreign.settings\n")
    (tmp_path / "crawler").mkdir()
    (tmp_path / "crawler" / "__init__.py").write_text("raise RuntimeError('foreign')")
    (tmp_path / "page.html").write_text("<p>ark:/12345/x5")
    done = run(installed_commands, tmp_path, "crawl", "page.html", "--only-routed", "--store", "audit.db")
    assert done.returncode == 0, done.stderr
    assert "1 citation" in done.stderr


@pytest.mark.parametrize(
    ("missing", "arguments", "words"),
    [
        ("apprise", ["notify", "-c", "arkaudit.toml"], "needs apprise: pip install 'arkaudit[notify]'"),
        ("cronsim", ["schedule", "list"], "needs cronsim: pip install 'arkaudit[schedule]'"),
        ("xlsxwriter", ["run", "a.txt", "--out", "report", "--format", "xlsx"], "pip install 'arkaudit[xlsx]'"),
        ("dns", ["check", "-c", "arkaudit.toml", "ark:12345/x5"], "resolve.maptr: needs dnspython: pip install"),
        (
            "http_message_signatures",
            ["check", "-c", "arkaudit.toml", "ark:12345/x5"],
            "identity.key: needs http-message-signatures: pip install 'arkaudit[identity]'",
        ),
    ],
)
def test_an_extra_that_is_not_there_is_named_in_one_line(
    missing: str, arguments: list[str], words: str, installed_commands: Path, tmp_path: Path
) -> None:
    configurations = {
        "apprise": '[notify]\nurls = ["json://a.example"]\n',
        "cronsim": '[audits.a]\nseeds = ["http://site.example/"]\nschedule = "0 3 * * *"\n',
        "dns": "[resolve]\nmaptr = true\n",
        "http_message_signatures": '[identity]\nkey = "a.txt"\nagent = "https://a.example/"\n',
    }
    (tmp_path / "arkaudit.toml").write_text(configurations.get(missing, ""))
    (tmp_path / "a.txt").write_text("see ark:/12345/x5")
    program = f"import sys; sys.modules[{missing!r}] = None; from arkaudit.cli import main; main({arguments!r})"
    done = run_python(installed_commands, tmp_path, program)
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
