-- ARKs by NAAN. Input: the NAAN registry as `registered`, and the purposes of shared NAANs as `shared_naan`.
SELECT naan, CASE WHEN shared_naan.naan IS NULL THEN organization END AS organization,
    arks, citations, documents, 0 AS works, 0 AS fails, 0 AS unreachable, arks AS not_judged, 0 AS described,
    0 AS committed, shoulders, concat(arks, ' not asked') AS outcomes, purpose, expected_to_resolve, long_term_reference
FROM (SELECT naan, count(*) AS arks FROM ark GROUP BY naan)
JOIN cited USING (naan)
JOIN (
    SELECT naan, string_agg(concat(arks, ' ', shoulder), ', ' ORDER BY place) FILTER (shoulder IS NOT NULL AND place <= 10)
        AS shoulders
    FROM (SELECT naan, shoulder, count(*) AS arks,
              row_number() OVER (PARTITION BY naan ORDER BY shoulder IS NULL, count(*) DESC, shoulder) AS place
          FROM ark GROUP BY naan, shoulder)
    GROUP BY naan
) USING (naan)
LEFT JOIN (SELECT naan, organization FROM registered) USING (naan)
LEFT JOIN shared_naan USING (naan)
ORDER BY arks DESC, naan
