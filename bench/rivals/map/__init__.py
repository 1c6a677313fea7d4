"""Maps that threads or processes update."""
