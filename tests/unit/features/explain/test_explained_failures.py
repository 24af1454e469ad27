"""`explain --store` and the report name the same cause, party and correction for an ARK."""

from pathlib import Path

from arkaudit.features.explain.stored_checks import last_checks
from crawler.store.store import Store
from extractors.model.ark import Ark
from reports.languages import ENGLISH
from reports.page.cards import card_macros
from reports.store.frames import load_frames
from reports.tables.definitions import records_of
from reports.tables.report_tables import Tables
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit


def conclusions(store: Path, url: str) -> list[str]:
    checks = last_checks(store, Ark.parse(url))
    return [
        part["conclusion"]
        for check in checks
        if check["asked"] == url
        for part in check["explanation"][1:]
        if "conclusion" in part
    ]


def test_stored_failure_has_the_advice_of_its_card(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {OTHER}"}, answers={ONE: 404, OTHER: 200})
    [cause] = records_of(Tables(load_frames(path))["causes"])
    words, sentences = card_macros(ENGLISH), conclusions(path, ONE)
    assert sentences[-3:] == [
        f"The cause: {words.name(cause)}.",
        f"What to do: {words.advice(cause)}",
        f"Who can repair it: {words.responsible(cause)}.",
    ]
    assert conclusions(path, OTHER)[-1] == "What to do: nothing; cite it as it is."


def test_explanation_of_a_stored_failure_has_its_correction(tmp_path: Path) -> None:
    path, works = tmp_path / "audit.db", ONE.replace("://", "://works.")
    with Store.open(path) as store:
        audit(store, 0, documents={GUIDE: f"see {ONE} and {works}"}, answers={ONE: 404, works: 200})
    assert conclusions(path, ONE)[-1] == f"Cite instead: {works} (the same ARK is cited there and works)."
