//! A plan as text: the kernel's instructions, each with what the plan says of it.

use std::fmt;

use anymetal_analysis::divergence::{Affine, Assumption, Geometry, Shape};
use anymetal_analysis::polls::LoopPolls;
use anymetal_ir::{Inst, Op, print_annotated};

use crate::access::{Strategy, load_cost, store_cost};
use crate::constructs::{BranchForm, LoopForm};
use crate::plan::{Access, Plan};
use crate::regions::Fetch;
use crate::target::CpuFeatures;

/// Writes a plan for a processor.
#[derive(Debug)]
pub struct PlanText<'a> {
    /// The plan.
    pub plan: &'a Plan<'a>,
    /// The processor, whose instructions are counted.
    pub features: &'a CpuFeatures,
}

impl fmt::Display for PlanText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan;
        match plan.facts.geometry {
            Geometry::Full([x, y, z]) => writeln!(f, "; whole threadgroups of {x}x{y}x{z}, lanes along x")?,
            Geometry::YMajor([x, y, z]) => writeln!(f, "; whole threadgroups of {x}x{y}x{z}, lanes along y")?,
            Geometry::Line => writeln!(f, "; threadgroups of one dimension")?,
            Geometry::Any => writeln!(f, "; any threadgroups")?,
        }
        for (number, region) in plan.regions.regions.iter().enumerate() {
            let (mut again, mut loaded) = (Vec::new(), Vec::new());
            for fetch in &region.fetches {
                match fetch {
                    Fetch::Remat(value) => again.push(value.to_string()),
                    Fetch::Load(value) => loaded.push(value.to_string()),
                }
            }
            write!(f, "; region {number}: {} instructions for each SIMD-group", region.insts.len())?;
            for (what, values) in [("computes again", again), ("loads", loaded)] {
                if !values.is_empty() {
                    write!(f, ", {what} {}", values.join(" "))?;
                }
            }
            writeln!(f)?;
        }
        if let Some(interior) = &plan.interior {
            let conditions = interior.preconditions.len();
            writeln!(f, "; threadgroups in the interior: without checks under {conditions} conditions")?;
        }
        f.write_str(&print_annotated(plan.facts.function, &|inst| self.note(inst)))
    }
}

impl PlanText<'_> {
    /// What the plan says of an instruction.
    fn note(&self, inst: Inst) -> String {
        let (plan, function) = (self.plan, self.plan.facts.function);
        let data = function.inst(inst);
        let mut notes = Vec::new();
        if plan.regions.group_insts[inst.index()] {
            notes.push("once per threadgroup".to_owned());
        }
        match &data.op {
            Op::If { .. } if plan.facts.group_level.contains(inst) => notes.push("threadgroup".to_owned()),
            Op::If { .. } => notes.push(match plan.constructs.branch(inst) {
                BranchForm::Constant(taken) => format!("always {taken}"),
                BranchForm::Uniform => "uniform".to_owned(),
                BranchForm::Unbranched => "masks without a branch".to_owned(),
                BranchForm::Masked => "masks".to_owned(),
            }),
            Op::Loop { .. } => notes.push(match plan.constructs.of_loop(inst) {
                LoopForm::Threadgroup => "threadgroup".to_owned(),
                LoopForm::Uniform => "uniform".to_owned(),
                LoopForm::Masked { unmasked: None } => "masks".to_owned(),
                LoopForm::Masked { unmasked: Some(_) } => {
                    "masks, and without while all lanes stay".to_owned()
                }
            }),
            Op::Load { .. } | Op::Store { .. } => notes.push(self.access(inst)),
            _ => {}
        }
        if matches!(data.op, Op::Loop { .. }) {
            notes.push(match plan.polls.of_loop(inst) {
                LoopPolls::Never { trips } => format!("at most {trips} iterations without a poll"),
                LoopPolls::Every { iterations: 1 } => "polls in each iteration".to_owned(),
                LoopPolls::Every { iterations } => format!("polls every {iterations} iterations"),
            });
        }
        if let Some(predicated) = plan.predicated_loops.get(&inst) {
            notes.push(format!("{} accesses tested before it", predicated.accesses.len()));
        }
        if plan.polls.is_before(inst) {
            notes.push("after a poll".to_owned());
        }
        if let Some(result) = data.result {
            let shapes: Vec<String> = plan.divergence.values[result.index()].iter().map(shape).collect();
            match shapes.as_slice() {
                [first, rest @ ..] if rest.iter().all(|shape| shape == first) => notes.push(first.clone()),
                shapes => notes.push(format!("({})", shapes.join(", "))),
            }
        }
        notes.join("; ")
    }

    fn access(&self, inst: Inst) -> String {
        let (plan, function) = (self.plan, self.plan.facts.function);
        let stores = matches!(function.inst(inst).op, Op::Store { .. });
        let (_, item) = plan.accessed(inst);
        let strategy = |strategy: &Strategy| {
            let cost = match stores {
                true => store_cost(strategy, item, self.features),
                false => load_cost(strategy, item, self.features),
            };
            format!("{}, cost {cost}", name(strategy))
        };
        match plan.access(inst) {
            _ if plan.bundles.contains_key(&inst) => "first of a bundle".to_owned(),
            _ if plan.stencil_rows.of_first(inst).is_some() => "first of a stencil row".to_owned(),
            Access::Promoted(_) => "register".to_owned(),
            Access::Private { uniform: true } => "private array".to_owned(),
            Access::Private { uniform: false } => "private array, lane by lane".to_owned(),
            Access::Waterfall => "one allocation after the other".to_owned(),
            Access::With(first) => {
                let first = plan.facts.function.inst(*first).result;
                format!("with {}", first.unwrap_or_else(|| unreachable!("{inst} is done with a load")))
            }
            Access::Shared(of) => strategy(of),
        }
    }
}

/// The strategy's name.
fn name(strategy: &Strategy) -> String {
    match strategy {
        Strategy::Uniform => "uniform".to_owned(),
        Strategy::Runs(runs) => match runs.as_slice() {
            [run] if !run.same => "contiguous".to_owned(),
            runs => format!("{} runs", runs.len()),
        },
        Strategy::Span { elements, .. } => format!("span of {elements} elements"),
        Strategy::Pieces(pieces) => format!("{} pieces", pieces.len()),
        Strategy::Lanes => "lane by lane".to_owned(),
        Strategy::Varying => "gather or scatter, tested first".to_owned(),
    }
}

fn shape(shape: &Shape) -> String {
    let Shape::Affine(lanes) = shape else { return "varying".to_owned() };
    let form = match (lanes.constant(), lanes.is_uniform(), lanes.step()) {
        (Some(value), ..) => format!("constant {value}"),
        (_, true, _) => "uniform".to_owned(),
        (.., Some(step)) if lanes.segments == 1 => format!("{step:+} per lane"),
        _ => pattern(lanes),
    };
    match lanes.assumption {
        None => form,
        Some(Assumption::NoWrap) => format!("{form} if no sum wraps"),
        Some(Assumption::Unclamped) => format!("{form} if no lane is clamped"),
        Some(Assumption::UnitFactor) => format!("{form} if the factor is 1"),
    }
}

fn pattern(lanes: &Affine) -> String {
    match lanes.segments {
        1 => "pattern".to_owned(),
        segments => format!("pattern with {segments} bases"),
    }
}
