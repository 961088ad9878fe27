//! `[compute]` of `assumptions/ID.toml`, and the tables of accelerators and families that are laid
//! over it.

use crate::catalog::assumptions::{
    ComputeAssumptions, EXPERT_KERNELS, ExpertKernel, HostTerms, LAUNCHES_OF_EXPERTS,
    ProductAssumptions, Products,
};
use crate::catalog::fields::{Fields, number, part, share};
use crate::format::Format;
use crate::quantity::Seconds;

/// Formats whose products may reach other shares than those of 16 bits, which has measured ones in
/// serving.
pub(super) const FORMATS: [(&str, Format); 6] = [
    ("bf16", Format::Bf16),
    ("fp8", Format::Fp8),
    ("int8", Format::Int8),
    ("int4", Format::Int4),
    ("mxfp4", Format::Mxfp4),
    ("nvfp4", Format::Nvfp4),
];

/// Families of kernels of experts, in the order of their places.
pub(super) const KERNELS: [(&str, ExpertKernel); EXPERT_KERNELS] = [
    ("trtllm-gen", ExpertKernel::TrtllmGen),
    ("deepgemm", ExpertKernel::DeepGemm),
    ("cutlass", ExpertKernel::Cutlass),
    ("marlin", ExpertKernel::Marlin),
    ("triton", ExpertKernel::Triton),
];

/// Where a figure of products belongs.
type Place = fn(&mut ProductAssumptions) -> &mut f64;

/// How a figure is read from under its key.
type Read = fn(&mut Fields<'_>, &'static str) -> f64;

/// The keys of products, how each is read, and where it belongs.
const PRODUCT_KEYS: [(&str, Read, Place); 6] = [
    ("efficiency", share, |own| &mut own.efficiency),
    ("half_rows", number, |own| &mut own.half_rows),
    ("half_columns", number, |own| &mut own.half_columns),
    ("half_depth", number, |own| &mut own.half_depth),
    ("bandwidth_efficiency", share, |own| {
        &mut own.bandwidth_efficiency
    }),
    ("operation_overhead", seconds, |own| {
        &mut own.operation_overhead.0
    }),
];

/// Products of which nothing is said; `[compute]`, over which all tables are laid, says everything.
const UNSAID: ProductAssumptions = ProductAssumptions {
    efficiency: 1.0,
    half_rows: 0.0,
    half_columns: 0.0,
    half_depth: 0.0,
    bandwidth_efficiency: 1.0,
    operation_overhead: Seconds::ZERO,
    expert_launches: LAUNCHES_OF_EXPERTS,
};

/// Figures of products, as far as they are given.
type Figures = Vec<(Place, f64)>;

/// Figures of the products of one format.
#[derive(Clone, Default)]
struct ProductTables {
    dense: Figures,
    experts: Figures,
    kernels: [Option<Figures>; EXPERT_KERNELS],
}

/// A table of `[compute]` as written, so that others can be laid over it.
#[derive(Clone, Default)]
pub(super) struct ComputeTable {
    products: ProductTables,
    formats: Vec<(Format, ProductTables)>,
    decode_attention_efficiency: Option<f64>,
    attention_overhead: Option<Seconds>,
}

/// The general table, which has every figure that nothing else stands in for.
pub(super) fn compute(fields: &mut Fields<'_>) -> (ComputeAssumptions, ComputeTable) {
    let dense = PRODUCT_KEYS.map(|(key, read, place)| (place, read(fields, key)));
    let table = ComputeTable::read(fields, dense.into());
    let attention_efficiency = share(fields, "attention_efficiency");
    let kv_bandwidth_efficiency = share(fields, "kv_bandwidth_efficiency");
    let laid = Laid::over_each_other(&[&table]);
    let compute = ComputeAssumptions {
        fp16_accumulate: fields.flag("fp16_accumulate"),
        widening: fields.or("widening", 0.0, number),
        roofline_overlap: fields.or("roofline_overlap", 1.0, part),
        attention_efficiency,
        half_prompt: fields.or("half_prompt", 0.0, number),
        decode_attention_efficiency: laid.decode.unwrap_or(attention_efficiency),
        attention_overhead: laid.attention_overhead,
        products: laid.products,
        formats: laid.formats,
        kv_bandwidth_efficiency,
        activation_traffic: fields.flag("activation_traffic"),
        attention_time: fields.flag("attention_time"),
        kv_bandwidth_efficiency_8bit: fields
            .optional("kv_bandwidth_efficiency_8bit", share)
            .unwrap_or(kv_bandwidth_efficiency),
        host: HostTerms::of_kernels(fields.quantity("step_overhead")),
        prompt_chunk: None,
        quantised: 1.0,
    };
    (compute, table)
}

/// A table laid over the general one: what it lacks is as there.
pub(super) fn compute_over(
    fields: &mut Fields<'_>,
    general: &ComputeAssumptions,
    general_table: &ComputeTable,
) -> ComputeAssumptions {
    let dense = product(fields);
    let own = ComputeTable::read(fields, dense);
    let attention_efficiency =
        fields.or("attention_efficiency", general.attention_efficiency, share);
    let kv_bandwidth_efficiency = fields.or(
        "kv_bandwidth_efficiency",
        general.kv_bandwidth_efficiency,
        share,
    );
    let laid = Laid::over_each_other(&[general_table, &own]);
    ComputeAssumptions {
        widening: fields.or("widening", general.widening, number),
        attention_efficiency,
        half_prompt: fields.or("half_prompt", general.half_prompt, number),
        decode_attention_efficiency: laid.decode.unwrap_or(attention_efficiency),
        attention_overhead: laid.attention_overhead,
        products: laid.products,
        formats: laid.formats,
        kv_bandwidth_efficiency,
        // A card with a figure of its own for 16 bits has none of another's for 8.
        kv_bandwidth_efficiency_8bit: fields
            .optional("kv_bandwidth_efficiency_8bit", share)
            .unwrap_or(kv_bandwidth_efficiency),
        ..general.clone()
    }
}

impl ComputeTable {
    /// All but the figures of dense products, which are given.
    fn read(fields: &mut Fields<'_>, dense: Figures) -> Self {
        Self {
            products: ProductTables::read(fields, dense),
            formats: formats(fields),
            decode_attention_efficiency: fields.optional("decode_attention_efficiency", share),
            attention_overhead: fields.optional("attention_overhead", Fields::quantity),
        }
    }
}

/// What tables come to.
struct Laid {
    products: Products,
    formats: Vec<(Format, Products)>,
    decode: Option<f64>,
    attention_overhead: Seconds,
}

impl Laid {
    /// Tables, each over those before it. Products of a format, in whichever of them it is, are laid
    /// over those of 16 bits.
    fn over_each_other(tables: &[&ComputeTable]) -> Self {
        let plain = || tables.iter().map(|own| &own.products);
        let format = |format: Format| {
            let all = tables.iter().flat_map(|own| &own.formats);
            let of_format = all.filter(move |(own, _)| *own == format);
            of_format.map(|(_, tables)| tables)
        };
        let given = FORMATS.into_iter().map(|(_, own)| own);
        let given = given.filter(|own| format(*own).next().is_some());
        let products = laid(&plain().collect::<Vec<_>>());
        let in_format = |own| laid(&plain().chain(format(own)).collect::<Vec<_>>());
        let mut above = tables.iter().rev();
        Self {
            products,
            formats: given.map(|own| (own, in_format(own))).collect(),
            decode: (above.clone()).find_map(|own| own.decode_attention_efficiency),
            // Attention is launched like any operation, unless it is known to take longer.
            attention_overhead: above
                .find_map(|own| own.attention_overhead)
                .unwrap_or(products.dense.operation_overhead),
        }
    }
}

/// Products by tables, each over those before it: what experts have not of their own is as of dense
/// products, and of a family of kernels the last table counts.
fn laid(tables: &[&ProductTables]) -> Products {
    let over = |mut below: ProductAssumptions, own: &Figures| {
        for (place, figure) in own {
            *place(&mut below) = *figure;
        }
        below
    };
    let each = || tables.iter();
    let dense = each().fold(UNSAID, |below, own| over(below, &own.dense));
    let experts = each().fold(dense, |below, own| over(below, &own.experts));
    let kernel = |place: usize| {
        let own = each().rev().find_map(|own| own.kernels[place].as_ref())?;
        Some(over(experts, own))
    };
    Products {
        dense,
        experts,
        kernels: std::array::from_fn(kernel),
    }
}

impl ProductTables {
    /// Those of experts, all together and by the families of kernels that were measured.
    fn read(fields: &mut Fields<'_>, dense: Figures) -> Self {
        let experts = fields.optional_section("experts", product);
        let kernels = fields.optional_section("kernels", |table| {
            KERNELS.map(|(name, _)| table.optional_section(name, product))
        });
        Self {
            dense,
            experts: experts.unwrap_or_default(),
            kernels: kernels.unwrap_or_default(),
        }
    }
}

fn formats(fields: &mut Fields<'_>) -> Vec<(Format, ProductTables)> {
    let formats = fields.optional_section("formats", |table| {
        let mut given = Vec::new();
        for (name, format) in FORMATS {
            let tables = table.optional_section(name, |own| {
                let dense = product(own);
                ProductTables::read(own, dense)
            });
            given.extend(tables.map(|tables| (format, tables)));
        }
        given
    });
    formats.unwrap_or_default()
}

fn product(fields: &mut Fields<'_>) -> Figures {
    let given = PRODUCT_KEYS
        .into_iter()
        .filter_map(|(key, read, place)| Some((place, fields.optional(key, read)?)));
    given.collect()
}

fn seconds(fields: &mut Fields<'_>, key: &'static str) -> f64 {
    fields.quantity::<Seconds>(key).0
}
