//! Naive models, a synthetic market and generated strategies for tests.
