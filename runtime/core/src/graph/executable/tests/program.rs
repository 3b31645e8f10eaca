//! Random programs: their steps, what those do to plain bytes, and the graph of them.

use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::Bench;
use crate::graph::GraphBuilder;
use crate::graph::error::GraphError;
use crate::graph::node::{Branch, Condition, HostNode};
use crate::graph::resource::{BytesId, ResourceId, ResourceRange};
use crate::memory::view::BufferView;

/// Buffers of a random program, and their bytes. The first two are parameters.
pub(super) const BUFFERS: usize = 4;
const PARAMETERS: usize = 2;
const LENGTH: u64 = 128;

/// A range: buffer, first byte, bytes; multiples of 4.
type Span = (usize, u64, u64);

/// One step of a random program.
#[derive(Debug, Clone)]
pub(super) enum ProgramStep {
    Affine(Span, Span, u32),
    Accumulate(Span, Span),
    /// In so many contiguous pieces.
    Copy(Span, Span, u64),
    Fill(Span, u8, u64),
    /// The host writes the source's bytes with some bits flipped.
    Flip(Span, Span),
    /// If the number at the start of the first is not zero the second is copied to the third, else filled.
    Choose(Span, Span, Span),
    /// A copy in two contiguous halves, and between them what the first half wrote changes the second's
    /// source.
    Around(Span, Span),
    /// An inlined graph: affine from the first to the second, then accumulate back.
    Inlined(Span, Span),
}

fn span(length: u64) -> impl Strategy<Value = Span> {
    (0..BUFFERS, 0..=(LENGTH - length) / 4).prop_map(move |(buffer, word)| (buffer, word * 4, length))
}

fn apart(spans: &[Span]) -> bool {
    let overlap =
        |one: &Span, other: &Span| one.0 == other.0 && one.1 < other.1 + other.2 && other.1 < one.1 + one.2;
    (0..spans.len()).all(|later| (0..later).all(|one| !overlap(&spans[one], &spans[later])))
}

fn pair() -> impl Strategy<Value = (Span, Span)> {
    let lengths = prop_oneof![Just(4), Just(16), Just(32), Just(64)];
    let pair = lengths.prop_flat_map(|length| (span(length), span(length)));
    pair.prop_filter("the two must not overlap", |(one, other)| apart(&[*one, *other]))
}

pub(super) fn step() -> impl Strategy<Value = ProgramStep> {
    prop_oneof![
        3 => (pair(), any::<u32>()).prop_map(|((x, y), k)| ProgramStep::Affine(x, y, k)),
        1 => (span(32), any::<u32>()).prop_map(|(x, k)| ProgramStep::Affine(x, x, k)),
        2 => pair().prop_map(|(x, y)| ProgramStep::Accumulate(x, y)),
        4 => (pair(), 1..5u64).prop_map(|((x, y), segments)| ProgramStep::Copy(x, y, segments)),
        3 => (span(32), any::<u8>(), 1..5u64).prop_map(|(x, value, segments)| ProgramStep::Fill(x, value, segments)),
        1 => pair().prop_map(|(x, y)| ProgramStep::Flip(x, y)),
        1 => (span(4), pair()).prop_map(|(when, (x, y))| ProgramStep::Choose(when, x, y))
            .prop_filter("the three must not overlap", |step| {
                matches!(step, ProgramStep::Choose(a, b, c) if apart(&[*a, *b, *c]))
            }),
        1 => pair().prop_map(|(x, y)| ProgramStep::Inlined(x, y)),
        1 => pair().prop_filter_map("two words or more", |(x, y)| (x.2 > 4).then_some(ProgramStep::Around(x, y))),
    ]
}

fn segments((buffer, first, length): Span, count: u64) -> impl Iterator<Item = Span> {
    let words = length / 4;
    let count = count.min(words);
    (0..count).map(move |segment| {
        let (from, to) = (words * segment / count, words * (segment + 1) / count);
        (buffer, first + from * 4, (to - from) * 4)
    })
}

fn halves((buffer, first, length): Span) -> [Span; 2] {
    [(buffer, first, length / 2), (buffer, first + length / 2, length / 2)]
}

/// The steps one after the other on plain bytes.
pub(super) struct Reference(pub(super) [Vec<u8>; BUFFERS]);

impl Reference {
    fn words(&self, span: Span) -> Vec<u32> {
        let bytes = &self.0[span.0][span.1 as usize..(span.1 + span.2) as usize];
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn set(&mut self, span: Span, words: impl IntoIterator<Item = u32>) {
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        self.0[span.0][span.1 as usize..(span.1 + span.2) as usize].copy_from_slice(&bytes);
    }

    fn affine(&mut self, x: Span, y: Span, k: u32) {
        let result = self.words(x).into_iter().map(|word| word.wrapping_mul(3).wrapping_add(k));
        self.set(y, result.collect::<Vec<_>>());
    }

    fn accumulate(&mut self, x: Span, y: Span) {
        let sum = self.words(x).into_iter().zip(self.words(y)).map(|(x, y)| x.wrapping_add(y));
        self.set(y, sum.collect::<Vec<_>>());
    }

    pub(super) fn run(&mut self, step: &ProgramStep, extra: u32) {
        match *step {
            ProgramStep::Affine(x, y, k) => self.affine(x, y, k.wrapping_add(extra)),
            ProgramStep::Accumulate(x, y) => self.accumulate(x, y),
            ProgramStep::Copy(x, y, _) => self.set(y, self.words(x)),
            ProgramStep::Fill(x, value, _) => {
                self.set(x, self.words(x).into_iter().map(|_| u32::from_le_bytes([value; 4])))
            }
            ProgramStep::Flip(x, y) => self.set(y, self.words(x).into_iter().map(|word| word ^ 0x5a5a_5a5a)),
            ProgramStep::Choose(when, x, y) if self.words(when) != [0] => self.set(y, self.words(x)),
            ProgramStep::Choose(_, _, y) => self.set(y, self.words(y).into_iter().map(|_| 0x1111_1111)),
            ProgramStep::Around(x, y) => {
                let [[from, then_from], [to, then_to]] = [halves(x), halves(y)];
                self.set(to, self.words(from));
                self.accumulate(to, then_from);
                self.set(then_to, self.words(then_from));
            }
            ProgramStep::Inlined(x, y) => {
                self.affine(x, y, 1);
                self.accumulate(y, x);
            }
        }
    }
}

/// A program as a graph.
pub(super) struct Program {
    pub(super) builder: GraphBuilder,
    pub(super) resources: Vec<ResourceId>,
    /// The constants of affine steps, as parameters.
    pub(super) constants: Vec<(BytesId, u32)>,
}

impl Program {
    fn range(&self, (buffer, first, length): Span) -> ResourceRange {
        self.resources[buffer].range(first..first + length)
    }

    fn add(&mut self, bench: &Bench, number: usize, step: &ProgramStep) -> Result<(), GraphError> {
        let name = |what: &str, segment: usize| format!("{number} {what} {segment}");
        match *step {
            ProgramStep::Affine(x, y, k) => {
                let constant = self.builder.bytes_parameter(name("k", 0), k.to_le_bytes())?;
                self.constants.push((constant, k));
                let launch = bench.launch(&bench.affine, x.2).bind(0, self.range(x)).bind(1, self.range(y));
                self.builder.kernel(name("affine", 0), launch.bind_parameter(2, constant))?;
            }
            ProgramStep::Accumulate(x, y) => {
                let launch =
                    bench.launch(&bench.accumulate, x.2).bind(0, self.range(x)).bind(1, self.range(y));
                self.builder.kernel(name("accumulate", 0), launch)?;
            }
            ProgramStep::Copy(x, y, count) => {
                for (segment, (x, y)) in segments(x, count).zip(segments(y, count)).enumerate() {
                    let (x, y) = (self.range(x), self.range(y));
                    self.builder.copy(name("copy", segment), x, y)?;
                }
            }
            ProgramStep::Fill(x, value, count) => {
                for (segment, x) in segments(x, count).enumerate() {
                    let x = self.range(x);
                    self.builder.fill(name("fill", segment), x, value)?;
                }
            }
            ProgramStep::Flip(x, y) => {
                let (from, to) = (self.resources[x.0], self.resources[y.0]);
                let flip = HostNode::new(move |context| {
                    let mut bytes = vec![0; x.2 as usize];
                    context.read(from, x.1, &mut bytes)?;
                    bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
                    context.write(to, y.1, &bytes)
                });
                let flip = flip.reads(self.range(x)).writes(self.range(y));
                self.builder.host(name("flip", 0), flip)?;
            }
            ProgramStep::Choose(when, x, y) => {
                let mut then = GraphBuilder::new("then");
                let (from, to) = (then.parameter("from", x.2)?, then.parameter("to", y.2)?);
                then.copy("copy", from, to)?;
                let then =
                    Branch::new(then.build()?).argument(from, self.range(x)).argument(to, self.range(y));
                let mut otherwise = GraphBuilder::new("otherwise");
                let to = otherwise.parameter("to", y.2)?;
                otherwise.fill("fill", to, 0x11)?;
                let otherwise = Branch::new(otherwise.build()?).argument(to, self.range(y));
                let when = Condition::NotZero(self.range(when));
                self.builder.conditional(name("choose", 0), when, then, Some(otherwise))?;
            }
            ProgramStep::Around(x, y) => {
                let [from, then_from] = halves(x).map(|span| self.range(span));
                let [to, then_to] = halves(y).map(|span| self.range(span));
                self.builder.copy(name("around", 0), from, to)?;
                let launch = bench.launch(&bench.accumulate, x.2 / 2).bind(0, to).bind(1, then_from);
                self.builder.kernel(name("between", 0), launch)?;
                self.builder.copy(name("around", 1), then_from, then_to)?;
            }
            ProgramStep::Inlined(x, y) => {
                let mut inner = GraphBuilder::new("inner");
                let (from, to) = (inner.parameter("from", x.2)?, inner.parameter("to", y.2)?);
                let there =
                    bench.launch(&bench.affine, x.2).bind(0, from).bind(1, to).bind_bytes(2, [1, 0, 0, 0]);
                let there = inner.kernel("there", there)?;
                let back = bench.launch(&bench.accumulate, x.2).bind(0, to).bind(1, from);
                let back = inner.kernel("back", back)?;
                inner.edge(there, back)?;
                let inner =
                    Branch::new(inner.build()?).argument(from, self.range(x)).argument(to, self.range(y));
                self.builder.subgraph(name("inlined", 0), inner)?;
            }
        }
        Ok(())
    }
}

pub(super) fn initial(seed: u8) -> Vec<u8> {
    // Some words are zero, for conditions.
    (0..LENGTH as u8).map(|at| if at / 4 % 3 == 0 { 0 } else { at.wrapping_mul(37) ^ seed }).collect()
}

pub(super) fn build(bench: &Bench, steps: &[ProgramStep]) -> (Program, Vec<BufferView>) {
    let mut builder = GraphBuilder::new("random");
    let views: Vec<BufferView> = (0..BUFFERS).map(|buffer| bench.view(&initial(buffer as u8))).collect();
    let mut resources = Vec::new();
    for (number, view) in views.iter().enumerate() {
        let name = format!("b{number}");
        resources.push(match number < PARAMETERS {
            true => builder.parameter(name, LENGTH).unwrap(),
            false => builder.buffer(name, view.clone()).unwrap(),
        });
    }
    let mut program = Program { builder, resources, constants: Vec::new() };
    for (number, step) in steps.iter().enumerate() {
        program.add(bench, number, step).unwrap();
    }
    program.builder.order_as_added();
    (program, views)
}
