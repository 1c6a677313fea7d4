"""Ways to keep records."""
