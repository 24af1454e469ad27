-- The documents to take for a check: all, or the first documents that cite each ARK at a URL. Input: their number as
-- the variable documents_an_ark, which is NULL for all.
CREATE TABLE chosen AS
SELECT document FROM documents WHERE getvariable('documents_an_ark') IS NULL
UNION
SELECT document FROM (
    SELECT document, row_number() OVER (PARTITION BY ark, requested ORDER BY document) AS place
    FROM (SELECT DISTINCT document, ark, requested FROM mentions)
)
WHERE place <= getvariable('documents_an_ark')
