//! What a prompt begins with that others may have left in the cache.

use super::prefixes::Stretch;

/// The beginning of a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Beginning<'a> {
    /// Of a session.
    Session {
        /// The run of its group, of which it has so many tokens.
        group: u64,
        shared: u32,
        /// The run that is the session's own.
        own: u64,
    },
    /// Of a request of a trace.
    Traced {
        /// Its pieces, by their hashes, and how many tokens each has.
        pieces: &'a [u64],
        tokens: u32,
        /// Tokens of the prompt: of what is put out behind it no hash is known.
        prompt: u32,
        /// Times that the trace has been through before: others ask then.
        again: u64,
    },
}

impl Beginning<'_> {
    /// Its runs in blocks; whoever asks knows how much of the last there is.
    pub(super) fn path(&self, block: u32) -> Vec<Stretch> {
        let run = |run, blocks| Stretch { run, blocks };
        match *self {
            Self::Session { group, shared, own } => {
                vec![run(group, u64::from(shared / block)), run(own, u64::MAX)]
            }
            Self::Traced {
                pieces,
                tokens,
                again,
                ..
            } => {
                // Blocks of pieces that these do not divide count to the piece that they begin in.
                let (block, tokens) = (u64::from(block), u64::from(tokens));
                let up_to = |piece: usize| (piece as u64 * tokens).div_ceil(block);
                let blocks = |piece| up_to(piece + 1) - up_to(piece);
                let each = pieces.iter().enumerate();
                each.map(|(at, piece)| run(piece.rotate_left(16) ^ again, blocks(at)))
                    .collect()
            }
        }
    }

    /// Of the tokens of a sequence, those that others may find.
    pub(super) fn known(&self, tokens: u32) -> u32 {
        match *self {
            Self::Session { .. } => tokens,
            Self::Traced { prompt, .. } => tokens.min(prompt),
        }
    }

    /// Tokens that all of a group begin with.
    pub(super) fn shared(&self) -> u32 {
        match *self {
            Self::Session { shared, .. } => shared,
            Self::Traced { .. } => 0,
        }
    }

    /// What tells its session from others: of a trace, the piece behind what all begin with.
    pub(super) fn own(&self) -> u64 {
        match *self {
            Self::Session { own, .. } => own,
            Self::Traced { pieces, again, .. } => {
                let piece = pieces.get(1).or(pieces.first());
                piece.copied().unwrap_or_default().rotate_left(16) ^ again
            }
        }
    }
}
