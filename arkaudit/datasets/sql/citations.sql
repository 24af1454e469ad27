-- Every mention; of a large dataset only those with alternatives or a changed decision, examples and tests. Input: the
-- functions request_url and example_sign.
SELECT *, CASE WHEN is_test THEN sign IS NOT NULL END AS is_example
FROM (
    SELECT *, CASE WHEN is_test THEN example_sign(contexts, title, document) END AS sign
    FROM (
        SELECT document, citation, ordinal, page, line, place, role, as_written, ark, repaired,
            array_to_string(repairs, getvariable('joint')) AS repairs, confidence, reason,
            array_to_string(alternatives, getvariable('joint')) AS alternatives, decided > 1 AS again,
            array_to_string(spelling, getvariable('joint')) AS spelling, title,
            request_url(requested) AS request_url,
            list_contains(getvariable('skipped_naans'), naan) AS is_test,
            CASE WHEN is_test THEN string_agg(context, ' ') OVER (
                PARTITION BY document, citation ORDER BY ordinal
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            ) END AS contexts
        FROM mentions JOIN documents USING (document)
        WHERE getvariable('has_all_citations') OR len(alternatives) > 0 OR decided > 1 OR is_test
    )
)
ORDER BY document, ordinal
