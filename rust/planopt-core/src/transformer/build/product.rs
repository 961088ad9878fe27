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

pub(crate) fn elementwise(
    role: Role,
    name: &'static str,
    model: &Architecture,
    parameters: u64,
) -> Operation {
    let work = Work::Elementwise {
        width: model.hidden,
    };
    Operation {
        role,
        name,
        work,
        parameters,
        quantised: false,
    }
}

impl Operation {
    /// The same with so many parameters more.
    pub(crate) fn and(mut self, parameters: u64) -> Self {
        self.parameters += parameters;
        self
    }
}
