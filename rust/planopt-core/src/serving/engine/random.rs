//! Random numbers that are the same on every machine for the same seed.
//!
//! xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
//! seeded by splitmix64 as its authors advise.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: [u64; 4],
    spare_normal: Option<f64>,
}

impl Random {
    /// Stream number `stream` of a seed: what is drawn from one does not shift the others.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut seed = seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03);
        let state = std::array::from_fn(|_| {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        });
        Self {
            state,
            spare_normal: None,
        }
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let mut state = [a, b, c ^ a, d ^ b];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= b << 17;
        state[3] = state[3].rotate_left(45);
        self.state = state;
        result
    }

    /// Uniform above 0 and up to 1, so that its logarithm is finite.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 random bits are exactly what a double holds"
    )]
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `count`, each as likely.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in something that is in memory"
    )]
    pub(super) fn below(&mut self, count: usize) -> usize {
        let place = (1.0 - self.uniform()) * count as f64;
        (place as usize).min(count.saturating_sub(1))
    }

    /// Exponential of mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal (Box and Muller).
    pub(super) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        let radius = (2.0 * self.exponential()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare_normal = Some(radius * sin);
        radius * cos
    }

    /// Puts them into any order, each as likely (Fisher and Yates).
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "fewer cards than a double counts exactly"
    )]
    pub(super) fn shuffle(&mut self, cards: &mut [u32]) {
        for last in (1..cards.len()).rev() {
            let other = (self.uniform() * (last + 1) as f64).ceil() as usize - 1;
            cards.swap(last, other);
        }
    }

    /// Gamma of mean 1 with coefficient of variation `cv` (Marsaglia and Tsang, "A simple method
    /// for generating gamma variables", 2000).
    pub(super) fn gamma(&mut self, cv: f64) -> f64 {
        let shape = 1.0 / (cv * cv);
        // Below shape 1 the variable of shape + 1 is shrunk by a power of a uniform one.
        let (boosted, shrink) = if shape < 1.0 {
            (shape + 1.0, self.uniform().powf(1.0 / shape))
        } else {
            (shape, 1.0)
        };
        let d = boosted - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let normal = self.normal();
            let v = (1.0 + c * normal).powi(3);
            if v > 0.0 && self.uniform().ln() < normal.mul_add(normal / 2.0, d - d * v + d * v.ln())
            {
                return d * v * shrink / shape;
            }
        }
    }
}

/// Quantile of the standard normal distribution, to 1e-9 (Acklam, "An algorithm for computing the
/// inverse normal cumulative distribution function", 2003: rational approximations of the middle
/// and the tails).
pub(super) fn normal_quantile(u: f64) -> f64 {
    const MIDDLE: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const UNDER_MIDDLE: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const TAIL: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const UNDER_TAIL: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    const EDGE: f64 = 0.024_25;
    let series = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    if u > 0.5 {
        -normal_quantile(1.0 - u)
    } else if u < EDGE {
        let x = (-2.0 * u.ln()).sqrt();
        series(&TAIL, x) / (series(&UNDER_TAIL, x) * x + 1.0)
    } else {
        let x = u - 0.5;
        let square = x * x;
        series(&MIDDLE, square) * x / (series(&UNDER_MIDDLE, square) * square + 1.0)
    }
}

/// Standard normal distribution function (Abramowitz and Stegun 7.1.26, error below 1e-7).
pub(super) fn normal_share(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let tail = 0.5 * series * (-z * z).exp();
    if x > 0.0 { 1.0 - tail } else { tail }
}
