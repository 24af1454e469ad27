"""The amount of output of every command: --quiet, --verbose, --color."""

from pathlib import Path

import pytest

from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command

ESCAPE = "\x1b["


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "a.html"
    path.write_text("<title>ark</title><p>ark:/12148/btv1b8449691v")
    return path


@pytest.mark.parametrize(
    ("arguments", "environment", "is_colored"),
    [
        pytest.param([], {}, False, id="no terminal"),
        pytest.param(["--color", "always"], {}, True, id="always"),
        pytest.param(["--color", "always"], {"NO_COLOR": "1"}, True, id="always, by who calls, over the variable"),
        pytest.param(["--color", "never"], {"FORCE_COLOR": "1"}, False, id="never"),
        pytest.param([], {"FORCE_COLOR": "1"}, True, id="a variable that forces color"),
    ],
)
def test_colors_are_shown_where_they_are_wanted(
    document: Path, arguments: list[str], environment: dict[str, str], is_colored: bool
) -> None:
    done = run_command("extract", "--format", "table", document, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    assert (ESCAPE in done.stdout) is is_colored
    assert "certain" in done.stdout


def test_quiet_leaves_results_and_errors_alone(tmp_path: Path) -> None:
    with RawServer(lambda target: reply(body="<title>A map</title>")) as server:
        asked = [*ON_LOOPBACK, f"{server.url}/ark:/12x45/x5"]
        loud, quiet = (run_command("check", *asked, *options) for options in ([], ["-q"]))
    assert loud.stderr != ""
    assert quiet.stderr == ""
    assert quiet.stdout.count("\n") == loud.stdout.count("\n") == 1
    failed = run_command("check", "-q", "--from", tmp_path / "none.txt")
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        pytest.param([], set(), id="as it is"),
        pytest.param(["-v"], {"INFO"}, id="once"),
        pytest.param(["-vv"], {"INFO", "DEBUG"}, id="twice"),
        pytest.param(["-vv", "--log-level", "error"], set(), id="a level that is named wins"),
    ],
)
def test_verbose_prints_events(options: list[str], levels: set[str]) -> None:
    with RawServer(lambda target: reply(body="<title>A map</title>")) as server:
        done = run_command("check", *ON_LOOPBACK, f"{server.url}/ark:/12x45/x5", *options)
    assert done.returncode == 0, done.stderr
    assert {level for level in ("INFO", "DEBUG") if f" {level}" in done.stderr or f"{level}:" in done.stderr} == levels
