"""The tables of a report on a dataset: those of a report on a store that need no requests.

All ARKs count as not judged. The rows are the same as after a crawl of the same documents without a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd
from rich.console import Console

from arkaudit.datasets.connection import OpenDataset, count, open_dataset
from arkaudit.output.exits import say
from arkaudit.output.output_rows import whole
from arkaudit.output.reporting import naan_table, place_sentence
from crawler.model.observations import Family
from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from crawler.model.resolving import GLOBAL_RESOLVER, mention_url
from extractors.model.ark import SKIPPED_NAANS
from extractors.model.budget import cores
from extractors.model.check_characters import CheckCharacter
from extractors.model.errors import UserMistake
from reports.exports import check_out, staging_folder
from reports.formats.table_files import TABLE_FORMATS, write_table
from reports.languages import ENGLISH, Language
from reports.store.frames import registered_names
from reports.store.typed_columns import JOINT
from reports.tables import listings, overviews, pairs
from reports.tables import summary as sums
from reports.tables.definitions import (
    ARKS_COLUMN,
    CITATIONS_COLUMN,
    DOCUMENTS_COLUMN,
    NAAN_COLUMN,
    TableDefinition,
    ark_column,
    rows_of,
    text_column,
    url_column,
)
from reports.tables.summary import cited_sentence

Frames = Iterator[pd.DataFrame]

#: Number of mentions up to which `citations` has all of them; beyond it, only doubtful ones and examples.
MOST_CITATIONS = 1_000_000
#: SQL for `extractors.model.ark.Ark.implied_arks`: the text before each dot, and before each slash in front of the first
#: dot, except the slash after the NAAN.
IMPLIED = """
    [left(ark, i - 1) FOR i IN range(1, length(ark) + 1)
     IF ark[i] = '.' OR (ark[i] = '/' AND i > instr(ark, '/') AND i < instr(ark || '.', '.'))]
"""
#: Matches an ARK without its qualifier.
_BASE = "^ark:[^/]*/[^/.]*"
_NOT_JUDGED = "0 AS works, 0 AS fails, 0 AS unreachable, {} AS not_judged"


@dataclass(frozen=True, slots=True, eq=False)
class DatasetTable:
    """A table of a report on a dataset, whose rows come in pieces because there may be millions."""

    definition: TableDefinition
    pieces: Callable[[OpenDataset, pd.DataFrame], Frames] | str
    """A query, or a function of a counted dataset and the NAAN registry (`reports.store.frames.registered_names`)."""

    def frames(self, dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
        """Yield its rows in order, with the columns of its definition; unknown ones are empty."""
        names = [column.name for column in self.definition.columns]
        query = self.pieces
        frames = dataset.frames(query) if isinstance(query, str) else query(dataset, registered)
        for rows in frames:
            yield self.definition.select_columns(rows.reindex(columns=names))


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
    yield rows


def _naans(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    for rows in dataset.frames(
        f"""
        SELECT naan, arks, citations, documents, {_NOT_JUDGED.format("arks")}, 0 AS described, 0 AS committed,
            concat(arks, ' not asked') AS outcomes
        FROM (SELECT naan, count(*) AS arks FROM ark GROUP BY naan) JOIN cited USING (naan) WHERE shoulder IS NULL
        ORDER BY arks DESC, naan
        """
    ):
        named = overviews.organizations_of(registered, rows["naan"])
        yield overviews.with_purposes(rows.assign(organization=named))


def _shoulders(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    organizations = registered[registered["shoulder"].ne("")].set_index(["naan", "shoulder"])["organization"]
    for rows in dataset.frames(
        f"""
        SELECT naan, shoulder, arks, citations, documents, {_NOT_JUDGED.format("arks")}, 0 AS committed
        FROM (SELECT naan, shoulder, count(*) AS arks FROM ark GROUP BY naan, shoulder)
        JOIN cited USING (naan, shoulder)
        ORDER BY arks DESC, naan, shoulder
        """
    ):
        keys = pd.MultiIndex.from_frame(rows[["naan", "shoulder"]])
        by_shoulder = organizations.reindex(keys).set_axis(rows.index)
        named = by_shoulder.fillna(overviews.organizations_of(registered, rows["naan"]))
        yield rows.assign(organization=named, registered=keys.isin(organizations.index))


_DOCUMENTS = f"""
    SELECT document, title, CASE WHEN record <> '' THEN source END AS found_on, outcome, media_type,
        coalesce(citations, 0) AS citations, coalesce(arks, 0) AS arks, {_NOT_JUDGED.format("coalesce(arks, 0)")},
        coalesce(repaired, 0) AS repaired, coalesce(found.findings, 0) AS findings
    FROM documents LEFT JOIN by_document USING (document)
    LEFT JOIN (SELECT document, count(*) AS findings FROM findings GROUP BY document) AS found USING (document)
    ORDER BY document
    """


_COUNTS = ("alive", "failing", "broken", *(f"level_{number}" for number in range(4)), "listed", "not_met")
_ZEROS = ", ".join(f"0 AS {name}" for name in _COUNTS)
_COLLECTIONS = f"""
    SELECT 'section' AS source, section AS collection, documents, citing_documents, citations, {_ZEROS},
        coalesce(arks, 0) AS arks, coalesce(arks, 0) AS cited_arks, coalesce(arks, 0) AS undetermined,
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


_REPAIRS = f"""
    SELECT repair, places, citations, documents, {_NOT_JUDGED.format("places")}, example.as_written AS as_written,
        example.repaired AS repaired, example.document AS document
    FROM (
        SELECT repair, sum(places)::BIGINT AS places, sum(citations)::BIGINT AS citations,
            sum(documents)::BIGINT AS documents, min(example) AS example
        FROM by_repair GROUP BY repair
    )
    ORDER BY places DESC, repair
    """


def _groups(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    candidates = dataset.rows(f"SELECT ark FROM ark WHERE regexp_matches(ark, '{pairs.MAY_BE_EQUAL}') ORDER BY ark")
    equal = pairs.equal_elsewhere(ark for (ark,) in candidates)
    yield pairs.groups_of([{"kind": kind, "shared": form, "members": arks} for kind, form, arks in equal])
    yield from dataset.frames(
        f"""
        SELECT 'whole' AS kind, whole AS shared, ark.ark IS NOT NULL AS is_cited, parts AS size,
            {_NOT_JUDGED.format("parts")}, members
        FROM (
            SELECT whole, count(*) AS parts, array_to_string(min(part, {pairs.MOST_NAMED}), '{JOINT}') AS members
            FROM (SELECT ark AS part, unnest({IMPLIED}) AS whole FROM ark) GROUP BY whole
        )
        LEFT JOIN ark ON ark.ark = whole
        ORDER BY parts DESC, whole
        """
    )


#: Suggestions of `extract`, with names that a document cites first.
_CHECK_FAILURES = f"""
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
    SELECT ark, naan, coalesce(meant.suggestions, '') AS suggestions, citations, documents,
        first.as_written AS as_written, first.document AS first_document
    FROM failing LEFT JOIN meant USING (ark) ORDER BY citations DESC, ark
    """


def has_all_citations(dataset: OpenDataset) -> bool:
    """Return True if `citations` has every mention of a dataset; for a large one it would be another copy."""
    return dataset.manifest.tables["mentions"].rows <= MOST_CITATIONS


def _citations(dataset: OpenDataset, registered: pd.DataFrame) -> Frames:
    """Yield every mention; for a large dataset only those with alternatives, examples and tests."""
    is_test = "naan IN ({})".format(", ".join(f"'{naan}'" for naan in sorted(SKIPPED_NAANS)))
    is_meant = "true" if has_all_citations(dataset) else f"len(alternatives) > 0 OR decided > 1 OR {is_test}"
    for rows in dataset.frames(
        f"""
        SELECT document, citation, page, place, role, as_written, ark, repaired,
            array_to_string(repairs, '{JOINT}') AS repairs, confidence, reason,
            array_to_string(alternatives, '{JOINT}') AS alternatives, decided > 1 AS again,
            array_to_string(spelling, '{JOINT}') AS spelling, resolver, link_resolver, {is_test} AS is_test,
            CASE WHEN {is_test} THEN string_agg(context, ' ') OVER (
                PARTITION BY document, citation ORDER BY ordinal
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            ) END AS contexts, CASE WHEN {is_test} THEN title END AS title
        FROM mentions JOIN documents USING (document) WHERE {is_meant} ORDER BY document, ordinal
        """
    ):
        asked = zip(rows["repaired"], rows["resolver"], rows["link_resolver"], strict=True)
        texts = zip(rows["contexts"], rows["title"], rows["document"].where(rows["is_test"]), strict=True)
        signs = pd.Series(map(listings.example_sign, texts), dtype="str", index=rows.index)
        is_example = signs.notna().astype("boolean").where(rows["is_test"])
        yield rows.assign(request_url=[_asked_url(*parts) for parts in asked], sign=signs, is_example=is_example)


def _asked_url(repaired: str, resolver: object, link_resolver: object) -> str:
    """Return the request URL of a mention; a missing resolver is NaN."""
    named, of_page = (cell if isinstance(cell, str) else None for cell in (resolver, link_resolver))
    return mention_url(repaired, named, of_page, GLOBAL_RESOLVER)


_FINDINGS = "SELECT document AS subject, kind, detail FROM findings ORDER BY ALL"


_CITED_HOSTS = """
    SELECT host, arks, citations, documents
    FROM (SELECT host, sum(citations)::BIGINT AS citations, sum(documents)::BIGINT AS documents
          FROM by_host GROUP BY host)
    JOIN (SELECT host, count(DISTINCT ark) AS arks
          FROM (SELECT coalesce(resolver, '') AS resolver, ark FROM mentions) JOIN resolver_host USING (resolver)
          GROUP BY host) USING (host)
    ORDER BY arks DESC, host
    """


def _of_datasets_only(*_: object) -> pd.DataFrame:
    raise TypeError("this table exists only for datasets")


CITED_HOSTS = TableDefinition(
    "cited_hosts",
    "By cited resolver",
    "One row per host in cited URLs of ARKs; an ARK that is cited with several hosts counts at each. The row without a "
    "host has the ARKs that are cited without a resolver.",
    _of_datasets_only,
    (
        text_column("host", "host of the resolver as cited, with its port unless it is the default"),
        ARKS_COLUMN,
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
    ),
)

CHECK_FAILURES = TableDefinition(
    "check_failures",
    "Wrong check characters",
    "One row per ARK with a wrong check character, among names that are known to have one.",
    _of_datasets_only,
    (
        ark_column("ark", "ARK in normal form"),
        NAAN_COLUMN,
        text_column("suggestions", "ARKs that may have been meant: one character differs, and the check is right"),
        CITATIONS_COLUMN,
        DOCUMENTS_COLUMN,
        text_column("as_written", "the characters of the document, unchanged"),
        url_column("first_document", "document with the first citation"),
    ),
)

SUMMARY = DatasetTable(sums.SUMMARY, _summary)
NAANS = DatasetTable(overviews.NAANS, _naans)
DATASET_REPORT = (
    SUMMARY,
    NAANS,
    DatasetTable(overviews.SHOULDERS, _shoulders),
    DatasetTable(CITED_HOSTS, _CITED_HOSTS),
    DatasetTable(overviews.DOCUMENTS, _DOCUMENTS),
    DatasetTable(overviews.COLLECTIONS, _COLLECTIONS),
    DatasetTable(listings.REPAIRS, _REPAIRS),
    DatasetTable(CHECK_FAILURES, _CHECK_FAILURES),
    DatasetTable(pairs.GROUPS, _groups),
    DatasetTable(listings.CITATIONS, _citations),
    DatasetTable(listings.FINDINGS, _FINDINGS),
)


# -- `arkaudit report --dataset`

_MOST_SHOWN = 20


def report_on_dataset(folder: str, out: Path | None, formats: Sequence[str], language: Language = ENGLISH) -> None:
    """Print a summary of the dataset at *folder* in *language*, and write its tables into *out*, if given.

    Raises `UserMistake`, `reports.exports.ReportUnwritable` and
    `arkaudit.output.output_rows.OutputUnwritable`.
    """
    unknown = [name for name in formats if name not in TABLE_FORMATS]
    if unknown:
        raise UserMistake(f"formats of a report on a dataset are {' and '.join(TABLE_FORMATS)}, not {unknown[0]}")
    if out is not None:
        check_out(out, formats)
    registered = registered_names(load_registry(cache_folder()))
    with open_dataset(folder, threads=cores()) as dataset:
        count(dataset)
        [summary] = SUMMARY.frames(dataset, registered)
        naans = pd.concat(list(NAANS.frames(dataset, registered)))
        if out is not None:
            with staging_folder(out) as scratch:
                for table, name in product(DATASET_REPORT, formats):
                    write_table(scratch, name, table.definition, table.frames(dataset, registered))
        is_whole = has_all_citations(dataset)
    headings = {"arks": "ARKs", "citations": language.gettext("citations"), "documents": language.gettext("documents")}
    console = Console()
    with whole(console):
        cited = cited_sentence(dict(rows_of(summary[["measure", "value"]])), language)
        console.print(cited, highlight=False, markup=False)
        console.print(naan_table(naans, headings, _MOST_SHOWN, language))
    if out is not None:
        if not is_whole:
            say(f"more than {MOST_CITATIONS:,} mentions: citations has only the doubtful ones; the dataset has all")
        say(place_sentence(out, language))
