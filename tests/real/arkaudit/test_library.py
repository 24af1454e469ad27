"""The library in scripts: what it imports, and its documents and verdicts compared with the command."""

import asyncio
import io
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import arkaudit.errors
from arkaudit import Ark, ArkauditError, Document, check, extract, find_arks, load_report
from arkaudit.configuration.config import Config
from crawler.model.observations import ObjectOutcome
from extractors.model.errors import SourceUnreadable
from extractors.model.normalize import NotAnArk
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command
from tests.real.waiting import PATIENCE_S, wait_until
from tests.unit.extractors.packages import zip_archive
from tools.demo.show import loopback_audit

ROOT = Path(__file__).parents[3]

#: The settings of `ON_LOOPBACK` as keys of a configuration.
QUICK = {"politeness.delay": 0, "politeness.backoff": 0, "network.only_routed": True}


def imported_by(code: str) -> set[str]:
    names = "import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{names}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "from arkaudit import Ark, Mention, find_arks; find_arks('see ark:/12148/btv1b84')",
        "from extractors import extract; list(extract(b'see ark:/12148/btv1b84', name='a.txt'))",
        "import arkaudit, crawler, extractors, reports",
        "from arkaudit import check",
    ],
)
def test_unused_modules_are_not_imported(code: str) -> None:
    assert not imported_by(code) & {"scrapy", "twisted", "pandas", "numpy", "sqlalchemy", "requests", "pydantic"}


def test_documents_come_lazily_and_in_a_fixed_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", ".hidden.txt"):
        (tmp_path / name).write_text(f"see ark:/12148/{name[0]}x5 there")
    (tmp_path / "c.zip").write_bytes(zip_archive({"d.txt": "see ark:/12148/dx5 there"}))
    documents = extract(tmp_path)
    first = next(documents)
    (tmp_path / "b.txt").write_text("see ark:/12148/other there")  # not read yet
    rest = list(documents)
    assert [Path(each.name).name for each in (first, *rest)] == ["a.txt", "b.txt", "d.txt", tmp_path.name]
    assert [str(ark) for each in (first, *rest) for ark in each.arks] == [
        "ark:12148/ax5",
        "ark:12148/other",
        "ark:12148/dx5",
    ]
    assert rest[-1].findings[0].kind == "members-skipped"


def test_bytes_files_and_several_sources_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ark:/12148/ax5")
    sources = [b"ark:/12148/bx5", io.BytesIO(b"ark:/12148/cx5"), str(tmp_path / "a.txt"), tmp_path / "a.txt"]
    assert [str(ark) for each in extract(sources) for ark in each.arks] == [
        "ark:12148/bx5", "ark:12148/cx5", "ark:12148/ax5", "ark:12148/ax5",
    ]  # fmt: skip


def test_declared_properties_of_bytes_are_used() -> None:
    latin = "<p>caf\xe9 ark:/12148/bx5".encode("latin-1")
    [document] = extract(latin, media_type="text/html", charset="latin-1", name="x")
    assert document.media_type == "text/html"
    assert "café" in document.mentions[0].context


def test_documents_that_are_read_together_are_evidence_for_one_another() -> None:
    broken = b"see ark:/76543/pf5qqqq\nb4x and more of it, which goes on for a while here\nand ends"
    whole = b"see ark:/76543/pf5qqqqb4x there"
    alone = [str(ark) for document in extract([broken, whole]) for ark in document.arks]
    together = [str(ark) for document in extract([broken, whole], together=True) for ark in document.arks]
    assert together == ["ark:76543/pf5qqqqb4x"] * 2
    assert alone[1:] == ["ark:76543/pf5qqqqb4x"]
    assert list(extract([whole, broken], together=True))[1].arks == (Ark.parse(together[0]),)


@pytest.mark.parametrize("source", ["nowhere", "", "https://www.example.org/a.pdf", "HTTP://www.example.org/"])
def test_malformed_source_is_a_mistake_at_once(source: str) -> None:
    with pytest.raises(SourceUnreadable):
        extract(source)


def test_values_can_be_kept_and_shown() -> None:
    [document] = extract(b"see ark:/12148/btv1b8449691v there", name="a.txt")
    assert pickle.loads(pickle.dumps(document)) == document
    assert repr(document) == "<Document 'a.txt': 1 mentions, 0 findings>"
    assert isinstance(document, Document)
    assert repr(find_arks("see ark:/12148/btv1b8449691v")) == "[<Mention ark:12148/btv1b8449691v, certain>]"


def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    """A process that `multiprocessing` spawns would import the script, which would begin the work again."""
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7 and no more")
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\nfrom arkaudit import extract\n"
        "for document in extract('paper.pdf'):\n    print(document.name, document.findings[0].kind)\n"
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("once\npaper.pdf unreadable\n", "")


def resolver(target: str) -> Any:
    """Yield a resolver that knows only objects below one name, without descriptions."""
    if not target.startswith("/ark:/12148/btv1b8449691v") or "?" in target:
        return reply(404)
    return reply(body=f"<title>An old map</title><p>The map {target.partition('?')[0]}")


@pytest.mark.promise
def test_a_check_gives_the_verdict_that_the_command_gives(tmp_path: Path) -> None:
    with RawServer(resolver) as server:
        settings = {**QUICK, "resolver": f"{server.url}/", "network.allow_addresses": ["127.0.0.0/8"]}
        one = check("ark:/12148/btv1b8449691v", settings=settings, store=tmp_path / "a.db")
        two = check([Ark.parse("ark:12148/gone1"), f"{server.url}/ark:/12148/btv1b8449691v"], settings=settings)
        options = (*ON_LOOPBACK, "--resolver", f"{server.url}/")
        said = run_command("check", *options, "--format", "jsonl", "ark:/12148/btv1b8449691v", "ark:12148/gone1")
    rows = [json.loads(line) for line in said.stdout.splitlines()]
    assert [one.object.outcome, two[0].object.outcome] == [row["object"]["outcome"] for row in rows]
    assert one.object.outcome is ObjectOutcome.RESOLVED
    assert two[1].object.outcome == one.object.outcome
    assert str(one.ark) in repr(one)
    assert load_report(tmp_path / "a.db").table("arks")["ark"].tolist() == ["ark:12148/btv1b8449691v"]


def test_a_check_may_be_made_again_where_a_loop_runs_and_with_the_loopback_web() -> None:
    async def outcome(config: Config) -> ObjectOutcome:
        return check("ark:13960/t1pg22p71", config=config).object.outcome

    for _ in range(2):
        with loopback_audit() as config:
            assert asyncio.run(outcome(config)) is ObjectOutcome.RESOLVED


def test_mistakes_raise_our_errors_before_any_request(tmp_path: Path) -> None:
    with RawServer(resolver) as server:
        settings = {**QUICK, "resolver": f"{server.url}/"}
        with pytest.raises(NotAnArk, match="holds no ARK"):
            check(["ark:12148/x5", "no such thing"], settings=settings)
        with pytest.raises(ArkauditError, match=r"politeness\.dealy"):
            check("ark:12148/x5", settings={**settings, "politeness.dealy": 1})
        (tmp_path / "a.db").write_text("not a store")
        with pytest.raises(arkaudit.errors.StoreError):
            check("ark:12148/x5", settings=settings, store=tmp_path / "a.db")
        assert check([], settings=settings) == []
        assert server.targets == []


def test_an_interrupted_check_keeps_what_it_has_observed(tmp_path: Path) -> None:
    code = (
        "import sys, json\nfrom arkaudit import check\n"
        "try:\n    check([f'ark:12148/a{n}x' for n in range(60)], settings=json.loads(sys.argv[1]), store='a.db')\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    with RawServer(resolver) as server:
        settings = {
            **QUICK,
            "politeness.delay": 1,
            "resolver": f"{server.url}/",
            "network.allow_addresses": ["127.0.0.0/8"],
        }
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(settings)],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        wait_until(lambda: server.targets or process.poll() is not None, "a request")
        process.send_signal(signal.SIGINT)  # as a notebook's kernel gets it, and its child does not
        said, errors = process.communicate(timeout=PATIENCE_S)
    assert said == "interrupted\n", errors
    run = load_report(tmp_path / "a.db", run=1).run
    assert run["state"].tolist() == ["interrupted"]
