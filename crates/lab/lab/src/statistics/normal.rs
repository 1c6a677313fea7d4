//! The standard normal distribution, accurate far into its tails, as small p-values require.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// The difference of `FRAC_1_SQRT_2` to the exact square root of one half.
const FRAC_1_SQRT_2_REST: f64 = -4.833646656726457e-17;

/// One over the square root of pi.
const FRAC_1_SQRT_PI: f64 = 0.564_189_583_547_756_3;

/// The probability of a value of at most `z`.
pub fn cumulative(z: f64) -> f64 {
    survival(-z)
}

/// The probability of a value above `z`, with full relative precision however small it is.
///
/// This is erfc(z / sqrt 2) / 2. Rounding z / sqrt 2 alone would cost z^2 roundings, so the lost
/// part is added with the derivative of erfc.
pub fn survival(z: f64) -> f64 {
    let scaled = z * FRAC_1_SQRT_2;
    let tail = 0.5 * libm::erfc(scaled);
    // Beyond 38 the tail is below the smallest number, and at infinity the rest is NaN.
    if z.abs() > 38.0 {
        return tail;
    }
    let rest = libm::fma(z, FRAC_1_SQRT_2, -scaled) + z * FRAC_1_SQRT_2_REST;
    tail - rest * FRAC_1_SQRT_PI * (-scaled * scaled).exp()
}

/// The density at `z`.
fn density(z: f64) -> f64 {
    FRAC_1_SQRT_PI / SQRT_2 * (-0.5 * z * z).exp()
}

/// The `z` that a share `p` of all values does not exceed: minus infinity for 0, infinity for 1,
/// NaN outside.
///
/// Formula 26.2.23 of Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), is
/// accurate to 4.5e-4; each step of Halley's method (as P. J. Acklam proposes for his own
/// approximation) triples the digits.
pub fn quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 { upper_quantile(1.0 - p) } else { -upper_quantile(p) }
}

/// The `z` that a share `p` of at most one half exceeds.
fn upper_quantile(p: f64) -> f64 {
    if p == 0.0 {
        return f64::INFINITY;
    }
    let t = (-2.0 * p.ln()).sqrt();
    let above = 2.515517 + t * (0.802853 + t * 0.010328);
    let below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    let mut z = t - above / below;
    for _ in 0..3 {
        // Near the centre the tail is a difference from one half, which erf computes precisely.
        let excess =
            if p > 0.25 { (0.5 - p) - 0.5 * libm::erf(z * FRAC_1_SQRT_2) } else { survival(z) - p };
        let step = excess / density(z);
        // The density of the very last representable tails is 0.
        if !step.is_finite() {
            break;
        }
        z += step / (1.0 - 0.5 * z * step);
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_met() {
        assert_eq!(cumulative(0.0), 0.5);
        assert_eq!(survival(f64::INFINITY), 0.0);
        assert_eq!(survival(f64::NEG_INFINITY), 1.0);
        assert!((quantile(0.975) - 1.959963984540054).abs() < 1e-15);
        assert!(quantile(0.5).abs() < 1e-16);
        assert!(survival(38.0) > 0.0, "no underflow to 0 where the value is representable");
    }

    #[test]
    fn the_ends_of_the_quantile_are_infinite_and_outside_there_is_none() {
        assert_eq!(quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(quantile(1.0), f64::INFINITY);
        assert!(quantile(-0.1).is_nan() && quantile(1.1).is_nan() && quantile(f64::NAN).is_nan());
        assert!(quantile(f64::MIN_POSITIVE).is_finite());
        assert!(quantile(5e-324).is_finite());
    }

    #[test]
    fn quantile_undoes_the_tail() {
        for exponent in 1..300 {
            let p = 10f64.powi(-exponent);
            let back = cumulative(quantile(p));
            // A rounding of z moves the tail by z^2 roundings.
            let allowed = 1e-15 + 4.0 * exponent as f64 * 2.3 * f64::EPSILON;
            assert!((back / p - 1.0).abs() < allowed, "{p}: {back}");
        }
    }
}
