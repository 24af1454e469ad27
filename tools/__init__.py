"""Tools of developers: benchmarks, the corpus, fuzzing, and generators of documentation. They are not installed."""
