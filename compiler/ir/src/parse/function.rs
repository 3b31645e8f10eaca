//! Functions: header, blocks, constructs.

use super::lexer::Token;
use super::{MAX_ID, Parsed, Parser};
use crate::{
    Block, FpMode, Function, Inst, Label, Loc, LocalData, Op, SwitchCase, Type, Value, ValueData, ValueDef,
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
            self.function.values.push(ValueData { ty: Type::I32, def: ValueDef::Param(u32::MAX) });
        }
        if std::mem::replace(&mut self.defined[value.index()], true) {
            return Err(format!("{value} is defined twice"));
        }
        self.function.values[value.index()] = data;
        Ok(())
    }

    fn append(&mut self, block: Block, op: Op, result: Option<Value>, fp: FpMode, loc: Loc) {
        let inst = Inst(self.function.insts.len() as u32);
        self.function.insts.push(crate::InstData { op, result, fp, loc });
        self.function.blocks[block.index()].insts.push(inst);
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
        let data = ValueData { ty: self.ty()?, def: ValueDef::Param(body.function.params.len() as u32) };
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
                Token::Word("if") => self.if_else(body, block, depth)?,
                Token::Word("loop") => self.endless_loop(body, block, depth)?,
                Token::Word("switch") => self.switch(body, block, depth)?,
                Token::Word("scope") => self.scope(body, block, depth)?,
                _ => self.simple(body, block)?,
            }
        }
        Ok(())
    }

    fn nested(&mut self, body: &mut Body, depth: usize) -> Parsed<Block> {
        self.expect('{')?;
        let block = body.function.add_block();
        self.block(body, block, depth + 1)?;
        Ok(block)
    }

    fn if_else(&mut self, body: &mut Body, block: Block, depth: usize) -> Parsed<()> {
        self.bump()?;
        let cond = self.value(body)?;
        let loc = self.loc()?;
        let then = self.nested(body, depth)?;
        let otherwise =
            if self.eat_word("else")? { self.nested(body, depth)? } else { body.function.add_block() };
        body.append(block, Op::If { cond, then, otherwise }, None, FpMode::default(), loc);
        Ok(())
    }

    fn endless_loop(&mut self, body: &mut Body, block: Block, depth: usize) -> Parsed<()> {
        self.bump()?;
        let label = self.label(body)?;
        let loc = self.loc()?;
        let inner = self.nested(body, depth)?;
        let continuing =
            if self.eat_word("continuing")? { self.nested(body, depth)? } else { body.function.add_block() };
        body.append(block, Op::Loop { label, body: inner, continuing }, None, FpMode::default(), loc);
        Ok(())
    }

    fn switch(&mut self, body: &mut Body, block: Block, depth: usize) -> Parsed<()> {
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
        body.append(block, Op::Switch { label, selector, cases, default }, None, FpMode::default(), loc);
        Ok(())
    }

    fn scope(&mut self, body: &mut Body, block: Block, depth: usize) -> Parsed<()> {
        self.bump()?;
        let label = self.label(body)?;
        let loc = self.loc()?;
        let inner = self.nested(body, depth)?;
        body.append(block, Op::Scope { label, body: inner }, None, FpMode::default(), loc);
        Ok(())
    }

    fn simple(&mut self, body: &mut Body, block: Block) -> Parsed<()> {
        let result = match self.peek_entity("v") {
            Some(number) => {
                self.bump()?;
                self.expect('=')?;
                Some(Value(number))
            }
            None => None,
        };
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
            if let Err(message) = body.define(result, ValueData { ty, def }) {
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
