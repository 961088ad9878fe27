//! The load that a question is judged under: what arrives, and when.

use super::reader::Reader;
use super::request::{LoadKind, Workload};
use crate::catalog::Catalog;
use crate::diagnostic::code;
use crate::quantity::{SECONDS_PER_HOUR, real};

/// The workload with the requests per second of its people, in their busy hour.
pub(super) fn seated(reader: &mut Reader, catalog: &Catalog, asked: &Workload) -> Workload {
    let (Some(people), Some(name)) = (asked.people, asked.name.as_deref()) else {
        return asked.clone();
    };
    // Who is unknown is told so where the lengths are read.
    let of_a_seat = catalog
        .workload(name)
        .ok()
        .map(|usual| usual.requests_per_seat_hour);
    let Some(Some(each)) = of_a_seat else {
        if of_a_seat.is_some() {
            let message = format!("`{name}` says nothing of what a seat asks");
            let accepted = "--request-rate 3/s, or a workload with `requests_per_seat_hour`";
            reader.wrong(code::MISSING_KEY, "people", message, accepted);
        }
        return asked.clone();
    };
    reader.assume(
        "seats",
        format!("{people} people ask {each} times an hour each in their busy hour"),
        Some("as the workload says: `planopt catalog show` has the source. Say --request-rate R"),
    );
    let requests = real(people) * each / SECONDS_PER_HOUR;
    Workload {
        requests: Some(requests),
        ..asked.clone()
    }
}

/// What is judged, as it is said, or as what is known of the load has it. Where `steps` says why, steps are judged
/// unless latencies are promised.
pub(super) fn kind_of(
    reader: &mut Reader,
    asked: &Workload,
    steps: Option<&'static str>,
) -> LoadKind {
    let comes = asked.requests.is_some();
    if asked.arrival_cv.is_some() && !comes && !reader.is_edited() {
        let message = "of which requests do the times between vary?";
        let accepted = "with --request-rate 3/s";
        reader.wrong(code::MISSING_OPTION, "request_rate", message, accepted);
    }
    if let Some(said) = asked.load {
        if !reader.is_edited() {
            suits(said, reader, comes);
        }
        return said;
    }
    let has_percentile = reader.is_given("percentile") || reader.is_given("ttft");
    if steps.is_some() && !has_percentile {
        reader.assume("load", "steady: steps without prompts", steps);
        return LoadKind::Steady;
    }
    if comes {
        LoadKind::Open
    } else {
        LoadKind::Closed
    }
}

/// Refuses what says another load than that of a kind.
fn suits(kind: LoadKind, reader: &mut Reader, comes: bool) {
    if kind == LoadKind::Open && !comes {
        let message = "how many requests come of their own accord?";
        reader.wrong(
            code::MISSING_OPTION,
            "request_rate",
            message,
            "with --request-rate 3/s",
        );
    }
    if kind == LoadKind::Closed {
        let why = "come whether or not anybody is answered, and users of a closed load wait";
        reader.out_of_place(
            &["request_rate"],
            why,
            "--load open, or --concurrency in their place",
        );
    }
    if kind == LoadKind::Steady {
        let why = "has nothing to say of steps that are all alike";
        let accepted = "--load open or --load closed";
        reader.out_of_place(
            &[
                "percentile",
                "arrival_cv",
                "prefix_hit_rate",
                "traffic",
                "sessions",
            ],
            why,
            accepted,
        );
    }
}
