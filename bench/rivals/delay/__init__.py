"""Correlations of two series."""
