//! Which parameters and results share a variable: coalescing, as register allocators do it for copies.

use rustc_hash::{FxHashMap, FxHashSet};

use anymetal_analysis::IncomingValues;
use anymetal_ir::{Block, Function, Inst, Label, Op, Value, Values};

/// The classes of values that share a variable.
pub(super) struct Classes {
    of_value: FxHashMap<Value, usize>,
    representatives: Vec<Value>,
    /// For each construct, the classes of what it and the constructs in it define.
    defined: FxHashMap<Inst, Vec<usize>>,
    /// For each construct, these and the classes of what the jumps in it pass values to.
    touched: FxHashMap<Inst, Vec<usize>>,
    /// The results and parameters of labelled constructs.
    labelled: FxHashMap<Label, (Values, Values)>,
}

/// A place that holds one value at a time: a loop's parameters are distinct, as are a construct's results.
type Place = (Inst, bool);

impl Classes {
    /// Joins each parameter and result with the parameters and results that are passed to it, and with those
    /// to which the same values are passed.
    pub(super) fn of(function: &Function, jumps: &IncomingValues) -> Self {
        let mut sets = Sets::default();
        let defined: Vec<(Value, Place)> = jumps.definitions(function).collect();
        for &(value, place) in &defined {
            sets.add(value, place);
        }
        let mut passed_to: FxHashMap<Value, Value> = FxHashMap::default();
        for &(value, _) in &defined {
            jumps.each_source(function, value, |source| {
                sets.join(value, source);
                let is_constant = matches!(function.def(source), Some(Op::Const(_) | Op::Undef));
                if !is_constant {
                    sets.join(value, *passed_to.entry(source).or_insert(value));
                }
            });
        }
        let (mut numbers, mut representatives) = (FxHashMap::default(), Vec::new());
        let mut of_value = FxHashMap::default();
        for &(value, _) in &defined {
            let root = sets.root(value);
            let class = *numbers.entry(root).or_insert_with(|| {
                representatives.push(root);
                representatives.len() - 1
            });
            if function.variable_name(representatives[class]).is_none() {
                representatives[class] = value;
            }
            of_value.insert(value, class);
        }
        let (defined, touched, labelled) = Default::default();
        let mut classes = Classes { of_value, representatives, defined, touched, labelled };
        classes.collect(function, function.body);
        classes
    }

    /// The number of classes.
    pub(super) fn count(&self) -> usize {
        self.representatives.len()
    }

    /// A value of the class: of a variable with a name, if there is one.
    pub(super) fn representative(&self, class: usize) -> Value {
        self.representatives[class]
    }

    /// The class of a parameter or result.
    pub(super) fn of_value(&self, value: Value) -> usize {
        self.of_value[&value]
    }

    /// Whether the value is a parameter or result.
    pub(super) fn has(&self, value: Value) -> bool {
        self.of_value.contains_key(&value)
    }

    /// The parameters or results that a jump passes values to; `results`: those of its block's construct.
    pub(super) fn targets(&self, op: &Op, results: &[Value]) -> Values {
        match op {
            Op::Yield(_) => results.iter().copied().collect(),
            Op::Break(label, _) => self.labelled[label].0.clone(),
            Op::Continue(label, _) => self.labelled[label].1.clone(),
            _ => Values::new(),
        }
    }

    /// The classes whose variables a construct may have changed where control goes on after it, in order.
    pub(super) fn changed_by(&self, construct: Inst) -> &[usize] {
        self.defined.get(&construct).map_or(&[], Vec::as_slice)
    }

    /// The same and the classes whose variables jumps out of the construct rely on or change, in order.
    pub(super) fn touched_in(&self, construct: Inst) -> &[usize] {
        self.touched.get(&construct).map_or(&[], Vec::as_slice)
    }

    /// Collects the classes that each construct of a block defines and touches; returns those of all.
    fn collect(&mut self, function: &Function, block: Block) -> (Vec<usize>, Vec<usize>) {
        let (mut all_defined, mut all_touched) = (Vec::new(), Vec::new());
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            if let Some(label) = op.label() {
                let [results, params] = [op.results(), op.params()].map(|of| of.iter().copied().collect());
                self.labelled.insert(label, (results, params));
            }
            let of = |value: &Value| self.of_value[value];
            let mut defined: Vec<usize> = op.params().iter().chain(op.results()).map(of).collect();
            // Yields are to results of the construct around, which are among what it defines.
            let mut touched: Vec<usize> = self.targets(op, &[]).iter().map(of).collect();
            for nested in op.blocks() {
                let (nested_defined, nested_touched) = self.collect(function, nested);
                defined.extend(nested_defined);
                touched.extend(nested_touched);
            }
            touched.extend(&defined);
            all_defined.extend(&defined);
            all_touched.extend(&touched);
            for (mut classes, of) in [(defined, &mut self.defined), (touched, &mut self.touched)] {
                classes.sort_unstable();
                classes.dedup();
                if !classes.is_empty() {
                    of.insert(inst, classes);
                }
            }
        }
        for classes in [&mut all_defined, &mut all_touched] {
            classes.sort_unstable();
            classes.dedup();
        }
        (all_defined, all_touched)
    }
}

/// Disjoint sets of values, with the places that each occupies.
#[derive(Default)]
struct Sets {
    parents: FxHashMap<Value, Value>,
    places: FxHashMap<Value, FxHashSet<Place>>,
}

impl Sets {
    fn add(&mut self, value: Value, place: Place) {
        self.parents.insert(value, value);
        self.places.insert(value, FxHashSet::from_iter([place]));
    }

    fn root(&mut self, value: Value) -> Value {
        let mut root = value;
        while self.parents[&root] != root {
            root = self.parents[&root];
        }
        let mut at = value;
        while at != root {
            at = self.parents.insert(at, root).expect("all members have a parent");
        }
        root
    }

    /// Joins the sets of two values, unless the second is not a parameter or result, or both hold a value of
    /// one place.
    fn join(&mut self, a: Value, b: Value) {
        if !self.parents.contains_key(&b) {
            return;
        }
        let (a, b) = (self.root(a), self.root(b));
        if a == b || !self.places[&a].is_disjoint(&self.places[&b]) {
            return;
        }
        let (small, large) = match self.places[&a].len() <= self.places[&b].len() {
            true => (a, b),
            false => (b, a),
        };
        self.parents.insert(small, large);
        let moved = self.places.remove(&small).expect("each root has its places");
        self.places.get_mut(&large).expect("each root has its places").extend(moved);
    }
}
