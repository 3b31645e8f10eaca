//! Every SIMD-group and quad-group function over every type, any active lanes and partial groups, compared
//! with a reference that is written from the tables of the specification (§6.9.2, §6.9.3).
//!
//! The reference computes in `i128`. Values of floating-point types are whole numbers so small that every
//! order of a sum or product is exact. What the specification leaves undefined, the value of a lane that is
//! inactive or does not exist, is zero in anymetal.

use std::fmt::Write as _;

use anymetal_hal::split_mix::SplitMix64;
use half::{bf16, f16};

use crate::case::{Arg, Binding, Grid, Launch};
use crate::execute::{ExecError, Executor, Math, Source};

/// A type of the functions' arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// Its name in MSL, of a scalar.
    pub name: &'static str,
    /// Components; 1 is a scalar.
    pub components: usize,
    bytes: usize,
    class: Class,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Signed,
    Unsigned,
    Float,
}

/// The types: every scalar, and vectors of some.
pub const ELEMENTS: [Element; 15] = [
    element("char", 1, 1, Class::Signed),
    element("uchar", 1, 1, Class::Unsigned),
    element("short", 1, 2, Class::Signed),
    element("ushort", 1, 2, Class::Unsigned),
    element("int", 1, 4, Class::Signed),
    element("uint", 1, 4, Class::Unsigned),
    element("long", 1, 8, Class::Signed),
    element("ulong", 1, 8, Class::Unsigned),
    element("half", 1, 2, Class::Float),
    element("bfloat", 1, 2, Class::Float),
    element("float", 1, 4, Class::Float),
    element("uchar", 4, 1, Class::Unsigned),
    element("half", 2, 2, Class::Float),
    element("int", 3, 4, Class::Signed),
    element("float", 4, 4, Class::Float),
];

const fn element(name: &'static str, components: usize, bytes: usize, class: Class) -> Element {
    Element { name, components, bytes, class }
}

/// Threadgroups: whole and partial SIMD-groups and quads.
const GROUPS: [[u32; 3]; 6] = [[32, 1, 1], [7, 1, 1], [33, 1, 1], [62, 1, 1], [5, 9, 1], [128, 1, 1]];

/// One number for each lane of a SIMD-group.
type Lanes = [i128; 32];

/// The operands of a function: the value to combine, the value to exchange, the fill, and whether the lane
/// votes for.
struct Operands {
    combined: Lanes,
    exchanged: Lanes,
    fill: Lanes,
    votes: u32,
}

/// A function's result in a lane: operands, active lanes, lane.
type Model = fn(&Operands, u32, usize) -> i128;

/// What a function takes and returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The type, and returns it.
    Number,
    /// An integer type, and returns it.
    Integer,
    /// Nothing or `bool`, and returns something that converts to `uint`.
    Vote,
}

/// A call and its meaning. `x` is combined, `z` exchanged, `f` fills, `p` votes, `one` is a number that is
/// known at run time only.
struct Function {
    call: &'static str,
    kind: Kind,
    model: Model,
}

const fn function(call: &'static str, kind: Kind, model: Model) -> Function {
    Function { call, kind, model }
}

fn is_active(active: u32, lane: usize) -> bool {
    active >> lane & 1 != 0
}

/// The active lanes of the group of `width` lanes that the lane is in.
fn group(active: u32, lane: usize, width: usize) -> impl Iterator<Item = usize> {
    let first = lane / width * width;
    (first..first + width).filter(move |&other| is_active(active, other))
}

fn fold(values: &Lanes, lanes: impl Iterator<Item = usize>, f: fn(i128, i128) -> i128) -> i128 {
    lanes.map(|lane| values[lane]).reduce(f).expect("the lane itself is active")
}

fn sum(values: &Lanes, lanes: impl Iterator<Item = usize>) -> i128 {
    lanes.map(|lane| values[lane]).sum()
}

/// Products wrap in 64 bits, which keeps the low bits of all shorter ones.
fn product(values: &Lanes, lanes: impl Iterator<Item = usize>) -> i128 {
    lanes.fold(1, |product, lane| i128::from((product as i64).wrapping_mul(values[lane] as i64)))
}

fn read(values: &Lanes, active: u32, lane: usize) -> i128 {
    if is_active(active, lane) { values[lane] } else { 0 }
}

/// The lane's own value where `lane - by` or `lane + by` is outside of the group.
fn moved(operands: &Operands, active: u32, lane: usize, width: usize, by: isize) -> i128 {
    let inside = (lane % width) as isize + by;
    let from = if (0..width as isize).contains(&inside) { lane.wrapping_add_signed(by) } else { lane };
    read(&operands.exchanged, active, from)
}

fn rotated(operands: &Operands, active: u32, lane: usize, width: usize, by: isize) -> i128 {
    let inside = ((lane % width) as isize + by).rem_euclid(width as isize) as usize;
    read(&operands.exchanged, active, lane / width * width + inside)
}

/// The fill's lanes follow those of the value in each segment, or precede them.
fn filled(operands: &Operands, active: u32, lane: usize, segment: usize, by: isize) -> i128 {
    let inside = (lane % segment) as isize + by;
    let from = lane / segment * segment + inside.rem_euclid(segment as isize) as usize;
    let is_value = (0..segment as isize).contains(&inside);
    read(if is_value { &operands.exchanged } else { &operands.fill }, active, from)
}

fn first(active: u32, lane: usize, width: usize) -> usize {
    group(active, lane, width).next().expect("the lane itself is active")
}

fn bits(active: u32, lane: usize, width: usize, of: impl Fn(usize) -> bool) -> i128 {
    group(active, lane, width).filter(|&other| of(other)).map(|other| 1 << (other % width)).sum()
}

macro_rules! reductions {
    ($simd:literal, $width:literal) => {
        [
            function(concat!($simd, "_sum(x)"), Kind::Number, |o, a, l| {
                sum(&o.combined, group(a, l, $width))
            }),
            function(concat!($simd, "_product(x)"), Kind::Number, |o, a, l| {
                product(&o.combined, group(a, l, $width))
            }),
            function(concat!($simd, "_min(x)"), Kind::Number, |o, a, l| {
                fold(&o.combined, group(a, l, $width), i128::min)
            }),
            function(concat!($simd, "_max(x)"), Kind::Number, |o, a, l| {
                fold(&o.combined, group(a, l, $width), i128::max)
            }),
            function(concat!($simd, "_and(x)"), Kind::Integer, |o, a, l| {
                fold(&o.combined, group(a, l, $width), |x, y| x & y)
            }),
            function(concat!($simd, "_or(x)"), Kind::Integer, |o, a, l| {
                fold(&o.combined, group(a, l, $width), |x, y| x | y)
            }),
            function(concat!($simd, "_xor(x)"), Kind::Integer, |o, a, l| {
                fold(&o.combined, group(a, l, $width), |x, y| x ^ y)
            }),
            function(concat!($simd, "_prefix_inclusive_sum(x)"), Kind::Number, |o, a, l| {
                sum(&o.combined, group(a, l, $width).filter(|&other| other <= l))
            }),
            function(concat!($simd, "_prefix_exclusive_sum(x)"), Kind::Number, |o, a, l| {
                sum(&o.combined, group(a, l, $width).filter(|&other| other < l))
            }),
            function(concat!($simd, "_prefix_inclusive_product(x)"), Kind::Number, |o, a, l| {
                product(&o.combined, group(a, l, $width).filter(|&other| other <= l))
            }),
            function(concat!($simd, "_prefix_exclusive_product(x)"), Kind::Number, |o, a, l| {
                product(&o.combined, group(a, l, $width).filter(|&other| other < l))
            }),
            function(concat!($simd, "_broadcast_first(z)"), Kind::Number, |o, a, l| {
                o.exchanged[first(a, l, $width)]
            }),
            function(concat!($simd, "_shuffle_up(z, 1)"), Kind::Number, |o, a, l| moved(o, a, l, $width, -1)),
            function(concat!($simd, "_shuffle_up(z, 2 * one)"), Kind::Number, |o, a, l| {
                moved(o, a, l, $width, -2)
            }),
            function(concat!($simd, "_shuffle_down(z, 1)"), Kind::Number, |o, a, l| {
                moved(o, a, l, $width, 1)
            }),
            function(concat!($simd, "_shuffle_down(z, 2 * one)"), Kind::Number, |o, a, l| {
                moved(o, a, l, $width, 2)
            }),
            function(concat!($simd, "_shuffle_rotate_up(z, 1)"), Kind::Number, |o, a, l| {
                rotated(o, a, l, $width, -1)
            }),
            function(concat!($simd, "_shuffle_rotate_down(z, 3 * one)"), Kind::Number, |o, a, l| {
                rotated(o, a, l, $width, 3)
            }),
            function(concat!($simd, "_shuffle_xor(z, 3)"), Kind::Number, |o, a, l| {
                read(&o.exchanged, a, l ^ 3)
            }),
            function(concat!($simd, "_shuffle_xor(z, 2 * one)"), Kind::Number, |o, a, l| {
                read(&o.exchanged, a, l ^ 2)
            }),
            function(concat!($simd, "_broadcast(z, 2)"), Kind::Number, |o, a, l| {
                read(&o.exchanged, a, l / $width * $width + 2)
            }),
            function(concat!($simd, "_broadcast(z, one)"), Kind::Number, |o, a, l| {
                read(&o.exchanged, a, l / $width * $width + 1)
            }),
            // A uniform value is zero where its lane is not active.
            function(concat!($simd, "_broadcast(T(one), 3)"), Kind::Number, |_, a, l| {
                read(&[1; 32], a, l / $width * $width + 3)
            }),
            function(concat!($simd, "_shuffle_down(T(one), 1)"), Kind::Number, |_, a, l| {
                read(&[1; 32], a, if l % $width == $width - 1 { l } else { l + 1 })
            }),
            function(concat!($simd, "_shuffle_and_fill_up(z, f, 1)"), Kind::Number, |o, a, l| {
                filled(o, a, l, $width, -1)
            }),
            function(concat!($simd, "_shuffle_and_fill_down(z, f, one)"), Kind::Number, |o, a, l| {
                filled(o, a, l, $width, 1)
            }),
            function(concat!($simd, "_shuffle_and_fill_up(z, f, one, 2)"), Kind::Number, |o, a, l| {
                filled(o, a, l, 2, -1)
            }),
            function(concat!($simd, "_shuffle_and_fill_down(z, f, 2, 4)"), Kind::Number, |o, a, l| {
                filled(o, a, l, 4, 2)
            }),
            function(concat!($simd, "_vote::vote_t(", $simd, "_ballot(p))"), Kind::Vote, |o, a, l| {
                bits(a, l, $width, |other| is_active(o.votes, other))
            }),
            function(
                concat!($simd, "_vote::vote_t(", $simd, "_active_threads_mask())"),
                Kind::Vote,
                |_, a, l| bits(a, l, $width, |_| true),
            ),
            function(concat!($simd, "_all(p)"), Kind::Vote, |o, a, l| {
                group(a, l, $width).all(|other| is_active(o.votes, other)).into()
            }),
            function(concat!($simd, "_any(p)"), Kind::Vote, |o, a, l| {
                group(a, l, $width).any(|other| is_active(o.votes, other)).into()
            }),
            function(concat!($simd, "_ballot(p).all()"), Kind::Vote, |o, a, l| {
                let first = l / $width * $width;
                (first..first + $width).all(|other| is_active(o.votes & a, other)).into()
            }),
            function(concat!($simd, "_ballot(p).any()"), Kind::Vote, |o, a, l| {
                group(a, l, $width).any(|other| is_active(o.votes, other)).into()
            }),
            function(concat!($simd, "_is_first()"), Kind::Vote, |_, a, l| (first(a, l, $width) == l).into()),
            function(concat!($simd, "_is_helper_thread()"), Kind::Vote, |_, _, _| 0),
        ]
    };
}

const SIMD: [Function; 36] = reductions!("simd", 32);
const QUAD: [Function; 36] = reductions!("quad", 4);
/// By a lane that each thread chooses.
const CHOSEN: [Function; 2] = [
    function("simd_shuffle(z, ushort((lane * 7 + one) & 31))", Kind::Number, |o, a, l| {
        read(&o.exchanged, a, (l * 7 + 1) & 31)
    }),
    function("quad_shuffle(z, ushort((lane * 3 + one) & 3))", Kind::Number, |o, a, l| {
        read(&o.exchanged, a, l / 4 * 4 + ((l * 3 + 1) & 3))
    }),
];

impl Element {
    /// Its functions: SIMD-group functions take no 64-bit integers, bitwise ones no floats.
    fn functions(self) -> Vec<&'static Function> {
        let has_simd = self.bytes < 8;
        let of_all = SIMD.iter().chain(&QUAD).chain(&CHOSEN);
        of_all
            .filter(|function| has_simd || !function.call.starts_with("simd") || function.kind == Kind::Vote)
            .filter(|function| self.class != Class::Float || function.kind != Kind::Integer)
            .collect()
    }

    fn vector(self) -> String {
        match self.components {
            1 => self.name.to_owned(),
            n => format!("{}{n}", self.name),
        }
    }

    /// Bytes of a value in an array: a vector of three takes the room of four.
    fn stride(self) -> usize {
        self.bytes * if self.components == 3 { 4 } else { self.components }
    }

    /// A number as the type has it.
    fn of(self, number: i128) -> i128 {
        let shift = 128 - 8 * self.bytes as u32;
        match self.class {
            Class::Signed => number << shift >> shift,
            Class::Unsigned => ((number as u128) << shift >> shift) as i128,
            Class::Float => number,
        }
    }

    fn encoded(self, number: i128) -> Vec<u8> {
        match (self.class, self.name) {
            (Class::Float, "half") => f16::from_f64(number as f64).to_le_bytes().to_vec(),
            (Class::Float, "bfloat") => bf16::from_f64(number as f64).to_le_bytes().to_vec(),
            (Class::Float, _) => (number as f32).to_le_bytes().to_vec(),
            _ => number.to_le_bytes()[..self.bytes].to_vec(),
        }
    }

    /// What a thread combines: any bits, or a whole number of which 32 multiply and add up exactly.
    fn combined(self, random: &mut SplitMix64, thread: usize) -> i128 {
        if self.class != Class::Float {
            return self.of(random.next_number() as i128);
        }
        let sign = if random.next_up_to(1) == 0 { 1 } else { -1 };
        if thread.is_multiple_of(3) { 2 * sign } else { sign }
    }
}

/// The values of a launch, by component and thread.
struct Inputs {
    combined: Vec<Vec<i128>>,
    exchanged: Vec<Vec<i128>>,
    fill: Vec<Vec<i128>>,
    masks: Vec<u32>,
}

const UNTOUCHED: u8 = 0x5a;

impl Inputs {
    fn new(element: Element, threads: usize, random: &mut SplitMix64) -> Self {
        let mut by_component = |of: &mut dyn FnMut(&mut SplitMix64, usize, usize) -> i128| {
            let component = |k| (0..threads).map(|thread| of(random, k, thread)).collect();
            (0..element.components).map(component).collect::<Vec<Vec<_>>>()
        };
        let combined = by_component(&mut |random, _, thread| element.combined(random, thread));
        let exchanged = by_component(&mut |_, k, thread| (1 + (thread + 5 * k) % 60) as i128);
        let fill = by_component(&mut |_, k, thread| (61 + (thread + 5 * k) % 60) as i128);
        let mut masks = vec![u32::MAX, 1, 1 << 31, 0xffff_0000, 0x0000_ffff, 0x8000_0001];
        // All subsets of a quad.
        masks.extend((1..15).map(|quad| quad * 0x1111_1111));
        masks.extend((0..12).map(|_| random.next_number() as u32));
        Self { combined, exchanged, fill, masks }
    }

    fn operands(&self, component: usize, first: usize) -> Operands {
        let of = |values: &[Vec<i128>]| {
            std::array::from_fn(|lane| values[component].get(first + lane).copied().unwrap_or(0))
        };
        let votes = (0..32).filter(|lane| (first + lane) % 3 != 1).fold(0, |votes, lane| votes | 1 << lane);
        Operands { combined: of(&self.combined), exchanged: of(&self.exchanged), fill: of(&self.fill), votes }
    }
}

/// The kernel: in each round of the loop the lanes of another mask call all functions. They are in a branch,
/// or the others leave the round.
fn source(element: Element, functions: &[&Function], leaves: bool) -> String {
    let mut calls = String::new();
    let (mut numbers, mut votes) = (0, 0);
    for function in functions {
        let (to, at, call) = match function.kind {
            Kind::Vote => ("votes", &mut votes, format!("uint({})", function.call)),
            _ => ("out", &mut numbers, function.call.to_owned()),
        };
        let _ = writeln!(calls, "    {to}[{at} * n + t] = {call};");
        *at += 1;
    }
    let body = format!("{{\n{calls}    }}");
    let chosen =
        if leaves { format!("if (!is_on) continue;\n    {body}") } else { format!("if (is_on) {body}") };
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\ntypedef {ty} T;\n\
kernel void k(device T* all_out [[buffer(0)]], device uint* all_votes [[buffer(1)]], device const T* xs [[buffer(2)]],\n\
    device const T* zs [[buffer(3)]], device const T* fs [[buffer(4)]], device const uint* masks [[buffer(5)]],\n\
    constant uint& rounds [[buffer(6)]], constant ushort& one [[buffer(7)]],\n\
    uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint3 size [[threads_per_threadgroup]]) {{\n\
  uint n = size.x * size.y * size.z;\n  T x = xs[t], z = zs[t], f = fs[t];\n  bool p = t % 3 != 1;\n\
  for (uint round = 0; round < rounds; round++) {{\n\
    device T* out = all_out + round * n * {numbers};\n    device uint* votes = all_votes + round * n * {votes};\n\
    bool is_on = masks[round] >> lane & 1;\n    {chosen}\n  }}\n}}\n",
        ty = element.vector()
    )
}

/// Returns why an executor differs from the reference, with the call, the active lanes and the thread.
pub fn check(element: Element, math: Math, executor: &dyn Executor) -> Option<String> {
    let functions = element.functions();
    let number = ELEMENTS.iter().position(|other| *other == element).expect("the types are listed");
    let text = source(element, &functions, number % 2 == 1);
    let name = format!("{}.metal", element.vector());
    let source = Source { name, text, math, ..Source::default() };
    let prepared = match executor.open(&source).and_then(|opened| opened.prepare("k", &[])) {
        Ok(prepared) => prepared,
        Err(error) => return Some(format!("{} on {}: {error}", element.vector(), executor.name())),
    };
    // A threadgroup size of whole SIMD-groups, and two others.
    let groups = [GROUPS[0], GROUPS[1 + number % 5], GROUPS[1 + (number + 2) % 5]];
    groups.into_iter().find_map(|group| {
        let threads = group.iter().product::<u32>() as usize;
        let mut random = SplitMix64::new(1 + number as u64);
        let inputs = Inputs::new(element, threads, &mut random);
        let launch = launch(element, &functions, group, &inputs);
        let why = match prepared.run(&launch) {
            Ok(buffers) => difference(element, &functions, threads, &inputs, &buffers),
            Err(ExecError::Fault(why, _)) => Some(why),
            Err(error) => Some(error.to_string()),
        }?;
        Some(format!("{} in groups of {group:?} on {}: {why}", element.vector(), executor.name()))
    })
}

fn launch(element: Element, functions: &[&Function], group: [u32; 3], inputs: &Inputs) -> Launch {
    let threads = group.iter().product::<u32>() as usize;
    let votes = functions.iter().filter(|function| function.kind == Kind::Vote).count();
    let results = inputs.masks.len() * threads;
    let values = |values: &[Vec<i128>]| {
        let mut bytes = Vec::new();
        for thread in 0..threads {
            let end = bytes.len() + element.stride();
            values.iter().for_each(|component| bytes.extend(element.encoded(component[thread])));
            bytes.resize(end, 0);
        }
        bytes
    };
    let buffers = [
        vec![UNTOUCHED; results * (functions.len() - votes) * element.stride()],
        vec![UNTOUCHED; results * votes * 4],
        values(&inputs.combined),
        values(&inputs.exchanged),
        values(&inputs.fill),
        inputs.masks.iter().flat_map(|mask| mask.to_le_bytes()).collect(),
        (inputs.masks.len() as u32).to_le_bytes().to_vec(),
        1u16.to_le_bytes().to_vec(),
    ];
    let mut launch = Launch::new("k", Grid::Groups([1, 1, 1]), group);
    let bound = buffers.into_iter().zip(0..);
    launch.args =
        bound.map(|(bytes, index)| Arg { index, binding: Binding::Buffer { bytes, offset: 0 } }).collect();
    launch
}

/// The first result that differs from the reference.
fn difference(
    element: Element,
    functions: &[&Function],
    threads: usize,
    inputs: &Inputs,
    buffers: &[Vec<u8>],
) -> Option<String> {
    let votes = functions.iter().filter(|function| function.kind == Kind::Vote).count();
    for (round, &mask) in inputs.masks.iter().enumerate() {
        let (mut next_number, mut next_vote) = (0, 0);
        for function in functions {
            let is_vote = function.kind == Kind::Vote;
            let (buffer, at, count, stride) = match is_vote {
                true => (&buffers[1], &mut next_vote, votes, 4),
                false => (&buffers[0], &mut next_number, functions.len() - votes, element.stride()),
            };
            let place = (round * count + *at) * threads;
            *at += 1;
            for thread in 0..threads {
                let first = thread / 32 * 32;
                let active = mask & (u32::MAX >> (32 - (threads - first).min(32)));
                let lane = thread - first;
                let (size, components) = if is_vote { (4, 1) } else { (element.bytes, element.components) };
                for component in 0..components {
                    let expected = if !is_active(active, lane) {
                        vec![UNTOUCHED; size]
                    } else {
                        let result = (function.model)(&inputs.operands(component, first), active, lane);
                        match is_vote {
                            true => (result as u32).to_le_bytes().to_vec(),
                            false => element.encoded(element.of(result)),
                        }
                    };
                    let from = (place + thread) * stride + component * size;
                    let found = &buffer[from..from + size];
                    if found != expected {
                        return Some(format!(
                            "{} with active lanes {active:#x}, thread {thread}, component {component}: \
                             {found:x?} instead of {expected:x?}",
                            function.call
                        ));
                    }
                }
            }
        }
    }
    None
}
