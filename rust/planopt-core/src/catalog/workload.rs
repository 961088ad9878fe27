//! `workloads/ID.toml`.

use super::entities::Workload;
use super::fields::Fields;

pub(super) fn read(fields: &mut Fields<'_>) -> Workload {
    Workload {
        id: fields.id(),
        name: fields.text("name"),
        prompt: fields.positive("prompt"),
        output: fields.positive("output"),
    }
}
