//! An estimate of the registers that a thread needs.

use anymetal_ir::{Function, Op};

use crate::count::Places;

/// 32-bit registers: the most that are alive at once, in the order of the instructions, with private
/// variables of up to 16 bytes. A value that is used in a loop that it was made before is alive until the
/// loop's end. Code generators order instructions and keep addresses otherwise, so that the number is an
/// estimate.
pub(crate) fn estimate(function: &Function, places: &Places) -> u32 {
    let list = places.list();
    let mut order = vec![usize::MAX; function.insts.len()];
    list.iter().enumerate().for_each(|(at, place)| order[place.inst.index()] = at);
    // The last instruction of each construct.
    let mut ends = vec![0; function.insts.len()];
    for (at, place) in list.iter().enumerate() {
        place.within.iter().for_each(|construct| ends[construct.index()] = at);
    }
    let mut made = vec![0; function.values.len()];
    let mut last = vec![None; function.values.len()];
    for (at, place) in list.iter().enumerate() {
        let data = function.inst(place.inst);
        data.result.iter().chain(data.op.params()).for_each(|value| made[value.index()] = at);
        let end = ends[place.inst.index()];
        data.op.results().iter().for_each(|result| made[result.index()] = end);
        // A parameter is there for the next iteration, too.
        data.op.params().iter().for_each(|param| last[param.index()] = Some(end));
        data.op.for_each_operand(|operand| {
            let is_around = |construct: &&anymetal_ir::Inst| {
                matches!(function.inst(**construct).op, Op::Loop { .. })
                    && made[operand.index()] < order[construct.index()]
            };
            let end = place.within.iter().find(is_around).map_or(at, |construct| ends[construct.index()]);
            last[operand.index()] = last[operand.index()].max(Some(end));
        });
    }
    let mut change = vec![0i64; list.len() + 2];
    for (value, end) in last.iter().enumerate() {
        let is_constant =
            matches!(function.def(anymetal_ir::Value(value as u32)), Some(Op::Const(_) | Op::LocalAddr(_)));
        if let Some(end) = end.filter(|_| !is_constant) {
            let words = i64::from(function.values[value].ty.size().div_ceil(4));
            change[made[value]] += words;
            change[end + 1] -= words;
        }
    }
    let (mut alive, mut most) = (0, 0);
    for by in change {
        alive += by;
        most = most.max(alive);
    }
    let locals: u64 =
        function.locals.iter().map(|local| local.size.div_ceil(4)).filter(|&words| words <= 4).sum();
    u32::try_from(most.max(0) as u64 + locals).unwrap_or(u32::MAX)
}
