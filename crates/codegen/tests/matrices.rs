//! Products of SIMD-group matrices as programs write them: sums in a loop around barriers, factors from
//! everywhere. The CPU's code and the interpreter must agree bit for bit.

mod support;

use std::fmt::Write as _;

use anymetal_ir::{Module, parse_module, verify};
use support::{Launch, agree};

/// How the program gets its factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Factors {
    /// Loads matrices.
    Loaded,
    /// Loads the transposes.
    Transposed,
    /// Loads elements in Metal's layout and puts them together.
    Joined,
    /// The same, columns for rows.
    JoinedTransposed,
}

/// What happens to the sums between the products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Between {
    Nothing,
    /// Every lane scales its own elements.
    Scaled,
    /// The first product's result is stored, too.
    Stored,
}

/// A program of `rows` × `columns` sums, in a loop of three iterations of two steps each.
#[derive(Clone, Copy, Debug)]
struct Program {
    rows: usize,
    columns: usize,
    factors: Factors,
    between: Between,
    /// The types of factors and sums.
    types: [&'static str; 2],
}

struct Writer {
    text: String,
    next: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn value(&mut self, op: &str) -> String {
        let name = format!("v{}", self.next);
        self.next += 1;
        self.line(&format!("{name} = {op}"));
        name
    }
}

impl Program {
    fn sizes(&self) -> [usize; 2] {
        self.types.map(|ty| if ty == "f32" { 4 } else { 2 })
    }

    fn module(&self) -> Module {
        let mut writer = Writer { text: String::new(), next: 2 };
        let [_, sum_size] = self.sizes();
        for sum in 0..self.rows * self.columns {
            writer.line(&format!("local l{sum} \"sum\" size {} align {}", 2 * sum_size, 2 * sum_size));
        }
        writer.line(&format!("local l{} \"k\" size 4 align 4", self.rows * self.columns));
        self.body(&mut writer);
        let [factor, sum] = self.types;
        let [factor_size, sum_size] = self.sizes();
        let text = format!(
            "func f0 \"k\" (v0: ptr.device, v1: ptr.device) {{\n{}}}\n\
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar {factor} size {factor_size} align {factor_size} read_write
  arg \"b\" buffer 1 device \"U\" scalar {sum} size {sum_size} align {sum_size} read_write
}}\n",
            writer.text
        );
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        verify(&module).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        module
    }

    fn body(&self, w: &mut Writer) {
        let sum_type = format!("{}x2", self.types[1]);
        let zero = w.value(&format!("const 0.0 : {}", self.types[1]));
        let zeros = w.value(&format!("splat {zero} : {sum_type}"));
        let sums: Vec<String> = (0..self.rows * self.columns)
            .map(|sum| {
                w.line(&format!("local_start l{sum}"));
                let at = w.value(&format!("local_addr l{sum} : ptr.thread"));
                w.line(&format!("store {at}, {zeros}, align 4"));
                at
            })
            .collect();
        let [first, counter] =
            ["query.simdgroup_index_in_threadgroup : i32", "const 0 : i32"].map(|op| w.value(op));
        let k = w.value(&format!("local_addr l{} : ptr.thread", sums.len()));
        w.line(&format!("store {k}, {counter}, align 4"));
        w.line("loop label0 {");
        let current = w.value(&format!("load {k}, align 4 : i32"));
        let end = w.value("const 3 : i32");
        let done = w.value(&format!("uge {current}, {end} : bool"));
        w.line(&format!("if {done} {{\nbreak label0\n}}"));
        w.line("barrier.threadgroup");
        let both = w.value(&format!("add {current}, {first} : i32"));
        for step in 0..2 {
            self.step(w, &both, step, &sums);
        }
        w.line("barrier.threadgroup");
        w.line("} continuing {");
        let old = w.value(&format!("load {k}, align 4 : i32"));
        let one = w.value("const 1 : i32");
        let new = w.value(&format!("add {old}, {one} : i32"));
        w.line(&format!("store {k}, {new}, align 4"));
        w.line("}");
        self.epilogue(w, &first, &sums);
    }

    fn step(&self, w: &mut Writer, both: &str, step: usize, sums: &[String]) {
        let sum_type = format!("{}x2", self.types[1]);
        let left: Vec<String> = (0..self.rows).map(|n| self.factor(w, both, 2 * n + step)).collect();
        let right: Vec<String> = (0..self.columns).map(|n| self.factor(w, both, 16 + 2 * n + step)).collect();
        for row in 0..self.rows {
            for column in 0..self.columns {
                let at = &sums[row * self.columns + column];
                let mut sum = w.value(&format!("load {at}, align 4 : {sum_type}"));
                if self.between == Between::Scaled {
                    let half = w.value(&format!("const 0.5 : {}", self.types[1]));
                    let halves = w.value(&format!("splat {half} : {sum_type}"));
                    sum = w.value(&format!("fmul {sum}, {halves} : {sum_type}"));
                }
                let result = w.value(&format!(
                    "matrix.multiply_accumulate {}, {}, {sum} : {sum_type}",
                    left[row], right[column]
                ));
                w.line(&format!("store {at}, {result}, align 4"));
                if self.between == Between::Stored && row + column == 0 {
                    let stride = w.value("const 8 : i64");
                    w.line(&format!("matrix.store v1, {stride}, {result}"));
                }
            }
        }
    }

    /// The factor of that number, which moves on with the loop and the SIMD-group.
    fn factor(&self, w: &mut Writer, both: &str, number: usize) -> String {
        let ([ty, _], [size, _]) = (self.types, self.sizes());
        let offset = w.value("const 5 : i32");
        let offset = w.value(&format!("mul {both}, {offset} : i32"));
        let offset = w.value(&format!("zext {offset} : i64"));
        let bytes = (number / 2 * 8 + number % 2 * 200) * size;
        let start = w.value(&format!("ptr_add v0 + {offset} * {size} + {bytes} : ptr.device"));
        if matches!(self.factors, Factors::Loaded | Factors::Transposed) {
            let transposed = if self.factors == Factors::Transposed { "_transposed" } else { "" };
            let stride = w.value("const 20 : i64");
            return w.value(&format!("matrix.load{transposed} {start}, {stride} : {ty}x2"));
        }
        let lane = w.value("query.thread_index_in_simdgroup : i32");
        let constant = |w: &mut Writer, n: i32| w.value(&format!("const {n} : i32"));
        let op = |w: &mut Writer, op: &str, a: &str, b: &str| w.value(&format!("{op} {a}, {b} : i32"));
        let (one, two, three, four) = (constant(w, 1), constant(w, 2), constant(w, 3), constant(w, 4));
        let quad = op(w, "lshr", &lane, &two);
        let high = op(w, "and", &quad, &four);
        let low = op(w, "lshr", &lane, &one);
        let low = op(w, "and", &low, &three);
        let row = op(w, "add", &high, &low);
        let right = op(w, "and", &quad, &two);
        let right = op(w, "mul", &right, &two);
        let odd = op(w, "and", &lane, &one);
        let odd = op(w, "mul", &odd, &two);
        let column = op(w, "add", &right, &odd);
        let is_transposed = self.factors == Factors::JoinedTransposed;
        let (down, across) = if is_transposed { (1, 20) } else { (20, 1) };
        let (down_by, across_by) = (constant(w, down), constant(w, across));
        let y = op(w, "mul", &row, &down_by);
        let x = op(w, "mul", &column, &across_by);
        let place = op(w, "add", &y, &x);
        let place = w.value(&format!("zext {place} : i64"));
        let elements: Vec<String> = (0..2)
            .map(|n| {
                let more = n * across as usize * size;
                let at = w.value(&format!("ptr_add {start} + {place} * {size} + {more} : ptr.device"));
                w.value(&format!("load {at}, align {size} : {ty}"))
            })
            .collect();
        w.value(&format!("compose {} : {ty}x2", elements.join(", ")))
    }

    /// Even sums as matrices, odd ones element by element.
    fn epilogue(&self, w: &mut Writer, first: &str, sums: &[String]) {
        let [_, size] = self.sizes();
        let ty = self.types[1];
        let lane = w.value("query.thread_index_in_threadgroup : i32");
        let lane = w.value(&format!("zext {lane} : i64"));
        let group = w.value(&format!("zext {first} : i64"));
        let stride = w.value("const 9 : i64");
        for (number, at) in sums.iter().enumerate() {
            let sum = w.value(&format!("load {at}, align 4 : {ty}x2"));
            let base = (100 + number * 160) * size;
            if number % 2 == 0 {
                let to = w.value(&format!("ptr_add v1 + {group} * {} + {base} : ptr.device", 80 * size));
                w.line(&format!("matrix.store {to}, {stride}, {sum}"));
            } else {
                let to = w.value(&format!("ptr_add v1 + {lane} * {} + {base} : ptr.device", 2 * size));
                w.line(&format!("store {to}, {sum}, align {size}"));
            }
        }
    }

    /// Runs it with everything in bounds, and with the ends of both buffers cut off.
    fn check(&self) {
        let module = self.module();
        let [factor_size, sum_size] = self.sizes();
        let numbers = |count: usize| -> Vec<u8> {
            let number = |n: usize| ((n * 7 % 13) as f32 - 6.0) / 4.0;
            (0..count)
                .flat_map(|n| match self.types[0] {
                    "f32" => number(n).to_bits().to_le_bytes().to_vec(),
                    // The high half of a float, which is some number as the other 16-bit types, too.
                    _ => ((number(n).to_bits() >> 16) as u16).to_le_bytes().to_vec(),
                })
                .collect()
        };
        let out = vec![0; (100 + 160 * self.rows * self.columns + 80) * sum_size];
        for (threads, specialise, checks) in [(64, true, true), (64, true, false), (40, false, true)] {
            let launch = Launch { specialise, checks, ..Launch::new([threads, 1, 1], [threads, 1, 1]) };
            agree(&module, "k", &launch, &[numbers(800), out.clone()], &format!("{self:?}, {launch:?}"));
        }
        let launch = Launch::new([64, 1, 1], [64, 1, 1]);
        let short = [numbers(330), out[..200 * factor_size.min(sum_size)].to_vec()];
        agree(&module, "k", &launch, &short, &format!("{self:?}, out of bounds"));
    }
}

const BASE: Program = Program {
    rows: 2,
    columns: 2,
    factors: Factors::Loaded,
    between: Between::Nothing,
    types: ["f32", "f32"],
};

#[test]
fn factors_from_everywhere() {
    for factors in [Factors::Loaded, Factors::Transposed, Factors::Joined, Factors::JoinedTransposed] {
        for types in [["f32", "f32"], ["f16", "f32"]] {
            Program { factors, types, ..BASE }.check();
        }
    }
    Program { factors: Factors::Joined, types: ["bf16", "f32"], ..BASE }.check();
}

#[test]
fn sums_in_blocks_of_all_sizes() {
    for (rows, columns) in [(1, 1), (3, 1), (2, 3), (4, 4)] {
        Program { rows, columns, ..BASE }.check();
    }
}

#[test]
fn sums_of_narrow_types_are_rounded_after_each_product() {
    for types in [["f16", "f16"], ["bf16", "bf16"], ["f32", "f16"]] {
        Program { columns: 3, types, ..BASE }.check();
    }
}

#[test]
fn sums_that_lanes_take_part_in() {
    for between in [Between::Scaled, Between::Stored] {
        Program { columns: 3, between, ..BASE }.check();
        Program { types: ["f16", "f16"], between, ..BASE }.check();
    }
}
