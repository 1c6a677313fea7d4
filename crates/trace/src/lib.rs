//! Histograms of time and of counts.
