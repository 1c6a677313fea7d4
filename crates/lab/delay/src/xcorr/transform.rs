//! The correlation of two series of samples through transforms. Plans and memory are kept.

use std::{fmt, ops::Range, sync::Arc};

use rustfft::{Fft, FftPlanner, num_complex::Complex32};

use super::{
    peak::{Peak, Search},
    samples::Samples,
    settings::{Padding, SettingsError, XcorrSettings},
    spectrum::Product,
};

/// Correlates samples at the lags of the settings. A clone shares the plans.
#[derive(Clone)]
pub struct Correlator {
    settings: XcorrSettings,
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
    product: Arc<Product>,
    /// The spectrum of each side, and at last the correlation in the first.
    first: Vec<Complex32>,
    second: Vec<Complex32>,
    scratch: Vec<Complex32>,
    search: Search,
}

impl fmt::Debug for Correlator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Correlator")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Correlator {
    /// Plans the transforms.
    ///
    /// # Errors
    ///
    /// A setting that is out of its limits.
    pub fn new(settings: XcorrSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let half = settings.transform_length() / 2;
        let mut planner = FftPlanner::new();
        let (forward, inverse) = (planner.plan_fft_forward(half), planner.plan_fft_inverse(half));
        let scratch = forward.get_immutable_scratch_len().max(inverse.get_inplace_scratch_len());
        let lags = 2 * settings.lags() + 1;
        let wrapped = match settings.padding {
            Padding::Circular => settings.lags(),
            Padding::Zero => 0,
        };
        let points = |count| vec![Complex32::ZERO; count];
        Ok(Self {
            product: Arc::new(Product::new(&settings)),
            first: points(half),
            second: points(half),
            scratch: points(scratch),
            search: Search::new(half, lags, wrapped),
            settings,
            forward,
            inverse,
        })
    }

    /// What it was made with.
    pub fn settings(&self) -> &XcorrSettings {
        &self.settings
    }

    /// Samples of one side, all zero.
    pub fn samples(&self) -> Samples {
        Samples { points: vec![Complex32::ZERO; self.first.len()] }
    }

    /// Correlates samples and finds the peak. The first sample of the second side is
    /// [`XcorrSettings::margin`] cells earlier than that of the first.
    ///
    /// # Panics
    ///
    /// If the samples are those of a correlator with another length.
    pub fn correlate(&mut self, first: &Samples, second: &Samples) -> Peak {
        self.transform(first, second);
        self.product.multiply(&mut self.first, &self.second);
        self.transform_back();
        self.peak()
    }

    /// The first step of [`Correlator::correlate`] alone: the spectra of both sides.
    ///
    /// # Panics
    ///
    /// As above.
    pub fn transform(&mut self, first: &Samples, second: &Samples) {
        for (samples, spectrum) in [(first, &mut self.first), (second, &mut self.second)] {
            let points = &samples.points;
            self.forward.process_immutable_with_scratch(points, spectrum, &mut self.scratch);
        }
    }

    /// The step after the product of the spectra alone: back to lags.
    pub fn transform_back(&mut self) {
        self.inverse.process_with_scratch(&mut self.first, &mut self.scratch);
    }

    /// The last step alone: the peak of what was transformed back.
    pub fn peak(&mut self) -> Peak {
        self.search.peak(&self.first, self.settings.neighbourhood())
    }

    /// The last correlation at some lags, counted from the largest advance of the second side. Its
    /// unit is that of [`XcorrSettings::transform_length`] / 2 products of samples.
    pub fn correlation(&self, lags: Range<usize>) -> impl Iterator<Item = f32> {
        self.search.values(&self.first, lags)
    }
}
