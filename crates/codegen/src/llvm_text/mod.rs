//! A builder of LLVM IR text for one function body.
//!
//! Invariant: after a terminator nothing is written until the next label, so callers may go on
//! emitting unreachable code. Integer constants fold as they are built; everything else is LLVM's.
//! The text stays in the subset that LLVM 18 to 23 read alike.
//!
//! Here are the function, its blocks, and instructions on memory; `operand` has what instructions take,
//! `types` their types' names, `atomics` those of atomic operations, `integers` and `vectors` the
//! instructions that compute.

mod atomics;
mod integers;
mod operand;
mod types;
mod vectors;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

pub(crate) use atomics::rmw_name;
pub(crate) use operand::{Opd, vector_const, wrap_int};
pub(crate) use types::{lanes_type, mangle, scalar_type};

/// Lanes of a SIMD-group.
pub(crate) const LANES: usize = 32;
/// The type of masks.
pub(crate) const MASK: &str = "<32 x i1>";

/// The name of a basic block.
pub(crate) type BlockName = u32;

/// Text of one function under construction.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// Allocations and what else belongs to the entry block, written before the body.
    entry: String,
    /// What each turn of the body begins with, and where in the body that is.
    start: String,
    start_at: usize,
    body: String,
    declares: BTreeSet<String>,
    next: u32,
    current: BlockName,
    ended: bool,
}

impl Text {
    /// Starts before the first label. Register and block numbers start at `first`.
    pub(crate) fn new(first: u32) -> Self {
        Self { next: first, ended: true, ..Self::default() }
    }

    /// A fresh number for a register or a block.
    pub(crate) fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A fresh register that someone else defines (a parameter).
    pub(crate) fn register(&mut self) -> Opd {
        Opd::Reg(self.fresh())
    }

    /// Whether the current block has its terminator.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
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
        let entry = std::mem::take(&mut self.entry);
        let (before, after) = self.body.split_at(self.start_at);
        let start = &self.start;
        format!("{header} {{\nentry:\n{entry}  br label %b{first_block}\n{before}{start}{after}}}\n")
    }

    /// An instruction without result.
    pub(crate) fn line(&mut self, text: impl fmt::Display) {
        if !self.ended {
            // Writing to a String cannot fail.
            let _ = writeln!(self.body, "  {text}");
        }
    }

    /// An instruction with a result.
    pub(crate) fn value(&mut self, text: impl fmt::Display) -> Opd {
        let register = self.register();
        self.line(format_args!("{register} = {text}"));
        register
    }

    /// A comment line.
    pub(crate) fn comment(&mut self, text: impl fmt::Display) {
        self.line(format_args!("; {text}"));
    }

    /// An instruction of the entry block with a result.
    pub(crate) fn entry_value(&mut self, text: impl fmt::Display) -> Opd {
        let register = self.register();
        let _ = writeln!(self.entry, "  {register} = {text}");
        register
    }

    /// An instruction of the entry block without result.
    pub(crate) fn entry_line(&mut self, text: impl fmt::Display) {
        let _ = writeln!(self.entry, "  {text}");
    }

    /// Begins a turn of the body here: see [`Self::start_line`].
    pub(crate) fn mark_start(&mut self) {
        self.start_at = self.body.len();
    }

    /// An instruction without result that each turn of the body begins with, whenever this is called.
    pub(crate) fn start_line(&mut self, text: impl fmt::Display) {
        let _ = writeln!(self.start, "  {text}");
    }

    /// A stack slot of the function.
    pub(crate) fn alloca(&mut self, ty: &str, align: u32) -> Opd {
        self.entry_value(format_args!("alloca {ty}, align {align}"))
    }

    // --- control flow

    /// A name for a block to be written later.
    pub(crate) fn block(&mut self) -> BlockName {
        self.fresh()
    }

    /// Starts a block; the one before falls through into it.
    pub(crate) fn label(&mut self, block: BlockName) {
        self.branch(block);
        let _ = writeln!(self.body, "b{block}:");
        self.ended = false;
        self.current = block;
    }

    /// An unconditional branch.
    pub(crate) fn branch(&mut self, to: BlockName) {
        self.line(format_args!("br label %b{to}"));
        self.ended = true;
    }

    /// A conditional branch.
    pub(crate) fn branch_if(&mut self, condition: &Opd, yes: BlockName, no: BlockName) {
        match condition {
            c if c.is_text("true") => self.branch(yes),
            c if c.is_text("false") => self.branch(no),
            c => {
                self.line(format_args!("br i1 {c}, label %b{yes}, label %b{no}"));
                self.ended = true;
            }
        }
    }

    /// As [`Self::branch_if`], with `no` out of the hot path.
    pub(crate) fn branch_likely(&mut self, condition: &Opd, yes: BlockName, no: BlockName) {
        if condition.is_const() {
            return self.branch_if(condition, yes, no);
        }
        self.line(format_args!("br i1 {condition}, label %b{yes}, label %b{no}, !prof !0"));
        self.ended = true;
    }

    /// Any other terminator.
    pub(crate) fn terminator(&mut self, text: impl fmt::Display) {
        self.line(text);
        self.ended = true;
    }

    /// A phi of the current block, which must be its first instruction.
    pub(crate) fn phi(&mut self, ty: &str, edges: &[(&Opd, BlockName)]) -> Opd {
        let edges: Vec<String> = edges.iter().map(|(v, b)| format!("[ {v}, %b{b} ]")).collect();
        self.value(format_args!("phi {ty} {}", edges.join(", ")))
    }

    // --- calls

    /// A call of an intrinsic `@llvm.{name}` whose operands all have one type, the result's.
    pub(crate) fn intrinsic(&mut self, name: &str, ty: &str, flags: &str, args: &[&Opd]) -> Opd {
        let types = vec![ty; args.len()].join(", ");
        self.declare(format!("declare {ty} @llvm.{name}.{}({types})", mangle(ty)));
        let args: Vec<String> = args.iter().map(|arg| format!("{ty} {arg}")).collect();
        self.value(format_args!("call {flags}{ty} @llvm.{name}.{}({})", mangle(ty), args.join(", ")))
    }

    // --- memory

    /// A load.
    pub(crate) fn load(&mut self, ty: &str, ptr: &Opd, align: u32) -> Opd {
        self.value(format_args!("load {ty}, ptr {ptr}, align {align}"))
    }

    /// A store.
    pub(crate) fn store(&mut self, ty: &str, value: &Opd, ptr: &Opd, align: u32) {
        self.line(format_args!("store {ty} {value}, ptr {ptr}, align {align}"));
    }

    /// `ptr + bytes`.
    pub(crate) fn offset(&mut self, ptr: &Opd, bytes: &Opd) -> Opd {
        if *bytes == Opd::Int(0) {
            return ptr.clone();
        }
        self.value(format_args!("getelementptr i8, ptr {ptr}, i64 {bytes}"))
    }
}
