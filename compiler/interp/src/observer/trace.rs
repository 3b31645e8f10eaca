//! Logs events as lines of text, up to a limit, to find the moment when a kernel
//! goes wrong.

use std::fmt::Write;

use super::{Access, AtomicKind, BarrierArrival, Group, Interests, LocalStart, MemorySizes, Observer};
use crate::report::{Fault, PartialBarrier, ThreadId, Variable};
use crate::{Dispatch, Program};

/// See the module's documentation.
#[derive(Debug)]
pub struct Trace {
    text: String,
    lines: usize,
    max_lines: usize,
    omitted: u64,
    interests: Interests,
    names: Vec<(Variable, String)>,
    files: Vec<String>,
}

impl Trace {
    /// Keeps the first `max_lines` lines about the accesses of interest; barriers, faults and threadgroups
    /// are always reported.
    pub fn new(max_lines: usize, interests: Interests) -> Self {
        Self {
            text: String::new(),
            lines: 0,
            max_lines,
            omitted: 0,
            interests,
            names: Vec::new(),
            files: Vec::new(),
        }
    }

    /// The lines so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines had no room.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        if self.lines == self.max_lines {
            self.omitted += 1;
            return;
        }
        self.lines += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{text}");
    }

    fn name(&self, variable: Variable) -> String {
        let name = self.names.iter().find(|(named, _)| *named == variable);
        name.map_or_else(|| "?".to_owned(), |(_, name)| name.clone())
    }

    fn access(&mut self, verb: &str, access: &Access) {
        if self.lines == self.max_lines {
            self.omitted += 1;
            return;
        }
        let (name, who) = (self.name(access.variable), who(&access.thread));
        let position = self.position(access.loc);
        self.line(format_args!(
            "{who} {verb} {name}+{} ({} bytes) at {position}",
            access.offset, access.bytes
        ));
    }

    fn position(&self, loc: anymetal_ir::Loc) -> String {
        let file = self.files.get(loc.file as usize).map_or("", String::as_str);
        if loc.is_known() { format!("{file}:{}:{}", loc.line, loc.column) } else { "?".to_owned() }
    }
}

fn who(thread: &ThreadId) -> String {
    let ([gx, gy, gz], [x, y, z]) = (thread.group, thread.position_in_group);
    format!("group ({gx}, {gy}, {gz}) thread ({x}, {y}, {z})")
}

impl Observer for Trace {
    fn interests(&self) -> Interests {
        self.interests
    }

    fn on_dispatch(&mut self, program: &Program, dispatch: &Dispatch, _sizes: MemorySizes) {
        self.names = program.variables().map(|(variable, name)| (variable, name.to_owned())).collect();
        self.files = program.files().to_vec();
        let (grid, group) = (dispatch.grid_threads, dispatch.group_size);
        self.line(format_args!("dispatch {} of {grid:?} threads in groups of {group:?}", program.kernel()));
    }

    fn on_group_start(&mut self, group: &Group) {
        self.line(format_args!("group {:?} starts with {:?} threads", group.position, group.size));
    }

    fn on_group_end(&mut self, group: &Group) {
        self.line(format_args!("group {:?} ends", group.position));
    }

    fn on_load(&mut self, access: &Access) {
        self.access("reads", access);
    }

    fn on_store(&mut self, access: &Access) {
        self.access("writes", access);
    }

    fn on_copy(&mut self, source: &Access, target: &Access) {
        self.access("copies from", source);
        self.access("copies to", target);
    }

    fn on_atomic(&mut self, access: &Access, kind: AtomicKind) {
        let verb = match kind {
            AtomicKind::Load => "atomically reads",
            AtomicKind::Store => "atomically writes",
            AtomicKind::ReadModifyWrite => "atomically changes",
        };
        self.access(verb, access);
    }

    fn on_local_start(&mut self, start: &LocalStart) {
        let name = self.name(Variable::Local(start.function, start.local));
        let (group, simdgroup) = (start.thread.group, start.thread.simdgroup);
        let lanes = start.lanes;
        self.line(format_args!("group {group:?} SIMD-group {simdgroup} lanes {lanes:#010x} begin {name}"));
    }

    fn on_barrier(&mut self, arrival: &BarrierArrival) {
        let (group, simdgroup) = (arrival.thread.group, arrival.thread.simdgroup);
        let position = self.position(arrival.loc);
        self.line(format_args!(
            "group {group:?} SIMD-group {simdgroup} lanes {:#010x} arrive at the {:?} barrier at {position}",
            arrival.arrived, arrival.scope
        ));
    }

    fn on_barrier_passed(&mut self, group: &Group, generation: u32) {
        self.line(format_args!("group {:?} passes its barrier {generation}", group.position));
    }

    fn on_fault(&mut self, fault: &Fault) {
        let (name, who) = (self.name(fault.variable), who(&fault.thread));
        let position = self.position(fault.loc);
        self.line(format_args!(
            "{who} faults: {:?} of {} bytes at {name}{:+}, which has {} bytes, at {position}",
            fault.kind, fault.bytes, fault.offset, fault.bound
        ));
    }

    fn on_partial_barrier(&mut self, barrier: &PartialBarrier) {
        let position = self.position(barrier.loc);
        self.line(format_args!("lanes {:#010x} miss the barrier at {position}", barrier.missing));
    }
}
