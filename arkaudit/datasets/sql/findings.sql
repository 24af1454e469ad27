-- Findings about documents, archives and folders.
SELECT document AS subject, kind, detail FROM findings ORDER BY ALL
