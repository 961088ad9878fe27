//! Catalogs: what can be bought or evaluated, and the assumptions it is judged with.

mod assumptions;
mod entities;

pub use assumptions::*;
pub use entities::*;
