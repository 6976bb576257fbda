"""Statistics of distributions: plain arrays, samples along the last axis, NumPy and numba alone."""

from lcdb.stats.summary import FIELDS, QUANTILES, is_constant, summary

__all__ = ["FIELDS", "QUANTILES", "is_constant", "summary"]
