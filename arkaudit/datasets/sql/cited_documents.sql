-- The chosen documents with their findings and their mentions in order; one row without a mention. Input: the table chosen.
SELECT documents.* EXCLUDE (mentions), mentions.* EXCLUDE (document, source, record), coalesce(findings, []) AS findings
FROM documents SEMI JOIN chosen USING (document)
LEFT JOIN (
    SELECT document, list({'kind': kind, 'detail': detail} ORDER BY kind, detail) AS findings
    FROM findings GROUP BY document
) USING (document)
LEFT JOIN mentions USING (document)
ORDER BY document, ordinal
