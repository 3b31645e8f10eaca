//! Promotes memory that a loop accesses at one address to a value, as `promoteLoopAccessesToScalars` of
//! LLVM's LICM does: it is loaded before the loop and, if the loop stores to it, stored after it.
//! `f[4 * i] += …` in a loop is the typical case, and `a[i]` in a loop over `j`.
//!
//! A location is promoted if the loop has only plain loads and stores of one type through the same invariant
//! pointer, no other access of the loop may alias it ([`aliasing`]), the loop neither synchronises with other
//! threads nor is left by a jump to an outer construct, and the first iteration executes the first access
//! and, if there are stores, a store. Where the loop's first effect is its exit test, a copy of the test
//! guards the load and the store, so that a loop without iterations accesses nothing. A loop that stores to
//! a location does so on every path, so no store is introduced that other threads could see.
//!
//! Out of bounds a load is zero and a store is dropped. The first access of a location faults as it did;
//! what is loaded after a store would differ, so where there are stores loaded values may only reach stores
//! to the same location ([`flow`]). If a thread has several faults, that of a promoted location may be
//! reported before or after those of the loop's other accesses, as with [`licm`](fn@super::licm::licm).
//!
//! The location becomes a private variable, which [`super::mem2reg`] promotes. The pass is linear in the size
//! of the function times the nesting of loops, and at most quadratic in [`MAX_PROMOTED_POINTERS`].

pub(super) mod aliasing;
mod flow;

use super::copy::Cloner;
use super::early_cse::is_reusable;
use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use crate::limits::{MAX_PROMOTED_ADDRESS, MAX_PROMOTED_POINTERS};
use aliasing::{Access, ArgumentPair, SharedAccesses, Unaliased, add_disjoint_pairs};
use anymetal_analysis::{ExitTest, IncomingValues, exit_test, jumps_out, textual_ranges};
use anymetal_ir::{Block, FpMode, Function, Inst, Loc, Op, Space, Type, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};

/// Promotes the locations of one function's loops; returns whether there were any.
pub fn promote_loop_accesses(function: &mut Function) -> bool {
    let plans = Planner::new(function).plans();
    if plans.is_empty() {
        // No loop has a location that can be promoted.
        return false;
    }
    let count = plans.len();
    let mut promoter = Promoter { function, plans, promoted: 0 };
    rewrite_blocks(&mut promoter);
    assert_eq!(promoter.promoted, count, "every loop with a plan is in the function's body");
    true
}

/// The locations of a loop that are promoted.
pub(super) struct Plan {
    /// The exit test at the start of the body, and its position there.
    guard: Option<(usize, ExitTest)>,
    locations: Vec<Location>,
    /// The arguments that have to be disjoint for that, besides those that are known to be.
    pub(super) under: Vec<ArgumentPair>,
}

/// Memory that a loop accesses through one pointer.
struct Location {
    ptr: Value,
    /// The instructions in the loop that compute the pointer, in order.
    address: Vec<Inst>,
    ty: Type,
    /// In textual order.
    accesses: Vec<Inst>,
    /// Whether one of them is a store.
    stores: bool,
    /// The arguments that have to be disjoint.
    under: Vec<ArgumentPair>,
}

/// Whether a plan may have conditions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Conditions {
    None,
    /// Code will test that arguments are disjoint: `alias_versioning` adds it.
    Tested,
}

/// Finds what is promoted.
pub(super) struct Planner<'a> {
    function: &'a Function,
    incoming: IncomingValues,
    ranges: Vec<(u32, u32)>,
    /// Accesses of locations that an outer loop promotes.
    claimed: FxHashSet<Inst>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(function: &'a Function) -> Self {
        Self {
            function,
            incoming: IncomingValues::of(function),
            ranges: textual_ranges(function),
            claimed: FxHashSet::default(),
        }
    }

    fn plans(mut self) -> FxHashMap<Inst, Plan> {
        let mut loops = Vec::new();
        self.add_loops(self.function.body, &mut Vec::new(), &mut loops);
        let mut plans = FxHashMap::default();
        // Outer loops come first: what they promote is in no inner loop's memory any more.
        for (inst, known) in loops {
            if let Some(plan) = self.plan(inst, &known, Conditions::None) {
                self.claim(&plan);
                plans.insert(inst, plan);
            }
        }
        plans
    }

    /// Adds the loops of a block, with the arguments that are disjoint wherever they are executed: `known`,
    /// and those of the branches around them.
    fn add_loops(
        &self,
        block: Block,
        known: &mut Vec<ArgumentPair>,
        loops: &mut Vec<(Inst, Vec<ArgumentPair>)>,
    ) {
        for &inst in self.function.block(block) {
            let op = &self.function.inst(inst).op;
            if matches!(op, Op::Loop { .. }) {
                loops.push((inst, known.clone()));
            }
            let outside = known.len();
            if let Op::If { cond, then, .. } = *op {
                add_disjoint_pairs(self.function, cond, known);
                self.add_loops(then, known, loops);
                known.truncate(outside);
            }
            let then = matches!(op, Op::If { .. });
            op.blocks().into_iter().skip(then.into()).for_each(|nested| self.add_loops(nested, known, loops));
        }
    }

    /// What the plan promotes is not in the memory of inner loops any more.
    pub(super) fn claim(&mut self, plan: &Plan) {
        self.claimed.extend(plan.locations.iter().flat_map(|location| &location.accesses));
    }

    /// Plans one loop; `None` if nothing can be promoted. `known` are arguments that are disjoint.
    pub(super) fn plan(&self, inst: Inst, known: &[ArgumentPair], conditions: Conditions) -> Option<Plan> {
        let accesses = SharedAccesses::of(self.function, inst)?;
        if accesses.pointers() > MAX_PROMOTED_POINTERS || jumps_out(self.function, &[inst]) {
            // Too large, or left by a jump that does not reach the instruction after the loop.
            return None;
        }
        let (guard, certain) = self.first_iteration(inst)?;
        let certain = certain.iter().copied().collect();
        let mut candidates = accesses.unaliased(self.function, known);
        candidates.retain(|same| same.under.is_empty() || conditions == Conditions::Tested);
        let locations =
            candidates.into_iter().filter_map(|same| self.location(inst, same, &certain)).collect();
        let locations = flow::closed(self.function, &self.incoming, inst, locations);
        let mut under = Vec::new();
        for &pair in locations.iter().flat_map(|location| &location.under) {
            if !under.contains(&pair) {
                under.push(pair);
            }
        }
        (!locations.is_empty()).then_some(Plan { guard, locations, under })
    }

    /// The exit test at the start of a loop's body, and the instructions that the first iteration executes
    /// if that test does not leave the loop. `None`: the test cannot be copied to before the loop.
    fn first_iteration(&self, inst: Inst) -> Option<(Option<(usize, ExitTest)>, &'a [Inst])> {
        let (_, body, _) = self.function.as_loop(inst).expect("the instruction is a loop");
        let body = self.function.block(body);
        let test = exit_test(self.function, inst);
        let guard = test.map(|test| {
            let at = body.iter().position(|&inst| inst == test.inst);
            (at.expect("an exit test is in the loop's body"), test)
        });
        let rest = match guard {
            Some((at, _)) => {
                let is_copied = |&inst: &Inst| is_reusable(self.function, &self.function.inst(inst).op);
                body[..at].iter().all(is_copied).then_some(&body[at + 1..])?
            }
            None => body,
        };
        let leaves =
            |&inst: &Inst| self.function.inst(inst).op.ends_block() || jumps_out(self.function, &[inst]);
        let end = rest.iter().position(leaves).unwrap_or(rest.len());
        Some((guard, &rest[..end]))
    }

    /// The location of accesses through one pointer; `None` if it is not promoted.
    fn location(&self, looping: Inst, same: Unaliased, certain: &FxHashSet<Inst>) -> Option<Location> {
        let Unaliased { accesses, under } = same;
        let &Access { ptr, ty: Some(ty), .. } = accesses.first()? else {
            // A range is copied or cleared.
            return None;
        };
        let is_plain = |access: &Access| access.ty == Some(ty) && !self.claimed.contains(&access.inst);
        if ty.is_ptr() || !accesses.iter().all(is_plain) {
            // A pointer's target is not that of a copied value, or the location is accessed in another way.
            return None;
        }
        let is_certain = |access: &Access| certain.contains(&access.inst);
        let stores = accesses.iter().any(|access| access.stores);
        let certainly_stores = accesses.iter().any(|access| access.stores && is_certain(access));
        if !is_certain(&accesses[0]) || stores != certainly_stores {
            // The loop may run without the access, which then neither faults nor is seen.
            return None;
        }
        let address = self.address(looping, ptr)?;
        let accesses = accesses.iter().map(|access| access.inst).collect();
        Some(Location { ptr, address, ty, accesses, stores, under })
    }

    /// The instructions in a loop that compute an invariant pointer, in order; `None` if it is not invariant.
    fn address(&self, looping: Inst, ptr: Value) -> Option<Vec<Inst>> {
        let mut insts = Vec::new();
        let mut pending = vec![ptr];
        while let Some(value) = pending.pop() {
            let def = match self.function.values[value.index()].def {
                ValueDef::Param(_) => continue,
                ValueDef::Inst(def) => def,
                ValueDef::LoopParam(def, _) | ValueDef::Result(def, _) => {
                    if self.is_inside(looping, def) || def == looping {
                        // It differs from one iteration to the next.
                        return None;
                    }
                    continue;
                }
            };
            if !self.is_inside(looping, def) || insts.contains(&def) {
                continue;
            }
            let op = &self.function.inst(def).op;
            if !op.is_pure() || insts.len() == MAX_PROMOTED_ADDRESS {
                // A loaded value may differ from one iteration to the next.
                return None;
            }
            insts.push(def);
            op.for_each_operand(|operand| pending.push(operand));
        }
        insts.sort_by_key(|inst| self.ranges[inst.index()].0);
        Some(insts)
    }

    fn is_inside(&self, looping: Inst, inst: Inst) -> bool {
        let (start, end) = self.ranges[looping.index()];
        (start + 1..end).contains(&self.ranges[inst.index()].0)
    }
}

struct Promoter<'a> {
    function: &'a mut Function,
    plans: FxHashMap<Inst, Plan>,
    promoted: usize,
}

impl BlockRewriter for Promoter<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        match self.plans.remove(&inst) {
            Some(plan) => self.promote(inst, &plan, out),
            None => out.push(inst),
        }
    }
}

/// A promoted location: its address before the loop, and the variable in its place.
struct Promoted {
    ty: Type,
    ptr: Value,
    variable: Value,
    variable_align: u32,
    /// The alignment and place in the source of the first access, if it is a load.
    load: Option<(u32, Loc)>,
    /// Those of the last store, if there are stores.
    store: Option<(u32, Loc)>,
}

impl Promoter<'_> {
    fn promote(&mut self, inst: Inst, plan: &Plan, out: &mut Vec<Inst>) {
        self.promoted += 1;
        let guard =
            plan.guard.map(|(at, test)| (self.entry_condition(inst, at, test, out), test.leaves_when));
        let promoted: Vec<_> =
            plan.locations.iter().map(|location| self.replace_accesses(location, out)).collect();
        let mut loads = Vec::new();
        promoted.iter().for_each(|location| self.load(location, &mut loads));
        self.guarded(guard, loads, out);
        out.push(inst);
        let mut stores = Vec::new();
        promoted.iter().for_each(|location| self.store(location, &mut stores));
        self.guarded(guard, stores, out);
    }

    /// Copies the condition of the exit test at a position of the loop's body, for the first iteration.
    fn entry_condition(&mut self, inst: Inst, at: usize, test: ExitTest, out: &mut Vec<Inst>) -> Value {
        let Op::Loop { ref inits, ref params, body, .. } = self.function.inst(inst).op else {
            unreachable!("{inst} has an exit test, so it is a loop")
        };
        let first: Vec<(Value, Value)> = params.iter().copied().zip(inits.iter().copied()).collect();
        let computed = self.function.block(body)[..at].to_vec();
        let mut cloner = Cloner::new(self.function);
        first.into_iter().for_each(|(param, init)| cloner.map_value(param, init));
        out.extend(cloner.insts(&computed));
        cloner.value(test.cond)
    }

    /// Computes a location's address before the loop, and replaces the location by a variable in the loop.
    fn replace_accesses(&mut self, location: &Location, out: &mut Vec<Inst>) -> Promoted {
        let Location { ptr, ref address, ty, ref accesses, .. } = *location;
        let mut cloner = Cloner::new(self.function);
        out.extend(cloner.insts(address));
        let ptr = cloner.value(ptr);
        let variable_align = ty.size().next_power_of_two();
        let local = self.function.add_local("promoted", u64::from(ty.size()), variable_align);
        let addr = self.add(Op::LocalAddr(local), Some(Type::Ptr(Space::Thread)), Loc::default());
        out.push(addr);
        let variable = self.function.result(addr);
        let (mut load, mut store) = (None, None);
        for &inst in accesses {
            let data = &mut self.function.insts[inst.index()];
            match &mut data.op {
                Op::Load { ptr, align, .. } => {
                    load = load.or_else(|| (inst == accesses[0]).then_some((*align, data.loc)));
                    (*ptr, *align) = (variable, variable_align);
                }
                Op::Store { ptr, align, .. } => {
                    store = Some((*align, data.loc));
                    (*ptr, *align) = (variable, variable_align);
                }
                op => unreachable!("{op:?} is not an access of one value"),
            }
        }
        assert_eq!(store.is_some(), location.stores, "the accesses are those that were planned");
        Promoted { ty, ptr, variable, variable_align, load, store }
    }

    /// Loads a location into its variable, unless the loop stores to it first.
    fn load(&mut self, promoted: &Promoted, out: &mut Vec<Inst>) {
        let Promoted { ty, ptr, variable, variable_align, load, .. } = *promoted;
        if let Some((align, loc)) = load {
            let load = self.add(Op::Load { ptr, align, volatile: false }, Some(ty), loc);
            let value = self.function.result(load);
            let store = Op::Store { ptr: variable, value, align: variable_align, volatile: false };
            out.extend([load, self.add(store, None, loc)]);
        }
    }

    /// Stores the variable to its location, if the loop stores to it.
    fn store(&mut self, promoted: &Promoted, out: &mut Vec<Inst>) {
        let Promoted { ty, ptr, variable, variable_align, store, .. } = *promoted;
        let Some((align, loc)) = store else {
            // Only loaded from: nothing changed.
            return;
        };
        let load = Op::Load { ptr: variable, align: variable_align, volatile: false };
        let load = self.add(load, Some(ty), loc);
        let value = self.function.result(load);
        out.extend([load, self.add(Op::Store { ptr, value, align, volatile: false }, None, loc)]);
    }

    /// Executes instructions if the loop's first iteration passes its exit test.
    fn guarded(&mut self, guard: Option<(Value, bool)>, insts: Vec<Inst>, out: &mut Vec<Inst>) {
        match guard {
            Some((cond, leaves_when)) if !insts.is_empty() => {
                let (stays, leaves) = (self.block(insts), self.block(Vec::new()));
                let [then, otherwise] = if leaves_when { [leaves, stays] } else { [stays, leaves] };
                out.push(self.add(Op::branch(cond, then, otherwise), None, Loc::default()));
            }
            _ => out.extend(insts),
        }
    }

    fn block(&mut self, insts: Vec<Inst>) -> Block {
        let block = self.function.add_block();
        self.function.blocks[block.index()].insts = insts;
        block
    }

    fn add(&mut self, op: Op, ty: Option<Type>, loc: Loc) -> Inst {
        self.function.add_inst(op, ty, FpMode::default(), loc)
    }
}
