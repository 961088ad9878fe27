//! What encodes images, by the `vision_config` of a configuration. How large an image is when it is cut
//! into patches stands in the repository's `preprocessor_config.json`, of which the limits of a family
//! are kept here.

use crate::transformer::vision::{ImageSize, Vision};
use serde_json::{Map, Value};

/// Qwen/Qwen2-VL-7B-Instruct and Qwen2.5-VL: `min_pixels`, `max_pixels`.
const QWEN2: ImageSize = ImageSize::Between {
    least: 3136,
    most: 12_845_056,
};

/// Qwen/Qwen3-VL, 3.5 and 3.6: `shortest_edge` and `longest_edge`, which are pixels of the whole.
const QWEN3: ImageSize = ImageSize::Between {
    least: 65_536,
    most: 16_777_216,
};

/// moonshotai/Kimi-K2.5 and K3: `in_patch_limit`, `patch_limit_on_one_side`.
const KIMI_K2: ImageSize = ImageSize::UpTo {
    patches: 16_384,
    side: 512,
};
const KIMI_K3: ImageSize = ImageSize::UpTo {
    patches: 65_536,
    side: 512,
};

/// `max_patches` of Llama 4's image processor: squares that an image is cut into, at most.
const LLAMA4_TILES: u64 = 16;

/// Frames of an image that a patch of Qwen's is of.
const FRAMES: u64 = 2;
const COLOURS: u64 = 3;

/// Matrices of a feed-forward layer, with a gate and without.
const GATED: u64 = 3;
const PLAIN: u64 = 2;

/// What encodes images of a type that is known, where its fields say all. Who looks at images by layers of
/// their own (Llama 3.2) has no tokens of them.
pub(super) fn read(outer: &Map<String, Value>, hidden: u64) -> Option<Vision> {
    let own = outer.get("vision_config")?;
    let patch = own.get("patch_size")?.as_u64()?;
    let tower = Tower {
        outer,
        own,
        hidden,
        patch,
    };
    let (merge, size, parameters) = match outer.get("model_type")?.as_str()? {
        "qwen2_vl" => tower.qwen2("embed_dim", PLAIN)?,
        "qwen2_5_vl" => tower.qwen2("hidden_size", GATED)?,
        "qwen3_vl" | "qwen3_vl_moe" | "qwen3_5" | "qwen3_5_moe" => tower.qwen3()?,
        "kimi_k25" => tower.kimi(KIMI_K2)?,
        "kimi_k3" => tower.kimi(KIMI_K3)?,
        "gemma3" => tower.gemma3()?,
        "gemma4" => tower.gemma4()?,
        "mistral3" => tower.mistral3()?,
        "llama4" => tower.llama4()?,
        _ => return None,
    };
    (patch > 0 && merge > 0).then_some(Vision {
        parameters,
        patch,
        merge,
        size,
    })
}

/// The encoder's own fields, and those of the whole.
struct Tower<'a> {
    outer: &'a Map<String, Value>,
    own: &'a Value,
    /// Width of the model behind it.
    hidden: u64,
    patch: u64,
}

/// Patches of a side of a token, how large an image is, and parameters.
type Read = (u64, ImageSize, u64);

impl Tower<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        self.own.get(name)?.as_u64().filter(|&number| number > 0)
    }

    fn of_all(&self, name: &str) -> Option<u64> {
        self.outer.get(name)?.as_u64().filter(|&number| number > 0)
    }

    /// Layers of so many matrices between two widths, behind four of attention.
    fn blocks(layers: u64, depth: u64, width: u64, matrices: u64) -> u64 {
        layers * (4 * depth * depth + matrices * depth * width)
    }

    fn embedding(&self, depth: u64) -> u64 {
        COLOURS * self.patch * self.patch * depth
    }

    /// Two matrices that make tokens of merged patches.
    fn merger(&self, merge: u64, depth: u64) -> u64 {
        let merged = merge * merge * depth;
        merged * merged + merged * self.hidden
    }

    fn qwen2(&self, depth: &str, matrices: u64) -> Option<Read> {
        let (depth, merge) = (self.number(depth)?, self.number("spatial_merge_size")?);
        let width = self.number("intermediate_size");
        let width = width.or_else(|| Some(depth * self.number("mlp_ratio")?))?;
        let blocks = Self::blocks(self.number("depth")?, depth, width, matrices);
        let first = FRAMES * self.embedding(depth);
        Some((merge, QWEN2, blocks + first + self.merger(merge, depth)))
    }

    fn qwen3(&self) -> Option<Read> {
        let (depth, merge) = (
            self.number("hidden_size")?,
            self.number("spatial_merge_size")?,
        );
        let width = self.number("intermediate_size")?;
        let blocks = Self::blocks(self.number("depth")?, depth, width, PLAIN);
        let deep = self
            .own
            .get("deepstack_visual_indexes")
            .and_then(Value::as_array);
        let mergers = 1 + deep.map_or(0, |deep| deep.len() as u64);
        let merged = mergers * self.merger(merge, depth);
        Some((
            merge,
            QWEN3,
            blocks + FRAMES * self.embedding(depth) + merged,
        ))
    }

    fn kimi(&self, size: ImageSize) -> Option<Read> {
        let depth = self.number("vt_hidden_size")?;
        let merge = self.own.get("merge_kernel_size")?.get(0)?.as_u64()?;
        let (layers, width) = ("vt_num_hidden_layers", "vt_intermediate_size");
        let blocks = Self::blocks(self.number(layers)?, depth, self.number(width)?, PLAIN);
        let parameters = blocks + self.embedding(depth) + self.merger(merge, depth);
        Some((merge, size, parameters))
    }

    /// Depth, and parameters of blocks with what embeds patches.
    fn usual(&self, matrices: u64) -> Option<(u64, u64)> {
        let depth = self.number("hidden_size")?;
        let (layers, width) = ("num_hidden_layers", "intermediate_size");
        let blocks = Self::blocks(self.number(layers)?, depth, self.number(width)?, matrices);
        Some((depth, blocks + self.embedding(depth)))
    }

    fn gemma3(&self) -> Option<Read> {
        let (depth, parameters) = self.usual(PLAIN)?;
        let side = self.number("image_size")?;
        let tokens = self.of_all("mm_tokens_per_image")?;
        let merge = side / self.patch.max(1) / tokens.isqrt();
        Some((
            merge,
            ImageSize::Square { side },
            parameters + depth * self.hidden,
        ))
    }

    fn gemma4(&self) -> Option<Read> {
        let (depth, parameters) = self.usual(GATED)?;
        let tokens = self.of_all("vision_soft_tokens_per_image");
        let tokens = tokens.or_else(|| self.number("default_output_length"))?;
        let merge = self.number("pooling_kernel_size")?;
        Some((
            merge,
            ImageSize::Filled { tokens },
            parameters + depth * self.hidden,
        ))
    }

    fn mistral3(&self) -> Option<Read> {
        let (depth, parameters) = self.usual(GATED)?;
        let longest = self.number("image_size")?;
        let merge = self.of_all("spatial_merge_size").unwrap_or(2);
        let merged = merge * merge * depth * depth + depth * self.hidden + self.hidden.pow(2);
        Some((merge, ImageSize::Rows { longest }, parameters + merged))
    }

    fn llama4(&self) -> Option<Read> {
        let (depth, parameters) = self.usual(PLAIN)?;
        let side = self.number("image_size")?;
        let ratio = self.own.get("pixel_shuffle_ratio")?.as_f64()?;
        let merge = whole_inverse(Some(ratio).filter(|ratio| (0.1..=1.0).contains(ratio))?);
        let (first, second) = (
            self.number("projector_input_dim")?,
            self.number("projector_output_dim")?,
        );
        let merged = merge * merge * depth * first + first * second + second * self.hidden;
        let most = LLAMA4_TILES;
        Some((merge, ImageSize::Tiles { side, most }, parameters + merged))
    }
}

/// How many times a ratio goes into one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a ratio of sides of patches"
)]
fn whole_inverse(ratio: f64) -> u64 {
    (1.0 / ratio).round().max(0.0) as u64
}
