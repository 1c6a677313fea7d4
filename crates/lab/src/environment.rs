//! On what a measurement was made, and whether that was quiet enough to be believed.
