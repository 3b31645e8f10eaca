//! Bounds of trip counts against loops that are simulated, for counters of every form.
//!
//! A loop is generated as IR text and as a simulation of the same parts. Starts and limits are constants or
//! parameters of which only an upper bound is known.

use anymetal_analysis::{CountedLoops, TripCounts};
use anymetal_ir::{Module, Value, parse_module};
use anymetal_opt::mem2reg::mem2reg;
use proptest::prelude::*;

/// Iterations after which a simulated loop is taken to be endless.
const ENDLESS: u64 = 1 << 17;

const COMPARISONS: [&str; 10] = ["eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"];
const STEPS: [&str; 8] = ["add", "sub", "mul", "udiv", "sdiv", "shl", "lshr", "ashr"];

/// A number of the program.
#[derive(Clone, Copy, Debug)]
struct Number {
    bits: u64,
    /// Whether the program knows it; otherwise it is a parameter, and no larger than this.
    most: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// The exit test begins the body.
    First,
    /// The counter is stepped in the body, and then tested there.
    AfterStep,
    /// The exit test ends the loop, before or after the step.
    Last { steps_first: bool },
}

#[derive(Clone, Debug)]
struct Loop {
    is_64: bool,
    start: Number,
    limit: Number,
    comparison: &'static str,
    step: &'static str,
    by: u64,
    place: Place,
    /// The loop is left where the comparison holds.
    leaves_when: bool,
    is_swapped: bool,
    tested: Tested,
}

/// The value that the exit test compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tested {
    /// The counter as it is there.
    Counter,
    /// The counter before the step, where the test is after it.
    Stale,
    /// The counter's next value itself, which is stored before or after the test.
    Next,
}

impl Loop {
    fn mask(&self) -> u64 {
        if self.is_64 { u64::MAX } else { u64::from(u32::MAX) }
    }

    fn text(&self) -> String {
        let ty = if self.is_64 { "i64" } else { "i32" };
        let number = |name: &str, parameter: &str, number: Number| match number.most {
            None => format!("  {name} = const {} : {ty}\n", number.bits),
            Some(_) => format!("  {name} = add {parameter}, v90 : {ty}\n"),
        };
        let compared = if self.tested == Tested::Next { "v31" } else { "v20" };
        let (a, b) = if self.is_swapped { ("v5", compared) } else { (compared, "v5") };
        let [then, otherwise] = match self.leaves_when {
            true => ["    break label0\n", ""],
            false => ["", "    break label0\n"],
        };
        let load = "    v20 = load v3, align 4 : TY\n".replace("TY", ty);
        let test = format!(
            "    v21 = {} {a}, {b} : bool\n    if v21 {{\n{then}    }} else {{\n{otherwise}    }}\n",
            self.comparison
        );
        let next = format!("    v30 = load v3, align 4 : {ty}\n    v31 = {} v30, v6 : {ty}\n", self.step);
        let store = "    store v3, v31, align 4\n";
        let step = format!("{next}{store}");
        let (body, continuing) = match self.place {
            Place::First if self.tested == Tested::Next => (next + &test + store, String::new()),
            Place::AfterStep if self.tested == Tested::Next => (step + &test, String::new()),
            Place::Last { .. } if self.tested == Tested::Next => (String::new(), step + &test),
            Place::First => (load + &test, step),
            Place::AfterStep if self.tested == Tested::Stale => (load + &step + &test, String::new()),
            Place::AfterStep => (step + &load + &test, String::new()),
            Place::Last { steps_first: true } if self.tested == Tested::Stale => {
                (String::new(), load + &step + &test)
            }
            Place::Last { steps_first: true } => (String::new(), step + &load + &test),
            Place::Last { steps_first: false } => (String::new(), load + &test + &step),
        };
        let text = format!(
            "func f0 \"f\" (v0: {ty}, v1: {ty}) {{\n  local l0 \"i\" size 8 align 8\n  v90 = const 0 : {ty}\n  v3 = local_addr l0 : ptr.thread\n{}{}  v6 = const {} : {ty}\n  store v3, v4, align 4\n  loop label0 {{\n{body}  }} continuing {{\n{continuing}  }}\n}}\n",
            number("v4", "v0", self.start),
            number("v5", "v1", self.limit),
            self.by,
        );
        renumbered(&text)
    }

    /// The number of iterations that begin; `None` if the simulation does not terminate.
    fn iterations(&self) -> Option<u64> {
        let (mask, mut counter, mut begun) = (self.mask(), self.start.bits, 0);
        while begun < ENDLESS {
            begun += 1;
            let stepped = self.stepped(counter)?;
            let tested = match (self.tested, self.place) {
                (Tested::Next, _) => stepped,
                (Tested::Stale, _) | (_, Place::First | Place::Last { steps_first: false }) => counter,
                (_, Place::AfterStep | Place::Last { steps_first: true }) => stepped,
            };
            if self.holds(tested) == self.leaves_when {
                return Some(begun);
            }
            counter = stepped & mask;
        }
        None
    }

    fn signed(&self, bits: u64) -> i64 {
        if self.is_64 { bits as i64 } else { i64::from(bits as u32 as i32) }
    }

    fn holds(&self, counter: u64) -> bool {
        let (a, b) = match self.is_swapped {
            true => (self.limit.bits, counter),
            false => (counter, self.limit.bits),
        };
        let (x, y) = (self.signed(a), self.signed(b));
        match self.comparison {
            "eq" => a == b,
            "ne" => a != b,
            "ult" => a < b,
            "ule" => a <= b,
            "ugt" => a > b,
            "uge" => a >= b,
            "slt" => x < y,
            "sle" => x <= y,
            "sgt" => x > y,
            _ => x >= y,
        }
    }

    /// The next value of the counter; nothing for a division that traps.
    fn stepped(&self, counter: u64) -> Option<u64> {
        let (by, bits) = (self.by, if self.is_64 { 64 } else { 32 });
        let (x, y) = (self.signed(counter), self.signed(by));
        let shift = u32::try_from(by).ok().filter(|&by| by < bits);
        Some(
            self.mask()
                & match self.step {
                    "add" => counter.wrapping_add(by),
                    "sub" => counter.wrapping_sub(by),
                    "mul" => counter.wrapping_mul(by),
                    "udiv" => counter.checked_div(by)?,
                    "sdiv" => x.checked_div(y)? as u64,
                    "shl" => counter << shift?,
                    "lshr" => counter >> shift?,
                    _ => (x >> shift?) as u64,
                },
        )
    }
}

/// The same text with values numbered as they come.
fn renumbered(text: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('v') {
        let digits = rest[at + 1..].chars().take_while(char::is_ascii_digit).count();
        let is_name = digits > 0 && !rest[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        let end = at + 1 + if is_name { digits } else { 0 };
        out.push_str(&rest[..at]);
        if is_name {
            let name = &rest[at..end];
            let number = names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            out += &format!("v{number}");
        } else {
            out.push('v');
        }
        rest = &rest[end..];
    }
    out + rest
}

/// The bound of the only loop.
fn bound(program: &Loop) -> Option<u64> {
    let text = program.text();
    let mut module: Module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    mem2reg(&mut module.functions[0]);
    let function = &module.functions[0];
    let insts = function.block(function.body);
    let at = insts.iter().position(|&inst| function.as_loop(inst).is_some()).expect("there is a loop");
    let parameters = [program.start.most, program.limit.most];
    let upper_bound = |value: Value| -> u64 {
        // The parameters reach the loop as sums with zero.
        let Some(anymetal_ir::Op::Binary(_, a, _)) = function.def(value) else { return u64::MAX };
        let parameter = function.params.iter().position(|param| param == a);
        parameter.and_then(|at| parameters[at]).unwrap_or(u64::MAX)
    };
    TripCounts::new(&CountedLoops::new(function), &upper_bound).max_trips(insts[at])
}

fn edges() -> impl Strategy<Value = u64> {
    let large = prop::sample::select(vec![
        0,
        1,
        2,
        3,
        5,
        10,
        31,
        32,
        64,
        1000,
        65535,
        65536,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_fffe,
        0xffff_ffff,
    ]);
    let wide = prop::sample::select(vec![
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        u64::MAX,
        u64::MAX - 1,
        1 << 32,
        (1 << 32) - 9,
    ]);
    prop_oneof![4 => large, 1 => wide, 3 => 0u64..40, 1 => any::<u64>()]
}

fn number() -> impl Strategy<Value = (u64, Option<u64>)> {
    (edges(), prop::option::weighted(0.4, edges()))
}

fn program() -> impl Strategy<Value = Loop> {
    let place = prop::sample::select(vec![
        Place::First,
        Place::First,
        Place::AfterStep,
        Place::Last { steps_first: true },
        Place::Last { steps_first: false },
    ]);
    let tested = prop::sample::select(vec![Tested::Counter, Tested::Stale, Tested::Next]);
    let shape = (any::<bool>(), place, any::<bool>(), any::<bool>(), tested);
    let ops = (prop::sample::select(&COMPARISONS[..]), prop::sample::select(&STEPS[..]), edges());
    (shape, number(), number(), ops).prop_map(|(shape, start, limit, (comparison, step, by))| {
        let (is_64, place, leaves_when, is_swapped, tested) = shape;
        let mask = if is_64 { u64::MAX } else { u64::from(u32::MAX) };
        let number = |(bits, most): (u64, Option<u64>)| {
            let most = most.map(|most| most & mask);
            Number { bits: most.map_or(bits & mask, |most| (bits & mask).min(most)), most }
        };
        // Shifts by more than the width and divisions by zero have no agreed result.
        let by = match step {
            "shl" | "lshr" | "ashr" => by % if is_64 { 64 } else { 32 },
            "udiv" | "sdiv" => (by & mask).max(1),
            _ => by & mask,
        };
        Loop {
            is_64,
            start: number(start),
            limit: number(limit),
            comparison,
            step,
            by,
            place,
            leaves_when,
            is_swapped,
            tested,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// No loop runs more often than its bound.
    #[test]
    fn bounds_hold(program in program()) {
        if let Some(bound) = bound(&program) {
            match program.iterations() {
                Some(iterations) => prop_assert!(iterations <= bound, "{iterations} > {bound}"),
                None => prop_assert!(bound >= ENDLESS, "{bound} of a loop with {ENDLESS} iterations or more"),
            }
        }
    }
}

fn known(bits: u64) -> Number {
    Number { bits, most: None }
}

fn up_to(most: u64) -> Number {
    Number { bits: most, most: Some(most) }
}

/// `for (i = start; i COMPARISON limit; i STEP by)`
fn for_loop(start: Number, comparison: &'static str, limit: Number, step: &'static str, by: u64) -> Loop {
    Loop {
        is_64: false,
        start,
        limit,
        comparison,
        step,
        by,
        place: Place::First,
        leaves_when: false,
        is_swapped: false,
        tested: Tested::Counter,
    }
}

/// `i = start; do { i STEP by; } while (i COMPARISON limit);`
fn do_while(start: Number, comparison: &'static str, limit: Number, step: &'static str, by: u64) -> Loop {
    let place = Place::AfterStep;
    Loop { place, tested: Tested::Next, ..for_loop(start, comparison, limit, step, by) }
}

/// Bounds of ordinary loops are exact: the number of complete iterations plus one.
#[test]
fn ordinary_loops_have_exact_bounds() {
    let minus = |n: i32| n.wrapping_neg() as u32 as u64;
    for (program, bound_) in [
        (for_loop(known(0), "ult", known(10), "add", 1), Some(11)),
        (for_loop(known(0), "slt", up_to(10), "add", 3), Some(5)),
        (for_loop(known(minus(2)), "sle", known(2), "add", 1), Some(6)),
        (for_loop(up_to(31), "slt", known(1024), "add", 32), Some(33)),
        (for_loop(known(9), "sge", known(0), "sub", 1), Some(11)),
        (for_loop(known(9), "ugt", known(0), "sub", 1), Some(10)),
        (for_loop(known(0), "ne", known(7), "add", 1), Some(8)),
        (for_loop(up_to(1024), "ugt", known(0), "lshr", 1), Some(34)),
        (for_loop(known(1), "ult", up_to(1024), "mul", 2), Some(34)),
        (do_while(known(0), "ult", known(10), "add", 1), Some(10)),
        (do_while(up_to(31), "ne", known(32), "add", 1), Some(32)),
        // They may never end.
        (for_loop(known(5), "uge", known(1), "add", 2), None),
        (for_loop(known(0), "slt", known(10), "sub", 1), None),
        (for_loop(known(9), "uge", known(0), "sub", 1), None),
        (for_loop(known(0), "ule", up_to(0xffff_ffff), "add", 1), None),
        (for_loop(known(0), "ult", known(0x8000_0001), "mul", 2), None),
        (for_loop(up_to(9), "ult", known(10), "mul", 2), None),
    ] {
        assert_eq!(bound(&program), bound_, "{program:?}\n{}", program.text());
    }
}
