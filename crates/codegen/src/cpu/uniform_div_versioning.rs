//! Which divisions are worth a copy of the code for SIMD-groups in which all threads' quotients are the same: those of
//! neighbouring values by a value that all threads share. The copies are the IR pass's of the same name.
//!
//! Invariant: what shapes say of values holds under the geometry that they are of, and copies are made for that one.

use anymetal_ir::passes::uniform_div_versioning::{Quotients, Threads};
use anymetal_ir::passes::{dce, div_rem_pairs, mem2reg, optimise_function};
use anymetal_ir::{BinOp, Function, Kernel, Module, Op, Value};

use super::llvm_text::LANES;
use super::shape::Shape;
use super::shape::flow::Flow;
use super::shape::queries::Geometry;
use super::{Analysed, CodegenError};

/// More tests than these one kernel does not get.
const MAX_TESTS: usize = 6;

/// Threads further apart do not share quotients.
const MAX_STEP: u32 = 1 << 16;

/// The function with copies for threadgroups of this geometry; `None` without any.
pub(super) fn with_copies(
    module: &Module,
    kernel: &Kernel,
    function: &Function,
    geometry: Geometry,
) -> Result<Option<Function>, CodegenError> {
    if !divides(function) {
        return Ok(None);
    }
    let mut function = function.clone();
    let mut quotients = Quotients::default();
    let mut has_copies = false;
    for _ in 0..MAX_TESTS {
        let flow = Flow::new(Analysed::new(&function, kernel)?.facts(geometry));
        if !quotients.copy_one(&mut function, &|value| threads(&flow, value)) {
            break;
        }
        has_copies = true;
        // What a copy's variables hold where it begins is to be seen as what it is.
        mem2reg::mem2reg(&mut function);
        dce::dce(&mut function);
    }
    if has_copies {
        optimise_function(module, &mut function);
        div_rem_pairs::div_rem_pairs(&mut function);
    }
    Ok(has_copies.then_some(function))
}

fn divides(function: &Function) -> bool {
    function.insts.iter().any(|inst| match inst.op {
        Op::Binary(BinOp::UDiv | BinOp::URem | BinOp::SDiv | BinOp::SRem, _, divisor) => {
            function.as_const(divisor).is_none()
        }
        _ => false,
    })
}

fn threads(flow: &Flow, value: Value) -> Threads {
    let [shape] = flow.values[value.index()].as_slice() else { return Threads::Other };
    match shape {
        shape if shape.is_uniform() => Threads::Same,
        Shape::Affine(lanes) if lanes.segments == 1 && !lanes.assumed => {
            let step = lanes.at(1).wrapping_sub(lanes.at(0));
            let rises = (0..LANES).all(|lane| lanes.at(lane) == lanes.at(0).wrapping_add(step * lane as i64));
            match u32::try_from(step) {
                Ok(step @ 1..=MAX_STEP) if rises => Threads::Rising(step),
                _ => Threads::Other,
            }
        }
        _ => Threads::Other,
    }
}
