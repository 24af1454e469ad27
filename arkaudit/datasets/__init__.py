"""Datasets: the citations of very many documents as Parquet files, made part by part (`docs/dataset.md`)."""
