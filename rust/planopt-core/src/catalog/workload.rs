//! `workloads/ID.toml`.

use super::entities::Workload;
use super::fields::Fields;
use crate::quantity::Dimension;

pub(super) fn read(fields: &mut Fields<'_>) -> Workload {
    let number = |fields: &mut Fields<'_>, key| fields.positive_number(key, Dimension::Number);
    Workload {
        id: fields.id(),
        name: fields.text("name"),
        prompt: fields.positive("prompt"),
        output: fields.positive("output"),
        prompt_cv: fields.optional("prompt_cv", number),
        output_cv: fields.optional("output_cv", number),
        requests_per_seat_hour: fields.optional("requests_per_seat_hour", number),
    }
}
