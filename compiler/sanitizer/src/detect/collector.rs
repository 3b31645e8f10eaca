//! Findings of a session: folded by place, bounded in number.

use std::collections::BTreeSet;

use anymetal_interp::{Access, Bytes, Program, ThreadId, Variable};
use anymetal_ir::{ArgKind, Loc};
use rustc_hash::FxHashMap;

use super::places::Places;
use crate::finding::{AccessedMemory, Action, Finding, MemorySpace, Position, Side, SourcePlace, Value};
use crate::{FindingKind, LaunchInfo, ResidentInfo};

/// What findings are folded by: kind, kernel, places, variable.
type Key = (FindingKind, u32, [Place; 2], Option<Variable>);

/// File, line, column.
type Place = (u32, u32, u32);

fn place_of(loc: Loc) -> Place {
    (loc.file, loc.line, loc.column)
}

/// A variable as a finding shows it.
#[derive(Clone, Debug)]
struct Named {
    variable: Variable,
    memory: AccessedMemory,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Collector {
    kinds: BTreeSet<FindingKind>,
    max_findings: usize,
    findings: Vec<Finding>,
    known: FxHashMap<Key, usize>,
    /// Occurrences that had no room.
    pub(crate) dropped: u64,
    kernels: Vec<String>,
    kernel: u32,
    launch: u64,
    seed: Option<u64>,
    places: Places,
    named: Vec<Named>,
}

/// One side of a finding, as a detector knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) action: Action,
    pub(crate) thread: Position,
    pub(crate) loc: Loc,
    pub(crate) bytes: u64,
    pub(crate) offset: i64,
    pub(crate) value: Option<Bytes>,
}

impl Seen {
    /// Of an access that happens now.
    pub(crate) fn access(access: &Access, action: Action, value: Option<Bytes>) -> Self {
        let (thread, offset) = (position(&access.thread), access.offset as i64);
        Self { action, thread, loc: access.loc, bytes: access.bytes, offset, value }
    }

    /// Of something that accesses no memory.
    pub(crate) fn at(action: Action, thread: &ThreadId, loc: Loc) -> Self {
        Self { action, thread: position(thread), loc, bytes: 0, offset: 0, value: None }
    }
}

/// What a finding says besides its sides.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) message: String,
    pub(crate) remedy: Option<String>,
}

pub(crate) fn position(thread: &ThreadId) -> Position {
    Position {
        threadgroup: thread.group,
        thread: thread.position_in_group,
        grid: thread.position_in_grid,
        simdgroup: thread.simdgroup,
        lane: thread.lane,
    }
}

impl Collector {
    pub(crate) fn new(kinds: BTreeSet<FindingKind>, max_findings: usize) -> Self {
        Self {
            kinds,
            max_findings,
            findings: Vec::new(),
            known: FxHashMap::default(),
            dropped: 0,
            kernels: Vec::new(),
            kernel: 0,
            launch: 0,
            seed: None,
            places: Places::default(),
            named: Vec::new(),
        }
    }

    /// Findings from now on are of this launch.
    pub(crate) fn begin(&mut self, program: &Program, info: &LaunchInfo, (launch, seed): (u64, Option<u64>)) {
        let name = program.kernel();
        let kernel = self.kernels.iter().position(|known| known == name).unwrap_or_else(|| {
            self.kernels.push(name.to_owned());
            self.kernels.len() - 1
        });
        (self.kernel, self.launch, self.seed) = (kernel as u32, launch, seed);
        self.places = Places::new(program);
        self.named =
            program.variables().map(|(variable, name)| named(program, info, variable, name)).collect();
        self.named
            .extend((0u32..).zip(&info.resident).map(|(number, resident)| named_resident(number, resident)));
    }

    pub(crate) fn wants(&self, kind: FindingKind) -> bool {
        self.kinds.contains(&kind)
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub(crate) fn findings_mut(&mut self) -> &mut [Finding] {
        &mut self.findings
    }

    /// Where it is in the source of the running kernel.
    pub(crate) fn place(&self, loc: Loc) -> SourcePlace {
        self.places.place(loc)
    }

    /// What the variable is.
    pub(crate) fn memory(&self, variable: Variable) -> Option<&AccessedMemory> {
        self.named.iter().find(|named| named.variable == variable).map(|named| &named.memory)
    }

    /// Counts an occurrence; `text` is made for the first at these places.
    pub(crate) fn report(
        &mut self,
        kind: FindingKind,
        sides: &[Seen],
        variable: Option<Variable>,
        text: impl FnOnce(&Self) -> Text,
    ) {
        if !self.wants(kind) {
            return;
        }
        let mut places = [(0, 0, 0); 2];
        for (place, side) in places.iter_mut().zip(sides) {
            *place = place_of(side.loc);
        }
        places.sort_unstable();
        let key = (kind, self.kernel, places, variable);
        if let Some(&index) = self.known.get(&key) {
            self.findings[index].count += 1;
            return;
        }
        if self.findings.len() >= self.max_findings {
            self.dropped += 1;
            return;
        }
        let Text { message, remedy } = text(self);
        let memory = variable.and_then(|variable| self.memory(variable)).cloned();
        let finding = Finding {
            kind,
            kernel: self.kernels[self.kernel as usize].clone(),
            launch: self.launch,
            seed: self.seed,
            message,
            sides: sides.iter().map(|side| self.side(side)).collect(),
            memory,
            remedy,
            count: 1,
        };
        self.known.insert(key, self.findings.len());
        self.findings.push(finding);
    }

    fn side(&self, seen: &Seen) -> Side {
        Side {
            action: seen.action,
            thread: seen.thread,
            bytes: seen.bytes,
            offset: seen.offset,
            value: seen
                .value
                .map(|bytes| Value(bytes.as_slice().to_vec()))
                .filter(|value| !value.0.is_empty()),
            place: self.places.place(seen.loc),
        }
    }
}

/// A buffer that is no argument is named by its label.
fn named_resident(number: u32, resident: &ResidentInfo) -> Named {
    let name = resident.label.clone().unwrap_or_else(|| "a buffer without a label".to_owned());
    let memory = AccessedMemory {
        space: MemorySpace::Device,
        name,
        label: resident.label.clone(),
        bytes: resident.bytes,
        element_bytes: 1,
    };
    Named { variable: Variable::Resident(number), memory }
}

fn named(program: &Program, info: &LaunchInfo, variable: Variable, name: &str) -> Named {
    let argument = match variable {
        Variable::Argument(position) => Some(position as usize),
        _ => None,
    };
    let described = argument.and_then(|position| program.arguments().get(position));
    let space = match (variable, described) {
        (Variable::Argument(_), Some(argument)) if argument.kind == ArgKind::ThreadgroupMemory => {
            MemorySpace::Threadgroup
        }
        (Variable::Argument(_), Some(argument)) if argument.read_only => MemorySpace::Constant,
        (Variable::Argument(_), _) => MemorySpace::Device,
        (Variable::Threadgroup(_), _) => MemorySpace::Threadgroup,
        (Variable::Global(_), _) => MemorySpace::Constant,
        (Variable::Resident(_) | Variable::Address, _) => MemorySpace::Device,
        (Variable::Local(..) | Variable::Nothing, _) => MemorySpace::Thread,
    };
    let of_argument = argument.and_then(|position| info.arguments.get(position));
    let memory = AccessedMemory {
        space,
        name: name.to_owned(),
        label: of_argument.and_then(|argument| argument.label.clone()),
        bytes: of_argument.map_or_else(|| program.variable_bytes(variable), |argument| argument.bytes),
        element_bytes: of_argument.map_or(1, |argument| argument.element_bytes.max(1)),
    };
    Named { variable, memory }
}
