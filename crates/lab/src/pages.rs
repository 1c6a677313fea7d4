//! Results as pages: one self-contained HTML file each, which works without a network.
