//! One operation.

use crate::transformer::architecture::Architecture;
use crate::transformer::operation::{Operation, Shard, Work};

pub(crate) fn product(name: &'static str, k: u64, n: u64, shard: Shard) -> Operation {
    let work = Work::MatMul {
        k,
        n,
        shard,
        experts: 1,
        active: 1,
    };
    Operation {
        name,
        work,
        parameters: k * n,
        quantised: true,
    }
}

pub(crate) fn elementwise(name: &'static str, model: &Architecture, parameters: u64) -> Operation {
    let work = Work::Elementwise {
        width: model.hidden,
    };
    Operation {
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
