-- Sections of the documents with their ARKs, none of which was judged.
SELECT 'section' AS source, section AS collection, documents, citing_documents, citations,
    0 AS alive, 0 AS failing, 0 AS confirmed_broken, 0 AS level_0, 0 AS level_1, 0 AS level_2, 0 AS level_3, 0 AS listed,
    0 AS not_met, coalesce(arks, 0) AS arks, coalesce(arks, 0) AS cited_arks, coalesce(arks, 0) AS undetermined,
    0 AS works, 0 AS fails, 0 AS unreachable, coalesce(arks, 0) AS not_judged
FROM (
    SELECT section, count(*) AS documents, count(by_document.document) AS citing_documents,
        coalesce(sum(citations), 0)::BIGINT AS citations
    FROM section LEFT JOIN by_document USING (document) GROUP BY section
)
LEFT JOIN (
    SELECT section, count(DISTINCT ark) AS arks FROM mentions JOIN section USING (document) GROUP BY section
) USING (section)
ORDER BY section
