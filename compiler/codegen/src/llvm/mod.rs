//! A typed builder of LLVM IR text for one function body.
//!
//! Invariants: after a terminator nothing is written until the next label, so callers may go on
//! emitting unreachable code. An operand knows its type, and an instruction whose operands do not fit panics
//! where it is built. Integer constants fold as they are built; everything else is LLVM's.
//! The text stays in the subset that LLVM 18 to 23 read alike.
//!
//! Here are the function, its blocks, and the branches between them; `types` has types, `operand` what
//! instructions take, `opcodes` the words of the language; `compute`, `vectors`, `memory` and `calls` have
//! the instructions.

mod calls;
mod compute;
mod memory;
mod opcodes;
mod operand;
mod types;
mod vectors;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

pub(crate) use anymetal_analysis::divergence::LANES;
pub(crate) use memory::MemFlags;
pub(crate) use opcodes::{Binary, Cast, FloatPredicate, IntPredicate, Rmw};
pub(crate) use operand::{Like, Opd, vector_const, wrap_int};
pub(crate) use types::{
    DOUBLE, Element, FLOAT, GLOBAL, HALF, I1, I8, I16, I32, I64, MASK, PTR, SHARED, Type, VOID, scalar_type,
};

/// The name of a basic block.
pub(crate) type BlockName = u32;

/// What bounds the iterations of a loop between two polls of the stop flag; see [`crate::polls::verify`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bound {
    /// At most so many iterations, of any work.
    Trips(u64),
    /// So many steps of one instruction: over lanes, components or digits.
    Lanes(u64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trips(count) => write!(f, "trips <= {count}"),
            Self::Lanes(count) => write!(f, "lanes <= {count}"),
        }
    }
}

/// Where an instruction is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Section {
    /// At the end of the current block.
    #[default]
    Body,
    /// In the entry block.
    Entry,
    /// Where each iteration of the body begins.
    Start,
}

/// Builds the text of one function.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    section: Section,
    /// Allocations and what else belongs to the entry block, written before the body.
    entry: String,
    /// What each iteration of the body begins with, and where in the body that is.
    start: String,
    start_at: usize,
    body: String,
    declares: BTreeSet<String>,
    next: u32,
    /// The register that the next instruction defines, if it is not a fresh one.
    defines: Option<u32>,
    current: BlockName,
    ended: bool,
    /// Blocks with a label.
    placed: BTreeSet<BlockName>,
    /// Blocks that a terminator names.
    targets: BTreeSet<BlockName>,
}

impl Builder {
    /// Starts before the first label. Register and block numbers start at `first`.
    pub(crate) fn new(first: u32) -> Self {
        Self { next: first, ended: true, ..Self::default() }
    }

    /// A fresh number for a register or a block.
    pub(crate) fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A fresh register, which is a parameter or defined later by [`Self::define`].
    pub(crate) fn register(&mut self, ty: Type) -> Opd {
        Opd::Reg(ty, self.fresh())
    }

    /// Whether the current block has its terminator.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Bytes written so far.
    pub(crate) fn len(&self) -> usize {
        self.body.len() + self.entry.len()
    }

    /// The block being written.
    pub(crate) fn current(&self) -> BlockName {
        self.current
    }

    /// Declares an intrinsic or external function.
    pub(crate) fn declare(&mut self, declaration: impl Into<String>) {
        self.declares.insert(declaration.into());
    }

    /// Takes the declarations.
    pub(crate) fn take_declares(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.declares)
    }

    /// The whole function with this header, such as `define void @f(ptr %r1)`.
    pub(crate) fn finish(&mut self, header: &str, first_block: BlockName) -> String {
        assert!(self.ended, "the last block of a function has a terminator");
        assert!(self.start.is_empty() || self.start_at > 0, "in_start requires an earlier mark_start");
        let missing: Vec<_> = self.targets.difference(&self.placed).collect();
        assert!(missing.is_empty(), "branches lead to blocks without a label: {missing:?}");
        let entry = std::mem::take(&mut self.entry);
        let (before, after) = self.body.split_at(self.start_at);
        let start = &self.start;
        format!("{header} {{\nentry:\n{entry}  br label %b{first_block}\n{before}{start}{after}}}\n")
    }

    /// An instruction without result.
    fn line(&mut self, text: impl fmt::Display) {
        let section = match self.section {
            Section::Body if self.ended => return,
            Section::Body => &mut self.body,
            Section::Entry => &mut self.entry,
            Section::Start => &mut self.start,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(section, "  {text}");
    }

    /// An instruction with a result.
    fn result(&mut self, ty: Type, text: impl fmt::Display) -> Opd {
        let register = match self.defines.take() {
            Some(register) => register,
            None => self.fresh(),
        };
        self.line(format_args!("%r{register} = {text}"));
        Opd::Reg(ty, register)
    }

    /// A comment line.
    pub(crate) fn comment(&mut self, text: impl fmt::Display) {
        self.line(format_args!("; {text}"));
    }

    /// Defines a register from [`Self::register`] by the one instruction that is written.
    pub(crate) fn define(&mut self, register: &Opd, write: impl FnOnce(&mut Self) -> Opd) {
        let Opd::Reg(_, number) = *register else { panic!("{register} is not a register") };
        self.defines = Some(number);
        let result = write(self);
        assert!(result == *register, "{register} is defined by one instruction");
    }

    /// Writes to the entry block, which is executed once and first.
    pub(crate) fn in_entry<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        self.in_section(Section::Entry, write)
    }

    /// Writes to where each iteration of the body begins, whenever this is called.
    pub(crate) fn in_start<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        self.in_section(Section::Start, write)
    }

    fn in_section<R>(&mut self, section: Section, write: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.section, section);
        let result = write(self);
        self.section = before;
        result
    }

    /// Begins an iteration of the body here: see [`Self::in_start`].
    pub(crate) fn mark_start(&mut self) {
        assert!(self.start_at == 0, "a function has one iteration start");
        assert!(!self.ended, "an iteration begins inside a block, not after a terminator");
        self.start_at = self.body.len();
    }

    // --- control flow

    /// A name for a block to be written later.
    pub(crate) fn block(&mut self) -> BlockName {
        self.fresh()
    }

    /// Starts a block; the one before falls through into it.
    pub(crate) fn label(&mut self, block: BlockName) {
        assert!(self.section == Section::Body, "the entry block is one block");
        self.branch(block);
        assert!(block <= self.next, "block b{block} is not one of this function's");
        assert!(self.placed.insert(block), "block b{block} has two labels");
        let _ = writeln!(self.body, "b{block}:");
        self.ended = false;
        self.current = block;
    }

    /// Begins the header of a loop with this bound; a loop without a bound polls.
    pub(crate) fn loop_header(&mut self, block: BlockName, bound: impl Into<Option<Bound>>) {
        self.label(block);
        let Some(bound) = bound.into() else {
            // The loop polls.
            return;
        };
        let end = self.body.pop();
        assert_eq!(end, Some('\n'), "a label is a line");
        let _ = writeln!(self.body, " ; {bound}");
    }

    /// The end of a block, from which control goes to these blocks.
    fn end(&mut self, text: impl fmt::Display, targets: impl IntoIterator<Item = BlockName>) {
        if !self.ended {
            self.targets.extend(targets);
        }
        self.line(text);
        self.ended = true;
    }

    /// An unconditional branch.
    pub(crate) fn branch(&mut self, to: BlockName) {
        self.end(format_args!("br label %b{to}"), [to]);
    }

    /// An unconditional branch with metadata for the loop that it closes.
    pub(crate) fn branch_back(&mut self, to: BlockName, metadata: &str) {
        self.end(format_args!("br label %b{to}{metadata}"), [to]);
    }

    /// A conditional branch.
    pub(crate) fn branch_if(&mut self, condition: &Opd, yes: BlockName, no: BlockName) {
        self.branch_with(condition, yes, no, "");
    }

    /// As [`Self::branch_if`], with `no` out of the hot path.
    pub(crate) fn branch_likely(&mut self, condition: &Opd, yes: BlockName, no: BlockName) {
        self.branch_with(condition, yes, no, ", !prof !0");
    }

    /// A conditional branch with metadata, unless the condition is a constant.
    pub(crate) fn branch_with(&mut self, condition: &Opd, yes: BlockName, no: BlockName, metadata: &str) {
        self.expect(condition, I1);
        if condition.is_true() {
            return self.branch(yes);
        }
        if condition.is_false() {
            return self.branch(no);
        }
        self.end(format_args!("br i1 {condition}, label %b{yes}, label %b{no}{metadata}"), [yes, no]);
    }

    /// A branch to the block beside the selector's value, or else to `default`.
    pub(crate) fn switch(&mut self, selector: &Opd, default: BlockName, cases: &[(i64, BlockName)]) {
        let ty = selector.ty();
        let distinct: BTreeSet<i64> = cases.iter().map(|case| case.0).collect();
        assert_eq!(distinct.len(), cases.len(), "the case values of a switch are distinct");
        let list: String = cases.iter().map(|(value, to)| format!(" {ty} {value}, label %b{to}")).collect();
        let targets: Vec<_> = cases.iter().map(|case| case.1).chain([default]).collect();
        self.end(format_args!("switch {ty} {selector}, label %b{default} [{list} ]"), targets);
    }

    /// Returns from a function without a result.
    pub(crate) fn ret_void(&mut self) {
        self.end("ret void", []);
    }

    /// Returns a value.
    pub(crate) fn ret(&mut self, value: &Opd) {
        self.end(format_args!("ret {}", value.typed()), []);
    }

    /// Ends a block whose end is never reached.
    pub(crate) fn unreachable(&mut self) {
        self.end("unreachable", []);
    }

    /// A phi of the current block, which must be its first instruction.
    pub(crate) fn phi(&mut self, edges: &[(&Opd, BlockName)]) -> Opd {
        let ty = edges.first().expect("a phi has at least one edge").0.ty();
        for (value, _) in edges {
            self.expect(value, ty);
        }
        let edges: Vec<String> = edges.iter().map(|(v, b)| format!("[ {v}, %b{b} ]")).collect();
        self.phi_of(ty, &edges.join(", "))
    }

    /// A phi in the block after the entry block, before which nothing else is executed.
    pub(crate) fn phi_after_entry(&mut self, first: &Opd, (next, from): (&Opd, BlockName)) -> Opd {
        self.expect(next, first.ty());
        self.phi_of(first.ty(), &format!("[ {first}, %entry ], [ {next}, %b{from} ]"))
    }

    fn phi_of(&mut self, ty: Type, edges: &str) -> Opd {
        debug_assert!(self.ended || self.is_at_phis(), "phis precede all other instructions of a block");
        self.result(ty, format_args!("phi {ty} {edges}"))
    }

    /// A fence with this scope and ordering.
    pub(crate) fn fence(&mut self, how: &str) {
        self.line(format_args!("fence {how}"));
    }

    // --- checks

    /// Asserts that the operand has the type.
    #[track_caller]
    pub(crate) fn expect(&self, operand: &Opd, ty: Type) {
        assert!(operand.ty() == ty, "{operand} is a {}, not a {ty}", operand.ty());
    }

    #[track_caller]
    fn expect_pointer(&self, operand: &Opd) {
        assert!(operand.ty().is_pointer(), "{operand} is a {}, not a pointer", operand.ty());
    }

    /// Whether only phis precede in the current block.
    fn is_at_phis(&self) -> bool {
        let last = self.body.trim_end().rsplit('\n').find(|line| !line.trim_start().starts_with(';'));
        last.is_some_and(|line| line.ends_with(':') || line.contains(" = phi "))
    }
}

/// The global names in a text, in order.
pub(crate) fn global_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('@').skip(1).filter_map(|after| {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '$' | '-'));
        let name = &after[..end.unwrap_or(after.len())];
        (!name.is_empty()).then_some(name)
    })
}
