//! Runs the commands of a command buffer on the calling thread and whoever helps.
//!
//! Owns the step from a prepared dispatch to entry calls: inline or shared with the pool, by how long the
//! kernel took last time. Invariant: when a function here returns, no other thread works on the command.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anymetal_hal::artifact::ArgumentKind;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, BufferFill, CommandList, INDIRECT_COUNTS_BYTES, IndirectDispatch,
};
use anymetal_hal::error::{DeviceError, OutOfBounds};
use anymetal_hal::fault;
use anymetal_hal::launch::resident::{self, AddressRange};
use anymetal_hal::launch::{
    CpuEntry, CpuLaunch, DispatchInterpreter, FaultRecord, InterpreterBinding, InterpreterDispatch,
    InterpreterFault, InterpreterResident,
};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::Priority;
use anymetal_hal::time_sample::{TIME_SAMPLE_BYTES, TimeSample};
use anymetal_hal::validate::{DispatchShape, check_range};

use crate::command_buffer::{LaunchTables, PreparedDispatch, cpu_buffer, each_buffer, own_buffer};
use crate::cooperative::{Cooperative, Failure};
use crate::dispatch_times::{DispatchTimes, HAND_OVER_NS};
use crate::memory::{CpuBuffer, MemoryAccount};
use crate::pipeline::{Code, CpuPipeline};
use crate::pool::{Body, HelperPanicked, Pool};
use crate::residency::{self, Residency};
use crate::simdgroups::{self, OutOfStacks};
use crate::worker_memory::{DispatchMemory, OutOfWorkerMemory};

/// Work that was expected to need no helpers and has taken this long is shared after all.
const ESCALATION: Duration = Duration::from_nanos(2 * HAND_OVER_NS);
/// Into so many parts is inline work cut, to look at the clock in between.
const INLINE_PARTS: u64 = 4;
/// Copies and fills are shared in parts of this size.
const COPY_PART: u64 = 1 << 20;

/// What running a command needs.
pub(crate) struct Executor<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) account: &'a Arc<MemoryAccount>,
    /// The device's name.
    pub(crate) device: &'a str,
    pub(crate) stop: &'a AtomicU32,
    /// Whose helpers go first.
    pub(crate) priority: Priority,
}

/// A dispatch that returned early because of `stop`.
#[derive(Debug)]
pub(crate) enum Ended {
    /// All of it ran.
    Completely,
    /// `stop` was seen set.
    Stopped,
}

/// A launch table that several threads read.
struct SharedLaunch<'a>(&'a CpuLaunch);

// SAFETY: the table is constant during the dispatch; what its pointers lead to is shared under the rules of
// `anymetal_hal::launch` (atomics for `stop` and `fault`, the kernel's own rules for buffer contents).
unsafe impl Sync for SharedLaunch<'_> {}

impl SharedLaunch<'_> {
    fn pointer(&self) -> *const CpuLaunch {
        self.0
    }

    fn table(&self) -> &CpuLaunch {
        self.0
    }
}

impl Executor<'_> {
    /// Runs one dispatch.
    pub(crate) fn dispatch(
        &self,
        pipeline: &CpuPipeline,
        bindings: &[Binding],
        prepared: &PreparedDispatch,
        tables: &LaunchTables,
        reach: ResidentMemory<'_>,
    ) -> Result<Ended, DeviceError> {
        match pipeline.code() {
            Code::Native { entry, .. } => self.native(*entry, pipeline, prepared, tables, reach)?,
            Code::Interpreter(interpreter) => {
                let launch = InterpretedLaunch { pipeline, bindings, prepared, tables, reach };
                self.interpret(interpreter.as_ref(), &launch)?;
            }
        }
        let stopped = self.stop.load(Ordering::Relaxed) != 0;
        Ok(if stopped { Ended::Stopped } else { Ended::Completely })
    }

    fn native(
        &self,
        entry: CpuEntry,
        pipeline: &CpuPipeline,
        prepared: &PreparedDispatch,
        tables: &LaunchTables,
        reach: ResidentMemory<'_>,
    ) -> Result<(), DeviceError> {
        let _gate = self.account.gate.shared();
        let record = FaultRecord::default();
        let (buffers, slots) = (tables.buffers(prepared), tables.threadgroup_slots(prepared));
        let resident = match pipeline.kernel().loads_pointers {
            true => reach.residency.table(pipeline.kernel(), buffers),
            false => Cow::default(),
        };
        let shape = executed_shape(pipeline, &prepared.shape);
        let launch = CpuLaunch {
            buffers: buffers.as_ptr(),
            buffer_count: buffers.len() as u64,
            before: tables.before(prepared).as_ptr(),
            threadgroup_slots: slots.as_ptr(),
            threadgroup_slot_count: slots.len() as u64,
            stop: self.stop,
            fault: &raw const record,
            grid_threads: shape.grid_threads,
            groups: shape.groups,
            group_size: shape.group_size,
            reserved: 0,
            resident: resident.as_ptr(),
            resident_count: resident.len() as u64,
        };
        let launch = SharedLaunch(&launch);
        let code = simdgroups::Code { entry, simdgroups: pipeline.simdgroups() };
        if pipeline.kernel().grid_barriers {
            self.cooperate(code, pipeline, prepared, &launch)?;
            return fault_of(&record, pipeline, prepared, reach);
        }
        let memory = DispatchMemory::new(prepared.needs, self.account.guard);
        let needs = prepared.needs.threadgroup_bytes.saturating_add(prepared.needs.scratch_bytes);
        // The bytes that a thread did not get.
        let out_of_memory = AtomicU64::new(0);
        let body = |worker: u32, first: u64, end: u64| {
            let missing = |requested: u64| {
                out_of_memory.fetch_max(requested, Ordering::Relaxed);
            };
            let stacks = match code.stacks(launch.table()) {
                Ok(stacks) => stacks,
                Err(OutOfStacks { requested }) => return missing(requested),
            };
            let ran = memory.with_worker(worker, |worker| {
                // SAFETY: the entry belongs to the pipeline's loaded object; the tables follow the launch ABI
                // (validated lengths, memory held by the command buffer and this thread) and outlive the
                // call; the pool hands out each threadgroup once.
                unsafe { code.run(stacks.as_ref(), launch.pointer(), worker, first..end) }
            });
            code.keep(stacks);
            if let Err(OutOfWorkerMemory) = ran {
                missing(needs);
            }
        };
        let ran = self.run_groups(shape.group_count, pipeline.times(), &body);
        let requested = out_of_memory.into_inner();
        if requested > 0 {
            return Err(DeviceError::OutOfMemory { requested });
        }
        let kernel = &pipeline.kernel().name;
        ran.map_err(|HelperPanicked| panicked(kernel))?;
        fault_of(&record, pipeline, prepared, reach)
    }

    /// Runs a kernel with barriers of the grid: validation accepts it in cooperative launches only.
    fn cooperate(
        &self,
        code: simdgroups::Code<'_>,
        pipeline: &CpuPipeline,
        prepared: &PreparedDispatch,
        launch: &SharedLaunch<'_>,
    ) -> Result<(), DeviceError> {
        let cooperative = Cooperative {
            code,
            launch: launch.pointer(),
            groups: prepared.shape.group_count,
            needs: prepared.needs,
            stack_bytes: pipeline.stack_bytes(),
            guard: self.account.guard,
            group_memory: pipeline.group_memory(),
        };
        // SAFETY: as in `native`, and the pipeline knows the most stack that its code needs.
        let ran = unsafe { cooperative.run(self.pool, self.priority) };
        ran.map_err(|failure| match failure {
            Failure::OutOfMemory { requested } => DeviceError::OutOfMemory { requested },
            Failure::Panicked => panicked(&pipeline.kernel().name),
        })
    }

    /// Runs so many threadgroups, on the calling thread alone if they are expected to be done soon.
    fn run_groups(&self, total: u64, times: &DispatchTimes, body: &Body<'_>) -> Result<(), HelperPanicked> {
        if total == 1 || self.pool.width() == 1 {
            // Nobody to share with, so nothing to measure: reading the clock costs as much as a small
            // dispatch.
            body(0, 0, total);
            return Ok(());
        }
        let mut done = 0;
        if times.needs_no_helpers(total) {
            let start = Instant::now();
            let part = (total / INLINE_PARTS).max(1);
            let mut elapsed = Duration::ZERO;
            while done < total && elapsed < ESCALATION {
                let end = done.saturating_add(part).min(total);
                body(0, done, end);
                done = end;
                elapsed = start.elapsed();
            }
            times.note_groups(done, elapsed.as_nanos() as u64);
        }
        if done < total {
            let share = self.pool.run_job(done..total, total, self.priority, body)?;
            times.note_groups(share.groups, share.busy.as_nanos() as u64);
        }
        Ok(())
    }

    fn interpret(
        &self,
        interpreter: &dyn DispatchInterpreter,
        launch: &InterpretedLaunch<'_>,
    ) -> Result<(), DeviceError> {
        let InterpretedLaunch { pipeline, prepared, tables, .. } = *launch;
        // Alone with all buffer contents of the device: the slices below are the only way to them.
        let _gate = self.account.gate.exclusive();
        let InterpretedMemory { memories, labels, bindings, resident } = interpreter_memory(launch);
        let kernel = pipeline.kernel();
        let slots = tables.threadgroup_slots(prepared);
        let request = InterpreterDispatch {
            kernel: &kernel.name,
            memories,
            labels,
            bindings,
            resident,
            grid_threads: prepared.shape.grid_threads,
            groups: prepared.shape.groups,
            group_size: prepared.shape.group_size,
            threadgroup_lengths: slots.iter().map(|slot| slot.len).collect(),
            stop: self.stop,
        };
        interpreter.dispatch(request).or_else(|fault| interpreter_error(fault, pipeline, prepared))
    }

    /// The counts of an indirect dispatch, as they are now.
    pub(crate) fn counts(&self, dispatch: &IndirectDispatch) -> Result<[u32; 3], DeviceError> {
        let mut bytes = [0; INDIRECT_COUNTS_BYTES as usize];
        self.bytes(dispatch.counts(), dispatch.counts_offset(), &mut bytes)?;
        let count = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Ok([count(0), count(4), count(8)])
    }

    fn own<'b>(&self, buffer: &'b Arc<dyn Buffer>) -> Result<&'b CpuBuffer, DeviceError> {
        own_buffer(buffer, self.account, self.device)
    }

    /// Bytes of a buffer, as they are now. Errors if they are not within it, or it is another device's.
    pub(crate) fn bytes(
        &self,
        buffer: &Arc<dyn Buffer>,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError> {
        let buffer = self.own(buffer)?;
        check_range(offset, bytes.len() as u64, buffer.length())?;
        let _gate = self.account.gate.shared();
        // SAFETY: the range is within the buffer (checked above), and no slice into it exists while the gate
        // is shared.
        unsafe {
            let source = Start(buffer).at(offset);
            std::ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), bytes.len());
        }
        Ok(())
    }

    /// Copies bytes between buffers.
    pub(crate) fn copy(&self, copy: &BufferCopy) -> Result<(), DeviceError> {
        let (source, destination) = (self.own(copy.source())?, self.own(copy.destination())?);
        let (from, to) = (copy.source_offset(), copy.destination_offset());
        debug_assert!(check_range(from, copy.length(), source.length()).is_ok());
        debug_assert!(check_range(to, copy.length(), destination.length()).is_ok());
        let (source, destination) = (Start(source), Start(destination));
        self.run_bytes(copy.length(), &|first, len| {
            // SAFETY: both ranges are within their buffers, do not overlap (`BufferCopy` has no others), and
            // no slice into a buffer exists while the gate is shared.
            unsafe {
                let source = source.at(from + first);
                std::ptr::copy_nonoverlapping(source, destination.at(to + first), len);
            }
        })
    }

    /// Sets bytes of a buffer.
    pub(crate) fn fill(&self, fill: &BufferFill) -> Result<(), DeviceError> {
        let buffer = self.own(fill.buffer())?;
        debug_assert!(check_range(fill.offset(), fill.length(), buffer.length()).is_ok());
        let buffer = Start(buffer);
        self.run_bytes(fill.length(), &|first, len| {
            // SAFETY: the range is within the buffer (`BufferFill` has no other), and no slice into it exists
            // while the gate is shared.
            unsafe { std::ptr::write_bytes(buffer.at(fill.offset() + first), fill.value(), len) }
        })
    }

    /// Writes a time to a buffer.
    pub(crate) fn write_time(&self, sample: &TimeSample, now_ns: u64) -> Result<(), DeviceError> {
        let buffer = self.own(sample.buffer())?;
        debug_assert!(check_range(sample.offset(), TIME_SAMPLE_BYTES, buffer.length()).is_ok());
        let _gate = self.account.gate.shared();
        // SAFETY: the eight bytes are within the buffer (`TimeSample` has no others), and no slice into it
        // exists while the gate is shared.
        unsafe { Start(buffer).at(sample.offset()).cast::<u64>().write_unaligned(now_ns) };
        Ok(())
    }

    fn run_bytes(&self, length: u64, part: &(dyn Fn(u64, usize) + Sync)) -> Result<(), DeviceError> {
        let _gate = self.account.gate.shared();
        let parts = length.div_ceil(COPY_PART);
        let body = |_worker: u32, first: u64, end: u64| {
            let (first, end) = (first * COPY_PART, (end * COPY_PART).min(length));
            part(first, (end - first) as usize);
        };
        if parts <= 2 {
            if length > 0 {
                body(0, 0, parts);
            }
            return Ok(());
        }
        self.pool
            .run_job(0..parts, parts, self.priority, &body)
            .map_err(|HelperPanicked| panicked("copy"))?;
        Ok(())
    }
}

/// A buffer's bytes by address.
struct Start<'a>(&'a CpuBuffer);

impl Start<'_> {
    /// The byte at an offset that is within the buffer or at its end.
    fn at(&self, offset: u64) -> *mut u8 {
        self.0.start().wrapping_add(offset as usize)
    }
}

/// The threadgroups that run: those that the code is made for, where the kernel cannot tell.
fn executed_shape(pipeline: &CpuPipeline, given: &DispatchShape) -> DispatchShape {
    let executed = pipeline.kernel().executed_group.and_then(|size| given.in_groups_of(size));
    executed.unwrap_or(*given)
}

/// What the record of a finished dispatch tells.
fn fault_of(
    record: &FaultRecord,
    pipeline: &CpuPipeline,
    prepared: &PreparedDispatch,
    reach: ResidentMemory<'_>,
) -> Result<(), DeviceError> {
    match record.recorded() {
        None => Ok(()),
        Some(mut recorded) => {
            let kernel = &pipeline.kernel().name;
            let executed = executed_shape(pipeline, &prepared.shape);
            let (group, thread) = (recorded.group_linear, recorded.thread_in_group);
            (recorded.group_linear, recorded.thread_in_group) =
                prepared.shape.place_of(&executed, group, thread);
            let label = |address| residency::label_at(reach.submission, address);
            Err(fault::describe(pipeline.artifact(), kernel, &prepared.shape, recorded, label))
        }
    }
}

fn panicked(kernel: &str) -> DeviceError {
    let message = "see the panic message of the worker thread".to_owned();
    DeviceError::WorkerPanicked { kernel: Some(kernel.to_owned()), message }
}

/// What the kernels of a submission reach through pointers in memory.
#[derive(Clone, Copy)]
pub(crate) struct ResidentMemory<'a> {
    /// The submission, for labels.
    pub(crate) submission: &'a CommandList,
    /// Its resident buffers.
    pub(crate) residency: &'a Residency,
}

/// A dispatch for the interpreter.
#[derive(Clone, Copy)]
struct InterpretedLaunch<'a> {
    pipeline: &'a CpuPipeline,
    bindings: &'a [Binding],
    prepared: &'a PreparedDispatch,
    tables: &'a LaunchTables,
    reach: ResidentMemory<'a>,
}

/// The distinct memories of a dispatch as slices, their labels, the bindings into them, and the addresses of
/// those that pointers may lead to.
struct InterpretedMemory<'a> {
    memories: Vec<&'a mut [u8]>,
    labels: Vec<&'a str>,
    bindings: Vec<Option<InterpreterBinding>>,
    resident: Vec<InterpreterResident>,
}

/// The caller holds the gate alone.
fn interpreter_memory<'a>(launch: &InterpretedLaunch<'a>) -> InterpretedMemory<'a> {
    let InterpretedLaunch { pipeline, bindings, prepared, tables, reach } = *launch;
    let table = tables.buffers(prepared);
    let mut memories = Vec::new();
    let mut labels = Vec::new();
    let mut known: Vec<*const CpuBuffer> = Vec::new();
    let mut bound = vec![None; table.len()];
    for binding in bindings {
        let Some(argument) = pipeline.kernel().argument(ArgumentKind::Buffer, binding.index) else {
            continue;
        };
        let slot = argument.slot as usize;
        let entry = table[slot];
        let (base, length, offset, label) = match &binding.resource {
            BoundResource::Unbound => continue,
            BoundResource::Bytes(_) => {
                let before = tables.before(prepared)[slot];
                (entry.base.wrapping_sub(before as usize), entry.len + before, before, "")
            }
            BoundResource::Buffer { buffer, offset, .. } => match cpu_buffer(buffer) {
                None => continue,
                Some(own) => {
                    let memory = own.reachable();
                    (memory.start.as_ptr(), memory.length, memory.offset + offset, buffer.label())
                }
            },
        };
        let address: *const CpuBuffer = match &binding.resource {
            BoundResource::Buffer { buffer, .. } => {
                cpu_buffer(buffer).map_or(std::ptr::null(), std::ptr::from_ref)
            }
            BoundResource::Bytes(_) | BoundResource::Unbound => std::ptr::null(),
        };
        let seen = known.iter().position(|&known| !address.is_null() && known == address);
        // Buffers of a heap all of which kernels may access are one slice. And an index bound twice: only the
        // last binding's inline bytes are in the table, and they must not be turned into two slices.
        let seen = seen.or_else(|| {
            let same = |memory: &&'a mut [u8]| std::ptr::eq(memory.as_ptr(), base) && !base.is_null();
            memories.iter().position(same)
        });
        let memory = seen.unwrap_or_else(|| {
            known.push(address);
            memories.push(slice(base, length));
            labels.push(label);
            memories.len() - 1
        });
        bound[slot] = Some(InterpreterBinding { memory, offset, len: entry.len });
    }
    let mut all = InterpretedMemory { memories, labels, bindings: bound, resident: Vec::new() };
    if pipeline.kernel().loads_pointers {
        all.add_resident(reach, &reach.residency.ranges(pipeline.kernel(), table));
    }
    all
}

impl<'a> InterpretedMemory<'a> {
    /// Makes all buffers of the submission reachable by their addresses, with the access that the launch's
    /// `ranges` say. Of buffers of a heap that overlap only one can be a slice: the first.
    fn add_resident(&mut self, reach: ResidentMemory<'a>, ranges: &[AddressRange]) {
        let writable =
            |address| resident::find(ranges, address).is_some_and(|number| ranges[number].writable);
        let mut taken = BTreeMap::new();
        for (memory, bytes) in self.memories.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
            let address = bytes.as_ptr() as u64;
            taken.insert(address, address + bytes.len() as u64);
            self.resident.push(InterpreterResident { memory, address, writable: writable(address) });
        }
        each_buffer(reach.submission, &mut |buffer| {
            let AddressRange { address, len, .. } = residency::range_of(buffer);
            let end = address + len;
            let before = taken.range(..end).next_back();
            if len == 0 || before.is_some_and(|(_, &before)| before > address) {
                return;
            }
            taken.insert(address, end);
            let memory = self.memories.len();
            self.resident.push(InterpreterResident { memory, address, writable: writable(address) });
            self.memories.push(slice(buffer.reachable().start.as_ptr(), len));
            self.labels.push(buffer.label());
        });
    }
}

/// A memory of the dispatch as a slice; see [`interpreter_memory`] for who else may have it: nobody.
fn slice<'a>(base: *mut u8, length: u64) -> &'a mut [u8] {
    if base.is_null() || length == 0 {
        return &mut [];
    }
    // SAFETY: base and length are those of a live buffer or inline block that the command buffer holds beyond
    // this dispatch. The gate is held alone, so no other access to buffer contents exists, and the caller
    // makes one slice per distinct block.
    unsafe { std::slice::from_raw_parts_mut(base, length as usize) }
}

fn interpreter_error(
    fault: InterpreterFault,
    pipeline: &CpuPipeline,
    prepared: &PreparedDispatch,
) -> Result<(), DeviceError> {
    let kernel = pipeline.kernel().name.clone();
    match fault {
        // The deadline explains it.
        InterpreterFault::Stopped => Ok(()),
        InterpreterFault::UnknownKernel { kernel: name } => {
            Err(DeviceError::UnknownKernel { name, existing: vec![kernel] })
        }
        InterpreterFault::Bug { report } => Err(DeviceError::InterpreterBug { kernel, report }),
        InterpreterFault::Refused { what, file, line } => {
            Err(DeviceError::KernelRefused { kernel, what, file, line })
        }
        InterpreterFault::OutOfBounds {
            argument,
            argument_name,
            through,
            kind,
            byte_offset,
            bound_len,
            access_bytes,
            element_bytes,
            file,
            line,
            column,
            group,
            thread_in_group,
        } => {
            let element = Some(i64::from(element_bytes)).filter(|&bytes| bytes > 0);
            let fault = OutOfBounds::new(kernel, kind)
                .argument(argument)
                .argument_name(argument_name)
                .through(through.map(|through| *through))
                .byte_offset(byte_offset)
                .element_index(element.map(|bytes| byte_offset.div_euclid(bytes)))
                .bound_len(bound_len)
                .bound_elements(element.map(|bytes| bound_len / bytes as u64))
                .access_bytes(access_bytes)
                .file(file)
                .line(line)
                .column(column)
                .group(group)
                .thread(prepared.shape.thread_position(thread_in_group));
            Err(DeviceError::OutOfBounds(Box::new(fault)))
        }
    }
}
