//! A function: values, locals, blocks of instructions.

use std::sync::Arc;

use crate::{Block, Inst, Local, Op, Space, Type, Value};
use crate::{Label, op::FpMode};

/// A source position, for fault messages and debug information.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Loc {
    /// Index into [`crate::Module::files`].
    pub file: u32,
    /// 1-based line; 0 when unknown.
    pub line: u32,
    /// 1-based column; 0 when unknown.
    pub column: u32,
    /// What else is known of it: 1 + the index into [`Function::origins`]; 0 for nothing. The text form has
    /// none.
    pub origin: u32,
}

impl Loc {
    /// Whether the position is known.
    pub fn is_known(self) -> bool {
        self.line != 0
    }
}

/// What a tool tells of a position besides file, line and column. Only modules for sanitizers have them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// The function in the source, with template arguments: `reduce<float, 4>`.
    pub function: Arc<str>,
    /// The macros whose expansion it comes from, the innermost first.
    pub macros: Arc<[MacroUse]>,
    /// The position of the call, if the function was inlined; its own origin leads on outwards.
    pub inlined_at: Option<Loc>,
}

/// The use of a macro from whose expansion a position comes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MacroUse {
    /// The macro's name.
    pub name: Arc<str>,
    /// Where in its definition, or in an argument of it, the text is.
    pub text: Loc,
    /// Where the macro is used, which may be in the definition of the next one.
    pub used_at: Loc,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// The n-th parameter.
    Param(u32),
    /// The result of an instruction that is not a construct.
    Inst(Inst),
    /// The n-th parameter of a loop.
    LoopParam(Inst, u32),
    /// The n-th result of a construct.
    Result(Inst, u32),
}

/// Type and definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its origin.
    pub def: ValueDef,
    /// The variable that it is a value of: 1 + the index into [`Function::variable_names`]; 0 for none. The
    /// text form has none.
    pub variable: u32,
}

impl ValueData {
    /// A value that belongs to no variable.
    pub fn new(ty: Type, def: ValueDef) -> Self {
        Self { ty, def, variable: 0 }
    }
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstData {
    /// The operation.
    pub op: Op,
    /// Its result.
    pub result: Option<Value>,
    /// Permitted deviations from IEEE 754.
    pub fp: FpMode,
    /// Its position in the source.
    pub loc: Loc,
}

/// A memory variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalData {
    /// A name for diagnostics; need not be unique.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u32,
}

/// A sequence of instructions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockData {
    /// In order.
    pub insts: Vec<Inst>,
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// A name, unique in the module.
    pub name: String,
    /// The parameters' values, in order.
    pub params: Vec<Value>,
    /// The result's type.
    pub ret: Option<Type>,
    /// All values.
    pub values: Vec<ValueData>,
    /// All instructions. Those in no block are dead.
    pub insts: Vec<InstData>,
    /// All blocks. Those that no instruction refers to are dead.
    pub blocks: Vec<BlockData>,
    /// All locals.
    pub locals: Vec<LocalData>,
    /// Number of labels allocated.
    pub labels: u32,
    /// The outermost block.
    pub body: Block,
    /// For [`Loc::origin`]; empty unless the front end was asked for them.
    pub origins: Vec<Origin>,
    /// For [`ValueData::variable`].
    pub variable_names: Vec<String>,
}

impl Function {
    /// An empty function with parameters of the given types.
    pub fn new(name: impl Into<String>, params: &[Type], ret: Option<Type>) -> Self {
        let values: Vec<_> =
            (0u32..).zip(params).map(|(n, &ty)| ValueData::new(ty, ValueDef::Param(n))).collect();
        Self {
            name: name.into(),
            params: (0..values.len() as u32).map(Value).collect(),
            ret,
            values,
            insts: Vec::new(),
            blocks: vec![BlockData::default()],
            locals: Vec::new(),
            labels: 0,
            body: Block(0),
            origins: Vec::new(),
            variable_names: Vec::new(),
        }
    }

    /// The name of the variable that the value is a value of.
    pub fn variable_name(&self, value: Value) -> Option<&str> {
        let index = self.values[value.index()].variable.checked_sub(1)?;
        Some(&self.variable_names[index as usize])
    }

    /// What is known of a position in this function besides file, line and column.
    pub fn origin(&self, loc: Loc) -> Option<&Origin> {
        self.origins.get((loc.origin as usize).checked_sub(1)?)
    }

    /// A value's type.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// The address space of a pointer.
    pub fn pointer_space(&self, pointer: Value) -> Space {
        match self.ty(pointer) {
            Type::Ptr(space) => space,
            other => unreachable!("{pointer} is a {other:?}, not a pointer"),
        }
    }

    /// The operation that defines the value, unless it is a parameter, or of a construct.
    pub fn def(&self, value: Value) -> Option<&Op> {
        self.defining_inst(value).map(|inst| &self.insts[inst.index()].op)
    }

    /// The instruction that defines the value, unless it is a parameter, or of a construct.
    pub fn defining_inst(&self, value: Value) -> Option<Inst> {
        match self.values[value.index()].def {
            ValueDef::Inst(inst) => Some(inst),
            ValueDef::Param(_) | ValueDef::LoopParam(..) | ValueDef::Result(..) => None,
        }
    }

    /// The instruction.
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst.index()]
    }

    /// The values that are visible after the instruction: its result, or the results of a construct.
    pub fn results(&self, inst: Inst) -> impl Iterator<Item = Value> + '_ {
        let data = self.inst(inst);
        data.result.into_iter().chain(data.op.results().iter().copied())
    }

    /// The value that the instruction defines.
    ///
    /// # Panics
    /// If its operation has no result.
    pub fn result(&self, inst: Inst) -> Value {
        let data = self.inst(inst);
        match data.result {
            Some(result) => result,
            None => panic!("{inst} of {} has no result: {:?}", self.name, data.op),
        }
    }

    /// The label, body and continuing block, if the instruction is a loop.
    pub fn as_loop(&self, inst: Inst) -> Option<(Label, Block, Block)> {
        match self.inst(inst).op {
            Op::Loop { label, body, continuing, .. } => Some((label, body, continuing)),
            _ => None,
        }
    }

    /// The instructions of a block.
    pub fn block(&self, block: Block) -> &[Inst] {
        &self.blocks[block.index()].insts
    }

    /// Adds an empty block.
    pub fn add_block(&mut self) -> Block {
        self.blocks.push(BlockData::default());
        Block(self.blocks.len() as u32 - 1)
    }

    /// Adds a local.
    ///
    /// # Panics
    /// If the alignment is not a power of two.
    pub fn add_local(&mut self, name: impl Into<String>, size: u64, align: u32) -> Local {
        assert!(align.is_power_of_two(), "the alignment {align} of a local is not a power of two");
        self.locals.push(LocalData { name: name.into(), size, align });
        Local(self.locals.len() as u32 - 1)
    }

    /// Allocates a new label.
    pub fn add_label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Adds an instruction without putting it into a block.
    pub fn add_inst(&mut self, op: Op, result: Option<Type>, fp: FpMode, loc: Loc) -> Inst {
        self.check_operation(&op, result);
        // Passes number instructions and values with `u32`, of which the largest means none.
        assert!(self.insts.len() < u32::MAX as usize, "{} has too many instructions", self.name);
        let inst = Inst(self.insts.len() as u32);
        let result = result.map(|ty| {
            self.values.push(ValueData::new(ty, ValueDef::Inst(inst)));
            Value(self.values.len() as u32 - 1)
        });
        self.insts.push(InstData { op, result, fp, loc });
        inst
    }

    /// Adds a parameter to a loop, with its value in the first iteration. The caller adds what the continues
    /// pass.
    pub fn add_loop_param(&mut self, inst: Inst, init: Value) -> Value {
        let ty = self.ty(init);
        let value = Value(self.values.len() as u32);
        let Op::Loop { inits, params, .. } = &mut self.insts[inst.index()].op else {
            panic!("{inst} of {} is not a loop", self.name);
        };
        self.values.push(ValueData::new(ty, ValueDef::LoopParam(inst, params.len() as u32)));
        inits.push(init);
        params.push(value);
        value
    }

    /// Adds a result to a construct. The caller adds what its yields and breaks pass.
    pub fn add_construct_result(&mut self, inst: Inst, ty: Type) -> Value {
        let value = Value(self.values.len() as u32);
        let Some(results) = self.insts[inst.index()].op.results_mut() else {
            panic!("{inst} of {} is not a construct", self.name);
        };
        self.values.push(ValueData::new(ty, ValueDef::Result(inst, results.len() as u32)));
        results.push(value);
        value
    }

    /// Corrects the definitions of a construct's parameters and results after it was changed or copied.
    pub fn number_definitions(&mut self, inst: Inst) {
        let Self { insts, values, .. } = self;
        let op = &insts[inst.index()].op;
        for (n, param) in (0..).zip(op.params()) {
            values[param.index()].def = ValueDef::LoopParam(inst, n);
        }
        for (n, result) in (0..).zip(op.results()) {
            values[result.index()].def = ValueDef::Result(inst, n);
        }
    }

    /// Replaces the operation of an instruction, whose users keep its result.
    pub fn replace_op(&mut self, inst: Inst, op: Op) {
        self.check_operation(&op, self.inst(inst).result.map(|result| self.ty(result)));
        self.insts[inst.index()].op = op;
    }

    /// Checks the verifier's rules that are cheap to check where an operation is made: a pass that breaks a
    /// rule is then in the backtrace.
    fn check_operation(&self, op: &Op, result: Option<Type>) {
        debug_assert!(
            {
                let mut exist = true;
                op.for_each_operand(|operand| exist &= operand.index() < self.values.len());
                exist
            },
            "an operand of {op:?} does not exist in {}",
            self.name,
        );
        debug_assert!(
            op.blocks().iter().all(|block| block.index() < self.blocks.len()),
            "a block of {op:?} does not exist in {}",
            self.name,
        );
        debug_assert!(
            op.implied_type(|value| self.ty(value)).is_none_or(|implied| result == Some(implied)),
            "the result of {op:?} in {} has the type {result:?}, which does not follow from its operands",
            self.name,
        );
        if let Op::Load { align, .. } | Op::Store { align, .. } = *op {
            assert!(align.is_power_of_two(), "the alignment {align} of an access is not a power of two");
        }
    }

    /// The constant's bits, if the value is a scalar constant.
    pub fn as_const(&self, value: Value) -> Option<u64> {
        if let Some(Op::Const(bits)) = self.def(value) { Some(*bits) } else { None }
    }
}
