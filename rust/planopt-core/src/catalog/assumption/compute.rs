//! `[compute]` of `assumptions/ID.toml`, and the tables of accelerators and families that are laid
//! over it.

use crate::catalog::assumptions::{
    ComputeAssumptions, EXPERT_KERNELS, ExpertKernel, HostTerms, ProductAssumptions, Products,
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

/// `[compute]` as written, so that other tables can be laid over it.
#[derive(Clone, Default)]
pub(super) struct ComputeTable {
    products: ProductTables,
    formats: Vec<(Format, ProductTables)>,
    decode_attention_efficiency: Option<f64>,
    attention_overhead: Option<Seconds>,
}

/// Families of kernels of experts, in the order of their places.
pub(super) const KERNELS: [(&str, ExpertKernel); EXPERT_KERNELS] = [
    ("trtllm-gen", ExpertKernel::TrtllmGen),
    ("deepgemm", ExpertKernel::DeepGemm),
    ("cutlass", ExpertKernel::Cutlass),
    ("marlin", ExpertKernel::Marlin),
    ("triton", ExpertKernel::Triton),
];

/// Figures of the products of one format, as far as they are given.
#[derive(Clone, Copy, Default)]
struct ProductTables {
    dense: ProductTable,
    experts: ProductTable,
    kernels: [Option<ProductTable>; EXPERT_KERNELS],
}

#[derive(Clone, Copy, Default)]
struct ProductTable {
    efficiency: Option<f64>,
    half_rows: Option<f64>,
    half_columns: Option<f64>,
    half_depth: Option<f64>,
    bandwidth_efficiency: Option<f64>,
    operation_overhead: Option<Seconds>,
}

/// The general table, which has every figure that nothing else stands in for.
pub(super) fn compute(fields: &mut Fields<'_>) -> (ComputeAssumptions, ComputeTable) {
    let dense = ProductTable {
        efficiency: Some(share(fields, "efficiency")),
        half_rows: Some(number(fields, "half_rows")),
        half_columns: Some(number(fields, "half_columns")),
        half_depth: Some(number(fields, "half_depth")),
        bandwidth_efficiency: Some(share(fields, "bandwidth_efficiency")),
        operation_overhead: Some(fields.quantity("operation_overhead")),
    };
    let table = ComputeTable {
        products: ProductTables {
            dense,
            experts: experts(fields),
            kernels: kernels(fields),
        },
        formats: formats(fields),
        decode_attention_efficiency: fields.optional("decode_attention_efficiency", share),
        attention_overhead: fields.optional("attention_overhead", Fields::quantity),
    };
    let attention_efficiency = share(fields, "attention_efficiency");
    let kv_bandwidth_efficiency = share(fields, "kv_bandwidth_efficiency");
    let compute = ComputeAssumptions {
        products: table.products.resolved(),
        formats: table.resolved_formats(),
        fp16_accumulate: fields.flag("fp16_accumulate"),
        widening: fields.or("widening", 0.0, number),
        roofline_overlap: fields.or("roofline_overlap", 1.0, part),
        attention_efficiency,
        half_prompt: fields.or("half_prompt", 0.0, number),
        decode_attention_efficiency: table
            .decode_attention_efficiency
            .unwrap_or(attention_efficiency),
        attention_overhead: table.resolved_attention_overhead(),
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
    let own = ComputeTable {
        products: product_tables(fields),
        formats: formats(fields),
        decode_attention_efficiency: fields.optional("decode_attention_efficiency", share),
        attention_overhead: fields.optional("attention_overhead", Fields::quantity),
    };
    let table = own.over(general_table);
    let attention_efficiency =
        fields.or("attention_efficiency", general.attention_efficiency, share);
    let kv_bandwidth_efficiency = fields.or(
        "kv_bandwidth_efficiency",
        general.kv_bandwidth_efficiency,
        share,
    );
    ComputeAssumptions {
        products: table.products.resolved(),
        formats: table.resolved_formats(),
        widening: fields.or("widening", general.widening, number),
        attention_efficiency,
        half_prompt: fields.or("half_prompt", general.half_prompt, number),
        decode_attention_efficiency: table
            .decode_attention_efficiency
            .unwrap_or(attention_efficiency),
        attention_overhead: table.resolved_attention_overhead(),
        kv_bandwidth_efficiency,
        // A card with a figure of its own for 16 bits has none of another's for 8.
        kv_bandwidth_efficiency_8bit: fields
            .optional("kv_bandwidth_efficiency_8bit", share)
            .unwrap_or(kv_bandwidth_efficiency),
        ..general.clone()
    }
}

impl ComputeTable {
    fn over(&self, general: &Self) -> Self {
        let formats = FORMATS.iter().filter_map(|(_, format)| {
            let own = self.format(*format);
            let under = general.format(*format);
            match (own, under) {
                (Some(own), Some(under)) => Some((*format, own.over(under))),
                (own, under) => own.or(under).map(|tables| (*format, tables)),
            }
        });
        Self {
            products: self.products.over(general.products),
            formats: formats.collect(),
            decode_attention_efficiency: self
                .decode_attention_efficiency
                .or(general.decode_attention_efficiency),
            attention_overhead: self.attention_overhead.or(general.attention_overhead),
        }
    }

    /// Attention is launched like any operation, unless it is known to take longer.
    fn resolved_attention_overhead(&self) -> Seconds {
        self.attention_overhead
            .unwrap_or(self.products.resolved().dense.operation_overhead)
    }

    fn format(&self, format: Format) -> Option<ProductTables> {
        self.formats
            .iter()
            .find(|(own, _)| *own == format)
            .map(|(_, tables)| *tables)
    }

    /// Products of a format: what it has not of its own is as of 16 bits.
    fn resolved_formats(&self) -> Vec<(Format, Products)> {
        self.formats
            .iter()
            .map(|(format, own)| (*format, own.over(self.products).resolved()))
            .collect()
    }
}

impl ProductTables {
    fn over(self, general: Self) -> Self {
        Self {
            dense: self.dense.over(general.dense),
            experts: self.experts.over(general.experts),
            kernels: std::array::from_fn(|place| self.kernels[place].or(general.kernels[place])),
        }
    }

    /// Products of experts: what they have not of their own is as of dense products.
    fn resolved(self) -> Products {
        Products {
            dense: self.dense.resolved(),
            experts: self.experts.over(self.dense).resolved(),
            kernels: self
                .kernels
                .map(|own| own.map(|own| own.over(self.experts).over(self.dense).resolved())),
        }
    }
}

impl ProductTable {
    fn over(self, general: Self) -> Self {
        Self {
            efficiency: self.efficiency.or(general.efficiency),
            half_rows: self.half_rows.or(general.half_rows),
            half_columns: self.half_columns.or(general.half_columns),
            half_depth: self.half_depth.or(general.half_depth),
            bandwidth_efficiency: self.bandwidth_efficiency.or(general.bandwidth_efficiency),
            operation_overhead: self.operation_overhead.or(general.operation_overhead),
        }
    }

    /// Every figure: `[compute]`, over which all tables are laid, must have them.
    fn resolved(self) -> ProductAssumptions {
        ProductAssumptions {
            efficiency: self.efficiency.unwrap_or(1.0),
            half_rows: self.half_rows.unwrap_or_default(),
            half_columns: self.half_columns.unwrap_or_default(),
            half_depth: self.half_depth.unwrap_or_default(),
            bandwidth_efficiency: self.bandwidth_efficiency.unwrap_or(1.0),
            operation_overhead: self.operation_overhead.unwrap_or(Seconds::ZERO),
        }
    }
}

fn formats(fields: &mut Fields<'_>) -> Vec<(Format, ProductTables)> {
    let formats = fields.optional_section("formats", |table| {
        let mut given = Vec::new();
        for (name, format) in FORMATS {
            let tables = table.optional_section(name, product_tables);
            given.extend(tables.map(|tables| (format, tables)));
        }
        given
    });
    formats.unwrap_or_default()
}

/// Products of one format, as far as they are given.
fn product_tables(table: &mut Fields<'_>) -> ProductTables {
    ProductTables {
        dense: product(table),
        experts: experts(table),
        kernels: kernels(table),
    }
}

fn experts(fields: &mut Fields<'_>) -> ProductTable {
    fields
        .optional_section("experts", product)
        .unwrap_or_default()
}

/// Experts by the families of kernels that were measured.
fn kernels(fields: &mut Fields<'_>) -> [Option<ProductTable>; EXPERT_KERNELS] {
    let kernels = fields.optional_section("kernels", |table| {
        KERNELS.map(|(name, _)| table.optional_section(name, product))
    });
    kernels.unwrap_or_default()
}

fn product(fields: &mut Fields<'_>) -> ProductTable {
    ProductTable {
        efficiency: fields.optional("efficiency", share),
        half_rows: fields.optional("half_rows", number),
        half_columns: fields.optional("half_columns", number),
        half_depth: fields.optional("half_depth", number),
        bandwidth_efficiency: fields.optional("bandwidth_efficiency", share),
        operation_overhead: fields.optional("operation_overhead", Fields::quantity),
    }
}
