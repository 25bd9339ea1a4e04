"""From corpora to benchmarks and training triples."""
