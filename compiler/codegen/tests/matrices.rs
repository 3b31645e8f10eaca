//! Products of SIMD-group matrices as programs write them: sums in a loop around barriers, factors from
//! everywhere. The CPU's code and the interpreter must agree bit for bit.

mod support;

use std::fmt::Write as _;

use anymetal_ir::Module;
use support::{Launch, agree, parsed};

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
    /// The same two, and each element is converted to `float` before.
    Widened,
    WidenedTransposed,
}

impl Factors {
    fn is_transposed(self) -> bool {
        matches!(self, Self::Transposed | Self::JoinedTransposed | Self::WidenedTransposed)
    }

    fn is_widened(self) -> bool {
        matches!(self, Self::Widened | Self::WidenedTransposed)
    }
}

/// Where the factors lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    /// Anywhere.
    Scattered,
    /// In two tiles, as programs have them in threadgroup memory.
    Tiles,
    /// The same tiles, and a variable that is part of their addresses changes from factor to factor.
    MovingTiles,
    /// The same tiles, at places known now: the same for all SIMD-groups and iterations.
    FixedTiles,
}

/// Elements from row to row.
const STRIDE: usize = 60;

/// What happens to the sums between the products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Between {
    Nothing,
    /// The second product is added to the first one's result, and kept alone.
    Chained,
    /// Every lane scales its own elements.
    Scaled,
    /// The first product's result is stored, too.
    Stored,
    /// Every lane scales the results after a barrier, and keeps them then.
    Later,
}

/// How the sums are stored in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Results {
    /// As fragments: as matrices, and as vectors of two for each lane, by turns.
    Whole,
    /// Element by element, in Metal's layout.
    Elements { down: Step, across: Step, is_rounded: bool },
}

/// The elements from row to row, or from column to column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Known(i32),
    /// The number that [`Program::check`] passes: 10.
    Passed,
}

/// A program of `rows` × `columns` sums, in a loop of three iterations of two steps each.
#[derive(Clone, Copy, Debug)]
struct Program {
    rows: usize,
    columns: usize,
    factors: Factors,
    layout: Layout,
    between: Between,
    results: Results,
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
        let mut writer = Writer { text: String::new(), next: 3 };
        let [_, sum_size] = self.sizes();
        for sum in 0..self.rows * self.columns {
            writer.line(&format!("local l{sum} \"sum\" size {} align {}", 2 * sum_size, 2 * sum_size));
        }
        writer.line(&format!("local l{} \"k\" size 4 align 4", self.rows * self.columns));
        writer.line(&format!("local l{} \"moved\" size 4 align 4", self.rows * self.columns + 1));
        self.body(&mut writer);
        let [factor, sum] = self.types;
        let [factor_size, sum_size] = self.sizes();
        let text = format!(
            "func f0 \"k\" (v0: ptr.device, v1: ptr.device, v2: ptr.constant) {{\n{}}}\n\
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar {factor} size {factor_size} align {factor_size} read_write
  arg \"b\" buffer 1 device \"U\" scalar {sum} size {sum_size} align {sum_size} read_write
  arg \"stride\" buffer 2 constant \"int\" scalar i32 signed size 4 align 4 read
}}\n",
            writer.text
        );
        parsed(&text)
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
        let moved = w.value(&format!("local_addr l{} : ptr.thread", sums.len() + 1));
        w.line(&format!("store {moved}, {counter}, align 4"));
        w.line("loop label0 {");
        let current = w.value(&format!("load {k}, align 4 : i32"));
        let end = w.value("const 3 : i32");
        let done = w.value(&format!("uge {current}, {end} : bool"));
        w.line(&format!("if {done} {{\nbreak label0\n}}"));
        w.line("barrier.threadgroup");
        let both = w.value(&format!("add {current}, {first} : i32"));
        let mut results = Vec::new();
        for step in 0..2 {
            results = self.step(w, [&both, &moved], step, (&sums, &results));
        }
        w.line("barrier.threadgroup");
        if self.between == Between::Later {
            for (at, result) in sums.iter().zip(&results) {
                let halved = self.halved(w, result);
                w.line(&format!("store {at}, {halved}, align 4"));
            }
        }
        w.line("} continuing {");
        let old = w.value(&format!("load {k}, align 4 : i32"));
        let one = w.value("const 1 : i32");
        let new = w.value(&format!("add {old}, {one} : i32"));
        w.line(&format!("store {k}, {new}, align 4"));
        w.line("}");
        self.epilogue(w, &first, &sums);
    }

    /// Each element halved.
    fn halved(&self, w: &mut Writer, fragment: &str) -> String {
        let ty = self.types[1];
        let half = w.value(&format!("const 0.5 : {ty}"));
        let halves = w.value(&format!("splat {half} : {ty}x2"));
        w.value(&format!("fmul {fragment}, {halves} : {ty}x2"))
    }

    /// The products of one step; gives their results.
    fn step(
        &self,
        w: &mut Writer,
        offsets: [&str; 2],
        step: usize,
        (sums, before): (&[String], &[String]),
    ) -> Vec<String> {
        let sum_type = format!("{}x2", self.types[1]);
        let left = (0..self.rows).map(|n| self.factor(w, offsets, self.place(n, step, false)));
        let left: Vec<String> = left.collect();
        let right = (0..self.columns).map(|n| self.factor(w, offsets, self.place(n, step, true)));
        let right: Vec<String> = right.collect();
        let mut results = Vec::new();
        for (number, at) in sums.iter().enumerate() {
            let (row, column) = (number / self.columns, number % self.columns);
            let is_chained = matches!(self.between, Between::Chained | Between::Later);
            let mut sum = match before.get(number).filter(|_| is_chained) {
                Some(result) => result.clone(),
                None => w.value(&format!("load {at}, align 4 : {sum_type}")),
            };
            if self.between == Between::Scaled {
                sum = self.halved(w, &sum);
            }
            let product = format!("matrix.multiply_accumulate {}, {}", left[row], right[column]);
            let result = w.value(&format!("{product}, {sum} : {sum_type}"));
            if !is_chained || step == 1 && self.between != Between::Later {
                w.line(&format!("store {at}, {result}, align 4"));
            }
            if self.between == Between::Stored && number == 0 {
                let stride = w.value("const 8 : i64");
                w.line(&format!("matrix.store v1, {stride}, {result}"));
            }
            results.push(result);
        }
        results
    }

    /// The first element of a factor: on the left by row, on the right by column.
    fn place(&self, n: usize, step: usize, is_right: bool) -> usize {
        if self.layout == Layout::Scattered {
            return 8 * n + 200 * step + if is_right { 64 } else { 0 };
        }
        let is_transposed = self.factors.is_transposed();
        let (down, across) = if is_right { (step, n) } else { (n, step) };
        let (down, across) = if is_transposed { (across, down) } else { (down, across) };
        8 * (STRIDE * down + across) + if is_right { 24 } else { 0 }
    }

    /// The factor at that place, which moves on with the loop and the SIMD-group.
    fn factor(&self, w: &mut Writer, [both, moved]: [&str; 2], place: usize) -> String {
        let ([ty, _], [size, _]) = (self.types, self.sizes());
        let rate = w.value("const 5 : i32");
        let mut offset = w.value(&format!("mul {both}, {rate} : i32"));
        if self.layout == Layout::MovingTiles {
            let by = w.value(&format!("load {moved}, align 4 : i32"));
            offset = w.value(&format!("add {offset}, {by} : i32"));
            let three = w.value("const 3 : i32");
            let by = w.value(&format!("add {by}, {three} : i32"));
            w.line(&format!("store {moved}, {by}, align 4"));
        }
        let offset = w.value(&format!("zext {offset} : i64"));
        let bytes = place * size;
        let start = match self.layout {
            Layout::FixedTiles => format!("ptr_add v0 + {bytes} : ptr.device"),
            _ => format!("ptr_add v0 + {offset} * {size} + {bytes} : ptr.device"),
        };
        let start = w.value(&start);
        if matches!(self.factors, Factors::Loaded | Factors::Transposed) {
            let transposed = if self.factors == Factors::Transposed { "_transposed" } else { "" };
            let stride = w.value(&format!("const {STRIDE} : i64"));
            return w.value(&format!("matrix.load{transposed} {start}, {stride} : {ty}x2"));
        }
        let [row, column] = Self::lane_place(w);
        let is_transposed = self.factors.is_transposed();
        let (down, across) = if is_transposed { (1, STRIDE as i32) } else { (STRIDE as i32, 1) };
        let [down_by, across_by] = [down, across].map(|step| w.value(&format!("const {step} : i32")));
        let y = w.value(&format!("mul {row}, {down_by} : i32"));
        let x = w.value(&format!("mul {column}, {across_by} : i32"));
        let place = w.value(&format!("add {y}, {x} : i32"));
        let place = w.value(&format!("zext {place} : i64"));
        let elements: Vec<String> = (0..2)
            .map(|n| {
                let more = n * across as usize * size;
                let at = w.value(&format!("ptr_add {start} + {place} * {size} + {more} : ptr.device"));
                let element = w.value(&format!("load {at}, align {size} : {ty}"));
                match self.factors.is_widened() {
                    true => w.value(&format!("fcast {element} : f32")),
                    false => element,
                }
            })
            .collect();
        let ty = if self.factors.is_widened() { "f32" } else { ty };
        w.value(&format!("compose {} : {ty}x2", elements.join(", ")))
    }

    /// Row and first column of a lane in Metal's layout.
    fn lane_place(w: &mut Writer) -> [String; 2] {
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
        [row, op(w, "add", &right, &odd)]
    }

    /// Each lane stores its two elements of each sum, as MLX does.
    fn store_elements(
        &self,
        w: &mut Writer,
        (first, sums): (&str, &[String]),
        steps: [Step; 2],
        is_rounded: bool,
    ) {
        let [_, sum_size] = self.sizes();
        let sum_type = self.types[1];
        let size = if is_rounded { 2 } else { sum_size };
        let [row, column] = Self::lane_place(w);
        let [down, across] = steps.map(|step| match step {
            Step::Known(step) => w.value(&format!("const {step} : i32")),
            Step::Passed => w.value("load v2, align 4 : i32"),
        });
        let y = w.value(&format!("mul {row}, {down} : i32"));
        let x = w.value(&format!("mul {column}, {across} : i32"));
        let place = w.value(&format!("add {y}, {x} : i32"));
        let place = w.value(&format!("sext {place} : i64"));
        let start = w.value(&format!("ptr_add v1 + {place} * {size} : ptr.device"));
        let group = w.value("const 200 : i32");
        let group = w.value(&format!("mul {first}, {group} : i32"));
        for (number, at) in sums.iter().enumerate() {
            let sum = w.value(&format!("load {at}, align 4 : {sum_type}x2"));
            for element in 0..2 {
                let mut value = w.value(&format!("extract {sum}, {element} : {sum_type}"));
                if is_rounded {
                    value = w.value(&format!("fcast {value} : f16"));
                }
                // Nothing says that the second element's index does not wrap around.
                let mut index = group.clone();
                if element == 1 {
                    index = w.value(&format!("add {index}, {across} : i32"));
                }
                let index = w.value(&format!("sext {index} : i64"));
                let base = (100 + number * 400) * size;
                let to = w.value(&format!("ptr_add {start} + {index} * {size} + {base} : ptr.device"));
                w.line(&format!("store {to}, {value}, align {size}"));
            }
        }
    }

    fn epilogue(&self, w: &mut Writer, first: &str, sums: &[String]) {
        match self.results {
            Results::Whole => self.store_fragments(w, first, sums),
            Results::Elements { down, across, is_rounded } => {
                self.store_elements(w, (first, sums), [down, across], is_rounded);
            }
        }
    }

    /// Even sums as matrices, odd ones element by element.
    fn store_fragments(&self, w: &mut Writer, first: &str, sums: &[String]) {
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
        let stride = 10_i32.to_le_bytes().to_vec();
        let out = vec![0; (100 + 400 * self.rows * self.columns + 80) * sum_size];
        for (threads, specialise, checks) in [(64, true, true), (64, true, false), (40, false, true)] {
            let launch = Launch { specialise, checks, ..Launch::new([threads, 1, 1], [threads, 1, 1]) };
            let buffers = [numbers(5000), out.clone(), stride.clone()];
            agree(&module, "k", &launch, &buffers, &format!("{self:?}, {launch:?}"));
        }
        let launch = Launch::new([64, 1, 1], [64, 1, 1]);
        let short = [numbers(700), out[..200 * factor_size.min(sum_size)].to_vec(), stride];
        agree(&module, "k", &launch, &short, &format!("{self:?}, out of bounds"));
    }
}

const BASE: Program = Program {
    rows: 2,
    columns: 2,
    factors: Factors::Loaded,
    layout: Layout::Scattered,
    between: Between::Nothing,
    results: Results::Whole,
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
    for factors in [Factors::Widened, Factors::WidenedTransposed] {
        for types in [["f16", "f32"], ["bf16", "f32"], ["f16", "f16"]] {
            Program { factors, types, ..BASE }.check();
        }
    }
}

#[test]
fn widened_factors_are_loaded_in_rows() {
    for factors in [Factors::Widened, Factors::WidenedTransposed] {
        let program = Program { factors, types: ["f16", "f32"], ..BASE };
        let text = support::text(&program.module(), "k", &Launch::new([64, 1, 1], [64, 1, 1]));
        assert!(text.contains("load <8 x half>") && !text.contains("load <32 x half>"), "{factors:?}");
        // Lane by lane only where some are out of bounds.
        assert!(!text.contains("load half,"), "{factors:?}");
    }
}

#[test]
fn scaled_sums_are_multiplied_together() {
    let launch = Launch::new([64, 1, 1], [64, 1, 1]);
    let tiles = Program { columns: 4, layout: Layout::FixedTiles, between: Between::Scaled, ..BASE };
    for factors in [Factors::Loaded, Factors::Joined] {
        let text = support::text(&Program { factors, ..tiles }.module(), "k", &launch);
        assert_eq!(text.contains("call void @am.panel.0"), support::has_panels(&launch), "{factors:?}");
        assert!(!text.contains("call void @am.products"), "{factors:?}");
    }
}

#[test]
fn sums_that_no_variable_keeps_are_multiplied_in_panels() {
    let launch = Launch::new([64, 1, 1], [64, 1, 1]);
    let program = Program { columns: 4, layout: Layout::FixedTiles, between: Between::Later, ..BASE };
    let text = support::text(&program.module(), "k", &launch);
    assert_eq!(text.contains("call void @am.panel.0"), support::has_panels(&launch));
    assert_eq!(text.contains("call void @am.products"), !support::has_panels(&launch));
}

#[test]
fn narrow_factors_side_by_side_are_converted_together() {
    let launch = Launch::new([64, 1, 1], [64, 1, 1]);
    let program = Program { layout: Layout::Tiles, types: ["f16", "f32"], ..BASE };
    let text = support::text(&program.module(), "k", &launch);
    assert_eq!(text.contains("load <16 x half>"), support::has_panels(&launch));
}

#[test]
fn factors_in_tiles() {
    let launch = Launch::new([64, 1, 1], [64, 1, 1]);
    let in_place = Program { rows: 4, layout: Layout::Tiles, between: Between::Chained, ..BASE };
    let text = support::text(&in_place.module(), "k", &launch);
    assert_eq!(text.contains("@am.panel.0"), support::has_panels(&launch));
    for layout in [Layout::Scattered, Layout::Tiles, Layout::MovingTiles, Layout::FixedTiles] {
        let base = Program { layout, between: Between::Chained, ..BASE };
        for factors in [Factors::Loaded, Factors::Transposed, Factors::Joined, Factors::JoinedTransposed] {
            Program { factors, ..base }.check();
        }
        Program { factors: Factors::Widened, types: ["f16", "f32"], ..base }.check();
        Program { types: ["f16", "f32"], ..base }.check();
    }
}

#[test]
fn sums_in_blocks_of_all_sizes() {
    for (rows, columns) in [(1, 1), (3, 1), (2, 3), (4, 4), (1, 6), (6, 2)] {
        Program { rows, columns, ..BASE }.check();
        let base = Program { layout: Layout::Tiles, between: Between::Chained, ..BASE };
        Program { rows, columns, ..base }.check();
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
    for between in [Between::Scaled, Between::Stored, Between::Later] {
        Program { columns: 3, between, ..BASE }.check();
        let tiles = Program { columns: 4, between, layout: Layout::FixedTiles, ..BASE };
        tiles.check();
        Program { factors: Factors::Joined, ..tiles }.check();
        Program { types: ["f16", "f16"], between, ..BASE }.check();
    }
}

#[test]
fn elements_are_stored_in_rows() {
    let launch = Launch::new([64, 1, 1], [64, 1, 1]);
    let has_rows = |down, across| {
        let results = Results::Elements { down, across, is_rounded: true };
        support::text(&Program { results, ..BASE }.module(), "k", &launch).contains("store <8 x half>")
    };
    assert!(has_rows(Step::Known(9), Step::Known(1)));
    assert!(has_rows(Step::Passed, Step::Known(1)));
    assert!(!has_rows(Step::Known(2), Step::Known(16)));
}

#[test]
fn elements_stored_one_by_one() {
    let (one, nine) = (Step::Known(1), Step::Known(9));
    let steps = [
        [nine, one],
        [Step::Passed, one],
        [one, nine],
        [one, Step::Passed],
        [Step::Known(2), Step::Known(16)],
    ];
    for [down, across] in steps {
        for is_rounded in [false, true] {
            let results = Results::Elements { down, across, is_rounded };
            Program { results, ..BASE }.check();
            Program { results, between: Between::Scaled, layout: Layout::FixedTiles, ..BASE }.check();
        }
        let results = Results::Elements { down, across, is_rounded: false };
        Program { results, types: ["f16", "f16"], ..BASE }.check();
        Program { results, types: ["bf16", "f32"], between: Between::Later, ..BASE }.check();
    }
}
