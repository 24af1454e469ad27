-- ARKs by NAAN. Input: the NAAN registry as `registered`, and the purposes of shared NAANs as `shared_naan`.
SELECT naan, CASE WHEN shared_naan.naan IS NULL THEN organization END AS organization,
    arks, citations, documents, 0 AS works, 0 AS fails, 0 AS unreachable, arks AS not_judged, 0 AS described,
    0 AS committed, concat(arks, ' not asked') AS outcomes, purpose, expected_to_resolve, long_term_reference
FROM (SELECT naan, count(*) AS arks FROM ark GROUP BY naan)
JOIN (SELECT naan, citations, documents FROM cited WHERE shoulder IS NULL) USING (naan)
LEFT JOIN (SELECT naan, organization FROM registered WHERE shoulder = '') USING (naan)
LEFT JOIN shared_naan USING (naan)
ORDER BY arks DESC, naan
