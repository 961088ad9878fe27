//! Readers with what they read changed at random: none falls over, takes a number that is none, or
//! refuses without a code. Some hundred changes each; `make readers-core NUMBER=` tries more.

#![expect(clippy::disallowed_methods, reason = "seeds are files of the checkout")]

use std::fmt::Debug;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use planopt_core::catalog::Catalog;
use planopt_core::diagnostic::Diagnostic;
use planopt_core::quantity::{Dimension, parse};
use planopt_core::request::{SearchServing, read_fleet, read_json, read_options};
use planopt_core::transformer::read_config;

/// Changes of each reader that the gate tries.
const FEW: u64 = 300;

/// What readers have fallen over, here or elsewhere.
const ODD: [&str; 24] = [
    "-1",
    "0",
    "1e309",
    "-0.0",
    "nan",
    "inf",
    "9223372036854775808",
    "1e-320",
    "\"\"",
    "null",
    "true",
    "[]",
    "{}",
    "'",
    "\"",
    "\\",
    "=",
    "\u{1b}[31m",
    "\u{663}",
    "\u{202e}",
    "\0",
    "\u{feff}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "\n",
];

/// Numbers drawn in turn (`splitmix64`), the same for the same seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((drawn ^ (drawn >> 31)) % most.max(1) as u64).expect("it is below")
    }

    /// A piece of a text, of so many bytes at most.
    fn piece(&mut self, text: &[u8], most: usize) -> (usize, usize) {
        let first = self.below(text.len() + 1);
        (first, first + self.below(most.min(text.len() - first) + 1))
    }
}

/// Changes a text in one to four places: bytes, words, numbers, what stands elsewhere.
fn changed(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut draw = Draw(number);
    let mut text = seeds[draw.below(seeds.len())].clone();
    for _ in 0..[1, 1, 2, 4][draw.below(4)] {
        let odd = ODD[draw.below(ODD.len())].as_bytes();
        let (first, last) = draw.piece(&text, 40);
        match draw.below(7) {
            0 => drop(text.splice(first..first, odd.iter().copied())),
            1 => drop(text.drain(first..last)),
            2 => {
                let again = text[first..last].to_vec();
                let at = draw.below(text.len() + 1);
                drop(text.splice(at..at, again));
            }
            3 => drop(text.splice(
                first..last.min(first + 1),
                [u8::try_from(draw.below(256)).expect("a byte")],
            )),
            4 => {
                let other = &seeds[draw.below(seeds.len())];
                let (from, to) = draw.piece(other, 200);
                drop(text.splice(first..last, other[from..to].iter().copied()));
            }
            _ => {
                let (first, last) = word(&text, first);
                let with = match draw.below(3) {
                    0 => odd.to_vec(),
                    1 => [b"-", &text[first..last]].concat(),
                    _ => {
                        let (from, to) = word(&text, draw.below(text.len() + 1));
                        text[from..to].to_vec()
                    }
                };
                drop(text.splice(first..last, with));
            }
        }
    }
    text
}

/// The word that stands at a place, or behind it.
fn word(text: &[u8], at: usize) -> (usize, usize) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(byte);
    let first = at + text[at..].iter().take_while(|byte| !is_word(byte)).count();
    let length = text[first..]
        .iter()
        .take_while(|byte| is_word(byte))
        .count();
    (first, first + length)
}

/// How many changes, and the first of them: what failed once is made again by its number.
fn numbers() -> std::ops::Range<u64> {
    let told = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = told("READERS_START").unwrap_or(0);
    first..first + told("READERS_NUMBER").unwrap_or(FEW)
}

/// Reads so many changed texts; what a reader says is looked at, and where it falls over is told.
fn hold<T: Debug>(seeds: &[Vec<u8>], read: impl Fn(&[u8]) -> Result<T, Vec<Diagnostic>>) {
    for number in numbers() {
        let text = changed(seeds, number);
        let held = catch_unwind(AssertUnwindSafe(|| match read(&text) {
            Ok(taken) => {
                let told = format!("{taken:?}");
                let is_none = |word| told.contains(word);
                assert!(
                    ![": NaN", "(NaN", ": inf,", "(inf"].into_iter().any(is_none),
                    "{told}"
                );
            }
            Err(problems) => {
                assert!(!problems.is_empty(), "refused, and nobody says why");
                for problem in problems {
                    assert!(!problem.message.is_empty() && problem.code.starts_with('E'));
                }
            }
        }));
        let shown = String::from_utf8_lossy(&text);
        assert!(held.is_ok(), "change {number}: {shown}");
    }
}

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str) -> Vec<Vec<u8>> {
    let listed = fs::read_dir(checkout().join(folder)).expect("a folder");
    let mut files: Vec<PathBuf> = listed.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
        .iter()
        .map(|file| fs::read(file).expect("it is read"))
        .collect()
}

fn bundled() -> Catalog {
    Catalog::load(&checkout().join("catalogs"), &[], "calibrated").expect("it is right")
}

/// A file that a reader is handed, in a folder of its own.
fn written(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("planopt-readers-{}", std::process::id()));
    let file = folder.join(name);
    fs::create_dir_all(file.parent().expect("a folder")).expect("it is made");
    file
}

#[test]
fn quantities() {
    let said = [
        "24 GiB",
        "3.35 TB/s",
        "989 TFLOP/s",
        "$0.10/kWh",
        "30ms/tok",
        "20k",
        "15%",
    ];
    let seeds = said.map(|text| text.as_bytes().to_vec());
    let dimensions = [
        Dimension::Bytes,
        Dimension::BytesPerSecond,
        Dimension::FlopsPerSecond,
        Dimension::Seconds,
        Dimension::Watts,
        Dimension::Usd,
        Dimension::UsdPerKwh,
        Dimension::UsdPerMillionTokens,
        Dimension::UsdPerHour,
        Dimension::UsdPerMonth,
        Dimension::TokensPerSecond,
        Dimension::RequestsPerSecond,
        Dimension::Tokens,
        Dimension::Count,
        Dimension::Share,
        Dimension::Number,
    ];
    hold(&seeds, |text| {
        let text = String::from_utf8_lossy(text);
        let read = dimensions.map(|dimension| parse(&text, dimension).ok());
        for number in read.into_iter().flatten() {
            assert!(number.is_finite() && number >= 0.0, "{number}");
        }
        Ok(())
    });
}

#[test]
fn configurations() {
    let seeds = [
        r#"{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
            "vocab_size": 128256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}"#,
        r#"{"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
            "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
            "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
            "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
            "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1,
            "first_k_dense_replace": 3, "moe_layer_freq": 1, "num_nextn_predict_layers": 1,
            "vocab_size": 129280, "max_position_embeddings": 163840,
            "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}"#,
        r#"{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
            "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
            "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
            "sliding_window": 1024, "vocab_size": 262208}, "vision_config": {"image_size": 896,
            "patch_size": 14, "hidden_size": 1152, "num_hidden_layers": 27}}"#,
        r#"{"model_type": "nobody_knows", "hidden_size": 64, "intermediate_size": 128,
            "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
            "layer_types": ["full_attention", "sliding_attention"], "rope_theta": 1e6}"#,
    ];
    let seeds = seeds.map(|text| text.as_bytes().to_vec());
    hold(&seeds, |text| {
        read_config(&String::from_utf8_lossy(text), Path::new("config.json"))
    });
}

/// The header of a small Llama: two pairs of text, numbers, a list, and three tensors.
fn gguf() -> Vec<u8> {
    let text = |words: &str| [&(words.len() as u64).to_le_bytes()[..], words.as_bytes()].concat();
    let number = |key: &str, value: u32| {
        [
            text(key),
            4_u32.to_le_bytes().to_vec(),
            value.to_le_bytes().to_vec(),
        ]
        .concat()
    };
    let kind = |kind: u32| kind.to_le_bytes().to_vec();
    let pairs = [
        [text("general.architecture"), kind(8), text("llama")].concat(),
        number("general.file_type", 15),
        [
            text("tokenizer.ggml.tokens"),
            kind(9),
            kind(8),
            2_u64.to_le_bytes().to_vec(),
            text("a"),
            text("b"),
        ]
        .concat(),
        number("llama.vocab_size", 32_000),
        number("llama.embedding_length", 4096),
        number("llama.feed_forward_length", 14_336),
        number("llama.block_count", 32),
        number("llama.attention.head_count", 32),
        number("llama.attention.head_count_kv", 8),
        number("llama.context_length", 131_072),
    ];
    let tensor = |name: &str, of: u32, sizes: [u64; 2]| {
        let sizes = sizes.map(u64::to_le_bytes).concat();
        [
            text(name),
            kind(2),
            sizes,
            kind(of),
            0_u64.to_le_bytes().to_vec(),
        ]
        .concat()
    };
    let tensors = [
        tensor("token_embd.weight", 12, [4096, 32_000]),
        tensor("output.weight", 14, [4096, 32_000]),
        tensor("blk.0.attn_norm.weight", 0, [4096, 1]),
    ];
    let counts = [tensors.len() as u64, pairs.len() as u64]
        .map(u64::to_le_bytes)
        .concat();
    [
        b"GGUF".to_vec(),
        kind(3),
        counts,
        pairs.concat(),
        tensors.concat(),
    ]
    .concat()
}

#[test]
fn headers_of_gguf_files() {
    let (catalog, file, whole) = (bundled(), written("model.gguf"), gguf());
    fs::write(&file, &whole).expect("it is written");
    let name = file.to_str().expect("a name");
    assert!(catalog.architecture(name).is_ok());
    hold(&[whole], |text| {
        fs::write(&file, text).expect("it is written");
        catalog.architecture(name)
    });
}

#[test]
fn models() {
    let (catalog, file) = (bundled(), written("model.toml"));
    hold(&files("catalogs/models"), |text| {
        fs::write(&file, text).expect("it is written");
        catalog.architecture(file.to_str().expect("a name"))
    });
}

#[test]
fn fleets() {
    let (catalog, file) = (bundled(), written("fleet.toml"));
    let seeds = ["tests/cli/fleet_small.toml", "docs/how-to/fleet.toml"]
        .map(|name| fs::read(checkout().join(name)).expect("it is read"));
    hold(&seeds, |text| {
        fs::write(&file, text).expect("it is written");
        read_fleet(&file, &catalog)
    });
}

#[test]
fn catalogs() {
    let root = checkout().join("rust/planopt-core/tests/catalogs/base");
    for (kind, name) in [
        ("accelerators", "card"),
        ("hosts", "host"),
        ("networks", "network"),
    ] {
        let file = written(&format!("{kind}-of/{kind}/{name}.toml"));
        let overlay = vec![file.ancestors().nth(2).expect("a folder").to_path_buf()];
        let seeds = [fs::read(root.join(kind).join(format!("{name}.toml"))).expect("it is read")];
        hold(&seeds, |text| {
            fs::write(&file, text).expect("it is written");
            let catalog = Catalog::load(&root, &overlay, "plain")?;
            Ok((catalog.accelerators, catalog.hosts, catalog.networks))
        });
    }
}

#[test]
fn options() {
    let said = [
        "target=20tok/s",
        "budget=$20k",
        "ttft=500ms",
        "concurrency=64",
        "stock=h100=8",
        "price=h100-sxm=$25000",
        "vat=19%",
        "max_power=40kW",
        "request_rate=3/s",
        "top=3",
        "sell=in=$0.30,out=$0.90/Mtok",
        "own=2x3090,desktop",
        "percentile=p95",
        "kv=fp8",
        "accelerators=h100-sxm,l40s",
        "time_limit=5s",
        "prefix_hit_rate=50%",
    ];
    let seeds = said.map(|text| text.as_bytes().to_vec());
    hold(&seeds, |text| {
        let text = String::from_utf8_lossy(text);
        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
        read_options(
            "solve",
            [(name.to_owned(), value.into())].into_iter().collect(),
        )
    });
}

#[test]
fn questions() {
    let question = br#"{"model": {"name": "llama-3.1-8b"}, "workload": {"prompt": 512, "context":
        1024}, "promises": {"users": 4}, "load": {"arrivals": {"kind": "closed", "users": 4,
        "think_seconds": 0.0}, "sizes": {"kind": "independent", "prompt": {"kind": "fixed",
        "tokens": 512}, "output": {"kind": "fixed", "tokens": 512}}}, "hardware": {},
        "engine": {}, "scheduler": {}, "rent": {"terms": ["spot"]}, "layout": {},
        "search": {"max_accelerators": 1}}"#;
    assert!(read_json::<SearchServing>(question).is_ok());
    hold(&[question.to_vec()], |text| {
        read_json::<SearchServing>(text).map(|_| ())
    });
}
