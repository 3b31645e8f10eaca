//! Remarks: how a kernel was compiled for this processor, and why not better.
//!
//! Cached code has no remarks, so the kernel is compiled anew up to LLVM's text, and nothing is cached.

use std::collections::BTreeMap;

use anymetal_diagnostics::{Diagnostic, Severity, SourceMap, Span, render_text};
use anymetal_hal::artifact::Effort;
use anymetal_ir::{Loc, Module};
use anymetal_opt::unroll::remarks_on_loops;
use anymetal_opt::{PassManager, RemarkId, RemarkKind, RemarkValue};
use serde::{Deserialize, Serialize};

use super::{Library, MarkedFile, Specialisation};
use crate::artifacts::kernel_of;
use crate::big_stack;
use crate::error::CompileError;
use crate::isolated;
use crate::machine_code;
use crate::pipeline::{Calls, prepare};

/// A remark about a kernel, in terms of its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelRemark {
    /// Whether an optimization was done, was not done, or a fact explains the code.
    pub kind: RemarkKind,
    /// The pass or the part of the code generator.
    pub pass: String,
    /// The stable name: `load-gather`.
    pub name: String,
    /// The message, lower case, without a full stop.
    pub message: String,
    /// The file; `None`: the remark is about the kernel as a whole.
    pub file: Option<String>,
    /// 1-based line; 0 without a file.
    pub line: u32,
    /// 1-based column; 0 without a file.
    pub column: u32,
    /// The explanation: the cause, the variable, counts.
    pub arguments: BTreeMap<String, RemarkValue>,
}

impl KernelRemark {
    fn new(remark: &anymetal_opt::Remark, module: &Module) -> Self {
        let anymetal_opt::Remark { id, loc, arguments } = remark;
        let file = loc.is_known().then(|| module.files[loc.file as usize].clone());
        let (line, column) = if file.is_some() { (loc.line, loc.column) } else { (0, 0) };
        let argument = |(name, value): &(&str, RemarkValue)| ((*name).to_owned(), value.clone());
        Self {
            kind: id.kind(),
            pass: id.pass().to_owned(),
            name: id.name().to_owned(),
            message: id.message().to_owned(),
            file,
            line,
            column,
            arguments: arguments.iter().map(argument).collect(),
        }
    }

    /// The arguments as text: `cause: value loaded from index, cause_line: 7`.
    pub fn details(&self) -> String {
        let arguments = self.arguments.iter().map(|(name, value)| format!("{name}: {value}"));
        Vec::from_iter(arguments).join(", ")
    }
}

impl Library {
    /// Remarks on a kernel's code for this processor, in the order of the source. Compiles the kernel anew as
    /// far as LLVM's text.
    ///
    /// # Errors
    /// Those of compiling the kernel for this processor, except LLVM's.
    pub fn remarks(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<Vec<KernelRemark>, CompileError> {
        self.check_name(kernel)?;
        self.state.caught(kernel, Some(specialisation), None, || match self.shared().isolation()? {
            Some(pool) => isolated::remarks(pool, self, kernel, specialisation),
            None => big_stack::run("remarks", || self.make_remarks(kernel, specialisation)),
        })
    }

    fn make_remarks(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<Vec<KernelRemark>, CompileError> {
        let made = self.state.module(kernel)?;
        let budget = &self.shared().budget;
        let mut manager = PassManager::new(&specialisation.passes).with_remarks();
        let module = prepare(&made.module, kernel, specialisation, Calls::Kept, budget, &mut manager)?;
        let mut remarks = manager.take_remarks();
        let passes = specialisation.passes.after(manager.executions());
        let specialisation = &Specialisation { passes, ..specialisation.clone() };
        let found = kernel_of(&module, kernel)?;
        // The target's passes demote the loop parameters by which trips are counted.
        remarks.extend(remarks_on_loops(module.function(found.function)));
        let wanted = machine_code::Wanted { remarks: true, ..machine_code::Wanted::default() };
        let generated = machine_code::generate(&module, found, specialisation, wanted, self.shared())?;
        let of_kernel = |id| anymetal_opt::Remark::new(id, Loc::default());
        if let Some([x, y, z]) = generated.executed_group {
            remarks.push(of_kernel(RemarkId::ThreadgroupReshaped).with("executed", format!("{x}x{y}x{z}")));
        }
        if generated.effort != Effort::Full {
            remarks.push(of_kernel(RemarkId::EffortReduced).with("effort", generated.effort.word()));
        }
        remarks.extend(generated.code.remarks);
        remarks.sort_by_key(|remark| {
            (remark.loc.is_known(), remark.loc.file, remark.loc.line, remark.loc.column)
        });
        // A loop of a function that is inlined several times has the same remark each time.
        remarks.dedup();
        Ok(remarks.iter().map(|remark| KernelRemark::new(remark, &module)).collect())
    }

    /// Remarks as text, each with its source line.
    ///
    /// # Errors
    /// If the sources cannot be read again.
    pub fn render_remarks(&self, remarks: &[KernelRemark], colour: bool) -> Result<String, CompileError> {
        let files = match self.shared().isolation()? {
            Some(pool) => isolated::sources(pool, self)?,
            None => self.own_sources()?,
        };
        let mut map = SourceMap::new();
        let ids: BTreeMap<&str, _> = files
            .iter()
            .map(|MarkedFile { name, text, .. }| (name.as_str(), map.add_file(name, text.as_str())))
            .collect();
        let span = |remark: &KernelRemark| {
            let id = *ids.get(remark.file.as_deref()?)?;
            map.file(id)?.span_at(id, remark.line, remark.column)
        };
        let diagnostics: Vec<Diagnostic> =
            remarks.iter().map(|remark| diagnostic(remark, span(remark))).collect();
        Ok(render_text(&map, &diagnostics, colour))
    }
}

/// The remark as a diagnostic; without a span its position is part of the message.
fn diagnostic(remark: &KernelRemark, span: Option<Span>) -> Diagnostic {
    let id = RemarkId::ALL.iter().find(|id| id.name() == remark.name).map_or("remark", |id| id.name());
    let mut message = format!("{}: {}", remark.kind.word(), remark.message);
    if let (None, Some(file)) = (span, &remark.file) {
        message = format!("{message} ({file}:{}:{})", remark.line, remark.column);
    }
    let diagnostic = Diagnostic {
        severity: Severity::Remark,
        ..Diagnostic::warning(id, span.unwrap_or(Span::NONE), message)
    };
    match span {
        Some(_) => diagnostic.with_label(remark.details()),
        None if remark.arguments.is_empty() => diagnostic,
        None => diagnostic.with_note(Span::NONE, remark.details()),
    }
}
