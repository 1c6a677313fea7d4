"""Writers of Parquet tables, on one day file."""
