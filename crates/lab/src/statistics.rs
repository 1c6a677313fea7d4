//! The statistics behind every number and verdict: plain functions on slices, checked against scipy.
