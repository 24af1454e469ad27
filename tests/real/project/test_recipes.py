"""The recipes of docs/recipes.md, run literally in repositories of their own, against servers on loopback."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command
from tools.documentation.generated import ROOT

WORKING, BROKEN, MISTYPED = "ark:/12148/btv1b8449691v", "ark:/12148/btv1b8490076p", "ark:/12148/btv1b8449691x"


def respond(target: str) -> bytes:
    """Answer for the working ARK, with a page that describes it; all other names are unknown."""
    if target.endswith(WORKING):
        return reply(body="<title>Map of Lyon</title><p>Creator: Tardieu<p>Title: Map of Lyon<p>Date: 1784")
    return reply("404 Not Found", "<title>Not found</title>")


def blocks(heading: str, language: str) -> str:
    """Return the code in one language under a heading of the page; the part before the first heading is ``""``."""
    parts = re.split(r"^## ", (ROOT / "docs" / "recipes.md").read_text("utf-8"), flags=re.MULTILINE)
    [part] = [part for part in parts[bool(heading) :] if part.startswith(heading or "# ")]
    return "".join(re.findall(rf"^```{language}\n(.*?)^```$", part, re.MULTILINE | re.DOTALL))


class Reader:
    """Somebody who follows the page in a folder, with the resolver on loopback."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        bin_folder = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{folder / 'remote'}/.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://git.example.org/",
        }
        host = f"127.0.0.1:{port}"
        self.settings = (
            f'resolver = "http://{host}/"\n[network]\nonly_routed = true\nconnect_to = ["{host}={host}"]\n'
            f'[hosts."{host}"]\ninterval = 0\n'
        )

    def run(self, command: str, *, code: int = 0) -> subprocess.CompletedProcess[str]:
        shell = ["bash", "-o", "pipefail", "-c", command]
        done = subprocess.run(shell, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, (command, done.stdout, done.stderr)
        return done

    def commands(self, heading: str) -> list[str]:
        return re.findall(r"^\$ (.*)$", blocks(heading, "console"), re.MULTILINE)

    def commit(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.folder / f"{name}.md").write_text(text, "utf-8")
        self.run("git add . && git commit --quiet --message x")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with RawServer(respond) as server:
        yield Reader(tmp_path, server.port)


def test_recipe_for_a_pull_request_reads_only_what_it_changes(reader: Reader) -> None:
    listed = reader.commands("")[0]
    mistyped, broken = reader.commands("Only what")
    reader.run("git init --quiet --initial-branch main .")
    (reader.folder / "arkaudit.toml").write_text(reader.settings, "utf-8")
    reader.commit(old=f"The old page cites {MISTYPED}.\n")
    reader.run("git switch --quiet --create change")
    for command in (listed, mistyped, broken):
        assert "standard input" in reader.run(command).stderr, "nothing has changed"
    reader.commit(
        **{"r\N{LATIN SMALL LETTER E WITH ACUTE}sum\N{LATIN SMALL LETTER E WITH ACUTE} 2": f"See {WORKING}.\n"}
    )
    assert "btv1b8449691v" in reader.run(listed).stdout
    reader.run(mistyped)
    assert "resolved" in reader.run(broken).stdout
    reader.commit(more=f"See {BROKEN}.\n")
    reader.run(mistyped)
    assert "btv1b8490076p" in reader.run(broken, code=1).stdout
    reader.commit(more=f"See {MISTYPED}.\n")
    assert "more.md:1: " in reader.run(mistyped, code=1).stderr


@pytest.mark.skipif(shutil.which("wget") is None, reason="wget is not installed")
def test_recipe_for_a_web_archive_saves_the_pages_that_work(reader: Reader) -> None:
    resolver = re.search(r"http://\S+/", reader.settings)[0]  # type: ignore[index]
    store = reader.folder / "audit.db"
    run_command("check", *ON_LOOPBACK, f"{resolver}{WORKING}", f"{resolver}{BROKEN}", "--store", store)
    for command in reader.commands("Save what"):
        reader.run(command.replace("--wait=5", "--wait=0"))
    saved = reader.run("arkaudit extract --unique works.warc.gz; zcat works.warc.gz").stdout
    assert "Map of Lyon" in saved
    assert "btv1b8490076p" not in saved


def test_recipe_for_many_repositories_audits_all_of_them(reader: Reader) -> None:
    for name, ark in (("maps", WORKING), ("theses", BROKEN)):
        remote = reader.folder / "remote" / name
        remote.mkdir(parents=True)
        (remote / "page.md").write_text(f"See {ark}.\n", "utf-8")
        reader.run(f"cd {remote} && git init --quiet . && git add . && git commit --quiet --message x")
    settings, _, audits = blocks("One job", "toml").partition("\n[audits")
    (reader.folder / "arkaudit.toml").write_text(f"{reader.settings}{settings}\n[audits{audits}", "utf-8")
    for command in reader.commands("One job"):
        reader.run(command)
    overview = (reader.folder / "public" / "index.html").read_text("utf-8")
    for name in ("maps", "theses"):
        assert f"{name}/index.html" in overview
        assert (reader.folder / "public" / name / "index.html").exists()
