//! Reports reads of bytes that were never written, in locals and threadgroup memory.
//!
//! Shadow memory keeps one flag per byte: one block for the threadgroup's memory, one for each SIMD-group's
//! private memory. A copy from memory to memory copies the flags instead of reading, so that padding in a
//! struct is no finding. Each instruction is reported once. Buffers and constant data count as written.

use std::collections::BTreeSet;

use anymetal_ir::Loc;

use super::{Access, AtomicKind, Group, Interests, LocalStart, MemorySizes, Observer};
use crate::report::{MemoryPlace, ThreadId, Variable};
use crate::{Dispatch, Program};

/// The first read of an undefined byte by one instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UninitialisedRead {
    /// The variable.
    pub variable: Variable,
    /// Its name in the source.
    pub name: String,
    /// The first byte that was never written, from the variable's start.
    pub offset: u64,
    /// The instruction.
    pub loc: Loc,
    /// The thread.
    pub thread: ThreadId,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Uninitialised {
    found: Vec<UninitialisedRead>,
    known: BTreeSet<(u32, u32, u32, Variable)>,
    /// Names are looked up only for findings.
    names: Vec<(Variable, String)>,
    threadgroup: Vec<bool>,
    private: Vec<Vec<bool>>,
}

impl Uninitialised {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// In order of occurrence.
    pub fn reads(&self) -> &[UninitialisedRead] {
        &self.found
    }

    /// The flags of the bytes accessed; `None` for memory that is not shadowed.
    fn shadow(&mut self, access: &Access) -> Option<&mut [bool]> {
        let (bytes, offset) = match access.place {
            MemoryPlace::Threadgroup { offset } => (&mut self.threadgroup, offset),
            MemoryPlace::Private { offset } => {
                (self.private.get_mut(access.thread.simdgroup as usize)?, offset)
            }
            MemoryPlace::Buffer { .. } | MemoryPlace::Constant { .. } => return None,
        };
        bytes.get_mut(offset as usize..(offset + access.bytes) as usize)
    }

    fn check_read(&mut self, access: &Access) {
        let Some(undefined) = self.shadow(access).and_then(|flags| flags.iter().position(|&known| !known))
        else {
            return;
        };
        let (loc, variable) = (access.loc, access.variable);
        if self.known.insert((loc.file, loc.line, loc.column, variable)) {
            let name = self.names.iter().find(|(named, _)| *named == variable);
            self.found.push(UninitialisedRead {
                variable,
                name: name.map_or_else(String::new, |(_, name)| name.clone()),
                offset: access.offset + undefined as u64,
                loc,
                thread: access.thread,
            });
        }
    }

    fn mark_written(&mut self, access: &Access) {
        if let Some(flags) = self.shadow(access) {
            flags.fill(true);
        }
    }
}

impl Observer for Uninitialised {
    fn interests(&self) -> Interests {
        Interests::ALL
    }

    fn on_dispatch(&mut self, program: &Program, dispatch: &Dispatch, sizes: MemorySizes) {
        self.names = program.variables().map(|(variable, name)| (variable, name.to_owned())).collect();
        let simdgroups = dispatch.group_size.iter().product::<u32>().div_ceil(32);
        self.threadgroup = vec![false; sizes.threadgroup as usize];
        self.private = vec![vec![false; sizes.private as usize]; simdgroups as usize];
    }

    fn on_group_start(&mut self, _group: &Group) {
        self.threadgroup.fill(false);
        for bytes in &mut self.private {
            bytes.fill(false);
        }
    }

    fn on_load(&mut self, access: &Access) {
        self.check_read(access);
    }

    fn on_store(&mut self, access: &Access) {
        self.mark_written(access);
    }

    fn on_copy(&mut self, source: &Access, target: &Access) {
        match self.shadow(source).map(|flags| flags.to_vec()) {
            Some(flags) => {
                if let Some(written) = self.shadow(target) {
                    written.copy_from_slice(&flags);
                }
            }
            None => self.mark_written(target),
        }
    }

    fn on_atomic(&mut self, access: &Access, kind: AtomicKind) {
        if kind != AtomicKind::Store {
            self.check_read(access);
        }
        if kind != AtomicKind::Load {
            self.mark_written(access);
        }
    }

    fn on_local_start(&mut self, start: &LocalStart) {
        let bytes = start.offset as usize..(start.offset + start.bytes) as usize;
        let flags = self.private.get_mut(start.thread.simdgroup as usize);
        if let Some(flags) = flags.and_then(|flags| flags.get_mut(bytes)) {
            flags.fill(false);
        }
    }
}
