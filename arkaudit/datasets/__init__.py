"""A dataset: what very many documents cite, as Parquet files that are made part by part, by one process or by many.

`docs/dataset.md` has the layout.
"""
