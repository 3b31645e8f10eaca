//! A builder of LLVM IR text for one function body.
//!
//! Invariant: after a terminator nothing is written until the next label, so callers may go on
//! emitting unreachable code. Integer constants fold as they are built; everything else is LLVM's.
//! The text stays in the subset that LLVM 18 to 23 read alike.
//!
//! Here are the function, its blocks, and instructions on memory; `operand` has what instructions take,
//! `types` their types' names, `atomics` those of atomic operations, `integers` and `vectors` the
//! instructions that compute; `checks` compares operands with the types that are written.

mod atomics;
#[cfg(debug_assertions)]
mod checks;
mod integers;
mod operand;
mod types;
mod vectors;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

pub(crate) use anymetal_analysis::divergence::LANES;
pub(crate) use atomics::rmw_name;
pub(crate) use operand::{Opd, vector_const, wrap_int};
pub(crate) use types::{lanes_type, mangle, scalar_type};

/// The type of masks.
pub(crate) const MASK: &str = "<32 x i1>";

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
    #[cfg(debug_assertions)]
    checks: checks::Checks,
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
        assert!(self.start.is_empty() || self.start_at > 0, "start_line requires an earlier mark_start");
        #[cfg(debug_assertions)]
        self.checks.finish();
        let entry = std::mem::take(&mut self.entry);
        let (before, after) = self.body.split_at(self.start_at);
        let start = &self.start;
        format!("{header} {{\nentry:\n{entry}  br label %b{first_block}\n{before}{start}{after}}}\n")
    }

    /// An instruction without result.
    pub(crate) fn line(&mut self, text: impl fmt::Display) {
        if !self.ended {
            #[cfg(debug_assertions)]
            let at = self.body.len();
            // Writing to a String cannot fail.
            let _ = writeln!(self.body, "  {text}");
            #[cfg(debug_assertions)]
            self.checks.line(&self.body[at..]);
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
        self.entry_line(format_args!("{register} = {text}"));
        register
    }

    /// An instruction of the entry block without result.
    pub(crate) fn entry_line(&mut self, text: impl fmt::Display) {
        #[cfg(debug_assertions)]
        let at = self.entry.len();
        let _ = writeln!(self.entry, "  {text}");
        #[cfg(debug_assertions)]
        self.checks.line(&self.entry[at..]);
    }

    /// Begins a turn of the body here: see [`Self::start_line`].
    pub(crate) fn mark_start(&mut self) {
        assert!(self.start_at == 0, "a function has one iteration start");
        assert!(!self.ended, "an iteration begins inside a block, not after a terminator");
        self.start_at = self.body.len();
    }

    /// An instruction without result that each turn of the body begins with, whenever this is called.
    pub(crate) fn start_line(&mut self, text: impl fmt::Display) {
        let _ = writeln!(self.start, "  {text}");
    }

    /// A stack slot of the function.
    pub(crate) fn alloca(&mut self, ty: &str, align: u32) -> Opd {
        assert!(align.is_power_of_two(), "a stack slot's alignment is a power of two, not {align}");
        self.entry_value(format_args!("alloca {ty}, align {align}"))
    }

    /// A stack slot that is zero where the function begins; `bytes` is the size of its type. The contents of
    /// a plain slot are undefined and may be data of another kernel or of the host.
    pub(crate) fn zeroed_alloca(&mut self, ty: &str, bytes: u64, align: u32) -> Opd {
        let slot = self.alloca(ty, align);
        self.clear_at_entry(&slot, bytes, align);
        slot
    }

    /// Clears a stack slot where the function begins.
    pub(crate) fn clear_at_entry(&mut self, slot: &Opd, bytes: u64, align: u32) {
        self.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)");
        self.entry_line(format_args!(
            "call void @llvm.memset.p0.i64(ptr align {align} {slot}, i8 0, i64 {bytes}, i1 false)"
        ));
    }

    // --- control flow

    /// A name for a block to be written later.
    pub(crate) fn block(&mut self) -> BlockName {
        self.fresh()
    }

    /// Starts a block; the one before falls through into it.
    pub(crate) fn label(&mut self, block: BlockName) {
        self.branch(block);
        debug_assert!(block <= self.next, "block b{block} is not one of this function's");
        #[cfg(debug_assertions)]
        self.checks.place(block);
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

    /// An unconditional branch.
    pub(crate) fn branch(&mut self, to: BlockName) {
        self.line(format_args!("br label %b{to}"));
        self.ended = true;
    }

    /// A conditional branch.
    pub(crate) fn branch_if(&mut self, condition: &Opd, yes: BlockName, no: BlockName) {
        assert!(!matches!(condition, Opd::Int(_)), "a condition is an i1, and i1 constants are text");
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
        debug_assert!(is_terminator(&text.to_string()), "{text} does not end a block");
        self.line(text);
        self.ended = true;
    }

    /// A phi of the current block, which must be its first instruction.
    pub(crate) fn phi(&mut self, ty: &str, edges: &[(&Opd, BlockName)]) -> Opd {
        debug_assert!(self.ended || self.is_at_phis(), "phis precede all other instructions of a block");
        assert!(!edges.is_empty(), "a phi has at least one edge");
        for (value, _) in edges {
            self.expect(value, ty);
        }
        let edges: Vec<String> = edges.iter().map(|(v, b)| format!("[ {v}, %b{b} ]")).collect();
        self.value(format_args!("phi {ty} {}", edges.join(", ")))
    }

    // --- calls

    /// A call of an intrinsic `@llvm.{name}` whose operands all have one type, the result's.
    pub(crate) fn intrinsic(&mut self, name: &str, ty: &str, flags: &str, args: &[&Opd]) -> Opd {
        for arg in args {
            self.expect(arg, ty);
        }
        let types = vec![ty; args.len()].join(", ");
        self.declare(format!("declare {ty} @llvm.{name}.{}({types})", mangle(ty)));
        let args: Vec<String> = args.iter().map(|arg| format!("{ty} {arg}")).collect();
        self.value(format_args!("call {flags}{ty} @llvm.{name}.{}({})", mangle(ty), args.join(", ")))
    }

    // --- memory

    /// A load.
    pub(crate) fn load(&mut self, ty: &str, ptr: &Opd, align: u32) -> Opd {
        assert!(align.is_power_of_two(), "a load's alignment is a power of two, not {align}");
        self.expect(ptr, "ptr");
        self.value(format_args!("load {ty}, ptr {ptr}, align {align}"))
    }

    /// A store.
    pub(crate) fn store(&mut self, ty: &str, value: &Opd, ptr: &Opd, align: u32) {
        assert!(align.is_power_of_two(), "a store's alignment is a power of two, not {align}");
        self.expect(value, ty);
        self.expect(ptr, "ptr");
        self.line(format_args!("store {ty} {value}, ptr {ptr}, align {align}"));
    }

    /// `ptr + bytes`.
    pub(crate) fn offset(&mut self, ptr: &Opd, bytes: &Opd) -> Opd {
        self.expect(ptr, "ptr");
        self.expect(bytes, "i64");
        if *bytes == Opd::Int(0) {
            return ptr.clone();
        }
        self.value(format_args!("getelementptr i8, ptr {ptr}, i64 {bytes}"))
    }

    // --- checks

    /// Asserts that the operand can be a value of the type, as far as its text and definition show.
    #[track_caller]
    pub(crate) fn expect(&self, operand: &Opd, ty: &str) {
        debug_assert!(operand.fits(ty), "{operand} is not a constant of type {ty}");
        #[cfg(debug_assertions)]
        if let Opd::Reg(register) = operand
            && let Some(known) = self.checks.type_of(*register)
        {
            assert!(known == ty, "{operand} is a {known}, not a {ty}");
        }
    }

    /// Whether only phis precede in the current block.
    fn is_at_phis(&self) -> bool {
        let last = self.body.trim_end().rsplit('\n').find(|line| !line.trim_start().starts_with(';'));
        last.is_some_and(|line| line.ends_with(':') || line.contains(" = phi "))
    }
}

fn is_terminator(text: &str) -> bool {
    ["br ", "ret ", "switch ", "unreachable", "indirectbr "].iter().any(|opcode| text.starts_with(opcode))
}

/// The global names in a text, in order.
pub(crate) fn global_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('@').skip(1).filter_map(|after| {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '$' | '-'));
        let name = &after[..end.unwrap_or(after.len())];
        (!name.is_empty()).then_some(name)
    })
}
