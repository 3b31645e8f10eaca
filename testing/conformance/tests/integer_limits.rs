//! The integer functions of the Metal library at their limits, against exact arithmetic, on every executor.

use std::fmt::Write;

use anymetal_conformance::differential::{Subject, outcomes};
use anymetal_conformance::execute::{Source, parse};
use anymetal_conformance::machine::Machine;

/// An integer type of MSL.
#[derive(Clone, Copy, Debug)]
struct Integer {
    name: &'static str,
    bits: u32,
    signed: bool,
}

const fn integer(name: &'static str, bits: u32, signed: bool) -> Integer {
    Integer { name, bits, signed }
}

const INTEGERS: [Integer; 8] = [
    integer("char", 8, true),
    integer("uchar", 8, false),
    integer("short", 16, true),
    integer("ushort", 16, false),
    integer("int", 32, true),
    integer("uint", 32, false),
    integer("long", 64, true),
    integer("ulong", 64, false),
];

impl Integer {
    fn least(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn greatest(self) -> i128 {
        self.least() + (1 << self.bits) - 1
    }

    /// The number of which `value` has the low bits.
    fn wrapped(self, value: i128) -> i128 {
        let bits = value & ((1 << self.bits) - 1);
        if bits > self.greatest() { bits - (1 << self.bits) } else { bits }
    }

    fn saturated(self, value: i128) -> i128 {
        value.clamp(self.least(), self.greatest())
    }

    fn unsigned(self, value: i128) -> u64 {
        (value & ((1 << self.bits) - 1)) as u64
    }

    /// Numbers at which functions change what they do.
    fn edges(self) -> Vec<i128> {
        let greatest = self.greatest();
        let values = [0, 1, 2, 3, -1, -2, greatest, greatest - 1, greatest / 2, greatest / 2 + 1];
        let more = [self.least(), self.least() + 1, 0x5555_5555_5555_5555, 0x3c96_a5f0_0ff0_695a];
        values.into_iter().chain(more).map(|value| self.wrapped(value)).collect()
    }
}

/// The arguments of a call: three numbers, and a range of bits within the type.
#[derive(Clone, Copy, Debug)]
struct Arguments {
    numbers: [i128; 3],
    offset: u32,
    count: u32,
}

/// An expression of `x`, `y`, `z`, `offset` and `count`, and its value.
struct Function {
    text: &'static str,
    value: fn(Integer, Arguments) -> i128,
}

const fn function(text: &'static str, value: fn(Integer, Arguments) -> i128) -> Function {
    Function { text, value }
}

/// `x × y + z`, if it is no more than the greatest `i128`, the high word of `x × y`.
fn product(ty: Integer, [x, y, z]: [i128; 3]) -> (i128, i128) {
    if ty.signed {
        return (x * y + z, (x * y) >> ty.bits);
    }
    // Of `ulong`, a sum beyond `i128` is beyond the type.
    let (x, y, z) = (x as u128, y as u128, z as u128);
    (i128::try_from(x * y + z).unwrap_or(i128::MAX), ((x * y) >> ty.bits) as i128)
}

fn middle(mut numbers: [i128; 3]) -> i128 {
    numbers.sort_unstable();
    numbers[1]
}

const FUNCTIONS: &[Function] = &[
    function("abs(x)", |_, a| a.numbers[0].abs()),
    function("T(absdiff(x, y))", |_, a| (a.numbers[0] - a.numbers[1]).abs()),
    function("addsat(x, y)", |ty, a| ty.saturated(a.numbers[0] + a.numbers[1])),
    function("subsat(x, y)", |ty, a| ty.saturated(a.numbers[0] - a.numbers[1])),
    function("mulhi(x, y)", |ty, a| product(ty, a.numbers).1),
    function("madhi(x, y, z)", |ty, a| product(ty, a.numbers).1 + a.numbers[2]),
    function("madsat(x, y, z)", |ty, a| ty.saturated(product(ty, a.numbers).0)),
    function("hadd(x, y)", |_, a| (a.numbers[0] + a.numbers[1]) >> 1),
    function("rhadd(x, y)", |_, a| (a.numbers[0] + a.numbers[1] + 1) >> 1),
    function("clz(x)", |ty, a| (ty.unsigned(a.numbers[0]).leading_zeros() + ty.bits - 64).into()),
    function("ctz(x)", |ty, a| ty.unsigned(a.numbers[0]).trailing_zeros().min(ty.bits).into()),
    function("popcount(x)", |ty, a| ty.unsigned(a.numbers[0]).count_ones().into()),
    function("reverse_bits(x)", |ty, a| (ty.unsigned(a.numbers[0]).reverse_bits() >> (64 - ty.bits)).into()),
    function("rotate(x, y)", |ty, a| {
        let x = u128::from(ty.unsigned(a.numbers[0]));
        let by = a.numbers[1].rem_euclid(ty.bits.into()) as u32;
        (x << by | x >> (ty.bits - by)) as i128
    }),
    function("extract_bits(x, offset, count)", |ty, a| {
        let field = a.numbers[0] >> a.offset & ((1 << a.count) - 1);
        let is_negative = ty.signed && a.count > 0 && field >> (a.count - 1) == 1;
        if is_negative { field - (1 << a.count) } else { field }
    }),
    function("insert_bits(x, y, offset, count)", |_, a| {
        let mask = ((1_i128 << a.count) - 1) << a.offset;
        a.numbers[0] & !mask | a.numbers[1] << a.offset & mask
    }),
    function("min(x, y)", |_, a| a.numbers[0].min(a.numbers[1])),
    function("max(x, y)", |_, a| a.numbers[0].max(a.numbers[1])),
    function("min3(x, y, z)", |_, a| a.numbers.into_iter().fold(i128::MAX, i128::min)),
    function("max3(x, y, z)", |_, a| a.numbers.into_iter().fold(i128::MIN, i128::max)),
    function("median3(x, y, z)", |_, a| middle(a.numbers)),
    // Also with bounds in the wrong order, of which the first is applied first.
    function("clamp(x, y, z)", |_, a| a.numbers[0].max(a.numbers[1]).min(a.numbers[2])),
    function("select(x, y, x < z)", |_, a| a.numbers[usize::from(a.numbers[0] < a.numbers[2])]),
];

/// For types of 32 bits, of arguments within 24.
const FUNCTIONS_OF_24_BITS: &[Function] = &[
    function("mul24((x << 8) >> 8, (y << 8) >> 8)", |ty, a| {
        let low = |value: i128| ty.wrapped(value << 8) >> 8;
        low(a.numbers[0]) * low(a.numbers[1])
    }),
    function("mad24((x << 8) >> 8, (y << 8) >> 8, z)", |ty, a| {
        let low = |value: i128| ty.wrapped(value << 8) >> 8;
        low(a.numbers[0]) * low(a.numbers[1]) + a.numbers[2]
    }),
];

fn functions_of(ty: Integer) -> impl Iterator<Item = &'static Function> {
    let more = if ty.bits == 32 { FUNCTIONS_OF_24_BITS } else { &[] };
    FUNCTIONS.iter().chain(more)
}

/// All triples of edges, each with another range of bits.
fn calls(ty: Integer) -> Vec<Arguments> {
    let edges = ty.edges();
    let mut ranges =
        (0..=ty.bits).flat_map(|offset| (0..=ty.bits - offset).map(move |count| (offset, count)));
    let mut calls = Vec::new();
    for &x in &edges {
        for &y in &edges {
            for &z in &edges {
                let (offset, count) = ranges.next().unwrap_or_else(|| {
                    let turn = calls.len() as u32;
                    let offset = turn % (ty.bits + 1);
                    (offset, turn / 7 % (ty.bits - offset + 1))
                });
                calls.push(Arguments { numbers: [x, y, z], offset, count });
            }
        }
    }
    calls
}

/// A kernel that makes one call of each function in each lane of a vector; a range of bits is the first
/// lane's.
fn source(ty: Integer, lanes: usize, calls: usize) -> String {
    let name = if lanes == 1 { ty.name.to_owned() } else { format!("{}{lanes}", ty.name) };
    let mut text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\ntypedef {name} T;\ntypedef {} S;\n\
         kernel void k(device const S* a, device const S* b, device const S* c, device const uint* o,\n\
         device const uint* n, device S* out, uint i [[thread_position_in_grid]]) {{\n",
        ty.name
    );
    let elements = |array: &str| {
        let element = |lane: usize| format!("{array}[i * {lanes} + {lane}]");
        (0..lanes).map(element).collect::<Vec<_>>().join(", ")
    };
    let [x, y, z] = ["a", "b", "c"].map(elements);
    writeln!(text, "T x = T({x}), y = T({y}), z = T({z});").expect("a string");
    writeln!(text, "uint offset = o[i * {lanes}], count = n[i * {lanes}];").expect("a string");
    for (place, function) in functions_of(ty).enumerate() {
        writeln!(text, "{{ T r = {};", function.text).expect("a string");
        for lane in 0..lanes {
            let part = if lanes == 1 { "r".to_owned() } else { format!("r[{lane}]") };
            writeln!(text, "out[{} + i * {lanes}] = {part};", place * calls + lane).expect("a string");
        }
        text += "}\n";
    }
    text + "}\n"
}

fn bytes(ty: Integer, values: impl Iterator<Item = i128>) -> Vec<u8> {
    values.flat_map(|value| value.to_le_bytes().into_iter().take(ty.bits as usize / 8)).collect()
}

fn check(ty: Integer, lanes: usize, machine: Option<&Machine>) {
    let mut calls = calls(ty);
    calls.truncate(calls.len() / lanes * lanes);
    for vector in calls.chunks_mut(lanes) {
        let first = vector[0];
        vector.iter_mut().for_each(|call| (call.offset, call.count) = (first.offset, first.count));
    }
    let source = Source { text: source(ty, lanes, calls.len()), ..Source::default() };
    let library = parse(&source).unwrap_or_else(|error| panic!("{}: {error}", ty.name));
    let module = library.module("k").unwrap_or_else(|errors| panic!("{}", errors.render_text(false)));
    let word =
        |value: fn(&Arguments) -> u32| calls.iter().flat_map(move |call| value(call).to_le_bytes()).collect();
    let numbers = |which: usize| bytes(ty, calls.iter().map(move |call| call.numbers[which]));
    let results = functions_of(ty).count() * calls.len() * (ty.bits as usize / 8);
    let subject = Subject {
        module,
        threads: [(calls.len() / lanes) as u32, 1, 1],
        group: [64, 1, 1],
        buffers: vec![
            numbers(0),
            numbers(1),
            numbers(2),
            word(|call| call.offset),
            word(|call| call.count),
            vec![0; results],
        ],
    };
    let all = outcomes(&subject, machine).unwrap_or_else(|why| panic!("{}{lanes}: {why}", ty.name));
    for (executor, buffers) in all {
        for (place, function) in functions_of(ty).enumerate() {
            let size = ty.bits as usize / 8;
            let part = &buffers[5][place * calls.len() * size..][..calls.len() * size];
            for (call, got) in calls.iter().zip(part.chunks(size)) {
                let want = bytes(ty, std::iter::once((function.value)(ty, *call)));
                assert_eq!(got, want, "{executor}: {} of {}{lanes}, {call:?}", function.text, ty.name);
            }
        }
    }
}

#[test]
fn scalars() {
    let machine = Machine::of_process().ok();
    INTEGERS.into_iter().for_each(|ty| check(ty, 1, machine.as_ref()));
}

#[test]
fn vectors() {
    let machine = Machine::of_process().ok();
    for ty in INTEGERS {
        for lanes in [2, 3, 4] {
            // Machine code for vectors is the scalars' for each component.
            let machine = machine.as_ref().filter(|_| lanes == 3);
            check(ty, lanes, machine);
        }
    }
}
