-- ARKs by NAAN and shoulder. The organization of a registered shoulder precedes that of its NAAN.
SELECT naan, shoulder, arks, citations, documents,
    coalesce(of_shoulder.organization, CASE WHEN shared_naan.naan IS NULL THEN of_naan.organization END)
        AS organization,
    of_shoulder.naan IS NOT NULL AS registered,
    0 AS works, 0 AS fails, 0 AS unreachable, arks AS not_judged, 0 AS committed
FROM (SELECT naan, shoulder, count(*) AS arks FROM ark GROUP BY naan, shoulder)
JOIN cited USING (naan, shoulder)
LEFT JOIN (SELECT naan, shoulder, organization FROM registered WHERE shoulder <> '') AS of_shoulder
USING (naan, shoulder)
LEFT JOIN (SELECT naan, organization FROM registered WHERE shoulder = '') AS of_naan USING (naan)
LEFT JOIN shared_naan USING (naan)
ORDER BY arks DESC, naan, shoulder
