//! The header of a GGUF file (layout: the package `gguf` 0.19.0, versions 2 and 3) in the words of a
//! `config.json`. No tensor is read, and no number of the file is believed before so many bytes are
//! there.

use crate::format::Format;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// What a header holds, with vocabularies of a million words, and no file goes beyond.
pub(super) const LARGEST_HEADER: u64 = 128 << 20;
const LONGEST_TEXT: u64 = 1 << 16;
/// Numbers of a list that are kept: one for each layer.
const LONGEST_LIST: u64 = 1 << 12;
const MOST_TENSORS: u64 = 1 << 20;
const MOST_DIMENSIONS: u32 = 4;

/// Architectures, and the types of configurations that have their layers; without experts, and with.
const TYPES: [(&str, &str, &str); 15] = [
    ("llama", "llama", "mixtral"),
    ("mistral3", "mistral3", ""),
    ("qwen2", "qwen2", ""),
    ("qwen2moe", "", "qwen2_moe"),
    ("qwen3", "qwen3", ""),
    ("qwen3moe", "", "qwen3_moe"),
    ("gemma", "gemma", ""),
    ("gemma2", "gemma2", ""),
    ("gemma3", "gemma3_text", ""),
    ("phi3", "phi3", ""),
    ("gpt-oss", "", "gpt_oss"),
    ("glm4", "glm4", ""),
    ("smollm3", "smollm3", ""),
    ("granite", "granite", ""),
    ("olmo2", "olmo2", ""),
];

/// Keys behind the name of the architecture, and what configurations call them.
const KEYS: [(&str, &str); 14] = [
    ("embedding_length", "hidden_size"),
    ("block_count", "num_hidden_layers"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.sliding_window", "sliding_window"),
    ("context_length", "max_position_embeddings"),
    ("vocab_size", "vocab_size"),
    ("expert_count", "num_experts"),
    ("expert_count", "num_local_experts"),
    ("expert_used_count", "num_experts_per_tok"),
    ("expert_feed_forward_length", "moe_intermediate_size"),
    (
        "expert_shared_feed_forward_length",
        "shared_expert_intermediate_size",
    ),
];

/// Formats by `general.file_type` (`LlamaFileType`).
const FORMATS: [(u64, &str); 31] = [
    (0, "fp32"),
    (1, "fp16"),
    (2, "q4_0"),
    (3, "q4_1"),
    (7, "q8_0"),
    (8, "q5_0"),
    (9, "q5_1"),
    (10, "q2_k"),
    (11, "q3_k_s"),
    (12, "q3_k_m"),
    (13, "q3_k_l"),
    (14, "q4_k_s"),
    (15, "q4_k_m"),
    (16, "q5_k_s"),
    (17, "q5_k_m"),
    (18, "q6_k"),
    (19, "iq2_xxs"),
    (20, "iq2_xs"),
    (21, "q2_k_s"),
    (22, "iq3_xs"),
    (23, "iq3_xxs"),
    (24, "iq1_s"),
    (25, "iq4_nl"),
    (26, "iq3_s"),
    (27, "iq3_m"),
    (28, "iq2_s"),
    (29, "iq2_m"),
    (30, "iq4_xs"),
    (31, "iq1_m"),
    (32, "bf16"),
    (38, "mxfp4"),
];

/// Types of tensors: elements of a block and its bytes (`GGML_QUANT_SIZES`).
const BLOCKS: [(u32, u64, u64); 32] = [
    (0, 1, 4),
    (1, 1, 2),
    (2, 32, 18),
    (3, 32, 20),
    (6, 32, 22),
    (7, 32, 24),
    (8, 32, 34),
    (9, 32, 40),
    (10, 256, 84),
    (11, 256, 110),
    (12, 256, 144),
    (13, 256, 176),
    (14, 256, 210),
    (15, 256, 292),
    (16, 256, 66),
    (17, 256, 74),
    (18, 256, 98),
    (19, 256, 50),
    (20, 32, 18),
    (21, 256, 110),
    (22, 256, 82),
    (23, 256, 136),
    (24, 1, 1),
    (25, 1, 2),
    (26, 1, 4),
    (27, 1, 8),
    (28, 1, 8),
    (29, 256, 56),
    (30, 1, 2),
    (34, 256, 54),
    (35, 256, 66),
    (39, 32, 17),
];

/// What a header says.
pub(super) struct Header {
    /// In the words of a `config.json`.
    pub(super) config: Value,
    pub(super) weights: Format,
    /// Bytes of all tensors.
    pub(super) bytes: u64,
}

/// Reads a header; why it is none, otherwise.
pub(super) fn header(from: impl Read) -> Result<Header, String> {
    let mut reader = Reader { from };
    let (known, tensors) = reader
        .all()
        .map_err(|error| format!("this is no header of a GGUF file: {error}"))?;
    told(&known, &tensors)
}

fn told(known: &BTreeMap<String, Value>, tensors: &Tensors) -> Result<Header, String> {
    let architecture = known.get("general.architecture").and_then(Value::as_str);
    let architecture = architecture.ok_or("general.architecture is missing")?;
    let of = |key: &str| known.get(&format!("{architecture}.{key}"));
    let experts = of("expert_count").and_then(Value::as_u64).unwrap_or(0) > 0;
    let listed = TYPES.iter().find(|(name, ..)| *name == architecture);
    let model_type = listed.map(|(_, plain, sparse)| if experts { *sparse } else { *plain });
    let Some(model_type) = model_type.filter(|name| !name.is_empty()) else {
        let names: Vec<&str> = TYPES.iter().map(|(name, ..)| *name).collect();
        return Err(format!(
            "planopt does not know the GGUF architecture `{architecture}`{}; it knows {}",
            if experts { " with experts" } else { "" },
            names.join(", ")
        ));
    };
    let file_type = known.get("general.file_type").and_then(Value::as_u64);
    let named = FORMATS
        .iter()
        .find(|(number, _)| Some(*number) == file_type);
    let weights = named.and_then(|(_, name)| Format::from_name(name));
    let weights = weights.ok_or("general.file_type is missing, or none that planopt knows")?;
    let mut config: Map<String, Value> = KEYS
        .iter()
        .filter_map(|(key, field)| Some(((*field).to_owned(), of(key)?.clone())))
        .collect();
    let words = known.get("tokenizer.ggml.tokens").cloned();
    if let (None, Some(words)) = (config.get("vocab_size"), words) {
        config.insert("vocab_size".to_owned(), words);
    }
    if model_type == "mixtral" || model_type == "gpt_oss" {
        let width = config.get("moe_intermediate_size").cloned();
        config.extend(width.map(|width| ("intermediate_size".to_owned(), width)));
    }
    for (field, value) in [
        ("model_type", json!(model_type)),
        ("tie_word_embeddings", json!(!tensors.has_head)),
        ("attention_bias", json!(tensors.has_bias)),
    ] {
        config.insert(field.to_owned(), value);
    }
    Ok(Header {
        config: Value::Object(config),
        weights,
        bytes: tensors.bytes,
    })
}

#[derive(Default)]
struct Tensors {
    bytes: u64,
    has_head: bool,
    has_bias: bool,
}

struct Reader<R> {
    from: R,
}

impl<R: Read> Reader<R> {
    fn all(&mut self) -> io::Result<(BTreeMap<String, Value>, Tensors)> {
        if self.bytes::<4>()? != *b"GGUF" {
            return Err(wrong("it does not begin with GGUF"));
        }
        if !matches!(self.u32()?, 2 | 3) {
            return Err(wrong("it is of another version than 2 and 3"));
        }
        let (tensors, pairs) = (self.u64()?, self.u64()?);
        if tensors > MOST_TENSORS || pairs > MOST_TENSORS {
            return Err(wrong("it counts more tensors than any model has"));
        }
        let mut known = BTreeMap::new();
        for _ in 0..pairs {
            let key = self.text()?;
            let kind = self.u32()?;
            known.insert(key, self.value(kind, true)?);
        }
        let mut found = Tensors::default();
        for _ in 0..tensors {
            let name = self.text()?;
            found.has_head |= name == "output.weight";
            found.has_bias |= name.ends_with("attn_q.bias") || name.ends_with("attn_qkv.bias");
            let size = self.tensor()?;
            found.bytes = found.bytes.checked_add(size).ok_or_else(too_large)?;
        }
        Ok((known, found))
    }

    /// Bytes of a tensor.
    fn tensor(&mut self) -> io::Result<u64> {
        let dimensions = self.u32()?;
        if dimensions > MOST_DIMENSIONS {
            return Err(wrong("a tensor has more dimensions than four"));
        }
        let mut elements = 1_u64;
        for _ in 0..dimensions {
            elements = elements.checked_mul(self.u64()?).ok_or_else(too_large)?;
        }
        let kind = self.u32()?;
        self.u64()?; // where it is
        let block = BLOCKS.iter().find(|(known, ..)| *known == kind);
        let (_, block, bytes) = block.ok_or_else(|| wrong("a tensor is of an unknown type"))?;
        elements
            .div_ceil(*block)
            .checked_mul(*bytes)
            .ok_or_else(too_large)
    }

    /// A value; of a long list, how long it is.
    fn value(&mut self, kind: u32, may_be_list: bool) -> io::Result<Value> {
        Ok(match kind {
            0 | 7 => self.bytes::<1>()?[0].into(),
            1 => self.bytes::<1>()?[0].cast_signed().into(),
            2 => u16::from_le_bytes(self.bytes()?).into(),
            3 => i16::from_le_bytes(self.bytes()?).into(),
            4 => self.u32()?.into(),
            5 => i32::from_le_bytes(self.bytes()?).into(),
            6 => f32::from_le_bytes(self.bytes()?).into(),
            8 => self.text()?.into(),
            9 if may_be_list => self.list()?,
            10 => self.u64()?.into(),
            11 => i64::from_le_bytes(self.bytes()?).into(),
            12 => f64::from_le_bytes(self.bytes()?).into(),
            _ => return Err(wrong("a value is of an unknown type")),
        })
    }

    fn list(&mut self) -> io::Result<Value> {
        let (kind, count) = (self.u32()?, self.u64()?);
        let mut kept = Vec::new();
        for _ in 0..count {
            let value = self.value(kind, false)?;
            if count <= LONGEST_LIST && kind != 8 {
                kept.push(value);
            }
        }
        Ok(if kept.is_empty() {
            count.into()
        } else {
            kept.into()
        })
    }

    fn text(&mut self) -> io::Result<String> {
        let length = self.u64()?;
        if length > LONGEST_TEXT {
            return Err(wrong("a text is longer than any name"));
        }
        let mut bytes = Vec::new();
        self.from.by_ref().take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::other(what)
}

fn too_large() -> io::Error {
    wrong("a tensor is larger than any memory")
}
