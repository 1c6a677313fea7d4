"""Spans of one thread."""
