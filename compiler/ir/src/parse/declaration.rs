//! Everything outside functions.

use anymetal_abi::logging::{LogLevel, LogSite};

use super::lexer::Token;
use super::{Parsed, Parser};
use crate::{
    Access, ArgKind, ElementType, FuncId, FunctionConstant, Global, Kernel, KernelArg, Space, StageInput,
    ThreadgroupVar,
};

impl Parser<'_> {
    pub(super) fn declaration(&mut self) -> Parsed<()> {
        match self.token {
            Token::Word("file") => self.file(),
            Token::Word("function_constant") => self.function_constant(),
            Token::Word("global") => self.global(),
            Token::Word("threadgroup") => self.threadgroup_var(),
            Token::Word("threadgroup_reserve") => self.threadgroup_reserve(),
            Token::Word("whole_buffers") => self.whole_buffers(),
            Token::Word("func") => self.function(),
            Token::Word("kernel") => self.kernel(),
            _ => self.expected("a declaration"),
        }
    }

    fn file(&mut self) -> Parsed<()> {
        self.bump()?;
        if self.token != Token::Number(&self.module.files.len().to_string()) {
            return self.expected(&format!("{}", self.module.files.len()));
        }
        self.bump()?;
        let name = self.text()?;
        self.module.files.push(name);
        Ok(())
    }

    fn function_constant(&mut self) -> Parsed<()> {
        self.bump()?;
        self.declared("fc", self.module.function_constants.len())?;
        let name = self.text()?;
        self.expect_word("index")?;
        let index = self.number()?;
        self.expect(':')?;
        let ty = self.scalar()?;
        let signed = self.eat_word("signed")?;
        let (lane, lanes) = self.lane()?;
        self.module.function_constants.push(FunctionConstant { name, index, ty, signed, lane, lanes });
        Ok(())
    }

    /// `lane 1 of 3`, of a component of a vector.
    fn lane(&mut self) -> Parsed<(u8, u8)> {
        if !self.eat_word("lane")? {
            return Ok((0, 1));
        }
        let lane = self.number()?;
        self.expect_word("of")?;
        Ok((lane, self.number()?))
    }

    fn global(&mut self) -> Parsed<()> {
        self.bump()?;
        self.declared("g", self.module.globals.len())?;
        let name = self.text()?;
        self.expect_word("align")?;
        let align = self.number()?;
        self.expect_word("bytes")?;
        let digits = match &self.token {
            Token::Text(digits) => hexadecimal(digits),
            _ => None,
        };
        let Some(bytes) = digits else { return self.expected("bytes in hexadecimal, as a string") };
        self.bump()?;
        self.module.globals.push(Global { name, bytes, align });
        Ok(())
    }

    fn threadgroup_var(&mut self) -> Parsed<()> {
        self.bump()?;
        self.declared("tg", self.module.threadgroup_vars.len())?;
        let name = self.text()?;
        let (size, align) = self.size_and_align()?;
        self.module.threadgroup_vars.push(ThreadgroupVar { name, size, align });
        Ok(())
    }

    fn threadgroup_reserve(&mut self) -> Parsed<()> {
        self.bump()?;
        self.module.threadgroup_reserve = self.number()?;
        Ok(())
    }

    fn whole_buffers(&mut self) -> Parsed<()> {
        self.module.whole_buffers = true;
        self.bump()?;
        Ok(())
    }

    pub(super) fn size_and_align(&mut self) -> Parsed<(u64, u32)> {
        self.expect_word("size")?;
        let size = self.number()?;
        self.expect_word("align")?;
        Ok((size, self.number()?))
    }

    fn kernel(&mut self) -> Parsed<()> {
        self.bump()?;
        let name = self.text()?;
        let function = FuncId(self.entity("f")?);
        let max_threads = if self.eat_word("max_threads")? { Some(self.number()?) } else { None };
        let required_threads = if self.eat_word("required_threads")? {
            Some([self.number()?, self.number()?, self.number()?])
        } else {
            None
        };
        let mut thread_attributes = Vec::new();
        if self.eat_word("attributes")? {
            self.expect('[')?;
            while !self.eat(']')? {
                if !thread_attributes.is_empty() {
                    self.expect(',')?;
                }
                thread_attributes.push(self.text()?);
            }
        }
        self.expect('{')?;
        let (mut args, mut logs, mut stage_inputs) = (Vec::new(), Vec::new(), Vec::new());
        while !self.eat('}')? {
            match self.token {
                Token::Word("log") => logs.push(self.log_site()?),
                Token::Word("stage_input") => stage_inputs.push(self.stage_input()?),
                _ => args.push(self.argument()?),
            }
        }
        self.module.kernels.push(Kernel {
            name,
            function,
            args,
            max_threads,
            required_threads,
            thread_attributes,
            logs,
            stage_inputs,
        });
        Ok(())
    }

    fn log_site(&mut self) -> Parsed<LogSite> {
        self.bump()?;
        let level = self.named("a level", LogLevel::from_name)?;
        let (subsystem, category) = (self.text()?, self.text()?);
        Ok(LogSite { level, subsystem, category, format: self.text()? })
    }

    fn stage_input(&mut self) -> Parsed<StageInput> {
        self.bump()?;
        Ok(StageInput { name: self.text()?, attribute: self.number()?, element: self.element()? })
    }

    fn argument(&mut self) -> Parsed<KernelArg> {
        self.expect_word("arg")?;
        let name = self.text()?;
        let kind = self.named("a kind of argument", ArgKind::from_name)?;
        let index = self.number()?;
        let space = self.named("an address space", Space::from_name)?;
        let type_name = self.text()?;
        let element = self.element()?;
        let (element_size, element_align) = self.size_and_align()?;
        let access = self.named("an access", Access::from_name)?;
        let reference = self.eat_word("reference")?;
        let index_by = if self.eat_word("index_by")? { Some(FuncId(self.entity("f")?)) } else { None };
        let enabled_by = if self.eat_word("enabled_by")? { Some(FuncId(self.entity("f")?)) } else { None };
        let enabled = !self.eat_word("disabled")?;
        Ok(KernelArg {
            name,
            kind,
            index,
            index_by,
            space,
            type_name,
            element,
            element_size,
            element_align,
            reference,
            access,
            enabled_by,
            enabled,
        })
    }

    fn element(&mut self) -> Parsed<ElementType> {
        if self.eat_word("aggregate")? {
            Ok(ElementType::Aggregate)
        } else if self.eat_word("scalar")? {
            let scalar = self.scalar()?;
            Ok(ElementType::Scalar { scalar, signed: self.eat_word("signed")? })
        } else {
            self.expect_word("vector")?;
            let scalar = self.scalar()?;
            let count = self.number()?;
            Ok(ElementType::Vector { scalar, signed: self.eat_word("signed")?, count })
        }
    }
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let nibbles: Option<Vec<u8>> = digits.chars().map(|c| Some(c.to_digit(16)? as u8)).collect();
    let nibbles = nibbles.filter(|nibbles| nibbles.len() % 2 == 0)?;
    Some(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
