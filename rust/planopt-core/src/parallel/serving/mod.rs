//! How a served model is divided.

mod layout;
mod rejection;

pub(crate) use self::layout::Role;
pub use self::layout::{Batching, Layout, Pins};
pub use self::rejection::Rejection;
