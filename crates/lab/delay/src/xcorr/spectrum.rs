//! The product of two spectra, in the packed form of real transforms.
//!
//! A real series of `n` points is transformed as `n / 2` complex ones, even points in the real part
//! and odd points in the imaginary part. Usually each spectrum is then unpacked, both are
//! multiplied, and the product is packed again for the inverse: four passes. Here they are one, in
//! place, and the inverse gives the correlation with even lags in the real part and odd lags in the
//! imaginary part.
//!
//! With `h = n / 2`, `P` and `R` the packed spectra of both sides at `k`, `Q` and `S` conjugates of
//! them at `h - k`, and `w = exp(2 pi i k / h)`, the product of an unweighted correlation is
//! `conj(P) R - (1 + w) / 4 conj(P - Q) (R + S)`. Half of the cycles are enough, since the second
//! term at `h - k` is minus the conjugate of that at `k`.
//!
//! Eight cycles are computed side by side in arrays, which the compiler keeps in vectors of the
//! instructions that every x86-64 has.

use std::{array, f64::consts::PI, iter::zip};

use rustfft::num_complex::Complex32;

use super::settings::XcorrSettings;

const LANES: usize = 8;
type Lanes = [f32; LANES];
type Points = [Complex32; LANES];

/// Weights below this become zero: a product with them would be slow, and is lost in rounding.
const LEAST_WEIGHT: f64 = 1e-12;

/// What the spectra are multiplied with beside each other.
#[derive(Debug)]
pub(super) enum Product {
    /// Nothing.
    Plain(Vec<PlainFactors>),
    /// The smoothing.
    Weighted(Weights),
}

/// `(1 + w) / 4` of eight cycles.
#[derive(Debug)]
pub(super) struct PlainFactors {
    re: Lanes,
    im: Lanes,
}

#[derive(Debug)]
pub(super) struct Weights {
    factors: Vec<WeightedFactors>,
    /// Weights at zero cycles, in the middle (`h / 2`) and at the end (`h`).
    ends: [f32; 3],
}

/// `exp(-2 pi i k / n)` of eight cycles `k`, and the weights at `k` and at `h - k`.
#[derive(Debug)]
pub(super) struct WeightedFactors {
    re: Lanes,
    im: Lanes,
    low: Lanes,
    high: Lanes,
}

impl Product {
    /// For transforms of the settings' length.
    pub(super) fn new(settings: &XcorrSettings) -> Self {
        let half = settings.transform_length() / 2;
        // Cycles from 1 to before `half / 2`, in eights; the last may be too many.
        let eights = || (1..half / 2).step_by(LANES);
        let lanes = |first: usize, of: &dyn Fn(usize) -> f64| {
            array::from_fn(|lane| of((first + lane).min(half)) as f32)
        };
        if settings.smoothing_ns == 0 {
            let turn = |k: usize| 2.0 * PI * k as f64 / half as f64;
            let factors = eights().map(|k| PlainFactors {
                re: lanes(k, &|k| (1.0 + turn(k).cos()) / 4.0),
                im: lanes(k, &|k| turn(k).sin() / 4.0),
            });
            return Self::Plain(factors.collect());
        }
        let turn = |k: usize| -PI * k as f64 / half as f64;
        let weight = |k: usize| match settings.weight(k) {
            weight if weight < LEAST_WEIGHT => 0.0,
            weight => weight,
        };
        let factors = eights().map(|k| WeightedFactors {
            re: lanes(k, &|k| turn(k).cos()),
            im: lanes(k, &|k| turn(k).sin()),
            low: lanes(k, &weight),
            high: lanes(k, &|k| weight(half - k)),
        });
        let ends = [0, half / 2, half].map(|k| weight(k) as f32);
        Self::Weighted(Weights { factors: factors.collect(), ends })
    }

    /// Replaces the packed spectrum of the first side by the packed product.
    pub(super) fn multiply(&self, first: &mut [Complex32], second: &[Complex32]) {
        match self {
            Self::Plain(factors) => {
                multiply_ends(first, second, [1.0; 3]);
                over_pairs(first, second, factors, plain);
            }
            Self::Weighted(Weights { factors, ends }) => {
                multiply_ends(first, second, *ends);
                over_pairs(first, second, factors, weighted);
            }
        }
    }
}

/// Zero cycles, where the packed value holds those of zero and of `h` cycles, and the middle, which
/// is its own partner.
fn multiply_ends(first: &mut [Complex32], second: &[Complex32], [low, middle, high]: [f32; 3]) {
    let (p, r) = (first[0], second[0]);
    let at_zero = low * (p.re + p.im) * (r.re + r.im);
    let at_half = high * (p.re - p.im) * (r.re - r.im);
    first[0] = Complex32::new((at_zero + at_half) / 2.0, (at_zero - at_half) / 2.0);
    let at = first.len() / 2;
    first[at] = first[at].conj() * second[at] * middle;
}

/// Packed values at `k` and, reversed in memory, at `h - k`; of both sides.
struct Pair<'a> {
    first: &'a mut Points,
    first_partner: &'a mut Points,
    second: &'a Points,
    second_partner: &'a Points,
}

/// Calls the kernel with every eight pairs, and with the rest in copies.
#[inline(always)]
fn over_pairs<T>(
    first: &mut [Complex32],
    second: &[Complex32],
    factors: &[T],
    kernel: impl Fn(Pair<'_>, &T),
) {
    let middle = first.len() / 2;
    let (low, high) = first.split_at_mut(middle);
    let (eights, rest) = low[1..].as_chunks_mut::<LANES>();
    let (partner_rest, partners) = high[1..].as_rchunks_mut::<LANES>();
    let (seconds, second_rest) = second[1..middle].as_chunks::<LANES>();
    let (second_partner_rest, second_partners) = second[middle + 1..].as_rchunks::<LANES>();
    let firsts = zip(eights, partners.iter_mut().rev());
    let seconds = zip(seconds, second_partners.iter().rev());
    for (((first, first_partner), (second, second_partner)), factors) in
        zip(zip(firsts, seconds), factors)
    {
        kernel(Pair { first, first_partner, second, second_partner }, factors);
    }
    let (left, Some(last)) = (rest.len(), factors.last()) else { return };
    if left == 0 {
        return;
    }
    let from = LANES - left;
    let mut copies = [[Complex32::ZERO; LANES]; 4];
    copies[0][..left].copy_from_slice(rest);
    copies[1][from..].copy_from_slice(partner_rest);
    copies[2][..left].copy_from_slice(second_rest);
    copies[3][from..].copy_from_slice(second_partner_rest);
    let [first, first_partner, second, second_partner] = &mut copies;
    kernel(Pair { first, first_partner, second, second_partner }, last);
    rest.copy_from_slice(&first[..left]);
    partner_rest.copy_from_slice(&first_partner[from..]);
}

#[inline(always)]
fn lanes(of: impl Fn(usize) -> f32) -> Lanes {
    array::from_fn(of)
}

/// Real and imaginary parts.
#[inline(always)]
fn parts(of: &Points) -> (Lanes, Lanes) {
    (lanes(|i| of[i].re), lanes(|i| of[i].im))
}

/// Real and imaginary parts of the conjugates, in reversed order.
#[inline(always)]
fn partner_parts(of: &Points) -> (Lanes, Lanes) {
    (lanes(|i| of[LANES - 1 - i].re), lanes(|i| -of[LANES - 1 - i].im))
}

/// See the head of this file.
#[inline(always)]
fn plain(pair: Pair<'_>, factors: &PlainFactors) {
    let ((pr, pi), (qr, qi)) = (parts(pair.first), partner_parts(pair.first_partner));
    let ((rr, ri), (sr, si)) = (parts(pair.second), partner_parts(pair.second_partner));
    let [mut yr, mut yi, mut zr, mut zi] = [[0.0; LANES]; 4];
    for i in 0..LANES {
        let (dr, di) = (pr[i] - qr[i], pi[i] - qi[i]);
        let (er, ei) = (rr[i] + sr[i], ri[i] + si[i]);
        let (tr, ti) = (dr * er + di * ei, dr * ei - di * er);
        let (ur, ui) =
            (factors.re[i] * tr - factors.im[i] * ti, factors.re[i] * ti + factors.im[i] * tr);
        yr[i] = pr[i] * rr[i] + pi[i] * ri[i] - ur;
        yi[i] = pr[i] * ri[i] - pi[i] * rr[i] - ui;
        zr[i] = qr[i] * sr[i] + qi[i] * si[i] + ur;
        zi[i] = qi[i] * sr[i] - qr[i] * si[i] - ui;
    }
    store(yr, yi, pair.first);
    for i in 0..LANES {
        pair.first_partner[LANES - 1 - i] = Complex32::new(zr[i], zi[i]);
    }
}

#[inline(always)]
fn store(re: Lanes, im: Lanes, into: &mut Points) {
    for i in 0..LANES {
        into[i] = Complex32::new(re[i], im[i]);
    }
}

/// Unpacks both sides at `k` and at `h - k`, multiplies, weighs, and packs.
#[inline(always)]
fn weighted(pair: Pair<'_>, factors: &WeightedFactors) {
    let WeightedFactors { re: cr, im: ci, low, high } = factors;
    // Of each side its spectrum at `k`, and the conjugate of that at `h - k`.
    let unpack = |(pr, pi): (Lanes, Lanes), (qr, qi): (Lanes, Lanes)| {
        let (er, ei) = (lanes(|i| (pr[i] + qr[i]) / 2.0), lanes(|i| (pi[i] + qi[i]) / 2.0));
        let (or, oi) = (lanes(|i| (pi[i] - qi[i]) / 2.0), lanes(|i| (qr[i] - pr[i]) / 2.0));
        let ur = lanes(|i| cr[i] * or[i] - ci[i] * oi[i]);
        let ui = lanes(|i| cr[i] * oi[i] + ci[i] * or[i]);
        let at_low = (lanes(|i| er[i] + ur[i]), lanes(|i| ei[i] + ui[i]));
        (at_low, (lanes(|i| er[i] - ur[i]), lanes(|i| ei[i] - ui[i])))
    };
    let multiply = |(ar, ai): (Lanes, Lanes), (br, bi): (Lanes, Lanes), weight: &Lanes| {
        let (xr, xi) =
            (lanes(|i| ar[i] * br[i] + ai[i] * bi[i]), lanes(|i| ar[i] * bi[i] - ai[i] * br[i]));
        (lanes(|i| xr[i] * weight[i]), lanes(|i| xi[i] * weight[i]))
    };
    let (a_low, a_high) = unpack(parts(pair.first), partner_parts(pair.first_partner));
    let (b_low, b_high) = unpack(parts(pair.second), partner_parts(pair.second_partner));
    let ((xr, xi), (vr, vi)) = (multiply(a_low, b_low, low), multiply(a_high, b_high, high));
    // Spectra of the even and of the odd lags.
    let (er, ei) = (lanes(|i| (xr[i] + vr[i]) / 2.0), lanes(|i| (xi[i] + vi[i]) / 2.0));
    let (dr, di) = (lanes(|i| (xr[i] - vr[i]) / 2.0), lanes(|i| (xi[i] - vi[i]) / 2.0));
    let or = lanes(|i| cr[i] * dr[i] + ci[i] * di[i]);
    let oi = lanes(|i| cr[i] * di[i] - ci[i] * dr[i]);
    *pair.first = array::from_fn(|i| Complex32::new(er[i] - oi[i], ei[i] + or[i]));
    *pair.first_partner = array::from_fn(|lane| {
        let i = LANES - 1 - lane;
        Complex32::new(er[i] + oi[i], or[i] - ei[i])
    });
}
