//! What target-specific passes may know of the CPU, and of the version of the code that they run for.
//!
//! Invariant: thread patterns hold under the geometry that they are computed for, so that versioning by them
//! is done for code of that geometry only.

use rustc_hash::FxHashSet;

use anymetal_ir::{Function, Kernel, Value};
use anymetal_opt::TargetInfo;
use anymetal_opt::localize_divergent_exits::localize_divergent_exits;
use anymetal_opt::reg2mem::reg2mem;
use anymetal_opt::uniform_div_versioning::Divergence;

use super::Analysed;
use super::llvm_text::LANES;
use super::shape::Shape;
use super::shape::flow::Flow;
use super::shape::queries::Geometry;
use super::shape::range::bound_anywhere;

/// Threads whose values differ by more from one to the next do not share quotients.
const MAX_STEP: u32 = 1 << 16;

/// A kernel's code for the CPU, in one geometry.
#[derive(Debug)]
pub(super) struct CpuTarget<'a> {
    kernel: &'a Kernel,
    /// How the threads of whole threadgroups are assigned to SIMD-groups, for the version for them.
    whole: Option<Geometry>,
}

impl<'a> CpuTarget<'a> {
    /// The version for any threadgroups.
    pub(super) fn any_size(kernel: &'a Kernel) -> Self {
        Self { kernel, whole: None }
    }

    /// The version for whole threadgroups of this geometry.
    pub(super) fn whole(kernel: &'a Kernel, geometry: Geometry) -> Self {
        Self { kernel, whole: Some(geometry) }
    }
}

impl TargetInfo for CpuTarget<'_> {
    fn upper_bound(&self, function: &Function, value: Value) -> u64 {
        bound_anywhere(function, value)
    }

    fn group_size(&self) -> Option<[u32; 3]> {
        self.whole.and_then(Geometry::size)
    }

    /// Without a version for whole threadgroups, or for a function that the code generator refuses: none.
    fn divergence(&self, function: &Function) -> Option<Vec<Divergence>> {
        let whole = self.whole?;
        let mut variables = function.clone();
        let loads = reg2mem(&mut variables).unwrap_or_default();
        localize_divergent_exits(&mut variables);
        let analysed = Analysed::new(function, variables, self.kernel).ok()?;
        let flow = Flow::new(analysed.facts(whole));
        let of = |value: usize| divergence_of(&flow.values[value]);
        let mut all: Vec<Divergence> = (0..function.values.len()).map(of).collect();
        let mut seen = FxHashSet::default();
        for (value, load) in loads {
            let (known, loaded) = (&mut all[value.index()], of(load.index()));
            *known = if seen.insert(value) || *known == loaded { loaded } else { Divergence::Varying };
        }
        Some(all)
    }
}

/// The pattern of a value by the shapes of its components.
fn divergence_of(shapes: &[Shape]) -> Divergence {
    let [shape] = shapes else { return Divergence::Varying };
    match shape {
        shape if shape.is_uniform() => Divergence::Uniform,
        Shape::Affine(lanes) if lanes.segments == 1 && !lanes.assumed => {
            let step = lanes.at(1).wrapping_sub(lanes.at(0));
            let rises = (0..LANES).all(|lane| lanes.at(lane) == lanes.at(0).wrapping_add(step * lane as i64));
            match u32::try_from(step) {
                Ok(step @ 1..=MAX_STEP) if rises => Divergence::Affine(step),
                _ => Divergence::Varying,
            }
        }
        _ => Divergence::Varying,
    }
}
