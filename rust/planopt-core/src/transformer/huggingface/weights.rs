//! Number format of a checkpoint, from its data type and quantisation.

use super::fields::Fields;
use crate::format::Format;
use serde_json::{Map, Value};

/// Formats of a checkpoint's matrices.
pub(super) struct Weights {
    pub(super) format: Format,
    /// Whether everything but the experts is in 16 bits.
    pub(super) only_experts: bool,
}

/// The format of the quantised matrices, or else of all. A file that names no type is taken for
/// bf16: `transformers` then loads whatever the checkpoint has, and that is nearly always it.
pub(super) fn read(fields: &mut Fields, outer: &Map<String, Value>) -> Weights {
    let quantisation = fields.value("quantization_config").or_else(|| {
        outer
            .get("quantization_config")
            .filter(|value| !value.is_null())
    });
    if let Some(quantisation) = quantisation {
        let format = quantised(quantisation).unwrap_or_else(|| {
            let accepted = "fp8, mxfp4, gptq, awq, bitsandbytes, modelopt or compressed-tensors with 4 or 8 bits";
            let message = "planopt does not know this quantisation";
            fields.note("quantization_config", message, Some(quantisation), accepted);
            Format::Bf16
        });
        return Weights {
            format,
            only_experts: spares_attention(quantisation),
        };
    }

    let name = match fields
        .string("torch_dtype")
        .or_else(|| fields.string("dtype"))
    {
        Some(name) => Some(name),
        None => outer
            .get("torch_dtype")
            .or_else(|| outer.get("dtype"))
            .and_then(Value::as_str),
    };
    let format = match name.map(|name| name.trim_start_matches("torch.")) {
        None | Some("auto" | "bfloat16") => Format::Bf16,
        Some("float16" | "half") => Format::Fp16,
        Some("float32" | "float") => Format::Fp32,
        Some("float8_e4m3fn") => Format::Fp8,
        Some(name) => {
            let accepted = "bfloat16, float16, float32, float8_e4m3fn";
            let message = "planopt does not know this data type";
            fields.note("torch_dtype", message, Some(&Value::from(name)), accepted);
            Format::Bf16
        }
    };
    Weights {
        format,
        only_experts: false,
    }
}

fn quantised(quantisation: &Value) -> Option<Format> {
    let text = |name: &str| {
        quantisation
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let is_set = |name: &str| quantisation.get(name).and_then(Value::as_bool) == Some(true);
    match text("quant_method") {
        "fp8" | "fbgemm_fp8" => Some(Format::Fp8),
        "mxfp4" => Some(Format::Mxfp4),
        "gptq" | "awq" => integer(
            quantisation
                .get("bits")
                .or_else(|| quantisation.get("w_bit")),
        ),
        "bitsandbytes" if is_set("load_in_4bit") => Some(Format::Int4),
        "bitsandbytes" if is_set("load_in_8bit") => Some(Format::Int8),
        "modelopt" if text("quant_algo").contains("NVFP4") => Some(Format::Nvfp4),
        "modelopt" if text("quant_algo").contains("FP8") => Some(Format::Fp8),
        "compressed-tensors" => {
            let groups = quantisation.get("config_groups")?.as_object()?;
            compressed(groups.values().next()?.get("weights")?)
        }
        _ => None,
    }
}

fn compressed(weights: &Value) -> Option<Format> {
    let bits = weights.get("num_bits");
    match weights.get("type")?.as_str()? {
        "int" => integer(bits),
        "float" => match bits?.as_u64()? {
            4 => Some(Format::Nvfp4),
            8 => Some(Format::Fp8),
            _ => None,
        },
        _ => None,
    }
}

fn integer(bits: Option<&Value>) -> Option<Format> {
    match bits?.as_u64()? {
        4 => Some(Format::Int4),
        8 => Some(Format::Int8),
        _ => None,
    }
}

/// Whether the modules left in 16 bits include attention, which leaves the experts.
fn spares_attention(quantisation: &Value) -> bool {
    let spared = ["modules_to_not_convert", "ignore"]
        .into_iter()
        .filter_map(|name| quantisation.get(name)?.as_array())
        .flatten();
    spared
        .filter_map(Value::as_str)
        .any(|module| module.contains("self_attn"))
}
