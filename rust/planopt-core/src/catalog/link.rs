//! `links/ID.toml`.

use super::entities::{Link, LinkKind};
use super::fields::Fields;
use crate::quantity::Dimension;

const KINDS: &[(&str, LinkKind)] = &[
    ("pcie", LinkKind::Pcie),
    ("scale-up", LinkKind::ScaleUp),
    ("ethernet", LinkKind::Ethernet),
    ("infiniband", LinkKind::Infiniband),
    ("latency", LinkKind::Latency),
];

pub(super) fn read(fields: &mut Fields<'_>) -> Link {
    let id = fields.id();
    let name = fields.text("name");
    let kind = fields.choice("kind", KINDS);
    let latency_alone = kind == LinkKind::Latency;
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
        downlink: fields.optional("downlink", Fields::positive),
        loss: fields.or("loss", 0.0, |fields, key| {
            fields.number(key, Dimension::Share)
        }),
    }
}
