"""What the comparisons share: builds, runs in rounds, tables, nanotape's own figures, the order by lot."""
