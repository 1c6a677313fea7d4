"""What `run` is made of: the programs, how they are built, nanotape's own figures, the table."""
