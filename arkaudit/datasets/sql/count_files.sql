-- Adds the counts of a group of files to the tables of counts.sql. Input: the view mentions_of_files.

-- Each document gets a number, because counting numbers is several times as fast.
CREATE OR REPLACE TEMP TABLE numbered AS
SELECT number, citation, ordinal, ark, naan, coalesce(resolver, '') AS resolver,
    repairs, len(repairs) > 0 AS is_repaired, confidence = 'ambiguous' AS is_unsure, as_written, repaired, document
FROM mentions_of_files
JOIN (SELECT document, row_number() OVER () AS number FROM (SELECT DISTINCT document FROM mentions_of_files))
USING (document);

INSERT INTO cited_in_files
SELECT naan, sum(citations), count(*)
FROM (SELECT naan, number, count(DISTINCT citation) AS citations FROM numbered GROUP BY naan, number)
GROUP BY naan;

INSERT INTO by_document
SELECT document, places, citations, arks, repaired, coalesce(mended, 0), coalesce(unsure, 0)
FROM (SELECT number, any_value(document) AS document, count(*) AS places, count(DISTINCT citation) AS citations,
          count(DISTINCT ark) AS arks, count(*) FILTER (is_repaired) AS repaired
      FROM numbered GROUP BY number)
LEFT JOIN (SELECT number, count(DISTINCT citation) AS mended FROM numbered WHERE is_repaired GROUP BY number)
USING (number)
LEFT JOIN (SELECT number, count(DISTINCT citation) AS unsure FROM numbered WHERE is_unsure GROUP BY number)
USING (number);

INSERT INTO by_repair
SELECT repair, count(DISTINCT (number, ordinal)), count(DISTINCT (number, citation)), count(DISTINCT number),
    min({'document': document, 'ordinal': ordinal, 'as_written': as_written, 'repaired': repaired})
FROM (SELECT unnest(repairs) AS repair, number, ordinal, citation, document, as_written, repaired
      FROM numbered WHERE is_repaired)
GROUP BY repair;

INSERT INTO by_host
SELECT host, sum(citations), count(*)
FROM (SELECT host, number, count(DISTINCT citation) AS citations
      FROM numbered JOIN resolver_host USING (resolver) GROUP BY host, number)
GROUP BY host;
