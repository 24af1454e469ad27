"""The formats of a report, each made from the one definition of every table: the same run gives the same bytes."""
