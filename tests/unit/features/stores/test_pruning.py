"""Pruning removes the answers of old runs, and neither verdicts nor history."""

from datetime import datetime
from pathlib import Path

from sqlalchemy import func, select

from arkaudit.features.stores.checks import check_store
from arkaudit.features.stores.pruning import prune
from crawler.history.ark_status import StatusPolicy
from crawler.model import schema
from crawler.store.store import Store
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit, derived_rows, moment


def test_pruned_runs_keep_history_verdicts_and_evidence_of_failures(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    answers: list[dict[str, int | None]] = [{ONE: 200, OTHER: 200}, {ONE: 200, OTHER: 404}, {ONE: 404, OTHER: 404}]
    with Store.open(path) as store:
        for day, of_day in enumerate(answers):
            audit(store, 30 * day, documents={GUIDE: f"{ONE} {OTHER}"}, answers=of_day)
        before, verdicts = derived_rows(store), store.rows(select(schema.verdict))
        assert list(prune(store, now=datetime.fromisoformat(moment(61)), days=35)) == [1]
        assert list(prune(store, now=datetime.fromisoformat(moment(61)), runs=1)) == [2]
        store.shrink()
        assert (derived_rows(store), store.rows(select(schema.verdict))) == (before, verdicts)
        store.set_status_policy(StatusPolicy(strikes=9))
        store.set_status_policy(StatusPolicy())
        assert derived_rows(store) == before
        whole = select(schema.observation.c.run_id, schema.observation.c.request_url).where(
            func.json_array_length(schema.observation.c.hops) > 0
        )
        assert [tuple(row) for row in store.rows(whole)] == [(2, OTHER), (3, ONE), (3, OTHER)]
        [pruned, *_] = store.observations_at(1, ONE)
        assert pruned.remarks == (f"the answer was pruned on {moment(61)[:10]}",)
    check_store(path)
