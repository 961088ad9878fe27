//! `links/ID.toml`.

use super::entities::Link;
use super::fields::Fields;

const LATENCY: &str = "latency";

const KINDS: &[&str] = &["pcie", "scale-up", "ethernet", "infiniband", LATENCY];

pub(super) fn read(fields: &mut Fields<'_>) -> Link {
    let id = fields.id();
    let name = fields.text("name");
    let kind = fields.word("kind", KINDS);
    let latency_alone = kind == LATENCY;
    Link {
        id,
        name,
        kind,
        bandwidth: (!latency_alone).then(|| fields.positive("bandwidth")),
        latency: if latency_alone {
            Some(fields.quantity("latency"))
        } else {
            fields.optional("latency", Fields::quantity)
        },
    }
}
