-- Repairs of citations, each with its first example.
SELECT repair, places, citations, documents, 0 AS works, 0 AS fails, 0 AS unreachable, places AS not_judged,
    example.as_written AS as_written, example.repaired AS repaired, example.document AS document
FROM (
    SELECT repair, sum(places)::BIGINT AS places, sum(citations)::BIGINT AS citations,
        sum(documents)::BIGINT AS documents, min(example) AS example
    FROM by_repair GROUP BY repair
)
ORDER BY places DESC, repair
