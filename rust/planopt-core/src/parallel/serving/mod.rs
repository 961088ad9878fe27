//! How a served model is divided.

mod layout;

pub(crate) use self::layout::Role;
pub use self::layout::{Batching, Layout, Pins};
