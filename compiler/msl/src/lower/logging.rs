//! Messages: their records in the log ([`anymetal_abi::logging`]), written with plain operations.
//!
//! A kernel with messages has two more arguments, the log and the number of the command, and hands both to
//! the functions that have messages or call such. Invariant: a kernel without messages, or compiled without
//! logging, is what it would be if there were none.

use super::function::FunctionLowerer;
use super::{purity, value};
use crate::builtins::BuiltinOp;
use crate::hir::{self, ConstValue, ExprKind};
use anymetal_abi::logging::{
    CAPACITY, DROPPED, HEADER_WORDS, LogSite, RECORD_WORDS, USED, parse_format, record_words,
};
use anymetal_abi::textures::BindingRole;
use anymetal_diagnostics::Span;
use anymetal_ir as ir;
use rustc_hash::FxHashMap;

/// The parameters that functions with messages have after their own: the log, the number of the command.
pub(super) const PARAMETERS: [ir::Type; 2] =
    [ir::Type::Ptr(ir::Space::Device), ir::Type::Ptr(ir::Space::Constant)];

/// The messages of a program.
pub(super) struct Messages {
    /// By function: whether it has messages, or calls a function that has.
    logs: Vec<bool>,
    /// The numbers of the program's sites among those of the kernel.
    numbers: FxHashMap<u64, u32>,
    sites: Vec<LogSite>,
}

impl Messages {
    pub(super) fn new(program: &hir::Program, enabled: bool) -> Self {
        let has_none = program.log_sites.is_empty() || !enabled;
        let logs = match has_none {
            true => Vec::new(),
            false => purity::reaches(program, |op| op == BuiltinOp::LogMessage),
        };
        Self { logs, numbers: FxHashMap::default(), sites: Vec::new() }
    }

    /// Whether a function has messages, or calls one that has.
    pub(super) fn logs(&self, function: hir::FuncId) -> bool {
        // Without messages there are no entries.
        self.logs.get(function.0 as usize).copied().unwrap_or(false)
    }

    /// The sites of the kernel, by their numbers.
    pub(super) fn take_sites(&mut self) -> Vec<LogSite> {
        std::mem::take(&mut self.sites)
    }

    /// The number of a site in the kernel.
    fn number(&mut self, site: u64, of: &LogSite) -> u32 {
        *self.numbers.entry(site).or_insert_with(|| {
            self.sites.push(of.clone());
            self.sites.len() as u32 - 1
        })
    }
}

/// What is bound for the log of a kernel.
pub(super) fn arguments() -> [ir::KernelArg; 2] {
    let argument = |role: BindingRole, name: &str, space, access, bytes| ir::KernelArg {
        name: name.to_owned(),
        kind: ir::ArgKind::Buffer,
        index: role.index().expect("no program's buffer"),
        space,
        type_name: "uint".to_owned(),
        element: ir::ElementType::Scalar { scalar: ir::Scalar::I32, signed: false },
        element_size: bytes,
        element_align: 4,
        reference: true,
        access,
        index_by: None,
        enabled_by: None,
        enabled: true,
    };
    let header = u64::from(HEADER_WORDS) * 4;
    [
        argument(BindingRole::Log, "(log)", ir::Space::Device, ir::Access::ReadWrite, header),
        argument(BindingRole::LogCommand, "(log command)", ir::Space::Constant, ir::Access::Read, 4),
    ]
}

/// The log and the number of the command, for a function that is called. Conditions of arguments have
/// none: their messages fit nowhere.
pub(super) fn pointers(f: &mut FunctionLowerer<'_, '_, '_>) -> [ir::Value; 2] {
    match f.log {
        Some(pointers) => pointers,
        None => PARAMETERS.map(|ty| f.b.value(ir::Op::Const(0), ty)),
    }
}

/// Writes a message to the log: its number, then its arguments.
pub(super) fn message(f: &mut FunctionLowerer<'_, '_, '_>, args: &[hir::Expr], span: Span) {
    let (number, args) = args.split_first().expect("the first argument is the number of the message");
    let values: Vec<_> = args.iter().map(|arg| value::lower(f, arg)).collect();
    f.at(span);
    let ExprKind::Const(ConstValue::Scalar(number)) = number.kind else {
        unreachable!("the number of a message is a constant, not {:?}", number.kind)
    };
    let site = &f.module.program.log_sites[number as usize];
    let Some([log, command]) = f.log else {
        // Messages go nowhere, or it is a condition of an argument, which has no log.
        return;
    };
    let format = parse_format(&site.format).expect("the format was checked with the call");
    let words = record_words(&format);
    let number = f.module.messages.number(number, site);
    let record = Record { log, command, number, words, values };
    write_record(&mut f.b, &record);
}

/// A record to be written.
struct Record {
    log: ir::Value,
    command: ir::Value,
    number: u32,
    words: u32,
    values: Vec<ir::Value>,
}

/// Takes the record's words and writes them, or counts the message as lost. A look goes first, so that
/// a full log's count of words stays near its capacity.
fn write_record(b: &mut ir::Builder<'_>, record: &Record) {
    let word = ir::Type::Scalar(ir::Scalar::I32);
    let [used, capacity] = [USED, CAPACITY].map(|index| b.ptr_offset(record.log, i64::from(index) * 4));
    let capacity = b.load(capacity, word, 4);
    let seen = b.value(ir::Op::AtomicLoad(used), word);
    let has_room = b.compare(ir::CmpOp::ULt, seen, capacity);
    b.if_else(
        has_room,
        |b| {
            let words = b.i32(record.words as i32);
            let start = b.infer(ir::Op::AtomicRmw(ir::AtomicOp::Add, used, words));
            let end = b.binary(ir::BinOp::Add, start, words);
            let fits = b.compare(ir::CmpOp::ULe, end, capacity);
            b.if_else(fits, |b| write_words(b, record, start), |b| count_as_lost(b, record.log));
        },
        |b| count_as_lost(b, record.log),
    );
}

fn count_as_lost(b: &mut ir::Builder<'_>, log: ir::Value) {
    let dropped = b.ptr_offset(log, i64::from(DROPPED) * 4);
    let one = b.i32(1);
    b.infer(ir::Op::AtomicRmw(ir::AtomicOp::Add, dropped, one));
}

fn write_words(b: &mut ir::Builder<'_>, record: &Record, start: ir::Value) {
    let index = b.cast(ir::CastOp::ZExt, start, ir::Type::Scalar(ir::Scalar::I64));
    let at = b.ptr_index(record.log, index, 4);
    let header = i64::from(HEADER_WORDS) * 4;
    let place = |b: &mut ir::Builder<'_>, word: u32, value: ir::Value| {
        let to = b.ptr_offset(at, header + i64::from(word) * 4);
        b.store(to, value, 4);
    };
    let number = b.i32(record.number as i32 + 1);
    place(b, 0, number);
    let command = b.load(record.command, ir::Type::Scalar(ir::Scalar::I32), 4);
    place(b, 1, command);
    for axis in 0..3 {
        let position = b.query(ir::Query::ThreadPositionInGrid(axis));
        place(b, 2 + u32::from(axis), position);
    }
    let mut next = RECORD_WORDS;
    for &value in &record.values {
        for element in elements(b, value) {
            place(b, next, element);
            let wide = b.func.ty(element).scalar().is_some_and(|scalar| scalar.bits() == 64);
            next += if wide { 2 } else { 1 };
        }
    }
}

/// The elements of a scalar or vector.
fn elements(b: &mut ir::Builder<'_>, value: ir::Value) -> Vec<ir::Value> {
    match b.func.ty(value).lanes() {
        1 => vec![value],
        lanes => (0..lanes).map(|lane| b.infer(ir::Op::Extract(value, lane))).collect(),
    }
}
