//! The source of a fused kernel.
//!
//! Owns [`FusedKernel`]. Invariant: each map's function is the text that its own kernel has, in a function of
//! its own that rounds to the stored type; results are equal bit by bit.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::fusion::Group;
use super::recorder::{MapOperand, MapStep};
use crate::elementwise::MapForm;

/// The functions that maps call.
const FUNCTIONS: &str = include_str!("../kernels/elementwise_functions.metal");

/// A kernel for all maps of a group.
pub(super) struct FusedKernel {
    /// In MSL, without the prelude.
    pub(super) source: String,
    /// The memory of its first arguments, by number; after them come the layout and the parameters.
    pub(super) memory: Vec<usize>,
    /// Of each map.
    pub(super) parameters: Vec<[f32; 4]>,
}

impl FusedKernel {
    /// The kernel that leaves in memory what `is_stored` names.
    pub(super) fn of(group: &Group<'_>, is_stored: impl Fn(usize) -> bool) -> FusedKernel {
        let mut body = Body::default();
        for (number, step) in group.steps.iter().enumerate() {
            let inputs: Vec<String> = step.operands[1..]
                .iter()
                .zip(&step.function.stored[1..])
                .map(|(input, stored)| body.value(group, input, stored))
                .collect();
            body.step(number, step, &inputs);
            if is_stored(step.operands[0].memory) {
                body.store(group, &step.operands[0], step.function.stored[0], number);
            }
        }
        let mut source = functions(group);
        source.push_str("kernel void fused(");
        for (argument, (_, stored, is_written)) in body.arguments.iter().enumerate() {
            let constness = if *is_written { "" } else { "const " };
            let _ = write!(source, "device {constness}{stored}* m{argument} [[buffer({argument})]], ");
        }
        let next = body.arguments.len();
        let _ = write!(source, "constant Layout& l [[buffer({next})]], ");
        let _ = write!(source, "constant float4* p [[buffer({})]], ", next + 1);
        source.push_str("uint2 at [[thread_position_in_grid]]) {\n");
        for place in 0..group.places().len() {
            let _ = writeln!(source, "    int at{place} = AT({place}, S{place});");
        }
        source.push_str(&body.text);
        source.push_str("}\n");
        let memory = body.arguments.iter().map(|(memory, _, _)| *memory).collect();
        let parameters = group.steps.iter().map(|step| step.function.parameters).collect();
        FusedKernel { source, memory, parameters }
    }
}

/// The kernel's statements.
#[derive(Default)]
struct Body {
    text: String,
    /// Memory, stored type, whether it is written.
    arguments: Vec<(usize, &'static str, bool)>,
    /// The variable of what a map has made of memory.
    made: BTreeMap<usize, String>,
    /// The variable of what was loaded: argument, place.
    loaded: BTreeMap<(usize, usize), String>,
}

impl Body {
    fn argument(&mut self, memory: usize, stored: &'static str, writes: bool) -> usize {
        let known = self.arguments.iter().position(|known| *known == (memory, stored, writes));
        known.unwrap_or_else(|| {
            self.arguments.push((memory, stored, writes));
            self.arguments.len() - 1
        })
    }

    /// The variable of an input's element.
    fn value(&mut self, group: &Group<'_>, input: &MapOperand, stored: &'static str) -> String {
        if let Some(made) = self.made.get(&input.memory) {
            return made.clone();
        }
        let (argument, place) = (self.argument(input.memory, stored, false), group.place_of(input));
        if let Some(loaded) = self.loaded.get(&(argument, place)) {
            return loaded.clone();
        }
        let variable = format!("x{}", self.loaded.len());
        let _ = writeln!(self.text, "    {stored} {variable} = m{argument}[at{place}];");
        self.loaded.insert((argument, place), variable.clone());
        variable
    }

    fn step(&mut self, number: usize, step: &MapStep, inputs: &[String]) {
        let (stored, namespace) = (step.function.stored[0], namespace(step));
        let inputs = inputs.join(", ");
        let _ =
            writeln!(self.text, "    {stored} y{number} = {namespace}::step{number}({inputs}, p[{number}]);");
        self.made.insert(step.operands[0].memory, format!("y{number}"));
    }

    fn store(&mut self, group: &Group<'_>, out: &MapOperand, stored: &'static str, number: usize) {
        let (argument, place) = (self.argument(out.memory, stored, true), group.place_of(out));
        let _ = writeln!(self.text, "    m{argument}[at{place}] = y{number};");
    }
}

/// A namespace for each type whose arithmetic wraps, with the functions and the group's maps of it.
fn functions(group: &Group<'_>) -> String {
    let mut by_wrapping: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, step) in group.steps.iter().enumerate() {
        by_wrapping.entry(step.function.wrapping).or_default().push(number);
    }
    let mut text = String::new();
    for (wrapping, numbers) in by_wrapping {
        let _ = writeln!(text, "#define W {wrapping}\nnamespace of_{wrapping} {{\n{FUNCTIONS}");
        for number in numbers {
            text.push_str(&step_function(number, group.steps[number]));
        }
        text.push_str("}\n#undef W\n");
    }
    text
}

fn namespace(step: &MapStep) -> String {
    format!("of_{}", step.function.wrapping)
}

/// What the kernel of a map alone does with an element.
fn step_function(number: usize, step: &MapStep) -> String {
    let function = &step.function;
    let (out, compute, name) = (function.stored[0], function.compute, function.name);
    let names = ["a", "b", "c"];
    let inputs = function.stored[1..].iter().zip(names).map(|(stored, name)| format!("{stored} {name}"));
    let converted =
        |names: &[&str]| names.iter().map(|name| format!("{compute}({name})")).collect::<Vec<_>>().join(", ");
    let result = match function.form {
        MapForm::One => format!("{name}({}, p)", converted(&names[..1])),
        MapForm::Two => format!("{name}({})", converted(&names[..2])),
        MapForm::TwoWith => format!("{name}({}, p)", converted(&names[..2])),
        MapForm::Three => format!("{name}({})", converted(&names)),
        MapForm::Choose => format!("a ? {compute}(b) : {compute}(c)"),
    };
    let inputs = inputs.collect::<Vec<_>>().join(", ");
    format!("static {out} step{number}({inputs}, float4 p) {{ return {out}({result}); }}\n")
}
