//! Makes a launch that shows a difference smaller, instruction by instruction.
//!
//! A step removes instructions whose results are unused, or puts a constant in the place of a
//! computation. It stays if the module is still valid and the same kind of difference still shows. So the
//! outcome is a launch that differs as the first one did.

use crate::differential::{Subject, check};
use crate::machine::Machine;
use anymetal_analysis::{use_counts, walk_insts};
use anymetal_ir::{FuncId, Function, Inst, Op, Type, verify};
use anymetal_opt::compact::compact;
use std::time::{Duration, Instant};

/// Makes the launch smaller until nothing more can go, or until the time is over. Gives it with the
/// difference it still shows.
pub fn reduce(
    subject: Subject,
    message: String,
    machine: Option<&Machine>,
    time: Duration,
) -> (Subject, String) {
    let kind = kind(&message).to_owned();
    // What the interpreter alone shows needs no machine code, which takes most of the time.
    let machine = machine.filter(|_| kind.starts_with("the CPU"));
    let Some(kernel) = subject.module.kernel("k").map(|kernel| kernel.function) else {
        return (subject, message);
    };
    let mut best = Best { subject, message, kind, kernel, machine, end: Instant::now() + time };
    best.drop_buffers_content();
    while best.round() {}
    (best.subject, best.message)
}

/// What a difference is about, without places and contents.
fn kind(message: &str) -> &str {
    message.find(": buffer").map_or(message, |end| &message[..end])
}

struct Best<'m> {
    subject: Subject,
    message: String,
    kind: String,
    kernel: FuncId,
    machine: Option<&'m Machine>,
    end: Instant,
}

impl Best<'_> {
    /// Keeps a candidate that still differs.
    fn accept(&mut self, candidate: Subject) -> bool {
        if Instant::now() > self.end || verify(&candidate.module).is_err() {
            return false;
        }
        match check(&candidate, self.machine) {
            Some(message) if kind(&message) == self.kind => {
                (self.subject, self.message) = (candidate, message);
                true
            }
            _ => false,
        }
    }

    fn drop_buffers_content(&mut self) {
        for index in 0..self.subject.buffers.len() {
            let mut candidate = self.subject.clone();
            candidate.buffers[index].fill(0);
            self.accept(candidate);
        }
    }

    /// One pass over all instructions; whether anything went.
    fn round(&mut self) -> bool {
        let mut any = false;
        let mut size = self.count().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.count() {
                match self.accept_without(at, size) {
                    true => any = true,
                    false => at += size,
                }
            }
            size /= 2;
        }
        let mut at = 0;
        while at < self.count() {
            any |= self.accept_simpler(at);
            at += 1;
        }
        any
    }

    fn function(&self) -> &Function {
        self.subject.module.function(self.kernel)
    }

    fn order(function: &Function) -> Vec<Inst> {
        let mut order = Vec::new();
        walk_insts(function, function.body, &mut |inst| order.push(inst));
        order
    }

    fn count(&self) -> usize {
        Self::order(self.function()).len()
    }

    /// Without the instructions from `at` to `at + size`, counted from the end, as far as they can go.
    fn accept_without(&mut self, at: usize, size: usize) -> bool {
        let mut candidate = self.subject.clone();
        let function = &mut candidate.module.functions[self.kernel.index()];
        let mut order = Self::order(function);
        order.reverse();
        let mut uses = use_counts(function);
        let mut gone = Vec::new();
        for &inst in order.iter().skip(at).take(size) {
            let data = function.inst(inst);
            if data.result.is_some_and(|result| uses[result.index()] > 0) {
                continue;
            }
            let mut inside = vec![inst];
            for block in data.op.blocks() {
                walk_insts(function, block, &mut |inner| inside.push(inner));
            }
            for inner in inside {
                let op = &function.inst(inner).op;
                op.for_each_operand(|operand| {
                    uses[operand.index()] = uses[operand.index()].saturating_sub(1);
                });
            }
            gone.push(inst);
        }
        if gone.is_empty() {
            return false;
        }
        for block in &mut function.blocks {
            block.insts.retain(|inst| !gone.contains(inst));
        }
        compact(function);
        self.accept(candidate)
    }

    /// With a constant instead of the computation at a place.
    fn accept_simpler(&mut self, at: usize) -> bool {
        let mut candidate = self.subject.clone();
        let function = &mut candidate.module.functions[self.kernel.index()];
        let Some(&inst) = Self::order(function).get(at) else { return false };
        let data = function.inst(inst);
        let Some(result) = data.result else { return false };
        let Type::Scalar(_) = function.ty(result) else { return false };
        if matches!(data.op, Op::Const(_)) {
            return false;
        }
        function.insts[inst.index()].op = Op::Const(0);
        self.accept(candidate)
    }
}
