-- ARKs with a wrong check character, and the suggestions of `arkaudit extract`, with names that a document cites first.
WITH failing AS (
    SELECT ark, any_value(naan) AS naan, max(suggestions) AS suggestions,
        count(DISTINCT (document, citation)) AS citations, count(DISTINCT document) AS documents,
        min({'document': document, 'ordinal': ordinal, 'as_written': as_written}) AS first
    FROM mentions WHERE "check" = 'fails' GROUP BY ark
), meant AS (
    SELECT failing.ark,
        string_agg(suggestion, getvariable('joint') ORDER BY known.ark IS NULL, place) AS suggestions
    FROM (SELECT ark, unnest(suggestions) AS suggestion, generate_subscripts(suggestions, 1) AS place
          FROM failing) AS failing
    -- An ARK is known without its qualifier.
    LEFT JOIN ark AS known ON known.ark = regexp_extract(suggestion, '^ark:[^/]*/[^/.]*')
    GROUP BY failing.ark
)
SELECT ark, naan, coalesce(meant.suggestions, '') AS suggestions, citations, documents,
    first.as_written AS as_written, first.document AS first_document
FROM failing LEFT JOIN meant USING (ark) ORDER BY citations DESC, ark
