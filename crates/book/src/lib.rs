//! Order-by-order books for every stock at once.
