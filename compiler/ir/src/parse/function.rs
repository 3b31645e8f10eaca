//! Functions: header, blocks, constructs.

use super::lexer::Token;
use super::{MAX_ID, Parsed, Parser};
use crate::{
    Block, FpMode, Function, Inst, Label, Loc, LocalData, Op, SwitchCase, Type, Value, ValueData, ValueDef,
    Values,
};

/// The function being read.
pub(super) struct Body {
    pub(super) function: Function,
    /// Which entries of the value table the text has defined; the numbers in the text may skip.
    defined: Vec<bool>,
}

impl Body {
    fn define(&mut self, value: Value, data: ValueData) -> Result<(), String> {
        if value.0 >= MAX_ID {
            return Err(format!("{value} is numbered too high"));
        }
        while self.defined.len() <= value.index() {
            self.defined.push(false);
            self.function.values.push(ValueData::new(Type::I32, ValueDef::Param(u32::MAX)));
        }
        if std::mem::replace(&mut self.defined[value.index()], true) {
            return Err(format!("{value} is defined twice"));
        }
        self.function.values[value.index()] = data;
        Ok(())
    }

    fn append(&mut self, block: Block, op: Op, result: Option<Value>, fp: FpMode, loc: Loc) -> Inst {
        let inst = Inst(self.function.insts.len() as u32);
        self.function.insts.push(crate::InstData { op, result, fp, loc });
        self.function.blocks[block.index()].insts.push(inst);
        inst
    }
}

impl Parser<'_> {
    pub(super) fn function(&mut self) -> Parsed<()> {
        self.bump()?;
        self.declared("f", self.module.functions.len())?;
        let name = self.text()?;
        let mut body = Body { function: Function::new(name, &[], None), defined: Vec::new() };
        self.expect('(')?;
        while !self.eat(')')? {
            if !body.function.params.is_empty() {
                self.expect(',')?;
            }
            self.parameter(&mut body)?;
        }
        if self.eat('-')? {
            self.expect('>')?;
            body.function.ret = Some(self.ty()?);
        }
        self.expect('{')?;
        while self.eat_word("local")? {
            self.declared("l", body.function.locals.len())?;
            let name = self.text()?;
            let (size, align) = self.size_and_align()?;
            // The verifier reports an alignment that is not a power of two.
            body.function.locals.push(LocalData { name, size, align });
        }
        let block = body.function.body;
        self.block(&mut body, block, 0)?;
        self.module.functions.push(body.function);
        Ok(())
    }

    fn parameter(&mut self, body: &mut Body) -> Parsed<()> {
        let value = Value(self.entity("v")?);
        self.expect(':')?;
        let data = ValueData::new(self.ty()?, ValueDef::Param(body.function.params.len() as u32));
        if let Err(message) = body.define(value, data) {
            return self.error(message);
        }
        body.function.params.push(value);
        Ok(())
    }

    /// Statements up to and with the closing brace.
    fn block(&mut self, body: &mut Body, block: Block, depth: usize) -> Parsed<()> {
        if depth > crate::MAX_NESTING {
            return self.error(format!("constructs nest deeper than {}", crate::MAX_NESTING));
        }
        while !self.eat('}')? {
            match self.token {
                Token::Word("if" | "loop" | "switch" | "scope") => {
                    self.construct(body, block, Values::new(), depth)?;
                }
                _ => self.statement(body, block, depth)?,
            }
        }
        Ok(())
    }

    /// A simple instruction, or a construct with results.
    fn statement(&mut self, body: &mut Body, block: Block, depth: usize) -> Parsed<()> {
        let Some(number) = self.peek_entity("v") else { return self.simple(body, block, None) };
        self.bump()?;
        if self.token != Token::Punct(':') {
            self.expect('=')?;
            return self.simple(body, block, Some(Value(number)));
        }
        let mut results = Values::new();
        let mut types = Vec::new();
        let mut value = Value(number);
        loop {
            self.expect(':')?;
            types.push((value, self.ty()?));
            results.push(value);
            if !self.eat(',')? {
                break;
            }
            value = Value(self.entity("v")?);
        }
        self.expect('=')?;
        let inst = self.construct(body, block, results, depth)?;
        self.define_all(body, &types, |n| ValueDef::Result(inst, n))
    }

    fn define_all(
        &mut self,
        body: &mut Body,
        values: &[(Value, Type)],
        def: impl Fn(u32) -> ValueDef,
    ) -> Parsed<()> {
        for (n, &(value, ty)) in (0..).zip(values) {
            if let Err(message) = body.define(value, ValueData::new(ty, def(n))) {
                return self.error(message);
            }
        }
        Ok(())
    }

    /// A construct with results that the text after it may use. Its instruction is numbered before those
    /// inside.
    fn construct(&mut self, body: &mut Body, block: Block, results: Values, depth: usize) -> Parsed<Inst> {
        let inst = body.append(block, Op::Fence(None), None, FpMode::default(), Loc::default());
        let (mut op, loc) = match self.token {
            Token::Word("if") => self.if_else(body, depth)?,
            Token::Word("loop") => self.endless_loop(body, inst, depth)?,
            Token::Word("switch") => self.switch(body, depth)?,
            Token::Word("scope") => self.scope(body, depth)?,
            _ => return self.expected("a construct"),
        };
        if let Some(of_construct) = op.results_mut() {
            *of_construct = results;
        }
        let data = &mut body.function.insts[inst.index()];
        (data.op, data.loc) = (op, loc);
        Ok(inst)
    }

    fn nested(&mut self, body: &mut Body, depth: usize) -> Parsed<Block> {
        self.expect('{')?;
        let block = body.function.add_block();
        self.block(body, block, depth + 1)?;
        Ok(block)
    }

    fn if_else(&mut self, body: &mut Body, depth: usize) -> Parsed<(Op, Loc)> {
        self.bump()?;
        let cond = self.value(body)?;
        let loc = self.loc()?;
        let then = self.nested(body, depth)?;
        let otherwise =
            if self.eat_word("else")? { self.nested(body, depth)? } else { body.function.add_block() };
        Ok((Op::branch(cond, then, otherwise), loc))
    }

    fn endless_loop(&mut self, body: &mut Body, inst: Inst, depth: usize) -> Parsed<(Op, Loc)> {
        self.bump()?;
        let label = self.label(body)?;
        let (mut inits, mut types) = (Values::new(), Vec::new());
        if self.eat('(')? {
            loop {
                let value = Value(self.entity("v")?);
                self.expect(':')?;
                types.push((value, self.ty()?));
                self.expect('=')?;
                inits.push(self.value(body)?);
                if !self.eat(',')? {
                    break;
                }
            }
            self.expect(')')?;
        }
        self.define_all(body, &types, |n| ValueDef::LoopParam(inst, n))?;
        let params = types.iter().map(|&(value, _)| value).collect();
        let loc = self.loc()?;
        let inner = self.nested(body, depth)?;
        let continuing =
            if self.eat_word("continuing")? { self.nested(body, depth)? } else { body.function.add_block() };
        Ok((Op::Loop { label, inits, params, body: inner, continuing, results: Values::new() }, loc))
    }

    fn switch(&mut self, body: &mut Body, depth: usize) -> Parsed<(Op, Loc)> {
        self.bump()?;
        let label = self.label(body)?;
        let selector = self.value(body)?;
        let loc = self.loc()?;
        let mut cases = Vec::new();
        while self.eat_word("case")? {
            let mut values = Vec::new();
            while matches!(self.token, Token::Number(_)) || (!values.is_empty() && self.eat(',')?) {
                values.push(self.number()?);
            }
            cases.push(SwitchCase { values, body: self.nested(body, depth)? });
        }
        self.expect_word("default")?;
        let default = self.nested(body, depth)?;
        Ok((Op::switch(label, selector, cases, default), loc))
    }

    fn scope(&mut self, body: &mut Body, depth: usize) -> Parsed<(Op, Loc)> {
        self.bump()?;
        let label = self.label(body)?;
        let loc = self.loc()?;
        let inner = self.nested(body, depth)?;
        Ok((Op::scope(label, inner), loc))
    }

    fn simple(&mut self, body: &mut Body, block: Block, result: Option<Value>) -> Parsed<()> {
        let (mut op, fp, literal) = self.operation(body)?;
        let mut ty = None;
        if result.is_some() {
            self.expect(':')?;
            ty = Some(self.ty()?);
        }
        if let Some(literal) = literal {
            match super::operands::constant(&literal, ty) {
                Some(bits) => op = Op::Const(bits),
                None => return self.error(format!("{literal} is no such constant")),
            }
        }
        let loc = self.loc()?;
        if let (Some(result), Some(ty)) = (result, ty) {
            let def = ValueDef::Inst(Inst(body.function.insts.len() as u32));
            if let Err(message) = body.define(result, ValueData::new(ty, def)) {
                return self.error(message);
            }
        }
        body.append(block, op, result, fp, loc);
        Ok(())
    }

    /// A value that the text above defines.
    pub(super) fn value(&mut self, body: &Body) -> Parsed<Value> {
        let number = self.peek_entity("v");
        match number.filter(|&number| body.defined.get(number as usize) == Some(&true)) {
            Some(number) => {
                self.bump()?;
                Ok(Value(number))
            }
            None if number.is_some() => self.error(format!("{} is not defined above", self.token)),
            None => self.expected("a value"),
        }
    }

    pub(super) fn label(&mut self, body: &mut Body) -> Parsed<Label> {
        let number = self.entity("label")?;
        if number >= MAX_ID {
            return self.error("the label is numbered too high");
        }
        body.function.labels = body.function.labels.max(number + 1);
        Ok(Label(number))
    }

    fn loc(&mut self) -> Parsed<Loc> {
        if !self.eat('@')? {
            return Ok(Loc::default());
        }
        let file = self.number()?;
        self.expect(':')?;
        let line = self.number()?;
        self.expect(':')?;
        Ok(Loc { file, line, column: self.number()?, origin: 0 })
    }
}
