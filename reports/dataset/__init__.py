"""Reports on datasets: what very many documents cite, counted by DuckDB in bounded memory."""
