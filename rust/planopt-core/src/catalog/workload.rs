//! `workloads/ID.toml`.

use super::entities::{SessionsOfWorkload, Workload};
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
        sessions: fields.optional_section("sessions", sessions),
    }
}

fn sessions(fields: &mut Fields<'_>) -> SessionsOfWorkload {
    let number = |fields: &mut Fields<'_>, key| fields.positive_number(key, Dimension::Number);
    SessionsOfWorkload {
        shared: fields.quantity("shared"),
        groups: fields.or("groups", 1, Fields::positive),
        first: fields.positive_number("first", Dimension::Count),
        first_cv: fields.optional("first_cv", number),
        grow: fields.positive_number("grow", Dimension::Count),
        grow_cv: fields.optional("grow_cv", number),
        turns: fields.positive_number("turns", Dimension::Number),
        turns_cv: fields.optional("turns_cv", number),
        think: fields.sections("think", |think| {
            [
                think.positive_number("share", Dimension::Share),
                think.number("mean", Dimension::Seconds),
                think.or("cv", 0.0, number),
            ]
        }),
        longest_think: fields.positive_number("longest_think", Dimension::Seconds),
        max_context: fields.positive("max_context"),
    }
}
