//! Prefetch queue: lines of the next tile, prefetched during the products of this one.
//!
//! A loop that copies tile after tile to threadgroup memory and multiplies them leaves memory idle during
//! the products. Prefetching the next tile in one burst would not use that: a core has some 16 line fills
//! in flight, and later accesses wait. So each load of a tile queues its address of the next iteration, and
//! the first panel micro-kernel of the SIMD-group prefetches a line every few rows
//! (`matrix::panel_microkernel`).
//!
//! An entry is the address of the first piece and the stride to the second. The number of pieces and the
//! order of entries are estimates made at compile time; a wrong one only costs time.

use std::collections::BTreeMap;

use anymetal_ir::{Block, Inst, MatrixOp, Op, PrefetchHint, Value};
use anymetal_opt::Feature;

use crate::cpu::emit::Emitter;
use crate::cpu::emit::memory::Address;
use crate::cpu::emit::prefetch::LINE;
use crate::cpu::llvm_text::Opd;
use crate::polls::LoopPolls;

/// Notes of a SIMD-group; one more is overwritten by all that come later.
const CAPACITY: usize = 16;
/// Bytes of a note, and of all of a SIMD-group.
const NOTE: i64 = 16;
const NOTES: i64 = NOTE * (CAPACITY as i64 + 1);
/// The maximum number of lines that one SIMD-group prefetches in an iteration.
const MAX_LINES: i64 = 96;

/// The notes of a loop.
#[derive(Clone, Debug)]
pub(in crate::cpu::emit) struct PrefetchQueue {
    notes: Opd,
    counts: Opd,
    /// By pointer that is loaded from: the innermost loop around it in the loop of tiles, and its iterations.
    trip_counts: BTreeMap<Value, (Option<Inst>, usize)>,
    noted: Vec<Noted>,
    taken: bool,
}

/// What a load notes.
#[derive(Clone, Copy, Debug)]
struct Noted {
    pointer: Value,
    rows: i64,
    bytes: i64,
    around: (Option<Inst>, usize),
}

/// Lines prefetched in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cpu::emit) struct Walk {
    /// Bytes to the note from the first one.
    pub(in crate::cpu::emit) note: i64,
    /// The piece to start in, and the byte there.
    pub(in crate::cpu::emit) row: i64,
    pub(in crate::cpu::emit) byte: i64,
    /// From piece to piece, instead of line to line.
    pub(in crate::cpu::emit) down: bool,
}

impl Emitter<'_, '_> {
    /// Makes room for notes, before a loop of tiles that multiplies them in panels.
    pub(in crate::cpu::emit) fn start_prefetch_queue(&mut self, blocks: [Block; 2]) -> Option<PrefetchQueue> {
        let threads = self.facts.geometry.threads()?;
        let mut trip_counts = BTreeMap::new();
        let mut products = false;
        for block in blocks {
            self.find_trip_counts(block, (None, 1), &mut trip_counts, &mut products);
        }
        let is_on = self.has(Feature::TilePrefetch) && self.panel_fit().is_some();
        if !products || !is_on {
            return None;
        }
        let simdgroups = i64::from(threads.div_ceil(32));
        let notes = self.t.alloca(&format!("[{} x i8]", simdgroups * NOTES), 64);
        let counts = self.t.alloca(&format!("[{simdgroups} x i64]"), 64);
        // Where a guess was too high, nothing is asked for at address zero.
        self.t.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)");
        for (at, bytes) in [(&notes, simdgroups * NOTES), (&counts, simdgroups * 8)] {
            self.t.line(format_args!("call void @llvm.memset.p0.i64(ptr {at}, i8 0, i64 {bytes}, i1 false)"));
        }
        Some(PrefetchQueue { notes, counts, trip_counts, noted: Vec::new(), taken: false })
    }

    fn find_trip_counts(
        &self,
        block: Block,
        around: (Option<Inst>, usize),
        trip_counts: &mut BTreeMap<Value, (Option<Inst>, usize)>,
        products: &mut bool,
    ) {
        let function = self.facts.function;
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            match *op {
                Op::Load { ptr, .. } | Op::MemCopy { src: ptr, .. } | Op::MemConvert { src: ptr, .. } => {
                    trip_counts.insert(ptr, around);
                }
                Op::Matrix(MatrixOp::MultiplyAccumulate, _) => *products = true,
                Op::Loop { body, continuing, .. } => {
                    // The last iteration that begins only leaves.
                    let trips = match self.loops.polls.of_loop(inst) {
                        LoopPolls::Never { trips } => usize::try_from(trips - 1).unwrap_or(0),
                        LoopPolls::Every { .. } => 0,
                    };
                    // More notes than there is room for are none.
                    let times = trips.checked_mul(around.1).filter(|&times| times <= CAPACITY).unwrap_or(0);
                    let inner = (Some(inst), times);
                    self.find_trip_counts(body, inner, trip_counts, products);
                    self.find_trip_counts(continuing, inner, trip_counts, products);
                    continue;
                }
                _ => {}
            }
            for nested in op.blocks() {
                self.find_trip_counts(nested, around, trip_counts, products);
            }
        }
    }

    /// After the body of a loop of tiles: prefetches the queue, if no panel did.
    pub(in crate::cpu::emit) fn end_prefetch_queue(&mut self) {
        let Some(prefetch_queue) = self.tile_loops.last().and_then(|found| found.prefetch_queue.as_ref())
        else {
            // The loop multiplies no matrices.
            return;
        };
        if prefetch_queue.taken || prefetch_queue.noted.is_empty() {
            return;
        }
        let noted = prefetch_queue.in_order();
        let simdgroups = self.begin_simdgroups();
        let (notes, count_at) = self.queue_addresses().expect("the loop has a prefetch queue");
        self.t.store("i64", &Opd::Int(0), &count_at, 8);
        for (number, noted) in noted.iter().enumerate() {
            let note = self.t.offset(&notes, &Opd::Int(NOTE * number as i64));
            let mut at = self.t.load("ptr", &note, 8);
            let apart = self.t.offset(&note, &Opd::Int(8));
            let apart = self.t.load("i64", &apart, 8);
            for _ in 0..noted.rows {
                self.prefetch_lines(&at, noted.bytes, PrefetchHint::ReadL2);
                at = self.t.offset(&at, &apart);
            }
        }
        self.end_simdgroups(simdgroups);
    }

    /// The current SIMD-group's notes, and where their number is.
    fn queue_addresses(&mut self) -> Option<(Opd, Opd)> {
        let prefetch_queue = self.tile_loops.last()?.prefetch_queue.as_ref()?;
        let (notes, counts) = (prefetch_queue.notes.clone(), prefetch_queue.counts.clone());
        let simdgroup = match &self.simdgroup {
            Opd::Int(number) => Opd::Int(*number),
            number => self.t.value(format_args!("zext i32 {number} to i64")),
        };
        let bytes = self.t.mul("i64", &simdgroup, &Opd::Int(NOTES));
        let notes = self.t.offset(&notes, &bytes);
        let bytes = self.t.mul("i64", &simdgroup, &Opd::Int(8));
        Some((notes, self.t.offset(&counts, &bytes)))
    }

    /// Notes the pieces, `step` bytes further on: `(offset, bytes)`; `false` if they must be asked for now.
    pub(in crate::cpu::emit) fn queue_prefetch(
        &mut self,
        address: &Address,
        pieces: &[(Opd, i64)],
        step: &Opd,
    ) -> bool {
        let Some(pointer) = address.value else {
            // An address without a pointer cannot be matched to a load of the loop.
            return false;
        };
        let (first, bytes) = pieces.first().cloned().expect("an access has pieces");
        if pieces.iter().any(|piece| piece.1 != bytes) {
            return false;
        }
        let Some(prefetch_queue) = self.tile_loops.last_mut().and_then(|found| found.prefetch_queue.as_mut())
        else {
            // The loop multiplies no matrices.
            return false;
        };
        let noted = match prefetch_queue.trip_counts.get(&pointer) {
            Some(&around) if around.1 > 0 => Noted { pointer, rows: pieces.len() as i64, bytes, around },
            _ => return false,
        };
        // There may be two copies of a loop: with all lanes, and with some.
        if prefetch_queue.noted.iter().all(|other| other.pointer != pointer) {
            prefetch_queue.noted.push(noted);
            if prefetch_queue.is_too_much() {
                prefetch_queue.noted.pop();
                prefetch_queue.trip_counts.remove(&pointer);
                return false;
            }
        }
        let (notes, count_at) = self.queue_addresses().expect("the loop has a prefetch queue");
        let count = self.t.load("i64", &count_at, 8);
        let bytes = self.t.mul("i64", &count, &Opd::Int(NOTE));
        let note = self.t.offset(&notes, &bytes);
        let next = self.t.add("i64", &first, step);
        let at = self.t.offset(&address.place.base, &next);
        self.t.store("ptr", &at, &note, 8);
        if let Some((second, _)) = pieces.get(1) {
            let apart = self.t.sub("i64", second, &first);
            let at = self.t.offset(&note, &Opd::Int(8));
            self.t.store("i64", &apart, &at, 8);
        }
        let more = self.t.add("i64", &count, &Opd::Int(1));
        self.t.declare("declare i64 @llvm.umin.i64(i64, i64)");
        let more = self.t.value(format_args!("call i64 @llvm.umin.i64(i64 {more}, i64 {CAPACITY})"));
        self.t.store("i64", &more, &count_at, 8);
        true
    }

    /// The queue for a panel that prefetches `times` times, and the order of its lines.
    pub(in crate::cpu::emit) fn take_prefetch_queue(&mut self, times: i64) -> Option<(Opd, Vec<Walk>)> {
        let prefetch_queue = self.tile_loops.last_mut()?.prefetch_queue.as_mut()?;
        if prefetch_queue.taken || prefetch_queue.noted.is_empty() {
            return None;
        }
        prefetch_queue.taken = true;
        let walks = prefetch_queue.walks(times);
        let (notes, count_at) = self.queue_addresses()?;
        self.t.store("i64", &Opd::Int(0), &count_at, 8);
        Some((notes, walks))
    }
}

impl PrefetchQueue {
    /// All notes of an iteration in order.
    fn in_order(&self) -> Vec<Noted> {
        let same_loop = |a: &Noted, b: &Noted| a.around.0 == b.around.0;
        let together = |group: &[Noted]| {
            let (_, times) = group[0].around;
            assert!((1..=CAPACITY).contains(&times), "loads in a loop of {times} iterations are not noted");
            group.repeat(times)
        };
        self.noted.chunk_by(same_loop).flat_map(together).collect()
    }

    fn is_too_much(&self) -> bool {
        let all = self.in_order();
        all.len() > CAPACITY || all.iter().map(|noted| noted.rows * noted.lines()).sum::<i64>() > MAX_LINES
    }

    fn walks(&self, times: i64) -> Vec<Walk> {
        assert!(times > 0, "a panel prefetches at least once");
        assert!(!self.is_too_much(), "a queue fits its memory");
        let mut walks = Vec::new();
        for (number, noted) in self.in_order().iter().enumerate() {
            let note = NOTE * number as i64;
            let down = noted.rows > noted.lines();
            let (length, beside) =
                if down { (noted.rows, noted.lines()) } else { (noted.lines(), noted.rows) };
            for line in 0..beside {
                for start in (0..length).step_by(times as usize) {
                    let (row, byte) = if down { (start, line) } else { (line, start) };
                    walks.push(Walk { note, row, byte: byte * LINE, down });
                }
            }
        }
        walks
    }
}

impl Noted {
    fn lines(&self) -> i64 {
        (self.bytes + LINE - 1) / LINE
    }
}
