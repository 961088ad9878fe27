//! What of a latency is promised.

use serde::{Deserialize, Serialize};

/// Its mean, or what a share of all requests is within.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Statistic {
    /// The mean of all requests.
    Mean,
    /// A percentile, as a share such as 0.95.
    Percentile(f64),
}

impl Statistic {
    /// What promises are judged at where nobody says otherwise.
    pub(crate) const USUAL: &'static str = "p95";

    /// Whether it may be below what the mean request has: a lognormal distribution's mean is not
    /// above its 90th percentile, unless its coefficient of variation is beyond 26.
    pub(crate) fn may_be_below_mean(self) -> bool {
        match self {
            Self::Mean => false,
            Self::Percentile(share) => share < MEAN_IS_BELOW,
        }
    }
}

/// Share of a lognormal distribution below which its mean is.
const MEAN_IS_BELOW: f64 = 0.9;

impl TryFrom<String> for Statistic {
    type Error = String;

    /// Reads `mean`, or `p` and a number of hundredths.
    fn try_from(word: String) -> Result<Self, String> {
        if word == "mean" {
            return Ok(Self::Mean);
        }
        let hundredths = word.strip_prefix('p').and_then(|of| of.parse::<u8>().ok());
        match hundredths {
            Some(of @ 1..=99) => Ok(Self::Percentile(f64::from(of) / 100.0)),
            _ => Err(format!(
                "`{word}` is no `mean` and no percentile such as `p95`"
            )),
        }
    }
}

impl From<Statistic> for String {
    fn from(statistic: Statistic) -> Self {
        match statistic {
            Statistic::Mean => "mean".to_owned(),
            Statistic::Percentile(share) => format!("p{:.0}", 100.0 * share),
        }
    }
}
