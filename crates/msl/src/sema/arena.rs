//! Syntax that a check makes up and that must live as long as the check: the `operator()` of lambdas.

use crate::ast::{Function, TemplateParams};
use std::cell::OnceCell;

/// An append-only list whose elements never move.
#[derive(Debug, Default)]
pub(super) struct Arena {
    first: OnceCell<Box<Node>>,
}

#[derive(Debug)]
struct Node {
    function: Function,
    template: Option<TemplateParams>,
    next: OnceCell<Box<Node>>,
}

impl Arena {
    /// Keeps a function for as long as the arena lives.
    pub(super) fn keep(
        &self,
        function: Function,
        template: Option<TemplateParams>,
    ) -> (&Function, Option<&TemplateParams>) {
        let mut slot = &self.first;
        while let Some(node) = slot.get() {
            slot = &node.next;
        }
        let node = slot.get_or_init(|| Box::new(Node { function, template, next: OnceCell::new() }));
        (&node.function, node.template.as_ref())
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // One by one, since the list may be long.
        let mut next = self.first.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}
