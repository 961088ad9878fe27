//! Random numbers that are the same on every machine for the same seed.
//!
//! xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
//! seeded by splitmix64 as its authors advise.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: [u64; 4],
    spare_normal: Option<f64>,
}

impl Random {
    /// Stream number `stream` of a seed: what is drawn from one does not shift the others.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
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
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Exponential of mean 1.
    pub(super) fn exponential(&mut self) -> f64 {
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
