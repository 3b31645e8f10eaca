//! What a kernel uses that not every family of GPUs has (DEV-3).
//!
//! The kernel is taken as it is prepared for a target: specialised, inlined, dead code gone, as Apple's
//! compiler has it when its back end refuses. So what only a function constant that is off would use is not
//! used. The facts are in [`anymetal_types::family::table`]; here is which operation needs which feature.

use std::collections::BTreeMap;

use crate::reflection::static_threadgroup_bytes;

use anymetal_types::family::table::Feature;
use anymetal_types::family::{Family, FamilyRefusal, FeatureUse};

use anymetal_ir::{
    AtomicOp, Block, ElementType, Function, InstData, Kernel, Loc, MatrixOp, Module, Op, Scalar, SimdOp,
    Type, Value,
};

/// What of the kernel the family lacks; `None` if nothing.
pub(crate) fn refusal(
    module: &Module,
    kernel: &Kernel,
    calls: &LibraryCalls,
    family: Family,
) -> Option<FamilyRefusal> {
    let mut uses = Uses::of(module, kernel, calls);
    uses.first.retain(|feature, _| !family.supports(*feature));
    let bytes = static_threadgroup_bytes(module);
    let threadgroup_bytes = (bytes > family.limits().threadgroup_memory_bytes).then_some(bytes);
    if uses.first.is_empty() && threadgroup_bytes.is_none() {
        return None;
    }
    let mut uses: Vec<(Feature, Loc)> = uses.first.into_iter().collect();
    uses.sort_by_key(|(feature, loc)| (!loc.is_known(), loc.file, loc.line, loc.column, *feature));
    let used = |(feature, loc): (Feature, Loc)| FeatureUse {
        feature,
        file: if loc.is_known() { module.files[loc.file as usize].clone() } else { String::new() },
        line: loc.line,
        column: loc.column,
    };
    let uses = uses.into_iter().map(used).collect();
    Some(FamilyRefusal { kernel: kernel.name.clone(), family, uses, threadgroup_bytes })
}

/// The places where a source calls quad-group functions of Metal's library. Some of them are made of
/// SIMD-group operations there, which need other features than the function does.
#[derive(Debug, Default)]
pub(crate) struct LibraryCalls {
    quad: BTreeMap<(u32, u32, u32), Feature>,
}

impl LibraryCalls {
    /// Those of a module as the front end made it.
    pub(crate) fn of(module: &Module) -> Self {
        let is_library =
            |loc: Loc| module.files.get(loc.file as usize).is_some_and(|file| file.starts_with('<'));
        let of_library = |function: &Function| function.insts.iter().all(|inst| is_library(inst.loc));
        let mut calls = LibraryCalls::default();
        for inst in module.functions.iter().flat_map(|function| &function.insts) {
            let Op::Call(callee, _) = &inst.op else { continue };
            let callee = module.function(*callee);
            if let Some(feature) = feature_of_quad_function(&callee.name)
                && !is_library(inst.loc)
                && of_library(callee)
            {
                calls.quad.insert(place(inst.loc), feature);
            }
        }
        calls
    }
}

fn place(loc: Loc) -> (u32, u32, u32) {
    (loc.file, loc.line, loc.column)
}

/// By a function's name in the IR, such as `metal::quad_sum<float>.7`; `None`: it is no quad-group function.
fn feature_of_quad_function(name: &str) -> Option<Feature> {
    let name = name.split(['.', '<', '(']).next().expect("a text has a first part");
    let name = name.rsplit("::").next().expect("a text has a last part");
    Some(match name.strip_prefix("quad_")? {
        "shuffle_and_fill_up" | "shuffle_and_fill_down" => Feature::SimdShiftAndFill,
        permute if permute.starts_with("shuffle") || permute.starts_with("broadcast") => Feature::QuadPermute,
        _ => Feature::QuadReduction,
    })
}

/// The features that a kernel uses, each with the first place in its source.
struct Uses<'a> {
    first: BTreeMap<Feature, Loc>,
    calls: &'a LibraryCalls,
}

impl<'a> Uses<'a> {
    fn of(module: &Module, kernel: &Kernel, calls: &'a LibraryCalls) -> Self {
        let mut uses = Uses { first: BTreeMap::new(), calls };
        let function = module.function(kernel.function);
        uses.block(function, function.body);
        let is_bfloat = |element: &ElementType| matches!(element, ElementType::Scalar { scalar, .. } | ElementType::Vector { scalar, .. } if *scalar == Scalar::Bf16);
        if kernel.args.iter().any(|argument| argument.enabled && is_bfloat(&argument.element)) {
            uses.add(Feature::Bfloat, Loc::default());
        }
        uses
    }
}

impl Uses<'_> {
    fn block(&mut self, function: &Function, block: Block) {
        for &inst in function.block(block) {
            let data = function.inst(inst);
            self.inst(function, data);
            for nested in data.op.blocks() {
                self.block(function, nested);
            }
        }
    }

    fn inst(&mut self, function: &Function, inst: &InstData) {
        if let Some(feature) = feature_of(function, inst) {
            let of_call = self.calls.quad.get(&place(inst.loc)).filter(|_| matches!(inst.op, Op::Simd(..)));
            self.add(of_call.copied().unwrap_or(feature), inst.loc);
        }
        let mut bfloat = inst.result.is_some_and(|result| is_bfloat(function.ty(result)));
        inst.op.for_each_operand(|value| bfloat |= is_bfloat(function.ty(value)));
        if bfloat {
            self.add(Feature::Bfloat, inst.loc);
        }
    }

    /// Keeps the first known place.
    fn add(&mut self, feature: Feature, loc: Loc) {
        let known = self.first.entry(feature).or_insert(loc);
        let order = |loc: &Loc| (!loc.is_known(), loc.file, loc.line, loc.column);
        if order(&loc) < order(known) {
            *known = loc;
        }
    }
}

fn is_bfloat(ty: Type) -> bool {
    ty.scalar() == Some(Scalar::Bf16)
}

/// The feature that the operation itself needs, apart from its types.
fn feature_of(function: &Function, inst: &InstData) -> Option<Feature> {
    match &inst.op {
        Op::Simd(op, _) => Some(feature_of_simd(*op)),
        Op::Matrix(op, _) => Some(match op {
            MatrixOp::Load { .. } | MatrixOp::Store { .. } | MatrixOp::MultiplyAccumulate => {
                Feature::SimdMatrix
            }
        }),
        Op::AtomicLoad(_) => inst.result.and_then(|result| feature_of_atomic(function, result)),
        Op::AtomicRmw(AtomicOp::FAdd, ..) => Some(Feature::FloatAtomics),
        Op::AtomicStore(_, value) | Op::AtomicRmw(_, _, value) | Op::AtomicCas(_, value, _) => {
            feature_of_atomic(function, *value)
        }
        _ => None,
    }
}

fn feature_of_atomic(function: &Function, value: Value) -> Option<Feature> {
    match function.ty(value).scalar() {
        Some(Scalar::F32) => Some(Feature::FloatAtomics),
        Some(Scalar::I64) => Some(Feature::Atomics64),
        _ => None,
    }
}

/// By the tables of SIMD-group and quad-group functions in the Metal shading language specification, §6.9.
fn feature_of_simd(op: SimdOp) -> Feature {
    // The feature does not depend on the elements.
    match op.combination(Scalar::I32).map(|combination| combination.width) {
        Some(32) => return Feature::SimdReduction,
        Some(_) => return Feature::QuadReduction,
        None => {}
    }
    match op {
        SimdOp::Any | SimdOp::All | SimdOp::Ballot | SimdOp::ActiveMask | SimdOp::IsFirst => {
            Feature::SimdReduction
        }
        SimdOp::ShuffleAndFillUp | SimdOp::ShuffleAndFillDown => Feature::SimdShiftAndFill,
        SimdOp::QuadBroadcast
        | SimdOp::QuadShuffle
        | SimdOp::QuadShuffleXor
        | SimdOp::QuadShuffleUp
        | SimdOp::QuadShuffleDown => Feature::QuadPermute,
        _ => Feature::SimdPermute,
    }
}
