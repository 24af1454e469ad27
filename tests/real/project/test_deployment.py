"""How arkaudit is run by others: the image, the action, the hook, the workflows."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from arkaudit import __version__
from tests.real.loopback import RawServer, clean_environment, reply
from tests.unit.project.test_deployment import ROOT, TOOLS, tool


def test_the_dockerfile_has_nothing_unwise() -> None:
    done = tool("hadolint", "deploy/Dockerfile")
    assert done.returncode == 0, done.stdout


SCHEMAS = [
    ("compose-spec", "deploy/compose.yaml"),
    ("github-actions", "action.yml"),
    ("citation-file-format", "CITATION.cff"),
    ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
    *(("github-workflows", f".github/workflows/{path.name}") for path in (ROOT / ".github/workflows").iterdir()),
    *(
        ("github-issue-forms", f".github/ISSUE_TEMPLATE/{path.name}")
        for path in (ROOT / ".github/ISSUE_TEMPLATE").iterdir()
        if path.name != "config.yml"
    ),
]


@pytest.mark.parametrize(("schema", "path"), SCHEMAS, ids=[path for _, path in SCHEMAS])
def test_a_file_for_others_fits_its_schema(schema: str, path: str) -> None:
    done = tool("check-jsonschema", "--builtin-schema", f"vendor.{schema}", path)
    assert done.returncode == 0, done.stdout


def test_the_action_and_the_workflows_have_nothing_unsafe() -> None:
    done = tool("zizmor", "--offline", "--no-progress", ".github", "action.yml")
    assert done.returncode == 0, done.stdout


def test_the_image_and_the_compose_file_run_commands_that_there_are() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    [health] = re.findall(r"^HEALTHCHECK .* CMD (\[.*\])$", dockerfile, re.MULTILINE)
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])$", dockerfile, re.MULTILINE)
    [command] = re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)
    service = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]["arkaudit"]
    assert service["image"] == f"arkaudit:{__version__}"
    for words in (json.loads(health), [*json.loads(entry), *json.loads(command)], ["arkaudit", *service["command"]]):
        assert tool(*words, "--help").returncode == 0, words
    extras = re.findall(r"'\.\[(.*)\]'", dockerfile)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras[0].split(",")) <= set(known)


# -- the action


def run_action(folder: Path, **inputs: str) -> tuple[int, str, dict[str, str]]:
    """Run the script of the action; returns its exit code, the summary of the job, and the outputs."""
    summary, outputs = folder / "summary.md", folder / "outputs"
    environment = {
        **clean_environment(),
        "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(outputs),
        **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
    }
    script = ROOT / "deploy" / "action.sh"
    done = subprocess.run([script], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    told = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    assert int(told.pop("exit-code")) == done.returncode, done.stderr
    return done.returncode, summary.read_text() if summary.exists() else "", told


def config_on_loopback(folder: Path) -> str:
    (folder / "arkaudit.toml").write_text(
        "[politeness]\ndelay = 0\nbackoff = 0\nattempts = 1\n"
        '[network]\nonly_routed = true\nallow_addresses = ["127.0.0.0/8"]\n'
    )
    return "arkaudit.toml"


def site(target: str) -> bytes:
    if target == "/page":
        return reply(body="<title>Maps</title><p><a href='/ark:/12x45/a'>a</a> <a href='/ark:/12x45/gone'>gone</a>")
    return reply(body="<title>a</title>") if target.startswith("/ark:/12x45/a") else reply("404 Not Found")


def test_action_audits_reports_and_fails_as_configured(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("see ark:/12148/btv1b8\N{EN DASH}449691v\n")
    with RawServer(site) as server:
        inputs = {"config": config_on_loopback(tmp_path), "fail_on": "broken\n", "store": "other.db"}
        seeds = f"\n{server.url}/page\nletter.txt\n"
        code, summary, outputs = run_action(tmp_path, **inputs, seeds=seeds, patch="fix.patch")
    assert code == 1
    assert "ark:12x45/gone" in summary
    assert (tmp_path / outputs["report"] / "index.html").is_file()
    assert (tmp_path / "other.db").is_file()
    assert "+see ark:/12148/btv1b8-449691v\n" in (tmp_path / "fix.patch").read_text()


def test_action_writes_into_a_folder_whose_name_begins_with_a_hyphen(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("see ark:/12345/x1\n")
    code, summary, outputs = run_action(tmp_path, seeds="letter.txt", report="-x", store="-y.db")
    assert (code, outputs["report"]) == (0, "./-x")
    assert "12345" in summary
    assert (tmp_path / "-x" / "index.html").is_file()
    assert (tmp_path / "-y.db").is_file()


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param({"seeds": "--help"}, id="a seed that looks like an option"),
        pytest.param(
            {"seeds": "$(touch made)\n`touch made`\nx; touch made", "report": 'r"; touch made; "'},
            id="seeds and a folder that look like commands",
        ),
        pytest.param({"issue": "github:$(touch made)", "seeds": "a.html"}, id="an issue that looks like a command"),
        pytest.param({"fail_on": "brokn", "seeds": "https://a.example/"}, id="a mistyped token"),
        pytest.param({"known": "none.csv", "seeds": "arkaudit.toml"}, id="a list of known problems that is not there"),
        pytest.param({}, id="nothing to audit"),
    ],
)
def test_action_ends_with_2_for_mistakes_and_never_executes_its_inputs(tmp_path: Path, inputs: dict[str, str]) -> None:
    (tmp_path / "arkaudit-report").mkdir()
    (tmp_path / "arkaudit-report" / "report.md").write_text("The report of an earlier step")
    assert run_action(tmp_path, **inputs, config=config_on_loopback(tmp_path)) == (2, "", {})
    assert not list(tmp_path.rglob("made"))


# -- the hooks of pre-commit


def run_hook(folder: Path, name: str, *files: str) -> subprocess.CompletedProcess[str]:
    hooks = {hook["id"]: hook["entry"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    words = [str(TOOLS / "arkaudit"), *shlex.split(hooks[name])[1:], *files]
    return subprocess.run(words, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False)


def test_fix_hook_corrects_staged_files_and_leaves_no_backups(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "-a file.md").write_text("see ark:/12148/btv1b8\N{EN DASH}449691v\n")
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    done = run_hook(tmp_path, "arkaudit-fix", "-a file.md")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "-a file.md").read_text() == "see ark:/12148/btv1b8-449691v\n"
    assert {path.name for path in tmp_path.iterdir()} == {".git", "-a file.md"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("see ark:/12148/btv1b8449691v", 0, id="its check character fits"),
        pytest.param("see ark:/12148/btv1b8449691x", 1, id="it does not"),
        pytest.param("nothing to see", 0, id="no ARK"),
    ],
)
def test_the_hook_fails_for_an_ark_that_was_never_assigned(tmp_path: Path, text: str, code: int) -> None:
    (tmp_path / "-a file.md").write_text(f"# A title\n\n{text}")
    done = run_hook(tmp_path, "arkaudit-mistyped", "-a file.md")
    assert done.returncode == code, done.stderr
    wrong = "arkaudit: -a file.md:3: ark:/12148/btv1b8449691x: its check character is wrong; did you mean "
    assert done.stdout == ""
    assert done.stderr.startswith(wrong) if code else done.stderr == ""
