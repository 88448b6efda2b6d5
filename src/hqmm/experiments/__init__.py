"""Experiments: what `hqmm reproduce` runs."""
