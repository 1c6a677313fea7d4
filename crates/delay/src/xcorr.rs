//! Delay by cross-correlation with Fourier transforms.

mod settings;

pub use settings::{
    PHAT_FLOOR, Padding, SettingsError, Signal, Weighting, XcorrSettings, fast_length,
};
