-- Documents with the counts of their citations, and their findings.
SELECT document, title, CASE WHEN record <> '' THEN source END AS found_on, outcome, media_type,
    coalesce(citations, 0) AS citations, coalesce(arks, 0) AS arks, 0 AS works, 0 AS fails, 0 AS unreachable,
    coalesce(arks, 0) AS not_judged, coalesce(repaired, 0) AS repaired, findings
FROM documents LEFT JOIN by_document USING (document)
LEFT JOIN (
    SELECT document, string_agg(concat(kind, ': ', detail), getvariable('joint') ORDER BY kind, detail) AS findings
    FROM findings GROUP BY document
) USING (document)
ORDER BY document
