//! A small builder for the text of one function of lanes: instructions, blocks, calls, and the
//! definition at the end. What formulas are written with is in `value.rs`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;

use anymetal_ir::Scalar;

use super::MathDef;
use super::value::{Operand, Val};
use crate::llvm::Bound;

/// Type of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lane {
    I1,
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl Lane {
    pub(super) fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Bool => Self::I1,
            Scalar::I8 => Self::I8,
            // LLVM may round values of its `bfloat` by an instruction that takes denormals for zero,
            // even where only bits are moved: ours are integers.
            Scalar::I16 | Scalar::Bf16 => Self::I16,
            Scalar::I32 => Self::I32,
            Scalar::I64 => Self::I64,
            Scalar::F16 => Self::F16,
            Scalar::F32 => Self::F32,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::I1 => "i1",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "half",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// The suffix of an overloaded intrinsic.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            integer => integer.name(),
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The integer type of the same size.
    pub(super) fn bits(self) -> Self {
        match self {
            Self::F16 => Self::I16,
            Self::F32 => Self::I32,
            Self::F64 => Self::I64,
            integer => integer,
        }
    }
}

/// Whether LLVM must inline the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inline {
    Always,
    Compiler,
    /// For what rarely runs.
    Never,
}

/// The function being written.
#[derive(Debug)]
pub(super) struct Body {
    width: u32,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    text: String,
    next: u32,
    /// The label of the block being written, for phis.
    block: String,
    declares: BTreeSet<String>,
    depends: Vec<MathDef>,
}

impl Body {
    pub(super) fn new(width: u32) -> Self {
        assert!(width > 0, "a function of vectors without lanes");
        let state = State { block: "entry".to_owned(), ..State::default() };
        Self { width, state: RefCell::new(state) }
    }

    pub(super) fn width(&self) -> u32 {
        self.width
    }

    pub(super) fn arguments(&self, lanes: &[Lane]) -> Vec<Val<'_>> {
        let argument = |(i, &lane)| Val { body: self, lane, operand: Operand::Argument(i as u32) };
        lanes.iter().enumerate().map(argument).collect()
    }

    pub(super) fn f32(&self, value: f32) -> Val<'_> {
        Val { body: self, lane: Lane::F32, operand: Operand::Constant(u64::from(value.to_bits())) }
    }

    pub(super) fn f64(&self, value: f64) -> Val<'_> {
        Val { body: self, lane: Lane::F64, operand: Operand::Constant(value.to_bits()) }
    }

    pub(super) fn i32(&self, value: i32) -> Val<'_> {
        Val { body: self, lane: Lane::I32, operand: Operand::Constant(value as u64) }
    }

    pub(super) fn integer(&self, lane: Lane, value: i64) -> Val<'_> {
        Val { body: self, lane, operand: Operand::Constant(value as u64) }
    }

    pub(super) fn type_name(&self, lane: Lane) -> String {
        if self.width == 1 { lane.name().to_owned() } else { format!("<{} x {}>", self.width, lane.name()) }
    }

    /// Appends `%t = …` and gives `%t`.
    pub(super) fn push(&self, lane: Lane, instruction: std::fmt::Arguments<'_>) -> Val<'_> {
        let mut state = self.state.borrow_mut();
        let id = state.next;
        state.next += 1;
        writeln!(state.text, "  %t{id} = {instruction}").expect("writing to a string");
        Val { body: self, lane, operand: Operand::Temporary(id) }
    }

    /// Calls the intrinsic `llvm.{name}.{type of the first argument}`.
    pub(super) fn intrinsic(&self, name: &str, arguments: &[Val<'_>], tail: &str) -> Val<'_> {
        let lane = arguments[0].lane;
        let call = self.intrinsic_call(name, arguments, tail);
        self.push(lane, format_args!("call {call}"))
    }

    /// The same as text after `call`, for a call with flags.
    pub(super) fn intrinsic_call(&self, name: &str, arguments: &[Val<'_>], tail: &str) -> String {
        assert!(
            arguments.iter().all(|argument| argument.lane == arguments[0].lane),
            "{name} takes operands of one type"
        );
        let lane = arguments[0].lane;
        let ty = self.type_name(lane);
        let suffix = match self.width {
            1 => lane.suffix().to_owned(),
            width => format!("v{width}{}", lane.suffix()),
        };
        let mut types = vec![ty.as_str(); arguments.len()];
        if !tail.is_empty() {
            types.push("i1");
        }
        self.declare(format!("declare {ty} @llvm.{name}.{suffix}({})", types.join(", ")));
        let mut actual: Vec<String> = arguments.iter().map(|a| format!("{ty} {}", a.text())).collect();
        actual.extend((!tail.is_empty()).then(|| tail.to_owned()));
        format!("{ty} @llvm.{name}.{suffix}({})", actual.join(", "))
    }

    fn declare(&self, line: String) {
        self.state.borrow_mut().declares.insert(line);
    }

    fn fresh(&self) -> u32 {
        let mut state = self.state.borrow_mut();
        state.next += 1;
        state.next - 1
    }

    /// Writes a terminator and starts the block `next`.
    fn start_block(&self, terminator: std::fmt::Arguments<'_>, next: &str) {
        let mut state = self.state.borrow_mut();
        writeln!(state.text, "  {terminator}\n{next}:").expect("writing to a string");
        next.clone_into(&mut state.block);
    }

    /// Notes how often the block that was started is repeated at most.
    fn bound_block(&self, bound: Bound) {
        let mut state = self.state.borrow_mut();
        let end = state.text.pop();
        assert_eq!(end, Some('\n'), "a label is a line");
        writeln!(state.text, " ; {bound}").expect("writing to a string");
    }

    fn current_block(&self) -> String {
        self.state.borrow().block.clone()
    }

    /// Where `mask` holds in any lane, `rare()`; else `usual`. `rare` computes all lanes.
    pub(super) fn if_any<'b>(
        &'b self,
        mask: Val<'b>,
        usual: Val<'b>,
        rare: impl FnOnce() -> Val<'b>,
    ) -> Val<'b> {
        assert!(mask.lane == Lane::I1, "a mask has lanes of one bit, not {:?}", mask.lane);
        let any = mask.any();
        let id = self.fresh();
        let (rare_label, done) = (format!("rare{id}"), format!("done{id}"));
        let before = self.current_block();
        let branch = format!("br i1 {}, label %{rare_label}, label %{done}", any.text());
        self.start_block(format_args!("{branch}"), &rare_label);
        let value = rare();
        assert_eq!(value.lane, usual.lane, "both ways compute the same type");
        let after = self.current_block();
        self.start_block(format_args!("br label %{done}"), &done);
        let ty = self.type_name(usual.lane);
        self.push(
            usual.lane,
            format_args!("phi {ty} [ {}, %{before} ], [ {}, %{after} ]", usual.text(), value.text()),
        )
    }

    /// Repeats `step` from `start`, at least once and at most `most` times, while its mask holds in any lane.
    pub(super) fn repeat_while_any<'b>(
        &'b self,
        start: Val<'b>,
        most: u64,
        step: impl FnOnce(Val<'b>) -> (Val<'b>, Val<'b>),
    ) -> Val<'b> {
        let id = self.fresh();
        let (head, done) = (format!("again{id}"), format!("done{id}"));
        let before = self.current_block();
        self.start_block(format_args!("br label %{head}"), &head);
        self.bound_block(Bound::Lanes(most));
        let ty = self.type_name(start.lane);
        // The phi names the value of the next round, which is known only after the body: its text
        // is put in afterwards.
        let place = self.state.borrow().text.len();
        let phi = self.fresh();
        let (value, mask) = step(Val { body: self, lane: start.lane, operand: Operand::Temporary(phi) });
        assert_eq!(value.lane, start.lane, "an iteration keeps the type of its start value");
        let any = mask.any();
        let after = self.current_block();
        let line =
            format!("  %t{phi} = phi {ty} [ {}, %{before} ], [ {}, %{after} ]\n", start.text(), value.text());
        self.state.borrow_mut().text.insert_str(place, &line);
        self.start_block(format_args!("br i1 {}, label %{head}, label %{done}", any.text()), &done);
        value
    }

    /// Calls another function of the library, whose result has the type of `result`.
    pub(super) fn call<'b>(&'b self, callee: MathDef, arguments: &[Val<'b>], result: Lane) -> Val<'b> {
        let actual: Vec<String> = arguments.iter().map(|a| a.typed()).collect();
        let call = format!("call {} @{}({})", self.type_name(result), callee.name, actual.join(", "));
        {
            let mut state = self.state.borrow_mut();
            if !state.depends.contains(&callee) {
                state.depends.push(callee);
            }
        }
        self.push(result, format_args!("{call}"))
    }

    /// The finished function.
    pub(super) fn finish(
        &self,
        name: &str,
        arguments: &[Val<'_>],
        result: Val<'_>,
        inline: Inline,
    ) -> MathDef {
        let inline = match inline {
            Inline::Always => "alwaysinline ",
            Inline::Compiler => "",
            Inline::Never => "noinline cold ",
        };
        let parameters: Vec<String> = arguments.iter().map(|a| a.typed()).collect();
        let ret = result.typed();
        let ty = self.type_name(result.lane);
        let state = self.state.borrow();
        MathDef {
            name: name.to_owned(),
            ir_text: format!(
                "define internal {ty} @{name}({}) {inline}nounwind willreturn memory(none) {{\nentry:\n{}  ret {ret}\n}}\n",
                parameters.join(", "),
                state.text
            ),
            declares: state.declares.iter().cloned().collect(),
            depends: state.depends.clone(),
        }
    }
}
