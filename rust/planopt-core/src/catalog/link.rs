//! `links/ID.toml`.

use super::fields::{Fields, part};
use crate::quantity::{BytesPerSecond, Seconds};

/// What a link joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// An accelerator with its host.
    Pcie,
    /// Accelerators with each other.
    ScaleUp,
    /// Hosts, over Ethernet.
    Ethernet,
    /// Hosts, over InfiniBand.
    Infiniband,
    /// Nothing: it states a latency alone.
    Latency,
}

const KINDS: &[(&str, LinkKind)] = &[
    ("pcie", LinkKind::Pcie),
    ("scale-up", LinkKind::ScaleUp),
    ("ethernet", LinkKind::Ethernet),
    ("infiniband", LinkKind::Infiniband),
    ("latency", LinkKind::Latency),
];

/// A link: bandwidth in one direction and latency of one message.
#[derive(Clone, Debug)]
pub struct Link {
    /// Catalog id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// What it joins.
    pub kind: LinkKind,
    /// Bandwidth, one direction, where the entry is not a latency alone.
    pub bandwidth: Option<BytesPerSecond>,
    /// One-way latency, where published.
    pub latency: Option<Seconds>,
    /// Bandwidth of the other direction, where it differs.
    pub downlink: Option<BytesPerSecond>,
    /// Share of packets that is lost on the way.
    pub loss: f64,
}

pub(super) fn read(fields: &mut Fields<'_>) -> Link {
    let id = fields.id("id");
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
        loss: fields.or("loss", 0.0, part),
    }
}
