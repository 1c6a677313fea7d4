"""Builders of order books, on one day file."""
