"""The tables of a report on a dataset: those of a report on a store that need no answer of a server.

No ARK has been asked for, so that none is judged. The rows are those that a store has when a crawl has read the same
documents and nothing has been checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pandas as pd

from crawler.model.observations import Family
from crawler.model.resolving import GLOBAL_RESOLVER, mention_url
from extractors.ark import SKIPPED_NAANS
from extractors.checkchar import CheckCharacter
from extractors.naan import SHARED_NAANS
from extractors.wraps.wrap import Confidence
from reports import listings, overviews, places
from reports import summary as sums
from reports.dataset.connection import OpenDataset
from reports.definitions import ARKS_COLUMN, CITATIONS_COLUMN, DOCUMENTS_COLUMN, TEXT, Column, TableDefinition
from reports.remediation import pairs, written_forms
from reports.typed_columns import JOINT

Frames = Iterator[pd.DataFrame]

#: So many mentions at most are repeated one by one, in `citations`.
MOST_CITATIONS: Final = 1_000_000
#: What an ``ark`` implies (`extractors.ark.Ark.implied`): what stands before each dot, and before each slash in front
#: of the first one, but for that behind the NAAN.
IMPLIED: Final = """
    [left(ark, i - 1) FOR i IN range(1, length(ark) + 1)
     IF ark[i] = '.' OR (ark[i] = '/' AND i > instr(ark, '/') AND i < instr(ark || '.', '.'))]
"""
#: An ARK without its qualifier.
_BASE: Final = "^ark:[^/]*/[^/.]*"
_NOT_JUDGED: Final = "0 AS works, 0 AS fails, 0 AS unreachable, {} AS not_judged"


@dataclass(frozen=True, slots=True, eq=False)
class DatasetTable:
    """A table of a report on a dataset, and how its rows are had: in pieces, for there may be millions."""

    definition: TableDefinition
    pieces: Callable[[OpenDataset, pd.DataFrame], Frames]
    """Of a dataset that has been counted, and what the NAAN registry says (`reports.frames.registered_names`)."""

    def frames(self, dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
        """Yield its rows in their order, with the columns of its definition."""
        yield from map(self.definition.shaped, self.pieces(dataset, registered))


def _summary(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    outcomes = dict(dataset.rows("SELECT outcome, count(*) FROM documents GROUP BY outcome"))
    [(citations, in_places, repaired, ambiguous)] = dataset.rows(
        "SELECT sum(citations), sum(places), sum(mended), sum(unsure) FROM by_document"
    )
    [(arks,)] = dataset.rows("SELECT count(*) FROM ark")
    [(findings,)] = dataset.rows("SELECT count(*) FROM findings")
    measures = [
        *sums.document_measures(outcomes),
        *sums.citation_measures(
            {Family.NOT_JUDGED: int(citations or 0)},
            places=int(in_places or 0),
            repaired=int(repaired or 0),
            ambiguous=int(ambiguous or 0),
        ),
        *sums.ark_measures({Family.NOT_JUDGED: arks}),
        sums.finding_measure(findings),
    ]
    rows = pd.DataFrame(measures, columns=["measure", "value", "note"])
    yield rows.assign(previous=None, change=None, since=None, since_change=None)


def _naans(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    for rows in dataset.frames(
        f"""
        SELECT naan, arks, citations, documents, {_NOT_JUDGED.format("arks")}, 0 AS described, 0 AS committed
        FROM (SELECT naan, count(*) AS arks FROM ark GROUP BY naan) JOIN cited USING (naan) WHERE shoulder IS NULL
        ORDER BY arks DESC, naan
        """
    ):
        named = overviews.organizations_of(registered, rows["naan"])
        yield rows.assign(organization=named, policy=None, share_works=None)


def _shared_naans(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    counts = {
        naan: counted
        for naan, *counted in dataset.rows(
            """
            SELECT naan, arks, citations, documents
            FROM (SELECT naan, count(*) AS arks FROM ark GROUP BY naan) JOIN cited USING (naan) WHERE shoulder IS NULL
            """
        )
    }
    rows = []
    for naan, shared in sorted(SHARED_NAANS.items()):
        arks, citations, documents = counts.get(naan, (0, 0, 0))
        words = (shared.purpose, shared.expected_to_resolve, shared.long_term_reference)
        rows.append((naan, *words, arks, citations, documents, f"{arks} not asked" if arks else "none found"))
    yield pd.DataFrame(rows, columns=[column.name for column in overviews.SHARED_NAAN_TABLE.columns])


def _shoulders(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    known = registered[registered["shoulder"].ne("")].set_index(["naan", "shoulder"])["organization"]
    for rows in dataset.frames(
        f"""
        SELECT naan, shoulder, arks, citations, documents, {_NOT_JUDGED.format("arks")}, 0 AS committed
        FROM (SELECT naan, shoulder, count(*) AS arks FROM ark GROUP BY naan, shoulder)
        JOIN cited USING (naan, shoulder)
        ORDER BY arks DESC, naan, shoulder
        """
    ):
        keys = pd.MultiIndex.from_frame(rows[["naan", "shoulder"]])
        by_shoulder = known.reindex(keys).set_axis(rows.index)
        named = by_shoulder.fillna(overviews.organizations_of(registered, rows["naan"]))
        yield rows.assign(organization=named, registered=keys.isin(known.index), share_works=None)


def _documents(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    yield from dataset.frames(
        f"""
        SELECT document, title, CASE WHEN record <> '' THEN source END AS found_on, outcome, NULL AS led_to, media_type,
            coalesce(citations, 0) AS citations, coalesce(arks, 0) AS arks, {_NOT_JUDGED.format("coalesce(arks, 0)")},
            coalesce(repaired, 0) AS repaired, coalesce(found.findings, 0) AS findings
        FROM documents LEFT JOIN by_document USING (document)
        LEFT JOIN (SELECT document, count(*) AS findings FROM findings GROUP BY document) AS found USING (document)
        ORDER BY document
        """
    )


def _sections(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    rows = dataset.frames(
        f"""
        SELECT section, documents, citing_documents, citations, coalesce(arks, 0) AS arks,
            {_NOT_JUDGED.format("coalesce(arks, 0)")}
        FROM (
            SELECT section, count(*) AS documents, count(by_document.document) AS citing_documents,
                coalesce(sum(citations), 0)::BIGINT AS citations
            FROM section LEFT JOIN by_document USING (document) GROUP BY section
        )
        LEFT JOIN (
            SELECT section, count(DISTINCT ark) AS arks FROM mentions JOIN section USING (document) GROUP BY section
        ) USING (section)
        ORDER BY section
        """
    )
    yield from (each.assign(share_works=None) for each in rows)


def _repairs(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    yield from dataset.frames(
        f"""
        SELECT repair, places, citations, documents, {_NOT_JUDGED.format("places")}, example.as_written AS as_written,
            example.repaired AS repaired, example.document AS document
        FROM (
            SELECT repair, sum(places)::BIGINT AS places, sum(citations)::BIGINT AS citations,
                sum(documents)::BIGINT AS documents, min(example) AS example
            FROM by_repair GROUP BY repair
        )
        ORDER BY places DESC, repair
        """
    )


def _duplicates(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    candidates = dataset.rows(f"SELECT ark FROM ark WHERE regexp_matches(ark, '{pairs.MAY_BE_EQUAL}') ORDER BY ark")
    yield pairs.duplicates_of([*pairs.equal_elsewhere(ark for (ark,) in candidates)])


def _containers(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    yield from dataset.frames(
        f"""
        SELECT whole, NULL AS object, ark.ark IS NOT NULL AS is_cited, parts, {_NOT_JUDGED.format("parts")}, members
        FROM (
            SELECT whole, count(*) AS parts, array_to_string(min(part, {pairs.MOST_NAMED}), '{JOINT}') AS members
            FROM (SELECT ark AS part, unnest({IMPLIED}) AS whole FROM ark) GROUP BY whole
        )
        LEFT JOIN ark ON ark.ark = whole
        ORDER BY parts DESC, whole
        """
    )


def _joins(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    sure = " ".join(f"WHEN '{confidence.token}' THEN {rank}" for rank, confidence in enumerate(sorted(Confidence)))
    yield from dataset.frames(
        f"""
        SELECT document, page, place, as_written, ark, array_to_string(alternatives, '{JOINT}') AS alternatives,
            confidence, reason, decided > 1 AS again, NULL AS object
        FROM mentions WHERE len(alternatives) > 0 OR decided > 1
        ORDER BY CASE confidence {sure} END, document, ordinal
        """
    )


def _check_failures(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    """What may have been meant, as `extract` says; names that any document cites come first, broken ones, too."""
    yield from dataset.frames(
        f"""
        WITH failing AS (
            SELECT ark, any_value(naan) AS naan, max(suggestions) AS suggestions,
                count(DISTINCT (document, citation)) AS citations, count(DISTINCT document) AS documents,
                min({{'document': document, 'ordinal': ordinal, 'as_written': as_written}}) AS first
            FROM mentions WHERE "check" = '{CheckCharacter.FAILS}' GROUP BY ark
        ), meant AS (
            SELECT failing.ark, string_agg(suggestion, '{JOINT}' ORDER BY known.ark IS NULL, place) AS suggestions
            FROM (SELECT ark, unnest(suggestions) AS suggestion, generate_subscripts(suggestions, 1) AS place
                  FROM failing) AS failing
            LEFT JOIN ark AS known ON known.ark = regexp_extract(suggestion, '{_BASE}')
            GROUP BY failing.ark
        )
        SELECT ark, naan, coalesce(meant.suggestions, '') AS suggestions, NULL AS object, citations, documents,
            first.as_written AS as_written, first.document AS first_document
        FROM failing LEFT JOIN meant USING (ark) ORDER BY citations DESC, ark
        """
    )


def _unfit(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    purposes = {naan: shared.purpose for naan, shared in SHARED_NAANS.items()}
    naans = ", ".join(f"'{naan}'" for naan in sorted(SKIPPED_NAANS))
    for is_example in (False, True):  # that can't be told in SQL, and there may be too many to sort them here
        for rows in dataset.frames(
            f"""
            SELECT document, first.page AS page, first.place AS place, first.as_written AS as_written,
                first.ark AS ark, first.naan AS naan, contexts, title
            FROM (
                SELECT document, string_agg(context, ' ' ORDER BY ordinal) AS contexts,
                    min({{'ordinal': ordinal, 'page': page, 'place': place, 'as_written': as_written, 'ark': ark,
                          'naan': naan}}) AS first
                FROM mentions WHERE naan IN ({naans}) GROUP BY document, citation
            )
            JOIN documents USING (document)
            ORDER BY document, first.ordinal
            """
        ):
            texts = zip(rows["contexts"], rows["title"], rows["document"], strict=True)
            signs = pd.Series([written_forms.example_sign(each) for each in texts], dtype="str", index=rows.index)
            signed = rows.assign(is_example=signs.notna(), sign=signs, purpose=rows["naan"].map(purposes))
            yield signed[signed["is_example"].eq(is_example)]


def _citations(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    for rows in dataset.frames(
        f"""
        SELECT document, citation, page, place, role, as_written, ark, repaired,
            array_to_string(repairs, '{JOINT}') AS repairs, confidence, reason,
            array_to_string(alternatives, '{JOINT}') AS alternatives, array_to_string(spelling, '{JOINT}') AS spelling,
            NULL AS object, resolver, link_resolver
        FROM mentions ORDER BY document, ordinal
        """
    ):
        asked = zip(rows["repaired"], rows["resolver"], rows["link_resolver"], strict=True)
        yield rows.assign(request_url=[_asked_url(*each) for each in asked])


def _asked_url(repaired: str, resolver: object, link_resolver: object) -> str:
    """The URL that asks for the object of a mention; a resolver that is missing is NaN here."""
    named, of_page = (each if isinstance(each, str) else None for each in (resolver, link_resolver))
    return mention_url(repaired, named, of_page, GLOBAL_RESOLVER)


def _findings(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    yield from dataset.frames("SELECT document AS subject, kind, detail FROM findings ORDER BY ALL")


def _cited_hosts(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    yield from dataset.frames(
        """
        SELECT host, arks, citations, documents
        FROM (SELECT host, sum(citations)::BIGINT AS citations, sum(documents)::BIGINT AS documents
              FROM by_host GROUP BY host)
        JOIN (SELECT host, count(DISTINCT ark) AS arks
              FROM (SELECT coalesce(resolver, '') AS resolver, ark FROM mentions) JOIN resolver_host USING (resolver)
              GROUP BY host) USING (host)
        ORDER BY arks DESC, host
        """
    )


def _of_datasets_only(*_: object) -> pd.DataFrame:
    raise TypeError("this table is made of datasets only")


CITED_HOSTS: Final = TableDefinition(
    "cited_hosts",
    "By cited resolver",
    "One row per host with which ARKs are cited; an ARK that is cited with several counts at each. The row without a "
    "host has the ARKs that are cited without a resolver.",
    _of_datasets_only,
    (
        Column("host", TEXT, "host of the resolver as cited, with its port unless that goes without saying"),
        ARKS_COLUMN,
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
    ),
)

SUMMARY: Final = DatasetTable(sums.SUMMARY, _summary)
NAANS: Final = DatasetTable(overviews.NAANS, _naans)
#: All of them, in their order.
DATASET_REPORT: Final = (
    SUMMARY,
    DatasetTable(overviews.SHARED_NAAN_TABLE, _shared_naans),
    NAANS,
    DatasetTable(places.SHOULDERS, _shoulders),
    DatasetTable(CITED_HOSTS, _cited_hosts),
    DatasetTable(overviews.DOCUMENTS, _documents),
    DatasetTable(places.SECTIONS, _sections),
    DatasetTable(written_forms.REPAIRS, _repairs),
    DatasetTable(written_forms.JOINS, _joins),
    DatasetTable(written_forms.CHECK_FAILURES, _check_failures),
    DatasetTable(written_forms.UNFIT, _unfit),
    DatasetTable(pairs.DUPLICATES, _duplicates),
    DatasetTable(pairs.CONTAINERS, _containers),
    DatasetTable(listings.CITATIONS, _citations),
    DatasetTable(listings.FINDINGS, _findings),
)


def reported_tables(dataset: OpenDataset) -> tuple[DatasetTable, ...]:
    """Return the tables that are made of *dataset*: of a large one not those that would be another copy of it."""
    is_large = dataset.manifest.tables["mentions"].rows > MOST_CITATIONS
    return tuple(table for table in DATASET_REPORT if not (is_large and table.definition is listings.CITATIONS))
