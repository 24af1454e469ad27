"""Every table as literal small data, and sums that agree from table to table whatever the world."""

from collections.abc import Mapping
from dataclasses import fields
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from arkaudit.output.reporting import MOST_NAANS, failing_arks, main_table, summary_lines
from crawler.model import schema
from crawler.model.outcomes import (
    BEST_FIRST,
    BEST_STATE_FIRST,
    FAMILY_OF,
    ArkState,
    CommitmentOutcome,
    Family,
    MetadataOutcome,
    ObjectOutcome,
)
from reports.languages import ENGLISH
from reports.languages.display import ColumnType
from reports.page.document import DETAILS, REQUESTS
from reports.store.frames import Frames, load_frames
from reports.tables.ark_statuses import ark_states
from reports.tables.definitions import DECLARED, DTYPES, rows_of
from reports.tables.listings import ATTENTION
from reports.tables.report_tables import DEFINITIONS, TABLES, Tables
from reports.tables.summary import summarize
from reports.tables.wording import (
    COMMITMENT_MEANINGS,
    FAMILY_MEANINGS,
    FAMILY_NAMES,
    METADATA_MEANINGS,
    OBJECT_MEANINGS,
)
from tests.report_world import (
    BPT,
    BTV_AT_GALLICA,
    BTV_AT_N2T,
    CLOSED,
    GUIDE,
    LANDING,
    LIST,
    MOMENT,
    MUSEUM,
    RIGHT_TO_LEFT_OVERRIDE,
    RUN,
    SLOW,
    ark_row,
    hop,
    mention_row,
    observation_row,
    write_store,
)

TablesByName = Mapping[str, pd.DataFrame]


def rows_as_tuples(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return list(rows_of(table[list(columns)] if columns else table))


# -- the vocabularies are covered


def test_the_order_of_preference_holds_every_outcome_once_and_keeps_families_together() -> None:
    assert sorted(BEST_FIRST) == sorted(ObjectOutcome)
    assert [family for family, _ in groupby(FAMILY_OF[outcome] for outcome in BEST_FIRST)] == [
        Family.WORKS, Family.UNREACHABLE, Family.NOT_JUDGED, Family.FAILS,
    ]  # fmt: skip


def test_every_declared_table_is_in_the_report_or_in_the_details_of_an_ark() -> None:
    declared = {name for name, values in DECLARED.items() if "columns" in values}
    assert declared == {table.name for table in (*TABLES, *DETAILS)}, "add it to reports/tables/report_tables.py"


def test_a_failure_at_one_url_does_not_hide_that_another_was_not_judged() -> None:
    assert sorted(BEST_STATE_FIRST) == sorted(ArkState)
    assert set(BEST_STATE_FIRST[-2:]) == {ArkState.FAILING, ArkState.CONFIRMED_BROKEN}
    latest = pd.DataFrame({"ark_id": [1, 1, 2, 2, 3], "state": ["failing", "blocked", "failing", "healthy", "failing"]})
    states = ark_states(SimpleNamespace(latest=latest))  # type: ignore[arg-type]
    assert states["state"].tolist() == ["blocked", "healthy", "failing"]


def test_every_token_has_words() -> None:
    assert list(OBJECT_MEANINGS) == list(ObjectOutcome)
    assert list(METADATA_MEANINGS) == list(MetadataOutcome)
    assert list(COMMITMENT_MEANINGS) == list(CommitmentOutcome)
    assert list(FAMILY_MEANINGS) == list(FAMILY_NAMES) == list(Family)
    assert sorted(ATTENTION) == sorted(Family)


# -- the tables


def test_the_dtype_of_every_column_follows_from_its_type(tables: TablesByName, tmp_path: Path) -> None:
    empty = Tables(load_frames(write_store(tmp_path / "empty.sqlite", {})))
    for definition in TABLES:
        for table in (tables[definition.name], empty[definition.name]):
            assert list(table.columns) == [column.name for column in definition.columns]
            for column in definition.columns:
                cells = table[column.name]
                is_word = column.type is ColumnType.TOKEN and isinstance(cells.dtype, pd.CategoricalDtype)
                assert is_word or cells.dtype == DTYPES[column.type], f"{definition.name}.{column.name}"
        assert empty[definition.name].dtypes.equals(tables[definition.name].dtypes), definition.name
    assert {name: len(table) for name, table in empty.items() if len(table)} == {"summary": 26, "services": 5}
    assert set(empty["summary"]["value"]) == {0}
    assert {column.type for definition in TABLES for column in definition.columns} == set(DTYPES) == set(ColumnType)


def test_the_summary_counts_citations_by_their_own_url_and_arks_by_their_best(tables: TablesByName) -> None:
    assert rows_as_tuples(tables["summary"], "measure", "value") == [
        ("documents", 4),
        ("documents read", 2),
        ("documents not readable", 1),
        ("documents redirected", 0),
        ("documents not reached", 1),
        ("citations", 11),
        ("places", 11),
        ("citations: works", 3),
        ("citations: fails", 3),
        ("citations: unreachable", 1),
        ("citations: not-judged", 4),
        ("citations repaired", 1),
        ("citations ambiguous", 1),
        ("ARKs", 9),
        ("ARKs: works", 3),
        ("ARKs: fails", 1),
        ("ARKs: unreachable", 1),
        ("ARKs: not-judged", 4),
        ("ARKs described", 2),
        ("ARKs with a stated commitment", 1),
        ("ARKs as found before", 0),
        ("URLs", 9),
        ("URLs: resolved", 3),
        ("URLs: broken", 2),
        ("URLs: timeout", 1),
        ("URLs: robots", 1),
        ("URLs: skipped", 2),
        ("findings", 2),
        ("ARKs asked about", 5),
        ("questions asked", 8),
        ("requests sent", 12),
    ]


def test_services_count_each_asked_ark_once_a_service(tables: TablesByName) -> None:
    answers = tables["services"][tables["services"]["given"].notna()]
    assert rows_as_tuples(answers, "service", "outcome", "given", "arks") == [
        ("object", "resolved", True, 3),
        ("object", "broken", False, 1),
        ("object", "timeout", False, 1),
        ("object", "robots", False, 1),
        ("object", "skipped", False, 2),
        ("metadata", "erc", True, 1),
        ("metadata", "structured", True, 1),
        ("metadata", "query-ignored", False, 1),
        ("metadata", "blocked", False, 1),
        ("metadata", "not-asked", False, 4),
        ("commitment", "stated", True, 1),
        ("commitment", "placeholder", False, 1),
        ("commitment", "absent", False, 1),
        ("commitment", "not-asked", False, 5),
    ]


def test_shared_naans_have_purpose_and_observations(tables: TablesByName) -> None:
    shared = tables["naans"][tables["naans"]["purpose"].notna()]
    named = ("naan", "purpose", "expected_to_resolve", "long_term_reference", "arks", "citations", "outcomes")
    assert rows_as_tuples(shared, *named) == [
        ("12345", "examples in documentation", "maybe", False, 1, 1, "1 skipped"),
        ("99152", "terms of vocabularies and ontologies", "yes", True, 1, 1, "1 resolved"),
        ("99999", "tests, development and experiments", "maybe", False, 1, 1, "1 skipped"),
    ]


POLICY = "Bibliothèque nationale de France, for 12148: names are never re-assigned, names are opaque"


def test_naans(tables: TablesByName) -> None:
    columns = list(tables["naans"].columns[:13])
    assert rows_as_tuples(tables["naans"], *columns) == [
        ("12148", "Bibliothèque nationale de France", 2, 3, 2, 2, 0, 0, 0, 1, 1, POLICY, 1.0),
        ("12345", None, 1, 1, 1, 0, 0, 0, 1, 0, 0, None, None),
        ("13960", "Internet Archive", 1, 1, 1, 0, 0, 1, 0, 0, 0, None, None),
        ("53355", "Musée du Louvre", 1, 2, 2, 0, 1, 0, 0, 0, 0, None, 0.0),
        ("61903", "FamilySearch", 1, 1, 1, 0, 0, 0, 1, 0, 0, None, None),
        ("88435", "Princeton University Library", 1, 1, 1, 0, 0, 0, 1, 0, 0, None, None),
        ("99152", None, 1, 1, 1, 1, 0, 0, 0, 1, 0, None, 1.0),
        ("99999", None, 1, 1, 1, 0, 0, 0, 1, 0, 0, None, None),
    ]


def test_ark_row_has_evidence_and_suggestions(tables: TablesByName) -> None:
    beside = rows_as_tuples(tables["arks"], "ark", "rests_on", "did_you_mean")
    assert ("ark:12148/btv1b8449691v", f"{BTV_AT_N2T}x; {BTV_AT_N2T}y", None) in beside
    assert ("ark:53355/cl010120339", MUSEUM[:-1] + "8", "ark:53355/cl010120338") in beside


def test_ark_asked_for_another_is_not_in_the_run(tmp_path: Path) -> None:
    suggested = MUSEUM[:-1] + "8"
    store = write_store(
        tmp_path / "a.db",
        {
            schema.run: [RUN, RUN],
            schema.ark: [ark_row(1, "ark:53355/cl010120339"), ark_row(2, "ark:53355/cl010120338")],
            schema.verdict: [{"ark_id": 1, "request_url": MUSEUM, "object": "broken"}],
            schema.observation: [
                observation_row(1, MUSEUM, "object", [hop(MUSEUM, 404)]),
                observation_row(2, suggested, "object", [hop(suggested)]),
            ],
        },
    )
    counted = rows_as_tuples(Tables(load_frames(store, run_id=2))["summary"], "measure", "value")
    assert dict(counted)["ARKs"] == 1
    assert dict(counted)["questions asked"] == 2


def test_resolvers(tables: TablesByName) -> None:
    n2t_answers = "2 not-asked, 1 erc, 1 structured"
    asked = tables["resolvers"][tables["resolvers"]["role"].eq("resolver")]
    named = ["host", "arks", "works", "fails", "unreachable", "not_judged", "info_answers"]
    assert rows_as_tuples(asked, *named, "http_only", "mean_redirects", "landing_hosts") == [
        ("n2t.net", 4, 2, 0, 0, 2, n2t_answers, False, 0.5, "1 gallica.example, 1 n2t.net"),
        ("gallica.example", 2, 1, 1, 0, 0, "1 not-asked, 1 query-ignored", False, 0.0, "2 gallica.example"),
        ("guarded.example", 1, 0, 0, 0, 1, "1 blocked", None, 0.0, None),
        ("museum.example", 1, 0, 1, 0, 0, "1 not-asked", True, 0.0, "1 museum.example"),
        ("slow.example", 1, 0, 0, 1, 0, "1 not-asked", False, 0.0, None),
    ]


NAMESPACE = "namespace-mention: 'ark:/12148/' names a NAAN, not an object"


def test_a_document_is_judged_by_the_urls_that_it_cites(tables: TablesByName) -> None:
    formula, script = '=HYPERLINK("http://evil.example/")', "<script>alert('guide')</script>"
    assert rows_as_tuples(tables["documents"]) == [
        (LIST, formula, GUIDE, "read", None, "application/pdf", 4, 4, 1, 2, 0, 1, 1, 2, None),
        (GUIDE, script, None, "read", None, "text/html", 7, 7, 2, 1, 1, 3, 0, 2, NAMESPACE),
        ("https://gone.example/", None, None, "dns", None, None, 0, 0, 0, 0, 0, 0, 0, 0, None),
        (
            CLOSED,
            None,
            None,
            "unreadable",
            None,
            "application/pdf",
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            "encrypted: needs a password",
        ),
    ]


def test_the_places_to_fix_of_a_document_are_counted(tables: TablesByName) -> None:
    places = tables["failures"]["document"].value_counts()
    assert {name: number for name, number in rows_of(tables["documents"][["document", "to_fix"]]) if number} == dict(
        places
    )


def test_arks_that_fail_come_first_and_those_that_work_last(tables: TablesByName) -> None:
    assert rows_as_tuples(tables["arks"], "ark", "object", "family", "citations", "documents") == [
        ("ark:53355/cl010120339", "broken", "fails", 2, 2),
        ("ark:12148/btv1b8449691v", "broken", "fails", 1, 1),
        ("ark:13960/t2s47dp7t", "timeout", "unreachable", 1, 1),
        ("ark:12345/x6np1wh8k", "skipped", "not-judged", 1, 1),
        ("ark:61903/1:1:C4H82DW2", "robots", "not-judged", 1, 1),
        ("ark:88435/x5", None, "not-judged", 1, 1),
        ("ark:99999/fk4ks86n31", "skipped", "not-judged", 1, 1),
        ("ark:12148/bpt6k107371t", "resolved", "works", 1, 1),
        ("ark:12148/btv1b8449691v", "resolved", "works", 1, 1),
        ("ark:99152/p0v", "resolved", "works", 1, 1),
    ]


def test_ark_row_has_target_promise_and_reason(tables: TablesByName) -> None:
    arks = tables["arks"].set_index("request_url")
    stated = arks.loc[BTV_AT_N2T]
    assert (stated["final_url"], stated["hop_count"], stated["request_count"]) == (LANDING, 1, 3)
    assert (stated["permanence"], stated["guarantor"]) == ("Permanent: Stable Content", "The Library")
    assert stated["commitment_evidence"] == "an erc-support block; with a rating"
    failed = arks.loc[MUSEUM]
    assert failed["first_document"] == GUIDE
    assert failed["object_evidence"] == f"the page is titled {RIGHT_TO_LEFT_OVERRIDE}dnuof toN"
    assert failed["remarks"] == "unregistered NAAN"
    assert pd.isna(failed["permanence"])


def test_citation_keeps_written_and_repaired_text(tables: TablesByName) -> None:
    citations = tables["citations"]
    assert list(citations["document"]) == [GUIDE] * 7 + [LIST] * 4
    repaired = citations.iloc[8]
    assert (repaired["page"], repaired["role"], repaired["repairs"]) == (2, "text", "line wrap")
    assert repaired["as_written"] == "https://gallica.example/ark:/12148/bpt6k10\n7371t"
    assert (repaired["repaired"], repaired["object"]) == (BPT, "resolved")
    assert rows_as_tuples(citations.iloc[[7, 10]], "request_url", "confidence", "alternatives", "object") == [
        (BTV_AT_GALLICA, "certain", "", "broken"),
        (None, "ambiguous", "ark:88435/x5y", None),
    ]


def test_every_request_can_be_traced(frames: Frames) -> None:
    requests = REQUESTS.table(frames)
    assert len(requests) == 9
    slow = requests[requests["ark"].eq("ark:13960/t2s47dp7t")]
    moment = pd.Timestamp(MOMENT)
    assert rows_as_tuples(slow) == [
        ("ark:13960/t2s47dp7t", SLOW, "object", 1, 1, SLOW, None, None, "30 s passed", moment, 0.25)
    ]


def test_tables_do_not_change_the_frames(frames: Frames) -> None:
    before = {
        field.name: getattr(frames, field.name).copy()
        for field in fields(Frames)
        if isinstance(getattr(frames, field.name), pd.DataFrame)
    }
    Tables(frames)
    for name, frame in before.items():
        pd.testing.assert_frame_equal(getattr(frames, name), frame)


def test_the_terminal_shows_the_naans_in_brief(frames: Frames) -> None:
    table = main_table(frames)
    names = [str(cell) for cell in table.columns[1].cells]
    assert names[:2] == ["Bibliothèque nationale de France", ""]
    assert (len(names), names[-1]) == (MOST_NAANS + 1, "and 3 more")
    assert list(table.columns[7].cells)[:4] == ["100.0 %", "", "", "0.0 %"]


def test_list_of_failing_arks_has_the_right_citation_of_the_failures(frames: Frames) -> None:
    failures = Tables(frames)["failures"]
    corrected = failures.assign(should_be="ark:12148/right")
    faults, count = failing_arks(frames, corrected, ENGLISH)
    assert (count, {fault.should_be for fault in faults}) == (2, {"ark:12148/right"})
    faults, _ = failing_arks(frames, failures.assign(should_be=None), ENGLISH)
    assert {fault.should_be for fault in faults} == {None}


def test_the_summary_in_a_few_lines(frames: Frames) -> None:
    assert summary_lines(summarize(frames, Tables(frames))) == [
        "1 of 4 judged ARKs fails; 1 gave no answer today; 4 were not judged; 2 causes to act on; nothing to compare with yet.",
        (
            "Audit of https://library.example/guide.html: run 2 (crawl) of the store world.sqlite, "
            "2026-11-20 10:00:00 UTC to 2026-11-20 10:05:00 UTC."
        ),
        (
            "2 documents were not read, or not whole: https://library.example/closed.pdf (unreadable), "
            "https://gone.example/ (dns)."
        ),
        "11 citations of 9 ARKs in 4 documents (1 not readable, 1 not reached); 1 repaired when read, 1 ambiguous.",
        "ARKs: 3 work, 1 fails, 1 gave no answer today, 4 were not judged.",
        "2 ARKs return metadata; 1 ARK has a stated commitment.",
        "8 checks of 5 ARKs (1.6 each); 12 requests sent.",
    ]


# -- whatever the world, the sums agree

HOSTS = ("n2t.net", "gallica.example", "museum.example:8443")
ARK_TEXTS = tuple(
    f"ark:{naan}/{name}" for naan in ("12148", "53355", "99999") for name in ("x5", "b7", "btv1b8449691v")
)

asked = st.fixed_dictionaries(
    {
        "object": st.sampled_from([outcome.value for outcome in ObjectOutcome]),
        "metadata": st.sampled_from([outcome.value for outcome in MetadataOutcome]),
        "commitment": st.sampled_from([outcome.value for outcome in CommitmentOutcome]),
    }
)
urls = st.tuples(st.sampled_from(range(len(ARK_TEXTS))), st.sampled_from(HOSTS))
worlds = st.fixed_dictionaries(
    {
        "verdicts": st.dictionaries(urls, asked, max_size=12),
        "mentions": st.lists(st.tuples(st.sampled_from([1, 2, 3]), urls), max_size=20),
    }
)


def frames_of(world: Mapping[str, Any]) -> Frames:
    """Return a store with these verdicts and citations, and three documents."""

    def row_of(url: tuple[int, str]) -> dict[str, Any]:
        ark, host = url
        return {"ark_id": ark + 1, "request_url": f"https://{host}/{ARK_TEXTS[ark]}"}

    rows = {
        schema.run: [{"run_id": 2}],
        schema.ark: [ark_row(number, text) for number, text in enumerate(ARK_TEXTS, start=1)],
        schema.document: [{"document_id": number, "url": f"https://library.example/{number}"} for number in (1, 2, 3)],
        schema.mention: [
            mention_row(document, ordinal, **row_of(url))
            for ordinal, (document, url) in enumerate(world["mentions"], start=1)
        ],
        schema.verdict: [{**row_of(url), **services} for url, services in world["verdicts"].items()],
    }
    with TemporaryDirectory() as folder:
        return load_frames(write_store(Path(folder) / "store.sqlite", rows))


SUMMED = {"summary", "naans", "arks", "documents", "resolvers", "citations"}


@settings(max_examples=5)
@given(worlds)
def test_sums_agree_across_tables(world: Mapping[str, Any]) -> None:
    frames = frames_of(world)
    tables = {table.name: table.function(frames) for table in TABLES if table.name in SUMMED}
    measured = dict(rows_as_tuples(tables["summary"], "measure", "value"))
    families = {"works": "works", "fails": "fails", "unreachable": "unreachable", "not-judged": "not_judged"}
    naans, arks, documents, resolvers = (tables[name] for name in ("naans", "arks", "documents", "resolvers"))

    assert measured["ARKs"] == naans["arks"].sum() == arks["ark"].nunique()
    assert measured["citations"] == len(tables["citations"]) == arks["citations"].sum() == naans["citations"].sum()
    assert measured["citations"] == documents["citations"].sum() == len(world["mentions"])
    assert measured["URLs"] == arks["object"].notna().sum() == len(world["verdicts"])
    assert measured["ARKs described"] == naans["described"].sum()
    assert measured["ARKs with a stated commitment"] == naans["committed"].sum()
    for family, column in families.items():
        assert measured[f"ARKs: {family}"] == naans[column].sum()
        assert measured[f"citations: {family}"] == arks.loc[arks["family"].eq(family), "citations"].sum()
    for table in (naans, documents, resolvers):
        assert table[list(families.values())].sum(axis="columns").eq(table["arks"]).all()
    by_outcome = [value for measure, value in measured.items() if measure.startswith("URLs: ")]
    assert sum(by_outcome) == measured["URLs"]


@settings(max_examples=5)
@given(worlds)
def test_an_ark_fails_only_when_every_url_that_was_asked_fails(world: Mapping[str, Any]) -> None:
    naans = DEFINITIONS["naans"].table(frames_of(world))
    outcomes: dict[int, set[Family]] = {}
    for (ark, _), services in world["verdicts"].items():
        outcomes.setdefault(ark, set()).add(FAMILY_OF[ObjectOutcome(services["object"])])
    assert naans["fails"].sum() == sum(families == {Family.FAILS} for families in outcomes.values())
    assert naans["works"].sum() == sum(Family.WORKS in families for families in outcomes.values())


def test_a_link_and_its_visible_text_are_one_citation_with_two_places(tmp_path: Path) -> None:
    url = "https://n2t.net/ark:12148/btv1b84"
    rows = {
        schema.run: [{"run_id": 2}],
        schema.ark: [ark_row(1, url)],
        schema.document: [{"document_id": 1, "url": "https://library.example/"}],
        schema.mention: [
            mention_row(1, 1, 1, url, citation=1, role="link-target"),
            mention_row(1, 2, 1, url, citation=1, repairs=["line wrap"]),
            mention_row(1, 3, 1, url, citation=2),
        ],
    }
    tables = Tables(load_frames(write_store(tmp_path / "cited.sqlite", rows)))
    measures = dict(rows_as_tuples(tables["summary"], "measure", "value"))
    assert (measures["citations"], measures["places"], measures["citations repaired"]) == (2, 3, 1)
    assert rows_as_tuples(tables["arks"], "ark", "citations") == [("ark:12148/btv1b84", 2)]


def test_a_place_that_was_decided_again_counts_as_it_was_decided_last(tmp_path: Path) -> None:
    url = "https://n2t.net/ark:12148/btv1b84"
    rows = {
        schema.run: [{"run_id": 2}],
        schema.ark: [ark_row(1, url), ark_row(2, "ark:12148/btv1b8449691v")],
        schema.document: [{"document_id": 1, "url": "https://library.example/"}],
        schema.mention: [
            mention_row(1, 1, 1, url, confidence="ambiguous"),
            mention_row(1, 1, 2, "https://n2t.net/ark:12148/btv1b8449691v", decided=2, confidence="certain"),
        ],
    }
    tables = Tables(load_frames(write_store(tmp_path / "again.sqlite", rows)))
    assert rows_as_tuples(tables["citations"], "ark", "confidence") == [("ark:12148/btv1b8449691v", "certain")]
    assert rows_as_tuples(tables["arks"], "ark") == [("ark:12148/btv1b8449691v",)]
