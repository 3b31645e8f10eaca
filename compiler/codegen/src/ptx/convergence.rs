//! Where lanes of a SIMD-group part and must be counted again.
//!
//! An operation between lanes names the lanes that execute it. They are known at the start of the kernel and
//! change in constructs whose condition varies. A construct is *tracked* if its condition, or a jump out of
//! it, varies and the lanes matter: an operation between lanes lies in it, or a jump leads to where one may
//! follow. All lanes that enter a tracked construct meet at its end.
//!
//! A barrier of the threadgroup counts as such an operation if a construct around it would then be tracked:
//! some lanes of a SIMD-group reach it while others wait at the construct's end, and the hardware's barrier
//! would wait for those. Metal leaves that undefined; on Apple's GPUs the SIMD-group arrives with the lanes
//! that it has, and so it is here. Where no barrier is in a tracked construct the hardware's does.

use anymetal_ir::{BarrierScope, Block, Function, Inst, Label, Op};

use anymetal_analysis::divergence::Divergence;

/// The constructs that are tracked.
#[derive(Debug, Default)]
pub(super) struct Convergence {
    tracked: Vec<bool>,
    /// The function has operations between lanes.
    is_needed: bool,
    /// Some lanes of a SIMD-group may reach a barrier of the threadgroup without the others.
    barriers_diverge: bool,
}

/// What a construct contains.
#[derive(Debug, Clone, Copy, Default)]
struct Contents {
    exchanges: bool,
    returns: bool,
}

struct Marker<'a> {
    function: &'a Function,
    divergence: &'a Divergence,
    /// The operations that need to know the active lanes.
    needs_lanes: fn(&Op) -> bool,
    tracked: Vec<bool>,
    /// For each label of a construct around: whether its lanes matter.
    matters: Vec<bool>,
}

/// Whether it is an operation whose outcome depends on the active lanes.
pub(super) fn exchanges_lanes(op: &Op) -> bool {
    matches!(op, Op::Simd(..) | Op::Matrix(..) | Op::Barrier(BarrierScope::Simdgroup, _))
}

impl Convergence {
    /// Analyses a function.
    pub(super) fn new(function: &Function, order: &[Inst], divergence: &Divergence) -> Self {
        let has = |is_one: fn(&Op) -> bool| order.iter().any(|&inst| is_one(&function.inst(inst).op));
        let marked = |needs_lanes| {
            let tracked = vec![false; function.insts.len()];
            let matters = vec![false; function.labels as usize];
            let mut marker = Marker { function, divergence, needs_lanes, tracked, matters };
            marker.block(function.body);
            marker.tracked
        };
        if has(Op::is_threadgroup_barrier) {
            let tracked = marked(|op| exchanges_lanes(op) || op.is_threadgroup_barrier());
            if has_barrier_in(function, function.body, &tracked, false) {
                return Self { tracked, is_needed: true, barriers_diverge: true };
            }
        }
        let is_needed = has(exchanges_lanes);
        let tracked = if is_needed { marked(exchanges_lanes) } else { vec![false; function.insts.len()] };
        Self { tracked, is_needed, barriers_diverge: false }
    }

    /// Whether some lanes of a SIMD-group may reach a barrier of the threadgroup without the others, which
    /// have not ended.
    pub(super) fn barriers_diverge(&self) -> bool {
        self.barriers_diverge
    }

    /// Whether all lanes that enter the construct meet at its end.
    pub(super) fn is_tracked(&self, inst: Inst) -> bool {
        self.tracked[inst.index()]
    }

    /// Whether the active lanes are kept at all.
    pub(super) fn is_needed(&self) -> bool {
        self.is_needed
    }
}

impl Marker<'_> {
    fn block(&mut self, block: Block) {
        for &inst in self.function.block(block) {
            let op = &self.function.inst(inst).op;
            let blocks = op.blocks();
            if blocks.is_empty() {
                continue;
            }
            let mut contents = Contents::default();
            let (mut exits, mut jumps) = (Vec::new(), Vec::new());
            for &nested in &blocks {
                self.contents(nested, &mut Vec::new(), &mut contents, &mut exits);
                self.jumps(nested, false, &mut Vec::new(), &mut jumps);
            }
            let own = op.label();
            let leads_on = exits.iter().any(|label| Some(*label) != own && self.matters[label.index()]);
            let needs = contents.exchanges || contents.returns || leads_on;
            if let Some(label) = own {
                self.matters[label.index()] = needs;
            }
            let varies = match op {
                Op::If { cond, .. } => !self.divergence.is_uniform(*cond),
                Op::Switch { selector, .. } => {
                    !self.divergence.is_uniform(*selector) || jumps.contains(&true)
                }
                _ => jumps.contains(&true),
            };
            self.tracked[inst.index()] = needs && varies;
            for &nested in &blocks {
                self.block(nested);
            }
        }
    }

    /// What is inside, and the labels that jumps out of `block` lead to; `inner` are the labels inside.
    fn contents(
        &self,
        block: Block,
        inner: &mut Vec<Label>,
        contents: &mut Contents,
        exits: &mut Vec<Label>,
    ) {
        for &inst in self.function.block(block) {
            let op = &self.function.inst(inst).op;
            contents.exchanges |= (self.needs_lanes)(op);
            contents.returns |= matches!(op, Op::Return(_));
            if let Op::Break(label, _) | Op::Continue(label, _) = op
                && !inner.contains(label)
            {
                exits.push(*label);
            }
            let own = op.label();
            inner.extend(own);
            for nested in op.blocks() {
                self.contents(nested, inner, contents, exits);
            }
            if own.is_some() {
                debug_assert_eq!(inner.last().copied(), own, "constructs nest");
                inner.pop();
            }
        }
    }

    /// For each jump out of `block`, whether some lanes of those that run it take the jump and others do not;
    /// `inner` are the labels inside. Lanes that leave an inner construct apart meet behind it.
    fn jumps(&self, block: Block, varying: bool, inner: &mut Vec<Label>, out: &mut Vec<bool>) {
        for &inst in self.function.block(block) {
            let op = &self.function.inst(inst).op;
            match op {
                Op::Break(label, _) | Op::Continue(label, _) if inner.contains(label) => continue,
                Op::Break(..) | Op::Continue(..) | Op::Return(_) => out.push(varying),
                _ => {}
            }
            let condition = match op {
                Op::If { cond, .. } => Some(*cond),
                Op::Switch { selector, .. } => Some(*selector),
                _ => None,
            };
            let varying = varying || condition.is_some_and(|value| !self.divergence.is_uniform(value));
            let own = op.label();
            inner.extend(own);
            for nested in op.blocks() {
                self.jumps(nested, varying, inner, out);
            }
            if own.is_some() {
                debug_assert_eq!(inner.last().copied(), own, "constructs nest");
                inner.pop();
            }
        }
    }
}

/// Whether a tracked construct has a barrier of the threadgroup; `inside`: the block is in one.
fn has_barrier_in(function: &Function, block: Block, tracked: &[bool], inside: bool) -> bool {
    function.block(block).iter().any(|&inst| {
        let op = &function.inst(inst).op;
        let inside = inside || tracked[inst.index()];
        inside && op.is_threadgroup_barrier()
            || op.blocks().into_iter().any(|nested| has_barrier_in(function, nested, tracked, inside))
    })
}
