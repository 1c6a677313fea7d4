//! The correlation of two series of samples through transforms. Plans and memory are kept.

use std::{fmt, iter::zip, sync::Arc};

use rustfft::{Fft, FftPlanner, num_complex::Complex32};

use super::{
    peak::{Lags, Peak},
    settings::{PHAT_FLOOR, Padding, SettingsError, XcorrSettings},
    spectrum::Product,
};

/// Correlates samples at the lags of the settings.
pub struct Correlator {
    settings: XcorrSettings,
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
    product: Product,
    /// Each side as half as many complex points, then its spectrum, and at last the correlation.
    first: Vec<Complex32>,
    second: Vec<Complex32>,
    scratch: Vec<Complex32>,
    lags: Lags,
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
        let scratch = forward.get_inplace_scratch_len().max(inverse.get_inplace_scratch_len());
        let points = |count| vec![Complex32::ZERO; count];
        Ok(Self {
            product: Product::new(&settings),
            first: points(half),
            second: points(half),
            scratch: points(scratch),
            lags: Lags::new(2 * settings.lags() + 1),
            settings,
            forward,
            inverse,
        })
    }

    /// What it was made with.
    pub fn settings(&self) -> &XcorrSettings {
        &self.settings
    }

    /// Correlates samples and finds the peak. Samples that are missing at the end of a side are
    /// zeros, and those beyond the length of the transform are left out. The first sample of the
    /// second side is [`XcorrSettings::margin`] cells earlier than that of the first.
    pub fn correlate(&mut self, first: &[f32], second: &[f32]) -> Peak {
        let floor = match self.product.is_phat() {
            // Not zero, so that nothing is divided by it.
            true => PHAT_FLOOR * (energy(first) * energy(second)).sqrt().max(f32::MIN_POSITIVE),
            false => 0.0,
        };
        self.transform(first, second, floor);
        self.peak()
    }

    /// The transforms and the product alone, without a search of the result.
    pub fn transform(&mut self, first: &[f32], second: &[f32], floor: f32) {
        pack(first, &mut self.first);
        self.forward.process_with_scratch(&mut self.first, &mut self.scratch);
        pack(second, &mut self.second);
        self.forward.process_with_scratch(&mut self.second, &mut self.scratch);
        self.product.multiply(&mut self.first, &self.second, floor);
        self.inverse.process_with_scratch(&mut self.first, &mut self.scratch);
    }

    /// Finds the peak of what was transformed last.
    pub fn peak(&mut self) -> Peak {
        let lags = self.settings.lags();
        match self.settings.padding {
            Padding::Zero => unpack(&self.first, 0, &mut self.lags.values),
            Padding::Circular => {
                let (below, above) = self.lags.values.split_at_mut(lags);
                unpack(&self.first, self.settings.transform_length() - lags, below);
                unpack(&self.first, 0, above);
            }
        }
        self.lags.peak(self.settings.neighbourhood())
    }

    /// The last correlation by lag, from the largest advance of the second side to its largest
    /// delay. Its unit is that of [`XcorrSettings::transform_length`] / 2 products of samples.
    pub fn correlation(&self) -> &[f32] {
        &self.lags.values
    }
}

fn energy(samples: &[f32]) -> f32 {
    samples.iter().map(|sample| sample * sample).sum()
}

/// Takes samples in pairs as complex points, and fills up with zeros.
fn pack(samples: &[f32], points: &mut [Complex32]) {
    let (pairs, rest) = samples.as_chunks::<2>();
    for (point, &[even, odd]) in zip(&mut *points, pairs) {
        *point = Complex32::new(even, odd);
    }
    let Some(zeros) = points.get_mut(pairs.len()..) else { return };
    zeros.fill(Complex32::ZERO);
    if let (Some(point), Some(&even)) = (zeros.first_mut(), rest.first()) {
        point.re = even;
    }
}

/// Takes complex points apart into samples, from an index of a sample.
fn unpack(points: &[Complex32], from: usize, mut samples: &mut [f32]) {
    if !from.is_multiple_of(2) {
        let [sample, rest @ ..] = samples else { return };
        *sample = points[from / 2].im;
        samples = rest;
    }
    let points = &points[from.div_ceil(2)..];
    let (pairs, rest) = samples.as_chunks_mut::<2>();
    for (pair, point) in zip(&mut *pairs, points) {
        *pair = [point.re, point.im];
    }
    if let Some(sample) = rest.first_mut() {
        *sample = points[pairs.len()].re;
    }
}
