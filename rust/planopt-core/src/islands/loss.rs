//! What it costs in tokens to meet seldom.

/// Loss of a model by its parameters `N` and tokens `D`: `E + A / N^alpha + B / D^beta` (Hoffmann et
/// al., arXiv 2203.15556, equation 10).
#[derive(Clone, Copy, Debug)]
pub struct ScalingLaw {
    /// Loss that no size and no data takes away.
    pub floor: f64,
    /// `A`.
    pub parameter_scale: f64,
    /// `alpha`.
    pub parameter_exponent: f64,
    /// `B`.
    pub token_scale: f64,
    /// `beta`.
    pub token_exponent: f64,
}

impl ScalingLaw {
    fn of_tokens(&self, tokens: f64) -> f64 {
        self.token_scale / tokens.powf(self.token_exponent)
    }

    /// Loss after so many tokens.
    pub fn loss(&self, parameters: f64, tokens: f64) -> f64 {
        let of_parameters = self.parameter_scale / parameters.powf(self.parameter_exponent);
        self.floor + of_parameters + self.of_tokens(tokens)
    }

    /// How many times as many tokens reach the loss of `tokens` where every loss is higher by the
    /// share `increase`; none where no number of tokens does.
    pub fn tokens_factor(&self, parameters: f64, tokens: f64, increase: f64) -> Option<f64> {
        let more = self.loss(parameters, tokens) * (increase / (1.0 + increase));
        let left = self.of_tokens(tokens) - more;
        let factor = (self.of_tokens(tokens) / left).powf(1.0 / self.token_exponent);
        (left > 0.0).then_some(factor)
    }
}

/// By what share the loss is higher where `islands` meet every `inner_steps`: `rate` for each doubling
/// of the islands and each e-fold of the steps. Nothing where one trains alone, or all meet at each step.
pub fn loss_increase(rate: f64, inner_steps: u32, islands: u32) -> f64 {
    rate * f64::from(islands).log2() * f64::from(inner_steps).ln()
}
