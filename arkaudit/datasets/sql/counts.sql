-- Makes the tables and views from which the tables of a report are queried. Input: the views documents, mentions and
-- findings; the function host_of.
--
-- All mentions of a document are in one file. Therefore most counts are sums over groups of files, which
-- count_files.sql adds. Only distinct ARKs are counted over all files at once.

CREATE TEMP TABLE ark AS SELECT DISTINCT ark, naan, shoulder FROM mentions;

CREATE TEMP TABLE resolver_host AS
SELECT resolver, host_of(resolver) AS host FROM (SELECT DISTINCT coalesce(resolver, '') AS resolver FROM mentions);

CREATE TEMP TABLE cited_in_files (naan VARCHAR, citations BIGINT, documents BIGINT);
CREATE TEMP TABLE by_document (
    document VARCHAR, places BIGINT, citations BIGINT, arks BIGINT, repaired BIGINT, mended BIGINT, unsure BIGINT
);
-- The example of a repair is the first by document.
CREATE TEMP TABLE by_repair (
    repair VARCHAR, places BIGINT, citations BIGINT, documents BIGINT,
    example STRUCT(document VARCHAR, ordinal INTEGER, as_written VARCHAR, repaired VARCHAR)
);
CREATE TEMP TABLE by_host (host VARCHAR, citations BIGINT, documents BIGINT);

-- Citations and documents by NAAN.
CREATE TEMP VIEW cited AS
SELECT naan, sum(citations)::BIGINT AS citations, sum(documents)::BIGINT AS documents FROM cited_in_files GROUP BY naan;
