"""The run that a command resumes: the same command its own run, --resume any run that it doesn't contradict."""

from pathlib import Path
from typing import Any

import pytest

from arkaudit.audits.resuming import RunPlan, decide, with_settings_of
from arkaudit.configuration.config import Config
from arkaudit.configuration.config_files import load
from arkaudit.features.identity.signing import new_key
from crawler.store.store import Run
from extractors.model.errors import UserMistake

SEEDS = ["https://www.library.example/"]


def config(**options: Any) -> Config:
    return load(None, {name.replace("__", "."): value for name, value in options.items()})


def run(number: int, state: str, *, seeds: list[str] = SEEDS, **options: Any) -> Run:
    return Run(
        number, "run", "2026-11-21T00:00:00.000+00:00", state, RunPlan.from_command(seeds, config(**options)).json
    )


@pytest.mark.parametrize("state", ["running", "interrupted", "failed"])
def test_the_same_command_goes_on_with_a_run_that_did_not_finish(state: str) -> None:
    decided = decide([run(1, state)], SEEDS, config(), resume=None)
    assert decided.run is not None
    assert decided.run.run_id == 1


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [run(1, "finished")],
        [run(2, "finished"), run(1, "interrupted")],
        [run(1, "interrupted", seeds=["https://other.example/"])],
        [Run(1, "run", "", "interrupted", None)],
    ],
    ids=["no run", "a finished one", "one finished since", "other seeds", "a run without a plan"],
)
def test_any_other_command_begins_a_new_run(runs: list[Run]) -> None:
    assert decide(runs, SEEDS, config(), resume=None).run is None


def test_how_politely_it_is_asked_makes_no_other_run() -> None:
    changed = config(politeness__delay=3, politeness__contact="me@library.example", politeness__attempts=1)
    assert decide([run(1, "interrupted")], SEEDS, changed, resume=None).run is not None


def test_other_settings_make_a_new_run_and_are_told() -> None:
    decided = decide([run(1, "interrupted", crawl__depth=2)], SEEDS, config(crawl__depth=3), resume=None)
    assert decided.run is None
    assert "crawl.depth" in decided.remark


def test_resume_takes_missing_options_from_the_run() -> None:
    told = {"crawl__depth": 2, "resolver": "https://r.example/", "resolve__direct": True}
    decided = decide([run(1, "interrupted", **told)], [], config(politeness__delay=3), resume=True)
    assert decided.plan.seeds == tuple(SEEDS)
    effective = with_settings_of(decided.plan, config(politeness__delay=3))
    assert (effective.crawl.depth, effective.resolver, effective.resolve.direct) == (2, "https://r.example/", True)
    assert effective.politeness.delay == 3


def test_resume_names_contradictions() -> None:
    with pytest.raises(UserMistake, match=r"run 1 began with crawl\.depth = 2, not None"):
        decide([run(1, "interrupted", crawl__depth=2)], [], config(crawl__depth=None), resume=True)


def test_resume_goes_on_with_the_newest_run_of_these_seeds() -> None:
    runs = [run(3, "interrupted", seeds=["https://other.example/"]), run(2, "interrupted"), run(1, "interrupted")]
    for seeds, number in ((SEEDS, 2), ([], 3)):
        decided = decide(runs, seeds, config(), resume=True)
        assert decided.run is not None
        assert decided.run.run_id == number


def test_resume_without_anything_to_go_on_with_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match="nothing to resume"):
        decide([run(1, "interrupted", seeds=["x"])], SEEDS, config(), resume=True)


def test_no_resume_begins_a_new_run() -> None:
    assert decide([run(1, "interrupted")], SEEDS, config(), resume=False).run is None


def test_a_setting_that_the_run_has_never_heard_of_is_no_contradiction() -> None:
    old = run(1, "interrupted")
    assert old.plan is not None
    settings = {name: value for name, value in old.plan["settings"].items() if name != "resolve.maptr"}
    older = Run(1, "run", "", "interrupted", {**old.plan, "settings": {**settings, "crawl.mood": "bright"}})
    decided = decide([older], SEEDS, config(resolve__maptr=False), resume=True)
    assert with_settings_of(decided.plan, config()) == config()


def identity_options(folder: Path, name: str) -> dict[str, Any]:
    """Return the options of an identity with a key of its own."""
    file = folder / f"{name}.pem"
    if not file.exists():
        new_key(file)
    return {"identity__key": file, "identity__agent": "https://library.example/"}


def test_a_run_is_not_gone_on_with_by_another_key_as_hosts_may_answer_otherwise(tmp_path: Path) -> None:
    one, other = identity_options(tmp_path, "one"), identity_options(tmp_path, "other")
    begun = run(1, "interrupted", **one)
    assert decide([begun], SEEDS, config(**one), resume=None).run == begun
    for options in (other, {}):
        decided = decide([begun], SEEDS, config(**options), resume=None)
        assert decided.run is None
        assert "differs in signer" in decided.remark
    with pytest.raises(UserMistake, match="began with signer = "):
        decide([begun], SEEDS, config(**other), resume=True)
    plan = decide([begun], SEEDS, config(), resume=True).plan
    with pytest.raises(UserMistake, match="configure the same key"):
        with_settings_of(plan, config())
