//! The plan of one version of a kernel: everything that is decided before code is written.
//!
//! Owns [`Plan`]. Invariant: [`Plan::verify`] holds, and code generators choose nothing that a plan says.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_analysis::divergence::{Affine, Divergence, Geometry, LANES};
use anymetal_analysis::polls::{PollPlan, PollTarget};
use anymetal_analysis::ranges::upper_bound;
use anymetal_analysis::{CountedLoops, TripCounts, waiting_loops, walk_insts};
use anymetal_ir::{Inst, Kernel, Module, Op, Space, Value};
use anymetal_opt::{Feature, PassOptions};

use crate::access::{Item, Strategy, of_load, of_store};
use crate::bundles::{LoadBundle, Part};
use crate::constructs::Constructs;
use crate::facts::Facts;
use crate::fragments::Fragments;
use crate::interior_path::InteriorPath;
use crate::loop_predication::PredicatedLoop;
use crate::nontemporal::NonTemporal;
use crate::regions::Regions;
use crate::stencil_rows::StencilRows;
use crate::storage::Root;
use crate::target::CpuFeatures;

/// What plans depend on besides the kernel.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "the work of calls is known by a trait object")]
pub struct PlanOptions<'a> {
    /// What the kernel's function is in.
    pub module: &'a Module,
    /// The kernel, for its arguments.
    pub kernel: &'a Kernel,
    /// The processor.
    pub features: &'a CpuFeatures,
    /// The strategies that are switched on.
    pub passes: &'a PassOptions,
    /// The work of calls.
    pub calls: &'a dyn PollTarget,
    /// Each SIMD-group runs by itself, because one may wait for another.
    pub independent_simdgroups: bool,
}

/// How a load or store is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Of variables that are values, by their indices.
    Promoted(std::ops::Range<usize>),
    /// Of a private array, interleaved by lane.
    Private {
        /// Whether all lanes access the same element, so that they are side by side.
        uniform: bool,
    },
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
    /// Where the stop flag is polled.
    pub polls: PollPlan,
    /// Loops that may wait for another thread; none if no SIMD-group runs by itself.
    pub waiting: BTreeSet<Inst>,
    /// Parts of matrices.
    pub fragments: Fragments,
    /// Loads at constant distances that are done together, by the first.
    pub bundles: BTreeMap<Inst, LoadBundle>,
    /// Loads of stencils.
    pub stencil_rows: StencilRows,
    /// How threadgroups that no limit concerns run, where that is another way.
    pub interior: Option<InteriorPath>,
    /// Loops whose accesses are tested before them.
    pub predicated_loops: BTreeMap<Inst, PredicatedLoop>,
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
        let polls = PollPlan::of_kernel(function, &max_trips(facts.loops, facts.geometry), options.calls);
        // Functions that are called have no atomic operations, so none of their loops waits.
        let waiting = match options.independent_simdgroups {
            true => waiting_loops(options.module, function),
            false => BTreeSet::new(),
        };
        let constructs = Constructs::new(facts, &divergence, &regions, has(Feature::UnmaskedLoop));
        let is_apart = |first: Inst, part: &Part| {
            !regions.is_same_region(first, part.inst) || fragments.parts.contains(&part.result)
        };
        let is_known_at = |value: Value, inst: Inst| regions.is_known_at(function, &divergence, value, inst);
        let bundles = match has(Feature::Bundles) {
            true => {
                let is_apart = |first: Inst, part: &Part| {
                    storage.pointer(part.pointer).root == Root::Many || is_apart(first, part)
                };
                facts.bundles.load_bundles(function, &divergence, &is_apart, &is_known_at)
            }
            false => BTreeMap::new(),
        };
        let bundled: BTreeSet<Inst> = bundles.values().flat_map(LoadBundle::loads).collect();
        let is_apart = |first: Inst, part: &Part| bundled.contains(&part.inst) || is_apart(first, part);
        let stencil_rows = match has(Feature::StencilRows) {
            true => StencilRows::new(function, &divergence, storage, &is_apart, &is_known_at),
            false => StencilRows::default(),
        };
        let interior = has(Feature::Interior).then(|| {
            let rows = (&regions, &stencil_rows);
            InteriorPath::new((facts, &divergence), rows, options.kernel, options.features)
        });
        let interior = interior.flatten();
        let nontemporal = match has(Feature::NonTemporal) {
            true => NonTemporal::new(facts),
            false => NonTemporal::default(),
        };
        let accesses = BTreeMap::new();
        let mut plan = Self {
            facts,
            divergence,
            regions,
            constructs,
            polls,
            waiting,
            fragments,
            bundles,
            stencil_rows,
            interior,
            predicated_loops: BTreeMap::new(),
            nontemporal,
            accesses,
        };
        plan.plan_accesses(options);
        if has(Feature::LoopPredication) {
            plan.predicated_loops = plan.loops_to_predicate();
        }
        assert_eq!(plan.verify(), Ok(()), "a plan is sound");
        plan
    }

    /// How a load or store is done.
    pub fn access(&self, inst: Inst) -> &Access {
        self.accesses.get(&inst).unwrap_or_else(|| unreachable!("{inst} is no load or store"))
    }

    /// The strategy of a load or store of one allocation that is done by itself.
    pub fn strategy(&self, inst: Inst) -> Option<&Strategy> {
        if let Some(Access::Shared(strategy)) = self.accesses.get(&inst) { Some(strategy) } else { None }
    }

    fn plan_accesses(&mut self, options: PlanOptions<'_>) {
        let function = self.facts.function;
        let bundled =
            self.bundles.iter().flat_map(|(&first, bundle)| bundle.loads().map(move |load| (load, first)));
        let in_rows = self
            .stencil_rows
            .rows()
            .iter()
            .flat_map(|(&first, row)| row.parts.iter().map(move |part| (part.inst, first)));
        let with: BTreeMap<Inst, Inst> = in_rows.chain(bundled).collect();
        let mut accesses = BTreeMap::new();
        walk_insts(function, function.body, &mut |inst| {
            let data = function.inst(inst);
            let stores = match data.op {
                Op::Load { .. } => false,
                Op::Store { .. } => true,
                _ => return,
            };
            let (pointer, item) = self.accessed(inst);
            let access = match with.get(&inst) {
                Some(&first) if first != inst => Access::With(first),
                _ => self.plan_access(stores, pointer, item, options),
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
        if function.pointer_space(pointer) == Space::Thread {
            return Access::Private { uniform: lanes.is_some_and(Affine::is_uniform) };
        }
        let may_split = options.passes.has(Feature::StorePieces);
        Access::Shared(match stores {
            true => of_store(lanes, item, options.features, may_split),
            false => of_load(lanes, item, options.features),
        })
    }

    fn loops_to_predicate(&self) -> BTreeMap<Inst, PredicatedLoop> {
        let (function, storage) = (self.facts.function, self.facts.storage);
        let range_of = |inst: Inst| {
            if let Some(bundle) = self.bundles.get(&inst) {
                return (bundle.lanes.is_some() && bundle.narrow.is_none()).then(|| bundle.range());
            }
            let has_pattern = self.strategy(inst).is_some_and(|strategy| *strategy != Strategy::Varying);
            let is_alone = has_pattern && !self.stencil_rows.rows().contains_key(&inst);
            let (pointer, item) = is_alone.then(|| self.accessed(inst))?;
            (storage.pointer(pointer).root != Root::Many).then(|| 0..item.bytes())
        };
        let analyses = (self.facts, &self.divergence, &self.constructs);
        let mut found = BTreeMap::new();
        walk_insts(function, function.body, &mut |inst| {
            found.extend(PredicatedLoop::new(analyses, inst, &range_of).map(|planned| (inst, planned)));
        });
        found
    }

    /// The pointer of a load or store, and what each lane accesses.
    pub fn accessed(&self, inst: Inst) -> (Value, Item) {
        let function = self.facts.function;
        let data = function.inst(inst);
        match (&data.op, data.result) {
            (&Op::Load { ptr, .. }, Some(result)) => (ptr, Item::of(function.ty(result))),
            (&Op::Store { ptr, value, .. }, _) => (ptr, Item::of(function.ty(value))),
            (op, _) => unreachable!("{op:?} is no load or store"),
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
        let bundles = self.bundles.iter().map(|(first, bundle)| (first, bundle.loads().collect::<Vec<_>>()));
        let rows = self.stencil_rows.rows().iter();
        let rows = rows.map(|(first, row)| (first, row.parts.iter().map(|part| part.inst).collect()));
        for (first, loads) in bundles.chain(rows) {
            for load in loads {
                if order[&load] < order[first] {
                    return Err(format!("{load} is loaded with {first}, which comes after it"));
                }
                if !self.regions.is_same_region(*first, load) {
                    return Err(format!("{load} is loaded with {first} of another region"));
                }
                if let Some(other) = done.insert(load, *first) {
                    return Err(format!("{load} is loaded with {first} and with {other}"));
                }
            }
        }
        for (&inst, access) in &self.accesses {
            match access {
                Access::With(first) if done.get(&inst) != Some(first) => {
                    return Err(format!("{inst} is done with {first}, which does not load it"));
                }
                Access::Shared(strategy) => {
                    let (pointer, item) = self.accessed(inst);
                    if !covers(strategy, self.divergence.shape(pointer).affine(), item) {
                        return Err(format!("{inst} accesses other places than its lanes: {strategy:?}"));
                    }
                }
                Access::With(_) | Access::Promoted(_) | Access::Private { .. } | Access::Waterfall => {}
            }
        }
        Ok(())
    }
}

/// The maximum trip counts of loops.
pub fn max_trips(loops: &CountedLoops<'_>, geometry: Geometry) -> BTreeMap<Inst, u64> {
    let bound = |value| upper_bound(loops.function(), geometry, value);
    TripCounts::new(loops, &bound).all_max_trips()
}

/// Whether a strategy accesses each lane's place and, where it stores, each once.
fn covers(strategy: &Strategy, lanes: Option<&Affine>, item: Item) -> bool {
    let Some(lanes) = lanes else { return *strategy == Strategy::Varying };
    let from = |first: usize, lane: usize| lanes.at(lane).wrapping_sub(lanes.at(first));
    match strategy {
        Strategy::Uniform => lanes.is_uniform() && !lanes.is_assumed(),
        Strategy::Runs(runs) => {
            let mut next = 0;
            runs.iter().all(|run| {
                let is_next = run.lane == std::mem::replace(&mut next, run.lane + run.lanes);
                let step = if run.same { 0 } else { item.bytes() };
                let is_run = |lane: usize| from(run.lane, run.lane + lane) == step * lane as i64;
                is_next && (0..run.lanes).all(is_run) && run.segment == run.lane / lanes.segment_len()
            }) && next == LANES
        }
        Strategy::Span { low, picks, elements } => (0..LANES).all(|lane| {
            lanes.segments == 1
                && lanes.at(lane) == low + picks[lane] as i64 * item.size()
                && picks[lane] + item.count <= *elements
        }),
        Strategy::Pieces(pieces) => {
            let all: BTreeSet<usize> = pieces.iter().flat_map(|piece| piece.lanes.iter().copied()).collect();
            let count: usize = pieces.iter().map(|piece| piece.lanes.len()).sum();
            let is_piece = |lanes_of: &[usize]| {
                (0..lanes_of.len()).all(|n| from(lanes_of[0], lanes_of[n]) == item.bytes() * n as i64)
            };
            count == LANES && all.len() == LANES && pieces.iter().all(|piece| is_piece(&piece.lanes))
        }
        Strategy::Lanes => item.count == 1,
        Strategy::Varying => true,
    }
}
