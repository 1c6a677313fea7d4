"""Tests that need nothing built: they take a second."""
