//! Operations by their names.

use super::function::Body;
use super::lexer::Token;
use super::{Parsed, Parser};
use crate::op::{CastOp, CmpOp};
use crate::{
    AtomicOp, BarrierScope, BinOp, FpMode, FuncId, FunctionConstantId, GlobalId, Local, MathFn, MatrixOp, Op,
    Pieces, PrefetchHint, Query, SimdOp, ThreadgroupId, UnOp, Value, Values,
};

/// An operation, its float mode, and for `const` the spelling, to be read with the result's type.
type Operation = (Op, FpMode, Option<String>);

impl Parser<'_> {
    pub(super) fn operation(&mut self, body: &mut Body) -> Parsed<Operation> {
        let Token::Word(word) = self.token else { return self.expected("an operation") };
        let (name, fp) = split_mode(word);
        if name == "const" {
            self.bump()?;
            return Ok((Op::Undef, fp, Some(self.literal()?)));
        }
        let op = match name.split_once('.') {
            Some((group, name)) => self.grouped(group, name, body)?,
            None => match self.arithmetic(name, body)? {
                Some(op) => op,
                None => self.other(name, body)?,
            },
        };
        if word.len() != name.len() && !op.has_fp_mode() {
            return self.error(format!("{name} has no float mode"));
        }
        Ok((op, fp, None))
    }

    fn grouped(&mut self, group: &str, name: &str, body: &mut Body) -> Parsed<Op> {
        let unknown = "an operation";
        match group {
            "query" => match Query::from_name(name) {
                Some(query) => self.plain(Op::Query(query)),
                None => self.expected(unknown),
            },
            "barrier" => match BarrierScope::from_name(name) {
                Some(scope) => {
                    self.bump()?;
                    match self.order_operands(body)?.as_slice() {
                        [] => Ok(Op::Barrier(scope, None)),
                        &[flags] => Ok(Op::Barrier(scope, Some(flags))),
                        _ => self.expected("memory flags"),
                    }
                }
                None => self.expected(unknown),
            },
            "math" => match MathFn::from_name(name) {
                Some(function) => {
                    self.bump()?;
                    Ok(Op::Math(function, self.values(body)?))
                }
                None => self.expected(unknown),
            },
            "simd" => match SimdOp::from_name(name) {
                Some(op) => {
                    self.bump()?;
                    Ok(Op::Simd(op, self.values(body)?))
                }
                None => self.expected(unknown),
            },
            "matrix" => match MatrixOp::from_name(name) {
                Some(op) => {
                    self.bump()?;
                    Ok(Op::Matrix(op, self.values(body)?))
                }
                None => self.expected(unknown),
            },
            "atomic" => match AtomicOp::from_name(name) {
                Some(op) => {
                    self.bump()?;
                    let (ptr, value) = self.two(body)?;
                    Ok(Op::AtomicRmw(op, ptr, value))
                }
                None => self.expected(unknown),
            },
            _ => self.expected(unknown),
        }
    }

    fn plain(&mut self, op: Op) -> Parsed<Op> {
        self.bump()?;
        Ok(op)
    }

    /// The operations of the name tables; their names are disjoint.
    fn arithmetic(&mut self, name: &str, body: &Body) -> Parsed<Option<Op>> {
        Ok(Some(if let Some(op) = BinOp::from_name(name) {
            self.bump()?;
            let (a, b) = self.two(body)?;
            Op::Binary(op, a, b)
        } else if let Some(op) = CmpOp::from_name(name) {
            self.bump()?;
            let (a, b) = self.two(body)?;
            Op::Compare(op, a, b)
        } else if let Some(op) = CastOp::from_name(name) {
            self.bump()?;
            Op::Cast(op, self.value(body)?)
        } else if let Some(op) = UnOp::from_name(name) {
            self.bump()?;
            Op::Unary(op, self.value(body)?)
        } else {
            return Ok(None);
        }))
    }

    fn other(&mut self, name: &str, body: &mut Body) -> Parsed<Op> {
        match name {
            "splat" | "compose" | "extract" | "extract_dynamic" | "insert" | "insert_dynamic" | "shuffle" => {
                self.vector(name, body)
            }
            "load" | "store" | "mem_copy" | "mem_zero" => self.access(name, body),
            name if PrefetchHint::from_name(name).is_some() => self.access(name, body),
            "ptr_add" => self.ptr_add(body),
            "local_start"
            | "local_addr"
            | "threadgroup_addr"
            | "global_addr"
            | "function_constant"
            | "function_constant_defined" => self.named_entity(name),
            "undef" => self.plain(Op::Undef),
            "fence" => {
                self.bump()?;
                match *self.order_operands(body)?.as_slice() {
                    [] => Ok(Op::Fence(None)),
                    [memory, order, scope] => Ok(Op::Fence(Some([memory, order, scope]))),
                    _ => self.expected("memory flags, memory order and thread scope, or nothing"),
                }
            }
            "select" | "atomic_cas" => {
                self.bump()?;
                let (a, b, c) = self.three(body)?;
                Ok(if name == "select" { Op::Select(a, b, c) } else { Op::AtomicCas(a, b, c) })
            }
            "atomic_load" => {
                self.bump()?;
                Ok(Op::AtomicLoad(self.value(body)?))
            }
            "atomic_store" => {
                self.bump()?;
                let (ptr, value) = self.two(body)?;
                Ok(Op::AtomicStore(ptr, value))
            }
            _ => self.jump_or_call(name, body),
        }
    }

    fn jump_or_call(&mut self, name: &str, body: &mut Body) -> Parsed<Op> {
        match name {
            "call" => {
                self.bump()?;
                let callee = FuncId(self.entity("f")?);
                self.expect('(')?;
                let args = self.values(body)?;
                self.expect(')')?;
                Ok(Op::Call(callee, args))
            }
            "break" => {
                self.bump()?;
                Ok(Op::Break(self.label(body)?, self.passed(body)?))
            }
            "continue" => {
                self.bump()?;
                Ok(Op::Continue(self.label(body)?, self.passed(body)?))
            }
            "yield" => {
                self.bump()?;
                Ok(Op::Yield(self.passed(body)?))
            }
            "return" => {
                self.bump()?;
                let value = if self.peek_entity("v").is_some() { Some(self.value(body)?) } else { None };
                Ok(Op::Return(value))
            }
            _ => self.expected("an operation"),
        }
    }

    /// The values that a jump passes. It ends its block, so values after it can only be its operands.
    fn passed(&mut self, body: &Body) -> Parsed<Values> {
        Ok(self.values(body)?.into_iter().collect())
    }

    /// The operands of a barrier or a fence, in parentheses; without parentheses none.
    fn order_operands(&mut self, body: &Body) -> Parsed<Vec<Value>> {
        if !self.eat('(')? {
            return Ok(Vec::new());
        }
        let values = self.values(body)?;
        self.expect(')')?;
        Ok(values)
    }

    fn named_entity(&mut self, name: &str) -> Parsed<Op> {
        self.bump()?;
        Ok(match name {
            "local_start" => Op::LocalStart(Local(self.entity("l")?)),
            "local_addr" => Op::LocalAddr(Local(self.entity("l")?)),
            "threadgroup_addr" => Op::ThreadgroupAddr(ThreadgroupId(self.entity("tg")?)),
            "global_addr" => Op::GlobalAddr(GlobalId(self.entity("g")?)),
            "function_constant" => Op::FunctionConstant(FunctionConstantId(self.entity("fc")?)),
            _ => Op::FunctionConstantDefined(FunctionConstantId(self.entity("fc")?)),
        })
    }

    fn vector(&mut self, name: &str, body: &Body) -> Parsed<Op> {
        self.bump()?;
        match name {
            "splat" => return Ok(Op::Splat(self.value(body)?)),
            "compose" => return Ok(Op::Compose(self.values(body)?)),
            "extract_dynamic" => {
                let (a, n) = self.two(body)?;
                return Ok(Op::ExtractDynamic(a, n));
            }
            "insert_dynamic" => {
                let (a, n, b) = self.three(body)?;
                return Ok(Op::InsertDynamic(a, n, b));
            }
            "shuffle" => {
                let (a, b) = self.two(body)?;
                self.expect(',')?;
                return Ok(Op::Shuffle(a, b, self.picks()?));
            }
            _ => {}
        }
        let a = self.value(body)?;
        self.expect(',')?;
        let n = self.number()?;
        if name == "extract" {
            return Ok(Op::Extract(a, n));
        }
        self.expect(',')?;
        Ok(Op::Insert(a, n, self.value(body)?))
    }

    fn ptr_add(&mut self, body: &Body) -> Parsed<Op> {
        self.bump()?;
        let base = self.value(body)?;
        let (mut index, mut scale, mut offset) = (None, 1, 0);
        self.expect('+')?;
        if self.peek_entity("v").is_some() {
            index = Some(self.value(body)?);
            self.expect('*')?;
            scale = self.number()?;
            if self.eat('+')? {
                offset = self.number()?;
            }
        } else {
            offset = self.number()?;
        }
        Ok(Op::PtrAdd { base, index, scale, offset })
    }

    fn access(&mut self, name: &str, body: &Body) -> Parsed<Op> {
        self.bump()?;
        let ptr = self.value(body)?;
        match name {
            "load" => {
                let align = self.align()?;
                Ok(Op::Load { ptr, align, volatile: self.volatile()? })
            }
            "store" => {
                self.expect(',')?;
                let value = self.value(body)?;
                let align = self.align()?;
                Ok(Op::Store { ptr, value, align, volatile: self.volatile()? })
            }
            "mem_copy" => {
                self.expect(',')?;
                let src = self.value(body)?;
                let (size, align) = (self.size()?, self.align()?);
                Ok(Op::MemCopy { dst: ptr, src, size, align, pieces: self.pieces(size, align)? })
            }
            "mem_zero" => {
                let (size, align) = (self.size()?, self.align()?);
                Ok(Op::MemZero { dst: ptr, size, align, pieces: self.pieces(size, align)? })
            }
            name => {
                let Some(access) = PrefetchHint::from_name(name) else { return self.expected("an access") };
                let bytes =
                    u32::try_from(self.size()?).or_else(|_| self.error("the size must be below 2^32"))?;
                Ok(Op::Prefetch { ptr, bytes, access })
            }
        }
    }

    /// `, pieces 12 of 16`; nothing for integers.
    fn pieces(&mut self, size: u64, align: u32) -> Parsed<Pieces> {
        if !self.eat(',')? {
            return Ok(Pieces::integers(size, align));
        }
        self.expect_word("pieces")?;
        let piece = self.number()?;
        self.expect_word("of")?;
        Ok(Pieces { size: piece, stride: self.number()? })
    }

    /// `, size 16`
    fn size(&mut self) -> Parsed<u64> {
        self.expect(',')?;
        self.expect_word("size")?;
        self.number()
    }
}

/// Splits `fadd.fast` into the name and the mode; the default where none is written.
fn split_mode(word: &str) -> (&str, FpMode) {
    if let Some((name, mode)) = word.rsplit_once('.')
        && let Some(mode) = FpMode::from_name(mode)
    {
        return (name, mode);
    }
    (word, FpMode::default())
}
