-- Documents with the counts of their citations and findings.
SELECT document, title, CASE WHEN record <> '' THEN source END AS found_on, outcome, media_type,
    coalesce(citations, 0) AS citations, coalesce(arks, 0) AS arks, 0 AS works, 0 AS fails, 0 AS unreachable,
    coalesce(arks, 0) AS not_judged, coalesce(repaired, 0) AS repaired, coalesce(found.findings, 0) AS findings
FROM documents LEFT JOIN by_document USING (document)
LEFT JOIN (SELECT document, count(*) AS findings FROM findings GROUP BY document) AS found USING (document)
ORDER BY document
