//! Stage-in data: buffers that the pipeline's descriptor names, and what the entry makes of them.
//!
//! Which buffers there are is known when a pipeline is made. There is an argument for each index that the
//! kernel has no argument of its own for; hidden function constants ([`stage_input`]) say which of them
//! exist, and where in them each attribute is. The entry hands the constants to the functions of the header
//! `<anymetal_stage_input>`, which fold to what the format needs. Another argument is the region that a
//! launch may be given, which exists if a constant says so.

use super::Lowerer;
use super::kernel::thread_fact;
use super::recursion::Instance;
use crate::hir::{self, KernelParamKind, ScalarTy};
use crate::token::Name;
use anymetal_abi::MAX_BOUND_BUFFERS;
use anymetal_abi::stage_input::{
    INDICES_CONSTANT, REGION_BYTES, REGION_CONSTANT, WHOLE_GRID, attribute_constants,
};
use anymetal_abi::textures::BindingRole;
use anymetal_ir as ir;

const WORD: ir::Type = ir::Type::Scalar(ir::Scalar::I32);
const LONG: ir::Type = ir::Type::Scalar(ir::Scalar::I64);
const BUFFER: ir::Type = ir::Type::Ptr(ir::Space::Device);

/// The alignment of a buffer's offset: that of an index of 16 bits.
const BUFFER_ALIGN: u32 = 2;

/// What describes the stage-in data and the region of a kernel.
#[derive(Debug)]
pub(super) struct Constants {
    /// The number of each attribute, with its format, place and steps.
    attributes: Vec<(u32, [ir::FunctionConstantId; 3])>,
    indices: ir::FunctionConstantId,
    region: ir::FunctionConstantId,
    /// The position of the region among the kernel's arguments; the buffers follow.
    region_argument: usize,
    /// The indices of the buffers.
    buffers: Vec<u32>,
}

/// The stage-in data of a kernel for reflection.
pub(super) fn stage_inputs(kernel: &hir::Kernel) -> Vec<ir::StageInput> {
    let member =
        |member: &hir::StageInMember| stage_input(member.name, member.attribute, member.elem, member.len);
    members(kernel).map(member).collect()
}

/// A member of stage-in data for reflection.
pub(crate) fn stage_input(name: Name, attribute: u32, elem: ScalarTy, count: u8) -> ir::StageInput {
    let (scalar, signed) = (elem.into(), elem.is_signed());
    let element = match count {
        1 => ir::ElementType::Scalar { scalar, signed },
        _ => ir::ElementType::Vector { scalar, signed, count },
    };
    ir::StageInput { name: name.as_str().to_owned(), attribute, element }
}

fn members(kernel: &hir::Kernel) -> impl Iterator<Item = &hir::StageInMember> {
    kernel.params.iter().flat_map(members_of)
}

fn members_of(param: &hir::KernelParam) -> &[hir::StageInMember] {
    match &param.kind {
        KernelParamKind::StageIn { members } => members,
        _ => &[],
    }
}

/// Whether a parameter depends on the region.
fn has_region(param: &hir::KernelParam) -> bool {
    match param.kind {
        KernelParamKind::StageIn { .. } => true,
        KernelParamKind::Thread { attribute, .. } => matches!(attribute, hir::GRID_ORIGIN | hir::GRID_SIZE),
        _ => false,
    }
}

impl Lowerer<'_> {
    /// Adds what is bound for stage-in data, after the kernel's own arguments.
    pub(super) fn add_stage_in_arguments(&mut self, args: &mut Vec<ir::KernelArg>) {
        let kernel = &self.program.kernel;
        if !kernel.params.iter().any(has_region) {
            return;
        }
        let attributes: Vec<_> = members(kernel).map(|member| member.attribute).collect();
        let is_own =
            |buffer: &u32| args.iter().any(|arg| arg.kind == ir::ArgKind::Buffer && arg.index == *buffer);
        let buffers: Vec<u32> = match attributes.is_empty() {
            true => Vec::new(),
            false => (0..MAX_BOUND_BUFFERS).filter(|buffer| !is_own(buffer)).collect(),
        };
        let long = |lowerer: &mut Self, index| lowerer.hidden_constant(index, ir::Scalar::I64);
        let attributes = attributes.into_iter();
        let constants = Constants {
            attributes: attributes
                .map(|number| (number, attribute_constants(number).map(|index| long(self, index))))
                .collect(),
            indices: long(self, INDICES_CONSTANT),
            region: self.hidden_constant(REGION_CONSTANT, ir::Scalar::I32),
            region_argument: args.len(),
            buffers,
        };
        args.push(self.region_argument(&constants));
        for &buffer in &constants.buffers {
            args.push(self.buffer_argument(&constants, buffer));
        }
        self.stage_in = Some(constants);
    }

    fn region_argument(&mut self, constants: &Constants) -> ir::KernelArg {
        let name = "(stage-in region)".to_owned();
        let mut function = ir::Function::new(format!("{name}.enabled"), &[], Some(ir::Type::BOOL));
        let mut b = ir::Builder::new(&mut function);
        let is_there = nonzero(&mut b, constants.region, WORD);
        b.push(ir::Op::Return(Some(is_there)));
        ir::KernelArg {
            name,
            kind: ir::ArgKind::Buffer,
            index: BindingRole::StageInRegion.index().expect("no program's buffer"),
            space: ir::Space::Constant,
            type_name: "uint".to_owned(),
            element: ir::ElementType::Scalar { scalar: ir::Scalar::I32, signed: false },
            element_size: REGION_BYTES as u64,
            element_align: 4,
            reference: true,
            access: ir::Access::Read,
            index_by: None,
            enabled_by: Some(self.add_function(function)),
            enabled: true,
        }
    }

    fn buffer_argument(&mut self, constants: &Constants, buffer: u32) -> ir::KernelArg {
        let name = format!("(stage-in {buffer})");
        let mut function = ir::Function::new(format!("{name}.enabled"), &[], Some(ir::Type::BOOL));
        is_described(&mut ir::Builder::new(&mut function), constants, buffer);
        ir::KernelArg {
            name,
            kind: ir::ArgKind::Buffer,
            index: buffer,
            space: ir::Space::Device,
            // The host may bind elements of any type.
            type_name: "uchar[]".to_owned(),
            element: ir::ElementType::Aggregate,
            element_size: 1,
            element_align: BUFFER_ALIGN,
            reference: false,
            access: ir::Access::Read,
            index_by: None,
            enabled_by: Some(self.add_function(function)),
            enabled: true,
        }
    }

    /// How many arguments there are for stage-in data.
    pub(super) fn stage_in_pointers(&self) -> usize {
        self.stage_in.as_ref().map_or(0, |constants| 1 + constants.buffers.len())
    }

    /// Origin and size of the launch's region, along x, y and z: as they were given, else those of the grid.
    /// Nothing for kernels that do not depend on it.
    pub(super) fn region(&self, b: &mut ir::Builder<'_>) -> [Vec<ir::Value>; 2] {
        let Some(constants) = &self.stage_in else {
            // The kernel does not depend on a region.
            return [Vec::new(), Vec::new()];
        };
        let zero = b.i32(0);
        let grid = [0, 1, 2].map(|axis| b.query(ir::Query::ThreadsPerGrid(axis)));
        let given = b.func.params[constants.region_argument];
        let local = b.func.add_local("(region)", REGION_BYTES as u64, 4);
        b.push(ir::Op::LocalStart(local));
        let region = b.local_addr(local);
        for (axis, word) in (0..3).zip(grid) {
            store_word(b, region, axis, zero);
            store_word(b, region, 3 + axis, word);
        }
        let is_given = nonzero(b, constants.region, WORD);
        b.if_else(is_given, |b| copy_region(b, region, given, grid), |_| {});
        [0..3, 3..6].map(|words| words.map(|n| load_word(b, region, n)).collect())
    }

    /// Fills in the structure of a parameter: its address.
    pub(super) fn stage_in_value(
        &mut self,
        b: &mut ir::Builder<'_>,
        members: &[hir::StageInMember],
        ty: hir::Ty,
        [origin, size]: [&[ir::Value]; 2],
    ) -> ir::Value {
        let layout = self.types().layout(ty);
        let local = b.func.add_local("(stage-in)", layout.size, layout.align);
        b.push(ir::Op::LocalStart(local));
        let structure = b.local_addr(local);
        let vector = ir::Type::Vector(ir::Scalar::I32, 3);
        let at = thread_fact(b, ir::Query::ThreadPositionInGrid(0), ScalarTy::U32, 3);
        let [origin, size] = [origin, size].map(|words| b.value(ir::Op::Compose(words.to_vec()), vector));
        for member in members {
            let fetch = self.function_id(Instance::outermost(member.fetch));
            let constants = self.stage_in.as_ref().expect("a kernel with stage-in data has its constants");
            let own = constants.attributes.iter().find(|(number, _)| *number == member.attribute);
            let (_, own) = own.expect("each member has its attribute's constants");
            let [format, place, steps] = own.map(|id| b.value(ir::Op::FunctionConstant(id), LONG));
            let indices = b.value(ir::Op::FunctionConstant(constants.indices), LONG);
            let eight = b.i64(8);
            let buffer = b.binary(ir::BinOp::LShr, steps, eight);
            let [buffer, index_buffer] = [buffer, indices].map(|word| buffer_of(b, constants, word));
            let arguments = vec![buffer, index_buffer, format, place, steps, indices, at, origin, size];
            let value = b.value(ir::Op::Call(fetch, arguments), ir::Type::Vector(member.elem.into(), 4));
            store_components(b, structure, member, value);
        }
        structure
    }
}

/// Returns whether an attribute or the indices are in a buffer.
fn is_described(b: &mut ir::Builder<'_>, constants: &Constants, buffer: u32) {
    let mut found = nonzero(b, constants.indices, LONG);
    let indices = b.value(ir::Op::FunctionConstant(constants.indices), LONG);
    let is_it = is_buffer(b, indices, buffer);
    found = b.binary(ir::BinOp::And, found, is_it);
    for &(_, [format, _, steps]) in &constants.attributes {
        let is_there = nonzero(b, format, LONG);
        let steps = b.value(ir::Op::FunctionConstant(steps), LONG);
        let eight = b.i64(8);
        let own = b.binary(ir::BinOp::LShr, steps, eight);
        let is_it = is_buffer(b, own, buffer);
        let both = b.binary(ir::BinOp::And, is_there, is_it);
        found = b.binary(ir::BinOp::Or, found, both);
    }
    b.push(ir::Op::Return(Some(found)));
}

fn nonzero(b: &mut ir::Builder<'_>, constant: ir::FunctionConstantId, ty: ir::Type) -> ir::Value {
    let value = b.value(ir::Op::FunctionConstant(constant), ty);
    let zero = b.value(ir::Op::Const(0), ty);
    b.compare(ir::CmpOp::Ne, value, zero)
}

/// Whether the low eight bits of a word are the index of a buffer.
fn is_buffer(b: &mut ir::Builder<'_>, word: ir::Value, buffer: u32) -> ir::Value {
    let mask = b.i64(0xff);
    let own = b.binary(ir::BinOp::And, word, mask);
    let wanted = b.i64(buffer.into());
    b.compare(ir::CmpOp::Eq, own, wanted)
}

/// The buffer whose index the low eight bits of a word are; the null pointer if it is none of them.
fn buffer_of(b: &mut ir::Builder<'_>, constants: &Constants, word: ir::Value) -> ir::Value {
    let mut found = b.value(ir::Op::Const(0), BUFFER);
    for (n, &buffer) in constants.buffers.iter().enumerate() {
        let own = b.func.params[constants.region_argument + 1 + n];
        let is_it = is_buffer(b, word, buffer);
        found = b.infer(ir::Op::Select(is_it, own, found));
    }
    found
}

/// Copies the region that a launch was given; axes of the whole grid stay as they are.
fn copy_region(b: &mut ir::Builder<'_>, region: ir::Value, given: ir::Value, grid: [ir::Value; 3]) {
    for (axis, own) in (0..3).zip(grid) {
        let origin = load_word(b, given, axis);
        store_word(b, region, axis, origin);
        let size = load_word(b, given, 3 + axis);
        let whole = b.const_bits(ir::Scalar::I32, WHOLE_GRID.into());
        let is_whole = b.compare(ir::CmpOp::Eq, size, whole);
        let size = b.infer(ir::Op::Select(is_whole, own, size));
        store_word(b, region, 3 + axis, size);
    }
}

fn load_word(b: &mut ir::Builder<'_>, from: ir::Value, n: i64) -> ir::Value {
    let place = b.ptr_offset(from, 4 * n);
    b.load(place, WORD, 4)
}

fn store_word(b: &mut ir::Builder<'_>, to: ir::Value, n: i64, word: ir::Value) {
    let place = b.ptr_offset(to, 4 * n);
    b.store(place, word, 4);
}

/// Stores as many components as a member has.
fn store_components(
    b: &mut ir::Builder<'_>,
    structure: ir::Value,
    member: &hir::StageInMember,
    value: ir::Value,
) {
    let bytes = member.elem.size() as i64;
    for n in 0..member.len {
        let component = b.value(ir::Op::Extract(value, n), ir::Type::Scalar(member.elem.into()));
        let place = b.ptr_offset(structure, member.offset as i64 + i64::from(n) * bytes);
        b.store(place, component, bytes as u32);
    }
}
