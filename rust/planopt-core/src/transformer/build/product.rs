//! One operation.

use crate::transformer::architecture::Architecture;
use crate::transformer::operation::{Operation, Role, Shard, Work};

pub(crate) fn product(role: Role, name: &'static str, k: u64, n: u64, shard: Shard) -> Operation {
    let work = Work::MatMul {
        k,
        n,
        shard,
        experts: 1,
        active: 1,
    };
    Operation {
        role,
        name,
        work,
        parameters: k * n,
        quantised: true,
    }
}

/// A product whose columns ranks divide between them.
pub(super) fn divided(role: Role, name: &'static str, k: u64, n: u64) -> Operation {
    product(role, name, k, n, Shard::Columns)
}

/// A product that every rank does all of.
pub(super) fn whole(role: Role, name: &'static str, k: u64, n: u64) -> Operation {
    product(role, name, k, n, Shard::Replicated)
}

/// What is no product, without parameters.
pub(super) fn other(role: Role, name: &'static str, work: Work) -> Operation {
    Operation {
        role,
        name,
        work,
        parameters: 0,
        quantised: false,
    }
}

pub(crate) fn elementwise(
    role: Role,
    name: &'static str,
    model: &Architecture,
    parameters: u64,
) -> Operation {
    let work = Work::Elementwise {
        width: model.hidden,
    };
    other(role, name, work).and(parameters)
}

impl Operation {
    /// The same with so many parameters more.
    pub(crate) fn and(mut self, parameters: u64) -> Self {
        self.parameters += parameters;
        self
    }
}
