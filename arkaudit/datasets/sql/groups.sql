-- Groups of ARKs: those that another specification treats as equal (input: the table equal_elsewhere), and the cited
-- parts of each whole object.
SELECT kind, shared, len(members) AS size,
    array_to_string(members[:getvariable('most_named')], getvariable('joint')) AS members
FROM equal_elsewhere
UNION ALL BY NAME
SELECT 'whole' AS kind, whole AS shared, ark.ark IS NOT NULL AS is_cited, parts AS size,
    0 AS works, 0 AS fails, 0 AS unreachable, parts AS not_judged, members
FROM (
    SELECT whole, count(*) AS parts,
        array_to_string(min(part, getvariable('most_named')), getvariable('joint')) AS members
    FROM (SELECT ark AS part, unnest(implied_arks(ark)) AS whole FROM ark) GROUP BY whole
)
LEFT JOIN ark ON ark.ark = whole
ORDER BY kind, size DESC, shared
