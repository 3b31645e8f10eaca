//! Reads of a `read_write` texture after a write of the same texel by the same thread, without `fence()`
//! between them: such a read may return the old texel (MSL 6.12).
//!
//! A write and a read of a texel begin at the same byte. A thread has passed a number of fences, and a texel
//! remembers the thread that wrote it and how many fences it had passed.

use anymetal_interp::{AccessOp, Accesses, BarrierArrival, FenceExecuted, MemoryPlace};
use rustc_hash::FxHashMap;

use super::collector::{Collector, Seen, Text};
use crate::finding::Action;
use crate::{FindingKind, LaunchInfo};

/// MSL's `mem_flags::mem_texture`.
const MEM_TEXTURE: u32 = 4;

/// A write of a texel.
#[derive(Debug)]
struct Written {
    /// The thread, by its number in its threadgroup.
    thread: u32,
    /// The fences that it had passed.
    fences: u32,
    side: Seen,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct TextureFences {
    /// By buffer and first byte; of the running threadgroup.
    written: FxHashMap<(u32, u64), Written>,
    /// The fences that each thread of the threadgroup has passed.
    fences: FxHashMap<u32, u32>,
}

impl TextureFences {
    pub(super) fn start_group(&mut self) {
        self.written.clear();
        self.fences.clear();
    }

    pub(super) fn fence(&mut self, fence: &FenceExecuted) {
        self.pass(fence.thread.simdgroup, fence.lanes, fence.memory);
    }

    /// A barrier orders the textures that its flags name.
    pub(super) fn arrive(&mut self, arrival: &BarrierArrival) {
        self.pass(arrival.thread.simdgroup, arrival.arrived, arrival.memory.unwrap_or(MEM_TEXTURE));
    }

    fn pass(&mut self, simdgroup: u32, lanes: u32, memory: u32) {
        if memory & MEM_TEXTURE != 0 && !self.written.is_empty() {
            for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                *self.fences.entry(simdgroup * 32 + lane).or_default() += 1;
            }
        }
    }

    /// The accesses of one instruction in all lanes.
    pub(super) fn access(&mut self, accesses: &Accesses<'_>, info: &LaunchInfo, findings: &mut Collector) {
        if !findings.wants(FindingKind::TextureFence) || accesses.op.atomic().is_some() {
            return;
        }
        for lane in accesses.each_lane() {
            let MemoryPlace::Buffer { buffer, offset } = accesses.place(lane) else {
                // Textures are in buffers.
                continue;
            };
            if !info.is_texture(accesses.variable(lane)) {
                continue;
            }
            let thread = accesses.simdgroup * 32 + lane as u32;
            let fences = self.fences.get(&thread).copied().unwrap_or_default();
            if accesses.op == AccessOp::Store {
                let side = Seen::access(&accesses.access(lane), Action::Write, None);
                self.written.insert((buffer, offset), Written { thread, fences, side });
                continue;
            }
            let Some(written) = self.written.get(&(buffer, offset)) else { continue };
            if (written.thread, written.fences) == (thread, fences) {
                let access = accesses.access(lane);
                let sides = [written.side, Seen::access(&access, Action::Read, None)];
                findings.report(FindingKind::TextureFence, &sides, Some(access.variable), |findings| {
                    let name = findings.memory(access.variable).map_or("", |memory| &memory.name);
                    Text {
                        message: format!("a texel of `{name}` is read after its thread wrote it"),
                        remedy: Some(format!("call `{name}.fence()` between them")),
                    }
                });
            }
        }
    }
}
