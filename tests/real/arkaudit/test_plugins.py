"""Installed packages that add to arkaudit by entry points: that of the documentation, and broken ones."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.real.loopback import clean_environment
from tests.real.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
SUBTITLES = """1
00:00:01,000 --> 00:00:04,000
This deed is kept as ark:/12148/btv1b

2
00:00:04,000 --> 00:00:07,000
8449691v in Paris.
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run arkaudit with the packages in *folder* on its path."""
    environment = {**clean_environment(), "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))}
    return subprocess.run(
        [sys.executable, "-P", "-m", "arkaudit", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip


def install(folder: Path, name: str, module: str) -> None:
    """Put a package with the module *name* and its entry point into *folder*, as an installer does."""
    (folder / f"{name}.py").write_text(module)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[arkaudit]\n{name} = {name}\n")


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the built plug-in of docs/plugins.md is installed."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("out")
    page = (ROOT / "docs/plugins.md").read_text("utf-8")
    for place, code in re.findall(r"```\w+\n(# arkaudit-subtitles/(?:\S+)\n)(.*?)```", page, re.DOTALL):
        (source / place.split("/")[-1].strip()).write_text(code)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    uv = Path(sys.executable).with_name("uv")
    [wheel] = out.glob("*.whl")
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--offline", "--target", str(out / "packages"), str(wheel)]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    return out / "packages"


@pytest.mark.promise
def test_plugin_of_the_documentation_adds_a_command_and_a_format(documented: Path) -> None:
    (documented / "talk.srt").write_text(SUBTITLES)
    assert "naans     Count the ARKs in documents by NAAN." in run(documented, "--help").stdout
    extracted = run(documented, "extract", "--unique", "talk.srt")
    assert extracted.stdout == "ark:12148/btv1b8449691v\n", extracted.stderr
    counted = run(documented, "naans", "talk.srt")
    assert counted.stdout == "12148\t1\n", counted.stderr


def test_workers_of_a_dataset_read_the_format_of_a_plugin(documented: Path) -> None:
    for name in ("first.srt", "second.srt"):
        (documented / name).write_text(SUBTITLES + "words " * 200_000)
    make = ("dataset", "make", "first.srt", "second.srt", "--out", "ds", "--part-size", "1", "--workers", "2")
    done = run(documented, *make)
    assert done.returncode == 0, done.stderr
    mentions = pyarrow.parquet.read_table(documented / "ds/mentions", columns=["ark"])
    assert mentions["ark"].to_pylist() == ["ark:12148/btv1b8449691v"] * 2


def test_plugin_adds_a_section_of_the_configuration_and_settings_of_scrapy(tmp_path: Path) -> None:
    module = """
from arkaudit.configuration.config import Section
from arkaudit.hooks import hookimpl

class Robot(Section):
    name: str = "robot"

@hookimpl
def settings():
    return {"robot": Robot}

@hookimpl
def scrapy_settings(config):
    return {"ROBOT_NAME": config.section(Robot).name}

@hookimpl
def commands():
    return {"robot": ("named_robot:show", "Show it.")}

import click

@click.command()
def show():
    from pathlib import Path
    from arkaudit.configuration.config_files import load
    click.echo(load(Path("arkaudit.toml"), {}).settings()["ROBOT_NAME"])
"""
    install(tmp_path, "named_robot", module)
    (tmp_path / "arkaudit.toml").write_text("")
    assert run(tmp_path, "robot").stdout == "robot\n"
    (tmp_path / "arkaudit.toml").write_text('[robot]\nname = "R2"\n')
    assert run(tmp_path, "robot").stdout == "R2\n"
    (tmp_path / "arkaudit.toml").write_text('[robot]\nnam = "R2"\n')
    assert "robot.nam: there is no such setting; did you mean 'name'?" in run(tmp_path, "robot").stderr


def test_plugin_adds_a_report_format(tmp_path: Path) -> None:
    module = """
from arkaudit.hooks import hookimpl

@hookimpl
def report_formats():
    return {"names": ("the ARKs, one on each line", "ark_names_writer:NAMES")}
"""
    install(tmp_path, "ark_names", module)
    writer = """
from reports.exports import text_format

NAMES = text_format("names.txt", lambda report: "".join(f"{ark}\\n" for ark in report.tables["arks"]["ark"]), ["arks"])
"""
    (tmp_path / "ark_names_writer.py").write_text(writer)
    (tmp_path / "a.txt").write_text("see ark:/12345/x5 here")
    audited = run(tmp_path, "run", "a.txt", "--only-routed", "--out", "report", "--format", "names")
    assert (tmp_path / "report/names.txt").read_text() == "ark:12345/x5\n", audited.stderr
    assert "names: the ARKs, one on each line" in " ".join(run(tmp_path, "report", "--help").stdout.split())


def test_plugin_acts_after_a_scheduled_run_and_its_failure_changes_no_exit_code(tmp_path: Path) -> None:
    module = """
from arkaudit.hooks import hookimpl

@hookimpl
def after_run(config, config_file):
    (config_file.parent / f"{config.name}.done").touch()
    raise ValueError("the disk of the web server is full")
"""
    install(tmp_path, "copying", module)
    (tmp_path / "a.txt").write_text("no ARK")
    (tmp_path / "arkaudit.toml").write_text(
        'network.only_routed = true\n[audits.daily]\nseeds = ["a.txt"]\nschedule = "0 3 * * *"\n'
    )
    run(tmp_path, "schedule", "due")  # the schedule is seen for the first time
    for file in tmp_path.rglob("daily*.json"):
        file.write_text(file.read_text().replace(str(datetime.now(UTC).year), "2020"))
    done = run(tmp_path, "schedule", "due")
    assert (done.returncode, (tmp_path / "daily.done").exists()) == (0, True), done.stderr
    assert "daily: a plug-in failed after the run: ValueError: the disk of the web server is full" in done.stderr


def test_plugin_adds_a_destination_of_news_with_a_memory_of_its_own(tmp_path: Path) -> None:
    module = """
from pathlib import Path

from arkaudit.configuration.config import Section
from arkaudit.configuration.settings import setting
from arkaudit.hooks import Channel, hookimpl

class Wall(Section):
    wall: str | None = setting(None, "Write the news on this wall.", "--wall")

    def channels(self):
        yield from super().channels()
        if self.wall:
            yield Channel(f"write on {self.wall}", f"wall:{self.wall}", self.write, is_updated=True)

    def write(self, digest, language):
        with Path(self.wall).open("a") as file:
            file.write(f"{digest.audit}: run {digest.news.run_id}\\n")

@hookimpl
def settings():
    return {"notify": Wall}
"""
    install(tmp_path, "wall", module)
    (tmp_path / "arkaudit.toml").write_text('notify.wall = "no/wall.txt"\nnetwork.only_routed = true\n')
    (tmp_path / "a.txt").write_text("see ark:/12345/x5 here")
    command = ("run", "a.txt", "-c", "arkaudit.toml", "--no-resume")
    refused = run(tmp_path, *command)
    assert "not notified (write on no/wall.txt): FileNotFoundError" in refused.stderr
    (tmp_path / "no").mkdir()
    done = run(tmp_path, *command, "--wall", "no/door.txt")
    assert done.returncode == 0, done.stderr
    again = run(tmp_path, "notify", "-c", "arkaudit.toml")
    assert again.returncode == 0, again.stderr
    again = run(tmp_path, "notify", "-c", "arkaudit.toml")
    assert "nothing to write on no/wall.txt: it has the news up to run 2" in again.stderr
    for name in ("door", "wall"):
        assert (tmp_path / f"no/{name}.txt").read_text() == "audit: run 2\n"
    (tmp_path / "wall.py").write_text(module.replace("wall", "file"))
    assert "the setting 'file' is there twice: uninstall the plug-in" in run(tmp_path, *command[:4]).stderr


@pytest.mark.parametrize(
    ("module", "words"),
    [
        pytest.param("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'", id="its import"),
        pytest.param(
            "from arkaudit.hooks import hookimpl\n@hookimpl\ndef comands(): ...", "unknown hook 'comands'", id="no hook"
        ),
        pytest.param(
            "from arkaudit.hooks import hookimpl\n@hookimpl\ndef commands(): return {'check': ('a:b', '')}",
            "the command 'check' is there twice",
            id="a command of the core",
        ),
        pytest.param(
            "from arkaudit.hooks import hookimpl\nfrom extractors.model.formats import DocumentFormat\n"
            "@hookimpl\ndef document_formats(): return {'mine': DocumentFormat('Mine', 'a:b', '.pdf')}",
            "the document format 'mine' has the name, suffix or media type '.pdf' of another",
            id="a suffix of the core",
        ),
    ],
)
def test_unusable_plugin_ends_a_command_in_one_line(module: str, words: str, tmp_path: Path) -> None:
    install(tmp_path, "unusable", module)
    (tmp_path / "a.txt").write_text("see ark:/12345/x5 here")
    done = run(tmp_path, "extract", "a.txt")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert words in done.stderr
    assert "uninstall" in done.stderr
