"""Experiments: one file for each figure or table of the paper, and what `hqmm reproduce` does with them."""
