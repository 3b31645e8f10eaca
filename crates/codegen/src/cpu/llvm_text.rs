//! A builder of LLVM IR text for one function body.
//!
//! Invariant: after a terminator nothing is written until the next label, so callers may go on
//! emitting unreachable code. Integer constants fold as they are built; everything else is LLVM's.
//! The text stays in the subset that LLVM 18 to 22 read alike.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::rc::Rc;

use anymetal_ir::Scalar;

/// Lanes of a SIMD-group.
pub(super) const LANES: usize = 32;
/// The type of masks.
pub(super) const MASK: &str = "<32 x i1>";

/// An operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Opd {
    /// An integer constant (of any integer type but `i1`).
    Int(i64),
    /// A register.
    Reg(u32),
    /// Another constant, as text.
    Text(Rc<str>),
}

impl Opd {
    /// A constant as text.
    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// `true` or `false`.
    pub(super) fn bool(value: bool) -> Self {
        Self::text(if value { "true" } else { "false" })
    }

    /// Whether it is this text.
    pub(super) fn is_text(&self, text: &str) -> bool {
        matches!(self, Self::Text(t) if &**t == text)
    }

    /// Whether it is a constant.
    pub(super) fn is_const(&self) -> bool {
        !matches!(self, Self::Reg(_))
    }
}

impl fmt::Display for Opd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Reg(n) => write!(f, "%r{n}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The name of a basic block.
pub(super) type BlockName = u32;

/// The LLVM type of a scalar. `bfloat` is kept as its bits, so that LLVM never calls its library.
pub(super) fn scalar_type(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "i1",
        Scalar::I8 => "i8",
        Scalar::I16 | Scalar::Bf16 => "i16",
        Scalar::I32 => "i32",
        Scalar::I64 => "i64",
        Scalar::F16 => "half",
        Scalar::F32 => "float",
    }
}

/// The vector of one `element` per lane.
pub(super) fn lanes_type(element: &str) -> String {
    format!("<32 x {element}>")
}

/// The text of a vector constant.
pub(super) fn vector_const(element: &str, values: impl IntoIterator<Item = i64>) -> Opd {
    let values: Vec<i64> = values.into_iter().collect();
    let show = |v: i64| match element {
        "i1" => if v & 1 == 1 { "true" } else { "false" }.to_owned(),
        _ => wrap_int(element, v).to_string(),
    };
    if values.iter().all(|&v| v == 0) {
        return Opd::text("zeroinitializer");
    }
    let items: Vec<String> = values.iter().map(|&v| format!("{element} {}", show(v))).collect();
    Opd::text(format!("<{}>", items.join(", ")))
}

/// The integer as a value of that type, sign-extended.
pub(super) fn wrap_int(ty: &str, value: i64) -> i64 {
    match ty {
        "i8" => i64::from(value as i8),
        "i16" => i64::from(value as i16),
        "i32" => i64::from(value as i32),
        _ => value,
    }
}

/// Text of one function under construction.
#[derive(Debug, Default)]
pub(super) struct Text {
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
    pub(super) fn new(first: u32) -> Self {
        Self { next: first, ended: true, ..Self::default() }
    }

    /// A fresh number for a register or a block.
    pub(super) fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A fresh register that someone else defines (a parameter).
    pub(super) fn register(&mut self) -> Opd {
        Opd::Reg(self.fresh())
    }

    /// Whether the current block has its terminator.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// The block being written.
    pub(super) fn current(&self) -> BlockName {
        self.current
    }

    /// Declares an intrinsic or external function.
    pub(super) fn declare(&mut self, declaration: impl Into<String>) {
        self.declares.insert(declaration.into());
    }

    /// Takes the declarations.
    pub(super) fn take_declares(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.declares)
    }

    /// The whole function with this header, such as `define void @f(ptr %r1)`.
    pub(super) fn finish(&mut self, header: &str, first_block: BlockName) -> String {
        let entry = std::mem::take(&mut self.entry);
        let (before, after) = self.body.split_at(self.start_at);
        let start = &self.start;
        format!("{header} {{\nentry:\n{entry}  br label %b{first_block}\n{before}{start}{after}}}\n")
    }

    /// An instruction without result.
    pub(super) fn line(&mut self, text: impl fmt::Display) {
        if !self.ended {
            // Writing to a String cannot fail.
            let _ = writeln!(self.body, "  {text}");
        }
    }

    /// An instruction with a result.
    pub(super) fn value(&mut self, text: impl fmt::Display) -> Opd {
        let register = self.register();
        self.line(format_args!("{register} = {text}"));
        register
    }

    /// A comment line.
    pub(super) fn comment(&mut self, text: impl fmt::Display) {
        self.line(format_args!("; {text}"));
    }

    /// An instruction of the entry block with a result.
    pub(super) fn entry_value(&mut self, text: impl fmt::Display) -> Opd {
        let register = self.register();
        let _ = writeln!(self.entry, "  {register} = {text}");
        register
    }

    /// An instruction of the entry block without result.
    pub(super) fn entry_line(&mut self, text: impl fmt::Display) {
        let _ = writeln!(self.entry, "  {text}");
    }

    /// Begins a turn of the body here: see [`Self::start_line`].
    pub(super) fn mark_start(&mut self) {
        self.start_at = self.body.len();
    }

    /// An instruction without result that each turn of the body begins with, whenever this is called.
    pub(super) fn start_line(&mut self, text: impl fmt::Display) {
        let _ = writeln!(self.start, "  {text}");
    }

    /// A stack slot of the function.
    pub(super) fn alloca(&mut self, ty: &str, align: u32) -> Opd {
        self.entry_value(format_args!("alloca {ty}, align {align}"))
    }

    // --- control flow

    /// A name for a block to be written later.
    pub(super) fn block(&mut self) -> BlockName {
        self.fresh()
    }

    /// Starts a block; the one before falls through into it.
    pub(super) fn label(&mut self, block: BlockName) {
        self.branch(block);
        let _ = writeln!(self.body, "b{block}:");
        self.ended = false;
        self.current = block;
    }

    /// An unconditional branch.
    pub(super) fn branch(&mut self, to: BlockName) {
        self.line(format_args!("br label %b{to}"));
        self.ended = true;
    }

    /// A conditional branch.
    pub(super) fn branch_if(&mut self, condition: &Opd, yes: BlockName, no: BlockName) {
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
    pub(super) fn branch_likely(&mut self, condition: &Opd, yes: BlockName, no: BlockName) {
        if condition.is_const() {
            return self.branch_if(condition, yes, no);
        }
        self.line(format_args!("br i1 {condition}, label %b{yes}, label %b{no}, !prof !0"));
        self.ended = true;
    }

    /// Any other terminator.
    pub(super) fn terminator(&mut self, text: impl fmt::Display) {
        self.line(text);
        self.ended = true;
    }

    /// A phi of the current block, which must be its first instruction.
    pub(super) fn phi(&mut self, ty: &str, edges: &[(&Opd, BlockName)]) -> Opd {
        let edges: Vec<String> = edges.iter().map(|(v, b)| format!("[ {v}, %b{b} ]")).collect();
        self.value(format_args!("phi {ty} {}", edges.join(", ")))
    }

    // --- memory

    /// A load.
    pub(super) fn load(&mut self, ty: &str, ptr: &Opd, align: u32) -> Opd {
        self.value(format_args!("load {ty}, ptr {ptr}, align {align}"))
    }

    /// A store.
    pub(super) fn store(&mut self, ty: &str, value: &Opd, ptr: &Opd, align: u32) {
        self.line(format_args!("store {ty} {value}, ptr {ptr}, align {align}"));
    }

    /// `ptr + bytes`.
    pub(super) fn offset(&mut self, ptr: &Opd, bytes: &Opd) -> Opd {
        if *bytes == Opd::Int(0) {
            return ptr.clone();
        }
        self.value(format_args!("getelementptr i8, ptr {ptr}, i64 {bytes}"))
    }

    // --- scalar integers

    /// `a + b`.
    pub(super) fn add(&mut self, ty: &str, a: &Opd, b: &Opd) -> Opd {
        match (a, b) {
            (Opd::Int(x), Opd::Int(y)) => Opd::Int(wrap_int(ty, x.wrapping_add(*y))),
            (Opd::Int(0), x) | (x, Opd::Int(0)) => x.clone(),
            _ => self.value(format_args!("add {ty} {a}, {b}")),
        }
    }

    /// `a - b`.
    pub(super) fn sub(&mut self, ty: &str, a: &Opd, b: &Opd) -> Opd {
        match (a, b) {
            (Opd::Int(x), Opd::Int(y)) => Opd::Int(wrap_int(ty, x.wrapping_sub(*y))),
            (x, Opd::Int(0)) => x.clone(),
            _ => self.value(format_args!("sub {ty} {a}, {b}")),
        }
    }

    /// `a × b`.
    pub(super) fn mul(&mut self, ty: &str, a: &Opd, b: &Opd) -> Opd {
        match (a, b) {
            (Opd::Int(x), Opd::Int(y)) => Opd::Int(wrap_int(ty, x.wrapping_mul(*y))),
            (Opd::Int(0), _) | (_, Opd::Int(0)) => Opd::Int(0),
            (Opd::Int(1), x) | (x, Opd::Int(1)) => x.clone(),
            _ => self.value(format_args!("mul {ty} {a}, {b}")),
        }
    }

    /// `a && b` of `i1`.
    pub(super) fn and(&mut self, a: &Opd, b: &Opd) -> Opd {
        if a.is_text("true") || b.is_text("false") {
            return b.clone();
        }
        if b.is_text("true") || a.is_text("false") {
            return a.clone();
        }
        self.value(format_args!("and i1 {a}, {b}"))
    }

    /// `icmp` of scalars.
    pub(super) fn icmp(&mut self, predicate: &str, ty: &str, a: &Opd, b: &Opd) -> Opd {
        if let (Opd::Int(x), Opd::Int(y)) = (a, b) {
            let result = match predicate {
                "eq" => Some(x == y),
                "ne" => Some(x != y),
                "slt" => Some(x < y),
                "sle" => Some(x <= y),
                "sgt" => Some(x > y),
                "sge" => Some(x >= y),
                _ => None,
            };
            if let Some(result) = result {
                return Opd::bool(result);
            }
        }
        self.value(format_args!("icmp {predicate} {ty} {a}, {b}"))
    }

    // --- vectors

    /// Every lane the same.
    pub(super) fn splat(&mut self, element: &str, value: &Opd) -> Opd {
        self.splat_to(LANES, element, value)
    }

    /// A vector of `n` copies.
    pub(super) fn splat_to(&mut self, n: usize, element: &str, value: &Opd) -> Opd {
        match value {
            Opd::Int(0) => Opd::text("zeroinitializer"),
            Opd::Text(t) if matches!(&**t, "false" | "zeroinitializer") => Opd::text("zeroinitializer"),
            Opd::Text(t) if &**t == "poison" => Opd::text("poison"),
            c if c.is_const() => Opd::text(format!("splat ({element} {c})")),
            _ => {
                let one = self
                    .value(format_args!("insertelement <{n} x {element}> poison, {element} {value}, i64 0"));
                self.value(format_args!(
                    "shufflevector <{n} x {element}> {one}, <{n} x {element}> poison, <{n} x i32> zeroinitializer"
                ))
            }
        }
    }

    /// Elements of the concatenation of two vectors of `n` elements; `None` is any.
    pub(super) fn shuffle(
        &mut self,
        element: &str,
        n: usize,
        a: &Opd,
        b: &Opd,
        picks: &[Option<usize>],
    ) -> Opd {
        let list: Vec<String> = picks
            .iter()
            .map(|pick| pick.map_or("i32 poison".to_owned(), |index| format!("i32 {index}")))
            .collect();
        self.value(format_args!(
            "shufflevector <{n} x {element}> {a}, <{n} x {element}> {b}, <{} x i32> <{}>",
            picks.len(),
            list.join(", ")
        ))
    }

    /// The parts, one after the other; their number is a power of two.
    pub(super) fn concat(&mut self, element: &str, mut length: usize, mut parts: Vec<Opd>) -> Opd {
        while parts.len() > 1 {
            let picks: Vec<_> = (0..2 * length).map(Some).collect();
            parts = parts
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => self.shuffle(element, length, a, b, &picks),
                    _ => pair[0].clone(),
                })
                .collect();
            length *= 2;
        }
        parts.pop().expect("at least one part")
    }

    /// `select` of whole vectors or scalars by one `i1` or a mask; `ty` is the values' type.
    pub(super) fn select(
        &mut self,
        condition_type: &str,
        condition: &Opd,
        ty: &str,
        a: &Opd,
        b: &Opd,
    ) -> Opd {
        if a == b || condition.is_text("true") {
            return a.clone();
        }
        if condition.is_text("false") {
            return b.clone();
        }
        self.value(format_args!("select {condition_type} {condition}, {ty} {a}, {ty} {b}"))
    }

    /// A call of an intrinsic `@llvm.{name}` whose operands all have one type, the result's.
    pub(super) fn intrinsic(&mut self, name: &str, ty: &str, flags: &str, args: &[&Opd]) -> Opd {
        let types = vec![ty; args.len()].join(", ");
        self.declare(format!("declare {ty} @llvm.{name}.{}({types})", mangle(ty)));
        let args: Vec<String> = args.iter().map(|arg| format!("{ty} {arg}")).collect();
        self.value(format_args!("call {flags}{ty} @llvm.{name}.{}({})", mangle(ty), args.join(", ")))
    }
}

/// The suffix of an intrinsic's name for a type.
pub(super) fn mangle(ty: &str) -> String {
    if let Some((n, element)) = ty.strip_prefix('<').and_then(|t| t.strip_suffix('>')?.split_once(" x ")) {
        return format!("v{n}{}", mangle(element));
    }
    match ty {
        "half" => "f16".to_owned(),
        "float" => "f32".to_owned(),
        "double" => "f64".to_owned(),
        "ptr" => "p0".to_owned(),
        other => other.to_owned(),
    }
}
