//! Random programs that try to outlive their deadline: loops of every form, calls, copies, switches,
//! templates, barriers.
//!
//! A program may or may not terminate. Either way its launch ends within twice its deadline, with or without
//! that error, and the device runs the next launch.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anymetal::error::DeviceError;
use anymetal::{Device, Error};
use anymetal_hal::split_mix::SplitMix64;

/// How deep loops and branches nest.
const MAX_DEPTH: u32 = 4;
/// Statements of a program, about.
const MAX_STATEMENTS: u32 = 40;

macro_rules! line {
    ($out:expr, $($text:tt)*) => {
        writeln!($out, $($text)*).expect("writing to a string")
    };
}

/// A program under construction.
struct Generator {
    random: SplitMix64,
    /// Functions, written before the kernel.
    functions: String,
    names: u32,
    statements: u32,
    /// Whether all threads are at the same place, so that they may meet at a barrier.
    is_uniform: bool,
}

/// A kernel `hostile` over `device int* y` and `device Big* big`.
pub fn program(seed: u64) -> String {
    let random = SplitMix64::new(seed);
    let mut generator =
        Generator { random, functions: String::new(), names: 0, statements: 0, is_uniform: true };
    let mut body = String::new();
    while generator.statements < 4 {
        generator.block(&mut body, 0);
    }
    let functions = generator.functions;
    format!(
        "#include <metal_stdlib>
using namespace metal;
struct Big {{ int a[{big}]; }};
{functions}
kernel void hostile(device int* y [[buffer(0)]], device Big* big [[buffer(1)]], constant int& n [[buffer(2)]],
                    uint t [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {{
    threadgroup int shared[64];
    int mine[16] = {{}};
    int acc = int(t);
    shared[t % 64] = acc;
    threadgroup_barrier(mem_flags::mem_threadgroup);
{body}    y[t] = acc + mine[acc & 15] + shared[t % 64];
}}
kernel void put(device int* y [[buffer(0)]], uint t [[thread_position_in_grid]]) {{ y[t] = int(t); }}
",
        big = BIG_INTS
    )
}

/// Integers of the structure that programs copy.
const BIG_INTS: usize = 1 << 18;
/// Threads of a launch.
const THREADS: usize = 96;

impl Generator {
    fn below(&mut self, count: u64) -> u64 {
        self.random.next_up_to(count - 1)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn block(&mut self, out: &mut String, depth: u32) {
        for _ in 0..=self.below(2) {
            self.statement(out, depth);
        }
    }

    fn statement(&mut self, out: &mut String, depth: u32) {
        self.statements += 1;
        let pad = "    ".repeat(depth as usize + 1);
        let nests = depth < MAX_DEPTH && self.statements < MAX_STATEMENTS;
        match self.below(if nests { 14 } else { 6 }) {
            0 => line!(out, "{pad}acc = acc * 3 + mine[acc & 15];"),
            1 => line!(out, "{pad}mine[acc & 15] += acc ^ n;"),
            2 => line!(out, "{pad}y[(t + acc) % {THREADS}] = acc;"),
            3 => {
                let place = self.one_of(&["0", "t & 1", "n & 1"]);
                line!(out, "{pad}big[{place}] = big[(acc & 1)];");
            }
            4 => {
                let call = self.function(depth);
                line!(out, "{pad}acc += {call};");
            }
            5 if self.is_uniform => {
                line!(out, "{pad}threadgroup_barrier(mem_flags::mem_threadgroup);");
            }
            5 => line!(out, "{pad}acc ^= simd_sum(acc & 7);"),
            6..=10 => self.any_loop(out, depth, &pad),
            11 | 12 => self.branch(out, depth, &pad),
            _ => self.switch(out, depth, &pad),
        }
    }

    fn branch(&mut self, out: &mut String, depth: u32, pad: &str) {
        let cond = self.one_of(&["(acc & 1) != 0", "t > 5u", "n > 3", "lane == 0", "acc < n"]);
        line!(out, "{pad}if ({cond}) {{");
        self.divergent(|this| this.block(out, depth + 1));
        line!(out, "{pad}}} else {{");
        self.divergent(|this| this.block(out, depth + 1));
        line!(out, "{pad}}}");
    }

    fn switch(&mut self, out: &mut String, depth: u32, pad: &str) {
        line!(out, "{pad}switch (acc & 3) {{");
        for case in ["case 0:", "case 1:", "default:"] {
            line!(out, "{pad}{case} {{");
            self.divergent(|this| this.block(out, depth + 1));
            let end = self.one_of(&["break;", ""]);
            line!(out, "{pad}{end} }}");
        }
        line!(out, "{pad}}}");
    }

    /// Writes code that threads may execute divergently.
    fn divergent(&mut self, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.is_uniform, false);
        write(self);
        self.is_uniform = outer;
    }

    fn number(&mut self) -> String {
        let constants = [
            "0",
            "1",
            "2",
            "3",
            "7",
            "10",
            "64",
            "255",
            "1000",
            "65535",
            "65536",
            "0x7fffffff",
            "0x80000000",
            "0xffffffff",
            "-1",
            "-5",
            "n",
            "int(t)",
            "acc",
        ];
        self.one_of(&constants).to_owned()
    }

    fn any_loop(&mut self, out: &mut String, depth: u32, pad: &str) {
        let ty = self.one_of(&["int", "uint", "long", "ulong", "short", "ushort", "uchar", "char", "float"]);
        let (i, start, limit) = (self.name("i"), self.number(), self.number());
        let compare = self.one_of(&["<", "<=", ">", ">=", "!=", "=="]);
        let step = match ty {
            "float" => self.one_of(&["I += 1", "I -= 1", "I *= 2", "I /= 2"]),
            _ => self.one_of(&[
                "I++",
                "I--",
                "I += 1",
                "I += 2",
                "I -= 1",
                "I -= 3",
                "I += 65536",
                "I *= 2",
                "I <<= 1",
                "I >>= 1",
                "I /= 2",
                "I += n",
                "I ^= 1",
                "I = I * 5 + 3",
            ]),
        }
        .replace('I', &i);
        let cond = format!("{i} {compare} ({ty})({limit})");
        let outer = std::mem::replace(&mut self.is_uniform, false);
        let form = self.below(6);
        let head = match form {
            0..=2 => format!("for ({ty} {i} = ({ty})({start}); {cond}; {step})"),
            3 => format!("for ({ty} {i} = ({ty})({start});; {step})"),
            4 => format!("{ty} {i} = ({ty})({start}); while ({cond})"),
            _ => format!("{ty} {i} = ({ty})({start}); do"),
        };
        line!(out, "{pad}{head} {{");
        self.block(out, depth + 1);
        match self.below(6) {
            0 => line!(out, "{pad}    if ((acc & 15) == 3) continue;"),
            1 => line!(out, "{pad}    if ((acc & 255) == 77) break;"),
            2 => line!(out, "{pad}    if (!({cond})) break;"),
            3 => line!(out, "{pad}    if (acc == 12345) {i} = ({ty})({start});"),
            _ => {}
        }
        line!(out, "{pad}    acc += int({i}) + 1;");
        match form {
            0..=3 => line!(out, "{pad}}}"),
            4 => line!(out, "{pad}    {step};\n{pad}}}"),
            _ => line!(out, "{pad}    {step};\n{pad}}} while ({cond});"),
        }
        self.is_uniform = outer;
    }

    /// A call of a new function.
    fn function(&mut self, depth: u32) -> String {
        let name = self.name("f");
        let (deepest, fan) = (self.one_of(&[4, 12, 20, 40]), self.one_of(&[1, 2, 3]));
        let deepest = if fan == 3 { deepest.min(20) } else { deepest };
        match self.below(3) {
            // A tree of calls.
            0 => {
                let calls: Vec<String> =
                    (0..fan).map(|child| format!("{name}<N - 1>((x ^ N) + {child})")).collect();
                line!(
                    self.functions,
                    "template <int N> int {name}(int x) {{ return ({}) * 3; }}
template <> int {name}<0>(int x) {{ return x * x ^ 5; }}",
                    calls.join(") + (")
                );
                format!("{name}<{deepest}>(acc)")
            }
            // A function with loops.
            1 => {
                let mut body = String::new();
                let outer = std::mem::replace(&mut self.is_uniform, false);
                let mut inner = Self {
                    random: SplitMix64::new(self.random.next_number()),
                    functions: String::new(),
                    names: self.names,
                    statements: self.statements + 20,
                    is_uniform: false,
                };
                inner.any_loop(&mut body, depth.max(2), "    ");
                self.is_uniform = outer;
                self.names = inner.names;
                self.functions += &inner.functions;
                line!(
                    self.functions,
                    "int {name}(int acc, thread int* mine, device int* y, device Big* big, int n, uint t, uint lane) {{
{body}    return acc;
}}"
                );
                format!("{name}(acc, mine, y, big, n, t, lane)")
            }
            // Copies by value.
            _ => {
                let size = self.one_of(&[4, 100, 3000]);
                line!(
                    self.functions,
                    "struct S{name} {{ int a[{size}]; }};
int {name}(int x) {{
    S{name} s = {{}};
    for (int k = 0; k < 4; k++) {{ S{name} u = s; u.a[(x + k) & 3] = x; s = u; }}
    return s.a[x & 3];
}}"
                );
                format!("{name}(acc)")
            }
        }
    }
}

/// The outcome of a launch, which has to end within twice its deadline. A late launch is repeated twice,
/// because other programs use the machine.
///
/// # Errors
/// If all three are late.
pub fn ends_in_time(
    launch: impl Fn() -> Result<(), Error>,
    deadline: Duration,
) -> Result<Result<(), Error>, String> {
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        let outcome = launch();
        fastest = fastest.min(began.elapsed());
        if fastest <= 2 * deadline {
            return Ok(outcome);
        }
    }
    Err(format!("ran for {fastest:?} with a deadline of {deadline:?}"))
}

/// How a program kept its limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// It ran.
    Ran,
    /// It was refused as too large for the device.
    Refused,
}

/// Compiles and runs the program of a seed; an error is the first violation.
pub fn check_seed(
    seed: u64,
    device: &Device,
    deadline: Duration,
    compile_limit: Duration,
) -> Result<Kept, String> {
    let text = program(seed);
    check(&text, device, deadline, compile_limit).map_err(|why| format!("seed {seed}: {why}\n{text}"))
}

fn check(text: &str, device: &Device, deadline: Duration, compile_limit: Duration) -> Result<Kept, String> {
    let began = Instant::now();
    let library = device.library_from_source(text).map_err(|error| format!("does not compile: {error}"))?;
    let hostile = library.pipeline("hostile");
    let compiled = began.elapsed();
    if compiled > compile_limit {
        return Err(format!("compiled for {compiled:?}"));
    }
    let put = library.pipeline("put").map_err(|error| error.to_string())?;
    let hostile = match hostile {
        Ok(hostile) => hostile,
        Err(Error::Compile(error)) if error.id() == "kernel-too-large" => return Ok(Kept::Refused),
        Err(error) => return Err(format!("no pipeline: {error}")),
    };
    let failed = |error: Error| error.to_string();
    let y = device.buffer(&[0i32; THREADS]).map_err(failed)?;
    let big = device.buffer(&vec![1i32; 2 * BIG_INTS]).map_err(failed)?;
    let queue = device.queue().map_err(failed)?;
    let launch = || {
        let launch = queue.launch(&hostile).arg(&y).arg(&big).arg(6i32).threads(THREADS).group_size(48);
        launch.deadline(deadline).submit()?.wait().map(drop)
    };
    match ends_in_time(launch, deadline)? {
        Ok(()) | Err(Error::Device(DeviceError::DeadlineExceeded { .. })) => {}
        Err(error) => return Err(format!("failed: {error}")),
    }
    let after = queue.launch(&put).arg(&y).threads(THREADS).submit().and_then(|submission| submission.wait());
    after.map_err(|error| format!("the next launch failed: {error}"))?;
    let right = y.read().map_err(failed)?.iter().copied().eq(0..THREADS as i32);
    right.then_some(Kept::Ran).ok_or_else(|| "the next launch gave a wrong result".to_owned())
}
