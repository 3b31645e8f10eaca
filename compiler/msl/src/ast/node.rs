//! Identities of syntax nodes.
//!
//! Semantic analysis stores facts about declarations, lambdas and lists under their [`NodeId`]. Invariant:
//! no two nodes that one check reads have the same id, except copies of a node, which mean the same. A
//! check reads the library and one unit on top of it; bodies of the library are parsed on first use, in any
//! order and from any thread. So every text that is parsed separately is a [`Part`], and each part numbers
//! its nodes.

use std::fmt;

/// A text that is parsed on its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part(u32);

impl Part {
    /// The unit that is parsed on top of `units` others.
    pub fn unit(units: u32) -> Self {
        assert!(units < Self::FIRST_BODY, "units are layers, of which there are a few");
        Self(units)
    }

    /// A body, by its number, of the unit of the library on top of `units` others: it is parsed on first use.
    pub fn body(units: u32, number: u32) -> Self {
        assert!(number < Self::BODIES, "a unit of the library has fewer bodies");
        assert!(units < (u32::MAX - Self::FIRST_BODY) / Self::BODIES, "the library has a few units");
        Self(Self::FIRST_BODY + units * Self::BODIES + number)
    }

    const FIRST_BODY: u32 = 1 << 16;
    const BODIES: u32 = 1 << 20;
}

/// The identity of a syntax node: the part above, the number in it below.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(u64);

/// Without the number: a body has the same text form whether it is parsed at once or on first use.
impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeId")
    }
}

/// Numbers the nodes of one part.
#[derive(Debug)]
pub struct NodeIds {
    part: Part,
    next: u32,
}

impl NodeIds {
    /// Starts to number the nodes of a part.
    pub fn new(part: Part) -> Self {
        Self { part, next: 0 }
    }

    /// The id of a new node.
    pub fn fresh(&mut self) -> NodeId {
        let index = self.next;
        // Spans have 32 bits, and the parser's fuel limits repeated parsing to a small multiple of that.
        self.next = index.checked_add(1).expect("a part has fewer than 2^32 nodes");
        NodeId(u64::from(self.part.0) << 32 | u64::from(index))
    }
}
