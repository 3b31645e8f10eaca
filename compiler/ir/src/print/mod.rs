//! The text form, written. [`crate::parse_module`] reads it back.
//!
//! Deterministic and complete: printing a parsed module gives the same text. Two things are left
//! out because they mean nothing: instructions and blocks that nothing reaches, and the float mode
//! of operations that have none ([`crate::Op::has_fp_mode`]). A `;` begins a comment.
//!
//! ```text
//! file 0 "saxpy.metal"
//!
//! func f0 "saxpy" (v0: ptr.device, v1: ptr.device) {
//!   v2 = query.thread_position_in_grid.x : i32 @0:4:9
//!   v3 = zext v2 : i64
//!   v4 = ptr_add v0 + v3 * 4 : ptr.device
//!   v5 = load v4, align 4 : f32
//!   v6 = const 2.0 : f32
//!   v7 = fmul.fast v5, v6 : f32
//!   store v4, v7, align 4
//! }
//!
//! kernel "saxpy" f0 {
//!   arg "x" buffer 0 device "float" scalar f32 signed size 4 align 4 read_write
//!   arg "y" buffer 1 device "float" scalar f32 signed size 4 align 4 read_write
//! }
//! ```
//!
//! Blocks print iteratively, so nesting depth cannot exhaust the stack.

mod declaration;
mod instruction;

pub(crate) use instruction::instruction;

use std::fmt::{self, Write};

use crate::{Block, Function, Inst, Module, Op};

/// The module's text form.
pub fn print_module(module: &Module) -> String {
    let mut out = String::new();
    declaration::declarations(&mut out, module).expect("writing to a string does not fail");
    for (n, function) in module.functions.iter().enumerate() {
        if !out.is_empty() {
            out.push('\n');
        }
        print_into(&mut out, function, n, &|_| String::new());
    }
    declaration::kernels(&mut out, module).expect("writing to a string does not fail");
    out
}

/// One function's text form, as function `f0`.
pub fn print_function(function: &Function) -> String {
    print_annotated(function, &|_| String::new())
}

/// One function's text form with a comment after each instruction that has a note.
pub fn print_annotated(function: &Function, note: &dyn Fn(Inst) -> String) -> String {
    let mut out = String::new();
    print_into(&mut out, function, 0, note);
    out
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_module(self))
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_function(self))
    }
}

fn print_into(out: &mut String, function: &Function, number: usize, note: &dyn Fn(Inst) -> String) {
    declaration::function_header(out, function, number).expect("writing to a string does not fail");
    let seen = vec![false; function.blocks.len()];
    FunctionPrinter { out, function, note, indent: 1, seen }
        .body()
        .expect("writing to a string does not fail");
    out.push_str("}\n");
}

/// What the printer has yet to do, innermost last.
enum Step {
    /// The instructions of the block from this position on.
    Instructions(Block, usize),
    /// A line that closes one region and perhaps opens the next, then that region.
    Region(String, Block),
    /// The line that closes the construct.
    Close(&'static str),
}

struct FunctionPrinter<'a> {
    out: &'a mut String,
    function: &'a Function,
    /// The comment on an instruction; empty: none.
    note: &'a dyn Fn(Inst) -> String,
    indent: usize,
    /// Blocks printed so far: a broken module in which a block holds itself still prints.
    seen: Vec<bool>,
}

impl FunctionPrinter<'_> {
    fn body(&mut self) -> fmt::Result {
        let mut steps = vec![Step::Instructions(self.function.body, 0)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Instructions(block, from) => self.instructions(block, from, &mut steps)?,
                Step::Region(line, block) => {
                    self.line(&line)?;
                    self.indent += 1;
                    steps.push(Step::Instructions(block, 0));
                }
                Step::Close(line) => {
                    self.line(line)?;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> fmt::Result {
        writeln!(self.out, "{:1$}{line}", "", self.indent * 2)
    }

    fn annotated(&self, line: String, inst: Inst) -> String {
        match (self.note)(inst) {
            note if note.is_empty() => line,
            note => format!("{line:<48} ; {note}"),
        }
    }

    /// Prints up to the first construct, whose regions and the rest of this block become steps.
    fn instructions(&mut self, block: Block, from: usize, steps: &mut Vec<Step>) -> fmt::Result {
        let known = self.function.blocks.get(block.index());
        let again =
            from == 0 && self.seen.get_mut(block.index()).is_some_and(|seen| std::mem::replace(seen, true));
        if known.is_none() || again {
            self.line(&format!("; {block} does not exist or is printed above"))?;
        }
        let insts = known.filter(|_| !again).map_or(&[][..], |data| &data.insts);
        for (n, &inst) in insts.iter().enumerate().skip(from) {
            if self.construct(inst, steps, Step::Instructions(block, n + 1)) {
                return Ok(());
            }
            let mut line = String::new();
            instruction::instruction(&mut line, self.function, inst)?;
            self.line(&self.annotated(line, inst))?;
        }
        // The body's own end is the function's closing brace.
        self.indent -= 1;
        Ok(())
    }

    fn construct(&self, inst: Inst, steps: &mut Vec<Step>, rest: Step) -> bool {
        let Some(data) = self.function.insts.get(inst.index()) else {
            // Broken functions are printed as well.
            return false;
        };
        let loc = instruction::loc_suffix(data.loc);
        let mut regions: Vec<(String, Block)> = Vec::new();
        let close = "}";
        let results = match data.op.results() {
            [] => String::new(),
            results => format!("{} = ", instruction::typed(self.function, results).join(", ")),
        };
        match &data.op {
            Op::If { cond, then, otherwise, .. } => {
                regions.push((format!("{results}if {cond}{loc} {{"), *then));
                if !self.function.blocks.get(otherwise.index()).is_none_or(|block| block.insts.is_empty()) {
                    regions.push(("} else {".to_owned(), *otherwise));
                }
            }
            Op::Loop { label, inits, params, body, continuing, .. } => {
                let params = instruction::typed(self.function, params).into_iter().zip(inits);
                let params: Vec<String> = params.map(|(param, init)| format!("{param} = {init}")).collect();
                let params =
                    if params.is_empty() { String::new() } else { format!(" ({})", params.join(", ")) };
                regions.push((format!("{results}loop {label}{params}{loc} {{"), *body));
                if !self.function.blocks.get(continuing.index()).is_none_or(|block| block.insts.is_empty()) {
                    regions.push(("} continuing {".to_owned(), *continuing));
                }
            }
            Op::Switch { label, selector, cases, default, .. } => {
                let mut open = format!("{results}switch {label} {selector}{loc} ");
                for case in cases {
                    let values: Vec<_> = case.values.iter().map(i64::to_string).collect();
                    regions.push((format!("{open}case {} {{", values.join(", ")), case.body));
                    open = "} ".to_owned();
                }
                regions.push((format!("{open}default {{"), *default));
            }
            Op::Scope { label, body, .. } => {
                regions.push((format!("{results}scope {label}{loc} {{"), *body));
            }
            _ => return false,
        }
        if let Some((line, _)) = regions.first_mut() {
            *line = self.annotated(std::mem::take(line), inst);
        }
        steps.push(rest);
        steps.push(Step::Close(close));
        steps.extend(regions.into_iter().rev().map(|(line, block)| Step::Region(line, block)));
        true
    }
}
