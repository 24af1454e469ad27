"""The file formats of a report, derived from the definitions of its tables. The same run gives the same bytes."""
