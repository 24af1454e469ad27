-- ARKs by the host of the resolver with which they are cited; empty without a resolver.
SELECT host, arks, citations, documents
FROM (SELECT host, sum(citations)::BIGINT AS citations, sum(documents)::BIGINT AS documents
      FROM by_host GROUP BY host)
JOIN (SELECT host, count(DISTINCT ark) AS arks
      FROM (SELECT coalesce(resolver, '') AS resolver, ark FROM mentions) JOIN resolver_host USING (resolver)
      GROUP BY host) USING (host)
ORDER BY arks DESC, host
