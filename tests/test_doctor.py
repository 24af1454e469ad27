"""The report of `arkaudit doctor` on this machine."""

import json
import tomllib
from datetime import UTC, datetime, timedelta
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from arkaudit.configuration.config_files import ConfigError, load_audits
from arkaudit.own_packages import foreign_packages
from arkaudit.upkeep.doctor import (
    EXTRAS,
    OLD_DAYS,
    State,
    diagnose_cache,
    diagnose_contact,
    diagnose_proxies,
    diagnose_registry,
    diagnose_run,
    diagnose_sandbox,
    diagnose_store,
    diagnose_stores,
)
from crawler.store.store import Store
from extractors.model.naan import Registry
from extractors.processes.sandbox import SandboxMeasure
from extractors.processes.worker import WorkerDied
from tests.loopback import run_command
from tests.vectors import vectors


def states(*arguments: str | Path, code: int = 0, **environment: str) -> dict[str, str]:
    done = run_command("doctor", "--format", "json", *arguments, **environment)
    assert done.returncode == code, done.stderr
    return {each["name"]: each["state"] for each in json.loads(done.stdout)}


@pytest.mark.promise
def test_a_configured_audit_is_good_in_each_respect(tmp_path: Path) -> None:
    Store.open(tmp_path / "a.db").close()
    config = tmp_path / "arkaudit.toml"
    config.write_text('store = "a.db"\n[politeness]\ncontact = "me@library.example"\n')
    found = states("-c", config, ARKAUDIT_CACHE=str(tmp_path / "cache"))
    assert found.pop("NAAN registry") == "note"
    assert "fault" not in found.values()
    assert (found["configuration"], found["contact"], found["store"]) == ("good", "good", "good")
    assert not (tmp_path / "cache").exists(), "looking makes nothing"


def test_doctor_lists_archives_and_log_ins_without_secrets(tmp_path: Path) -> None:
    config = tmp_path / "arkaudit.toml"
    config.write_text(
        '[memento]\ntimegate = "https://archive.example/timegate/"\n'
        '[hosts."https://own.example"]\nheaders = { Authorization = { env = "TOKEN" } }\n'
        '[notify]\non = ["confirmed"]\nurls = ["mailtos://a:$MAIL@mail.example:587?to=a@b.example"]\n'
    )
    done = run_command("doctor", "-c", config, COLUMNS="300", TOKEN="s3cr3t-token")
    assert done.returncode == 1, done.stdout
    assert "https://archive.example/timegate/ is asked about ARKs that fail" in done.stdout
    assert "headers or cookies go to https://own.example" in done.stdout
    assert "set the environment variable MAIL" in done.stdout
    assert "s3cr3t" not in done.stdout + done.stderr
    whole = run_command("doctor", "-c", config, COLUMNS="300", MAIL="s3cr3t-mail", TOKEN="s3cr3t-token")
    assert (whole.returncode, "s3cr3t" in whole.stdout, "MAIL" in whole.stdout) == (0, False, False)
    lacking = run_command("doctor", "-c", config, MAIL="s3cr3t-mail")
    assert lacking.returncode == 1
    assert "the environment variable TOKEN is not set" in " ".join(lacking.stdout.split())


@pytest.mark.parametrize(
    ("option", "text", "faulty"),
    [
        pytest.param("-c", "[politeness]\ndealy = 2\n", "configuration", id="a mistyped setting"),
        pytest.param("--store", "no store", "store", id="a file that is no store"),
        pytest.param("--store", "", "store", id="an empty file"),
    ],
)
def test_doctor_reports_faults_that_would_fail_an_audit(tmp_path: Path, option: str, text: str, faulty: str) -> None:
    (tmp_path / "file").write_text(text)
    assert states(option, tmp_path / "file", code=1)[faulty] == "fault"


def test_a_configuration_that_is_named_must_be_there(tmp_path: Path) -> None:
    done = run_command("doctor", "-c", tmp_path / "none.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "none.toml" in done.stderr


def test_a_cache_that_is_a_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    assert diagnose_cache(tmp_path / "cache").state is State.FAULT
    assert diagnose_cache(tmp_path / "new" / "cache").state is State.GOOD


def test_audits_without_a_contact_are_named(tmp_path: Path) -> None:
    config = tmp_path / "arkaudit.toml"
    config.write_text(
        '[audits.theses]\nseeds = ["https://a.example/"]\n'
        '[audits.maps]\nseeds = ["https://b.example/"]\n[audits.maps.politeness]\ncontact = "me@b.example"\n'
    )
    found = diagnose_contact(load_audits(config))
    assert found.state is State.NOTE
    assert "(the top, theses)" in found.words


def test_a_store_is_counted_and_left_as_it_is(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    Store.open(store).close()
    before = store.read_bytes(), sorted(tmp_path.iterdir())
    assert "has 0 runs" in diagnose_store(store).words
    assert (store.read_bytes(), sorted(tmp_path.iterdir())) == before


@pytest.mark.parametrize(("days", "state"), [(0, State.GOOD), (OLD_DAYS, State.GOOD), (OLD_DAYS + 1, State.NOTE)])
def test_a_registry_grows_old(days: int, state: State) -> None:
    now = datetime(2026, 11, 20, tzinfo=UTC)
    registry = Registry((), "https://n2t.example/", fetched_at=now - timedelta(days=days))
    assert diagnose_registry(registry, now).state is state


def test_a_parsing_process_that_dies_is_a_fault_and_one_less_confined_a_note() -> None:
    def fails() -> frozenset[SandboxMeasure]:
        raise WorkerDied("it was killed")

    assert diagnose_sandbox(fails).state is State.FAULT
    assert diagnose_sandbox(frozenset).state is State.NOTE


def test_the_password_of_a_proxy_is_not_shown() -> None:
    found = diagnose_proxies({"http": "http://me:open-sesame@proxy.example:3128", "no": "localhost"})
    assert "open-sesame" not in found.words
    assert "proxy.example:3128" in found.words


def test_each_extra_of_the_package_is_looked_for() -> None:
    project = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text())["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"])
    brought = {
        name: {Requirement(each).name for each in project["optional-dependencies"][name]}
        for name in project["optional-dependencies"]
    }
    installed = packages_distributions()
    for name, (module, _) in EXTRAS.items():
        distributions = {each.lower() for each in installed[module]}
        assert distributions & {each.lower() for each in brought[name]}, name


@pytest.mark.parametrize("vector", vectors("settings"))
def test_mistake_that_stops_run_is_fault(
    vector: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, topic = vector["setting"], vector["fault"]
    monkeypatch.chdir(tmp_path)
    seeds = "" if topic == "seeds" else 'seeds = ["https://library.example/"]\n'
    (tmp_path / "arkaudit.toml").write_text(f"{seeds}{setting}\n")
    if topic and " " in topic:
        with pytest.raises(ConfigError, match=topic):
            load_audits(Path("arkaudit.toml"))
        return
    audits = load_audits(Path("arkaudit.toml"))
    assert {topic} - {None} == {
        row.name for row in [*diagnose_run(audits, None), *diagnose_stores(audits)] if row.state == "fault"
    }


def test_dry_run_refuses_what_run_refuses(tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text('[notify]\ncommand = ["./no-program"]\n')
    (tmp_path / "page.html").write_text("<p>ark:/12345/x</p>")
    command = ["run", tmp_path / "page.html", "-c", tmp_path / "arkaudit.toml", "--store", tmp_path / "a.db"]
    for refused in (run_command(*command), run_command(*command, "--dry-run")):
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "notify.command: there is no program './no-program'" in refused.stderr
    assert not (tmp_path / "a.db").exists()


def test_only_folders_with_python_files_are_named_as_foreign_packages(tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "theses"
    folder.mkdir(parents=True)
    assert not [*foreign_packages([str(tmp_path)])]
    (folder / "mine.py").touch()
    assert [*foreign_packages([str(tmp_path)])] == [("reports", str(folder.parent))]
