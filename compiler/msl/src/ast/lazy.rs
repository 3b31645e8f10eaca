//! Blocks that are parsed on first use.
//!
//! Of the Metal library's thousands of functions a program calls a few; their bodies are most of the
//! library's text. Invariant: a block is the same whether it was parsed at once or later, and from any
//! thread.

use super::Block;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A text of which blocks can be parsed. A number names the block and its surroundings.
pub trait BlockText: Send + Sync {
    /// Parses the block.
    fn parse_block(&self, block: u32) -> Block;
}

/// A block, perhaps not yet parsed.
#[derive(Clone)]
pub struct LazyBlock {
    made: OnceLock<Block>,
    deferred: Option<(Arc<dyn BlockText>, u32)>,
}

impl LazyBlock {
    /// The block of that number in the text.
    pub fn deferred(text: Arc<dyn BlockText>, block: u32) -> Self {
        Self { made: OnceLock::new(), deferred: Some((text, block)) }
    }
}

impl From<Block> for LazyBlock {
    fn from(block: Block) -> Self {
        Self { made: OnceLock::from(block), deferred: None }
    }
}

impl Deref for LazyBlock {
    type Target = Block;

    fn deref(&self) -> &Block {
        self.made.get_or_init(|| match &self.deferred {
            Some((text, block)) => text.parse_block(*block),
            None => unreachable!("a block that is not parsed has a text"),
        })
    }
}

/// As the block itself.
impl fmt::Debug for LazyBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Block::fmt(self, f)
    }
}
