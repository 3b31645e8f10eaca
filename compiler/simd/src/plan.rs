//! The plan of one version of a kernel: everything that is decided before code is written.
//!
//! Owns [`Plan`]. Invariant: [`Plan::verify`] holds, and code generators choose nothing that a plan says.

use std::collections::BTreeMap;

use anymetal_analysis::divergence::{Affine, Divergence};
use anymetal_analysis::walk_insts;
use anymetal_ir::{Inst, Kernel, Op, Space, Value};
use anymetal_opt::{Feature, PassOptions};

use crate::access::{Item, Strategy, of_load, of_store};
use crate::bundles::{Chunk, Part};
use crate::constructs::Constructs;
use crate::facts::Facts;
use crate::fragments::Fragments;
use crate::interior_path::InteriorPath;
use crate::nontemporal::NonTemporal;
use crate::regions::Regions;
use crate::stencil_rows::StencilRows;
use crate::storage::Root;
use crate::target::CpuFeatures;

/// What plans depend on besides the kernel.
#[derive(Clone, Copy, Debug)]
pub struct PlanOptions<'a> {
    /// The kernel, for its arguments.
    pub kernel: &'a Kernel,
    /// The processor.
    pub features: &'a CpuFeatures,
    /// The strategies that are switched on.
    pub passes: &'a PassOptions,
    /// Each SIMD-group runs by itself, because one may wait for another.
    pub independent_simdgroups: bool,
}

/// How a load or store is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Of variables that are values, by their indices.
    Promoted(std::ops::Range<usize>),
    /// Of a private array, interleaved by lane.
    Private(Strategy),
    /// Of several allocations, one after the other.
    Waterfall,
    /// Done by an earlier load.
    With(Inst),
    /// Of one allocation that threads share.
    Shared(Strategy),
}

/// The plan of one version of a kernel.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The analyses that do not depend on shapes.
    pub facts: Facts<'a>,
    /// The shapes of values and variables.
    pub divergence: Divergence,
    /// What runs once per threadgroup, and what once per SIMD-group between barriers.
    pub regions: Regions,
    /// How branches and loops run.
    pub constructs: Constructs,
    /// Parts of matrices.
    pub fragments: Fragments,
    /// Loads at constant distances that are done together, by the first.
    pub bundles: BTreeMap<Inst, Vec<Chunk>>,
    /// Loads of stencils.
    pub stencil_rows: StencilRows,
    /// How threadgroups that no limit concerns run, where that is another way.
    pub interior: Option<InteriorPath>,
    /// Stores that may go past the caches.
    pub nontemporal: NonTemporal,
    accesses: BTreeMap<Inst, Access>,
}

impl<'a> Plan<'a> {
    /// Plans a version.
    pub fn new(facts: Facts<'a>, options: PlanOptions<'_>) -> Self {
        let (function, storage) = (facts.function, facts.storage);
        let has = |feature| options.passes.has(feature);
        let divergence = facts.divergence();
        let regions = Regions::new(facts, &divergence, options.independent_simdgroups);
        let fragments = Fragments::new(facts, &divergence, &regions);
        let constructs = Constructs::new(facts, &divergence, &regions, has(Feature::UnmaskedLoop));
        let is_apart = |first: Inst, part: &Part| {
            !regions.is_same_region(first, part.inst) || fragments.parts.contains(&part.result)
        };
        let is_known_at = |value: Value, inst: Inst| regions.is_known_at(function, &divergence, value, inst);
        let bundles = match has(Feature::Bundles) {
            true => facts.bundles.chunks(function, &divergence, &|first, part| {
                storage.pointer(part.pointer).root == Root::Many || is_apart(first, part)
            }),
            false => BTreeMap::new(),
        };
        let stencil_rows = match has(Feature::StencilRows) {
            true => StencilRows::new(function, &divergence, storage, &is_apart, &is_known_at),
            false => StencilRows::default(),
        };
        let nontemporal =
            if has(Feature::NonTemporal) { NonTemporal::new(facts) } else { NonTemporal::default() };
        let interior = has(Feature::Interior).then(|| {
            let rows = (&regions, &stencil_rows);
            InteriorPath::new((facts, &divergence), rows, options.kernel, options.features)
        });
        let interior = interior.flatten();
        let accesses = BTreeMap::new();
        let mut plan = Self {
            facts,
            divergence,
            regions,
            constructs,
            fragments,
            bundles,
            stencil_rows,
            interior,
            nontemporal,
            accesses,
        };
        plan.plan_accesses(options);
        debug_assert_eq!(plan.verify(), Ok(()));
        plan
    }

    /// How a load or store is done.
    pub fn access(&self, inst: Inst) -> &Access {
        self.accesses.get(&inst).unwrap_or_else(|| unreachable!("{inst} is no load or store"))
    }

    /// All loads and stores.
    pub fn accesses(&self) -> impl Iterator<Item = (Inst, &Access)> {
        self.accesses.iter().map(|(&inst, access)| (inst, access))
    }

    fn plan_accesses(&mut self, options: PlanOptions<'_>) {
        let function = self.facts.function;
        let bundled = self.bundles.iter().flat_map(|(&first, chunks)| {
            chunks.iter().flat_map(|chunk| &chunk.parts).map(move |part| (part.inst, first))
        });
        let in_rows = self
            .stencil_rows
            .rows()
            .iter()
            .flat_map(|(&first, row)| row.parts.iter().map(move |part| (part.inst, first)));
        let with: BTreeMap<Inst, Inst> = in_rows.chain(bundled).collect();
        let mut accesses = BTreeMap::new();
        walk_insts(function, function.body, &mut |inst| {
            let data = function.inst(inst);
            let (pointer, ty) = match data.op {
                Op::Load { ptr, .. } => {
                    (ptr, function.ty(data.result.unwrap_or_else(|| unreachable!("{inst} has a result"))))
                }
                Op::Store { ptr, value, .. } => (ptr, function.ty(value)),
                _ => return,
            };
            let access = match with.get(&inst) {
                Some(&first) if first != inst => Access::With(first),
                _ => self.plan_access(matches!(data.op, Op::Store { .. }), pointer, Item::of(ty), options),
            };
            accesses.insert(inst, access);
        });
        self.accesses = accesses;
    }

    fn plan_access(&self, stores: bool, pointer: Value, item: Item, options: PlanOptions<'_>) -> Access {
        let (function, storage) = (self.facts.function, self.facts.storage);
        let lanes = self.divergence.shape(pointer).affine();
        if let Some(vars) = storage.vars_at(pointer, item.bytes()) {
            return Access::Promoted(vars);
        }
        if storage.pointer(pointer).root == Root::Many && !lanes.is_some_and(Affine::is_uniform) {
            return Access::Waterfall;
        }
        let may_split = options.passes.has(Feature::StorePieces);
        let strategy = match stores {
            true => of_store(lanes, item, options.features, may_split),
            false => of_load(lanes, item, options.features),
        };
        match function.pointer_space(pointer) == Space::Thread {
            true => Access::Private(strategy),
            false => Access::Shared(strategy),
        }
    }

    /// Checks what code generators rely on.
    ///
    /// # Errors
    /// A sentence that names what is wrong.
    pub fn verify(&self) -> Result<(), String> {
        let function = self.facts.function;
        let mut order = BTreeMap::new();
        walk_insts(function, function.body, &mut |inst| {
            order.insert(inst, order.len());
        });
        let mut done = BTreeMap::new();
        let groups = self.bundles.iter().map(|(first, chunks)| {
            (first, chunks.iter().flat_map(|chunk| &chunk.parts).copied().collect::<Vec<_>>())
        });
        let rows = self.stencil_rows.rows().iter().map(|(first, row)| (first, row.parts.clone()));
        for (first, parts) in groups.chain(rows) {
            for part in parts {
                if order[&part.inst] < order[first] {
                    return Err(format!("{} is loaded with {first}, which comes after it", part.inst));
                }
                if !self.regions.is_same_region(*first, part.inst) {
                    return Err(format!("{} is loaded with {first} of another region", part.inst));
                }
                if let Some(other) = done.insert(part.inst, *first) {
                    return Err(format!("{} is loaded with {first} and with {other}", part.inst));
                }
            }
        }
        for (inst, access) in self.accesses() {
            match access {
                Access::With(first) if done.get(&inst) != Some(first) => {
                    return Err(format!("{inst} is done with {first}, which does not load it"));
                }
                Access::Shared(Strategy::Runs(runs)) | Access::Private(Strategy::Runs(runs)) => {
                    let lanes: usize = runs.iter().map(|run| run.lanes).sum();
                    if lanes != anymetal_analysis::divergence::LANES {
                        return Err(format!("the runs of {inst} have {lanes} lanes"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
