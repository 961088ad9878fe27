//! What a model sees: the patches that an image is cut into, and the tokens of a prompt that they
//! become. Rules and their sources: `docs/reference/serving.md`, section 12.

use crate::quantity::real;
use serde::Serialize;

/// What encodes images in front of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Vision {
    /// Parameters of its products, with what projects them to the width of the model.
    pub parameters: u64,
    /// Pixels of a side of a patch.
    pub patch: u64,
    /// Patches of a side of what becomes one token.
    pub merge: u64,
    /// How large an image is when it is cut.
    pub size: ImageSize,
}

/// How large an image is when it is cut into patches, each side of as many as whole tokens have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ImageSize {
    /// Always of so many pixels a side.
    Square {
        /// Pixels.
        side: u64,
    },
    /// As it is, to the nearest whole tokens, within so many pixels.
    Between {
        /// Fewest pixels.
        least: u64,
        /// Most pixels.
        most: u64,
    },
    /// As it is, filled up to whole tokens, unless it has more patches.
    UpTo {
        /// Most patches.
        patches: u64,
        /// Most patches of a side.
        side: u64,
    },
    /// As large as so many tokens allow.
    Filled {
        /// Most tokens.
        tokens: u64,
    },
    /// As it is, filled up to whole tokens, with a token more behind each row.
    Rows {
        /// Most pixels of the longer side.
        longest: u64,
    },
    /// Cut into squares, with one of the whole behind more than one of them.
    Tiles {
        /// Pixels of a side of a square.
        side: u64,
        /// Most squares.
        most: u64,
    },
}

/// What an image becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Tokens of a prompt.
    pub tokens: u64,
    /// Patches that are encoded for them.
    pub patches: u64,
}

impl Vision {
    /// What an image of so many pixels becomes.
    #[must_use]
    pub fn of_image(&self, width: u64, height: u64) -> Seen {
        let unit = self.patch * self.merge;
        let sides = [real(width.max(1)), real(height.max(1))];
        let cut = |scale: f64, round: fn(f64) -> f64| {
            sides.map(|side| whole(round(side * scale / real(unit))).max(1))
        };
        let pixels = sides[0] * sides[1];
        let mut ends = 0;
        let [columns, rows] = match self.size {
            ImageSize::Square { side } => [(side / unit).max(1); 2],
            ImageSize::Between { least, most } => {
                let near = cut(1.0, f64::round_ties_even);
                let has = near[0] * near[1] * unit * unit;
                if has > most {
                    cut((real(most) / pixels).sqrt(), f64::floor)
                } else if has < least {
                    cut((real(least) / pixels).sqrt(), f64::ceil)
                } else {
                    near
                }
            }
            ImageSize::UpTo { patches, side } => {
                let of_side = |pixels: f64| (pixels / real(self.patch)).floor().max(1.0);
                let all = of_side(sides[0]) * of_side(sides[1]);
                let longest = real(side * self.patch) / sides[0].max(sides[1]);
                let scale = (real(patches) / all).sqrt().min(longest).min(1.0);
                let scaled = sides.map(|side| whole(side * scale).max(1));
                scaled.map(|side| side.div_ceil(unit))
            }
            ImageSize::Filled { tokens } => {
                let [columns, rows] = cut((real(tokens) / pixels).sqrt() * real(unit), f64::floor);
                [columns.min(tokens), rows.min((tokens / columns).max(1))]
            }
            ImageSize::Rows { longest } => {
                let scale = (real(longest) / sides[0].max(sides[1])).min(1.0);
                let scaled = sides.map(|side| whole(side * scale).max(1));
                let [columns, rows] = scaled.map(|side| side.div_ceil(unit));
                ends = rows;
                [columns, rows]
            }
            ImageSize::Tiles { side, most } => {
                let tiles = tiles(sides, real(side), most);
                // Each square is followed by a token that parts it from the next.
                let all = if tiles > 1 {
                    ends = tiles;
                    tiles + 1
                } else {
                    1
                };
                let of_a_side = (side / unit).max(1);
                [of_a_side * all, of_a_side]
            }
        };
        Seen {
            tokens: columns * rows + ends,
            patches: columns * rows * self.merge * self.merge,
        }
    }
}

/// Squares of the canvas that an image is put on: the one on which it is enlarged least, or made smaller
/// least where it is too large for all; of those alike, the smallest.
fn tiles(image: [f64; 2], side: f64, most: u64) -> u64 {
    let canvases = (1..=most)
        .flat_map(|columns| (1..=most / columns).map(move |rows| [columns, rows]))
        .map(|[columns, rows]| {
            let scale = (real(columns) * side / image[0]).min(real(rows) * side / image[1]);
            (scale, columns * rows)
        });
    let better = |one: (f64, u64), other: (f64, u64)| {
        let by_scale = match (one.0 >= 1.0, other.0 >= 1.0) {
            (true, true) => other.0.total_cmp(&one.0),
            _ => one.0.total_cmp(&other.0),
        };
        by_scale.then(other.1.cmp(&one.1))
    };
    let best = canvases.max_by(|&one, &other| better(one, other));
    best.map_or(1, |(_, squares)| squares)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pixels and tokens of an image"
)]
fn whole(count: f64) -> u64 {
    count.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::{ImageSize, Vision};

    fn tokens(patch: u64, merge: u64, size: ImageSize, width: u64, height: u64) -> u64 {
        let vision = Vision {
            parameters: 1,
            patch,
            merge,
            size,
        };
        vision.of_image(width, height).tokens
    }

    #[test]
    fn what_is_smaller_or_larger_than_allowed_is_brought_to_size() {
        let qwen = ImageSize::Between {
            least: 3136,
            most: 12_845_056,
        };
        // 1092 x 1092 is 39 tokens a side (the 1105 of a screenshot of 1428 x 896 is one without: 51 x 32).
        assert_eq!(tokens(14, 2, qwen, 1092, 1092), 39 * 39);
        assert_eq!(tokens(14, 2, qwen, 1428, 896), 51 * 32);
        assert_eq!(tokens(14, 2, qwen, 10, 10), 4);
        assert!(tokens(14, 2, qwen, 9000, 9000) <= 12_845_056 / 784);
        let kimi = ImageSize::UpTo {
            patches: 16_384,
            side: 512,
        };
        assert_eq!(tokens(14, 2, kimi, 800, 600), 29 * 22);
        assert!(tokens(14, 2, kimi, 8000, 8000) <= 4_300);
        let gemma4 = ImageSize::Filled { tokens: 280 };
        assert_eq!(tokens(16, 3, gemma4, 1000, 1000), 16 * 16);
        assert_eq!(tokens(16, 3, gemma4, 100_000, 10), 280);
        assert_eq!(
            tokens(14, 4, ImageSize::Square { side: 896 }, 33, 2000),
            256
        );
        let pixtral = ImageSize::Rows { longest: 1540 };
        assert_eq!(tokens(14, 2, pixtral, 1540, 1540), 55 * 56);
        assert_eq!(tokens(14, 2, pixtral, 3080, 3080), 55 * 56);
        assert_eq!(tokens(14, 2, pixtral, 280, 28), 11);
    }

    #[test]
    fn what_is_cut_into_squares_has_one_of_the_whole_behind_them() {
        let llama4 = ImageSize::Tiles {
            side: 336,
            most: 16,
        };
        let of = |width, height| tokens(14, 2, llama4, width, height);
        assert_eq!(of(336, 336), 144);
        assert_eq!(of(10, 10), 144);
        // 300 x 200 is no larger than a square; 400 x 300 is put on two.
        assert_eq!(of(300, 200), 144);
        assert_eq!(of(400, 300), 3 * 144 + 2);
        // 1024 is more than three squares and less than four.
        assert_eq!(of(1024, 1024), 17 * 144 + 16);
        assert_eq!(of(1000, 1000), 10 * 144 + 9);
        // Too large for all: five by three shrink 16:9 least.
        assert_eq!(of(3840, 2160), 16 * 144 + 15);
        assert_eq!(of(100_000, 10), 17 * 144 + 16);
    }

    #[test]
    fn each_token_is_of_as_many_patches_as_are_merged() {
        let size = ImageSize::Square { side: 896 };
        let vision = Vision {
            parameters: 1,
            patch: 14,
            merge: 4,
            size,
        };
        assert_eq!(vision.of_image(1, 1).patches, 64 * 64);
    }
}
