//! The kernel around its body: parameters by the launch ABI, the start, the end, and the module.

mod threadgroup_memory;

use std::fmt::Write as _;

use anymetal_abi::MAX_THREADS_PER_THREADGROUP;
use anymetal_abi::nvidia::{Parameter, Signature, parameters};
use anymetal_analysis::definitely_stored;
use anymetal_ir::{ArgKind, Local, Space};

use super::super::PtxCode;
use super::Emitter;
use super::memory::ZEROS;
use crate::cpu::{CodegenError, argument_slots};
use crate::llvm::{self, GLOBAL, I32, I64, Opd};
use crate::polls;
use anymetal_analysis::roots::Root;

/// The number of the first metadata node of a loop; each loop has its own.
pub(super) const FIRST_LOOP_NODE: usize = 5;

impl Emitter<'_> {
    /// Writes the whole module.
    pub(super) fn kernel(mut self) -> Result<PtxCode, CodegenError> {
        let header = self.parameters();
        let first = self.t.block();
        self.t.label(first);
        self.start_grid();
        self.clear_threadgroup_memory();
        self.start_barriers();
        self.start_grid_barriers();
        self.start_values();
        self.body()?;
        assert!(self.pieces.is_empty(), "every loop in pieces is closed");
        self.clear_locals();
        self.t.label(self.exit);
        self.record_fault();
        self.end_grid_barriers();
        self.end_barriers();
        self.t.ret_void();
        let body = self.t.finish(&header, first);
        let llvm_ir = self.module_text(&body);
        if self.input.options.stoppable {
            polls::verify(&llvm_ir);
        }
        Ok(PtxCode {
            llvm_ir,
            symbol: self.input.options.symbol.clone(),
            threadgroup_static_bytes: self.input.static_bytes,
            value_words: self.given.into_counts(),
            loads_pointers: self.residents.is_some(),
            fault_sites: self.faults.sites,
        })
    }

    /// Clears the locals that the kernel may load before it stores to them, where it begins: local memory
    /// still holds data of other kernels. LLVM removes this for locals that it keeps in registers.
    fn clear_locals(&mut self) {
        let function = self.input.function;
        let stored = definitely_stored(function);
        for (index, local) in function.locals.iter().enumerate().filter(|(index, _)| !stored[*index]) {
            let place = self.place(Root::Local(Local(index as u32)), Space::Thread);
            self.t.clear_at_entry(&place.base, local.size, local.align.max(1));
        }
    }

    /// The kernel's header; remembers what its parameters are.
    fn parameters(&mut self) -> String {
        let kernel = self.input.kernel;
        let slots = argument_slots(kernel);
        let count = |kind| kernel.args.iter().filter(|arg| arg.enabled && arg.kind == kind).count() as u32;
        let argument_of = |kind, slot| {
            let found =
                (0..kernel.args.len()).find(|&at| kernel.args[at].kind == kind && slots[at] == Some(slot));
            assert!(found.is_some(), "slot {slot} belongs to an argument");
            found
        };
        let mut texts = Vec::new();
        let (values, threadgroup_slots) = (self.words_of_slots(), count(ArgKind::ThreadgroupMemory));
        let signature = Signature {
            values: &values,
            threadgroup_slots,
            meets_grid: self.meets_grid(),
            loads_pointers: self.residents.is_some(),
        };
        for parameter in parameters(signature) {
            let register = self.t.register(match parameter {
                Parameter::BufferLength(_) | Parameter::ResidentCount => I64,
                Parameter::ThreadgroupOffset(_) | Parameter::ThreadgroupLength(_) => I32,
                Parameter::Value { .. } | Parameter::GridThreads(_) => I32,
                Parameter::BufferPointer(_) | Parameter::Fault | Parameter::Stop => GLOBAL,
                Parameter::GridBarrier | Parameter::Residents => GLOBAL,
            });
            match parameter {
                Parameter::BufferPointer(slot) => {
                    self.places.set_base(argument_of(ArgKind::Buffer, slot), register.clone());
                }
                Parameter::BufferLength(slot) => {
                    self.places.set_length(argument_of(ArgKind::Buffer, slot), register.clone());
                }
                Parameter::ThreadgroupOffset(slot) => {
                    self.places.set_base(argument_of(ArgKind::ThreadgroupMemory, slot), register.clone());
                }
                Parameter::ThreadgroupLength(slot) => {
                    self.places.set_length(argument_of(ArgKind::ThreadgroupMemory, slot), register.clone());
                }
                Parameter::Fault => {
                    self.grid.fault = register.clone();
                }
                Parameter::Stop => {
                    self.grid.stop = register.clone();
                }
                Parameter::GridBarrier => {
                    self.grid.barrier = register.clone();
                }
                Parameter::Residents => {
                    self.residents.iter_mut().for_each(|residents| residents.table = register.clone());
                }
                Parameter::ResidentCount => {
                    self.residents.iter_mut().for_each(|residents| residents.count = register.clone());
                }
                Parameter::Value { slot, .. } => {
                    self.given.add_parameter(argument_of(ArgKind::Buffer, slot), register.clone());
                }
                Parameter::GridThreads(axis) => {
                    self.grid.threads[usize::from(axis.min(2))] = register.clone();
                }
            }
            texts.push(register.typed().to_string());
        }
        let symbol = &self.input.options.symbol;
        format!("define ptx_kernel void @{symbol}({}) #0", texts.join(", "))
    }

    /// The kernel with everything that it refers to.
    fn module_text(&mut self, body: &str) -> String {
        let module = self.input.module;
        let mut text = String::new();
        for (index, var) in module.threadgroup_vars.iter().enumerate() {
            let (size, align) = (var.size, var.align.max(16));
            let _ = writeln!(
                text,
                "@am.threadgroup.{index} = internal addrspace(3) global [{size} x i8] undef, align {align}"
            );
        }
        text += &self.barrier_variables();
        text += &self.grid_barrier_variables();
        let has_dynamic = self.input.kernel.args.iter().any(|arg| arg.kind == ArgKind::ThreadgroupMemory);
        if has_dynamic {
            text += "@am_dynamic = external addrspace(3) global [0 x i8], align 16\n";
        }
        for (index, global) in module.globals.iter().enumerate() {
            let bytes: String = global.bytes.iter().map(|byte| format!("\\{byte:02X}")).collect();
            let (size, align) = (global.bytes.len(), global.align.max(16));
            let _ = writeln!(
                text,
                "@am.global.{index} = internal addrspace(1) constant [{size} x i8] c\"{bytes}\", align {align}"
            );
        }
        if body.contains("@am.zeros") {
            let _ = writeln!(
                text,
                "@am.zeros = internal addrspace(1) constant [{ZEROS} x i8] zeroinitializer, align 16"
            );
        }
        text += body;
        self.helpers.values().for_each(|helper| text += helper);
        text += &self.library.definitions();
        let mut declares = self.t.take_declares();
        declares.extend(self.library.declares().map(str::to_owned));
        for line in declares {
            let _ = writeln!(text, "{line}");
        }
        text + &self.annotations()
    }

    /// Limits of the launch, for LLVM 22 as an attribute and for older ones as an annotation; metadata.
    fn annotations(&self) -> String {
        let options = self.input.options;
        let threads = self
            .input
            .kernel
            .max_threads
            .unwrap_or(MAX_THREADS_PER_THREADGROUP)
            .clamp(1, MAX_THREADS_PER_THREADGROUP);
        let [x, y, z] = options.group_size.unwrap_or([threads, 1, 1]);
        assert!(x > 0 && y > 0 && z > 0, "threadgroups have threads");
        let symbol = &options.symbol;
        let loops = (FIRST_LOOP_NODE..).zip(&self.unrolled_loops);
        let loops = loops.map(|(node, how)| format!("!{node} = distinct !{{!{node}, !{}}}\n", how.node()));
        let loops: String = loops.collect();
        format!(
            "attributes #0 = {{ nounwind \"nvvm.maxntid\"=\"{x},{y},{z}\" }}\n\
             attributes #1 = {{ noinline nounwind convergent }}\n\
             attributes #2 = {{ convergent nounwind memory(none) }}\n\
             !nvvm.annotations = !{{!2}}\n\
             !0 = !{{!\"branch_weights\", i32 1000000, i32 1}}\n\
             !1 = !{{}}\n\
             !2 = !{{ptr @{symbol}, !\"maxntidx\", i32 {x}, !\"maxntidy\", i32 {y}, !\"maxntidz\", i32 {z}}}\n\
             !3 = !{{!\"llvm.loop.unroll.full\"}}\n\
             !4 = !{{!\"llvm.loop.unroll.count\", i32 4}}\n\
             {loops}"
        )
    }

    /// The address of a symbol.
    pub(super) fn symbol(pointer: llvm::Type, name: String) -> Opd {
        Opd::constant(pointer, format!("@am.{name}"))
    }
}
