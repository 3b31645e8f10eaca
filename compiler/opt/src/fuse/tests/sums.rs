//! Which forms of index are proved for which grids, and that nothing is proved for random ones in which two
//! threads meet.

use crate::fuse::{FusedKernel, Launched, Refusal, fuse};
use anymetal_ir::{Module, parse_module, verify};

/// An index of 32 bits.
#[derive(Clone, Debug)]
enum Index {
    X,
    Y,
    Group,
    Local,
    /// `threads_per_grid.x`
    Width,
    /// `threads_per_threadgroup.x`, of this threadgroup.
    Size,
    /// `dispatch_threads_per_threadgroup.x`
    FullSize,
    /// The number that the third argument is bound to.
    Uniform,
    Const(u32),
    Add(Box<Index>, Box<Index>),
    Sub(Box<Index>, Box<Index>),
    Mul(Box<Index>, Box<Index>),
    Shl(Box<Index>, u32),
}

use Index::{Const, FullSize, Group, Local, Size, Uniform, Width, X, Y};

impl Index {
    fn add(self, other: Index) -> Index {
        Index::Add(Box::new(self), Box::new(other))
    }

    fn sub(self, other: Index) -> Index {
        Index::Sub(Box::new(self), Box::new(other))
    }

    fn mul(self, other: Index) -> Index {
        Index::Mul(Box::new(self), Box::new(other))
    }

    /// Appends the operations; gives the number of the value.
    fn write(&self, text: &mut String, next: &mut u32) -> u32 {
        let mut line = |next: &mut u32, operation: String| {
            *text += &format!("  v{next} = {operation} : i32\n");
            *next += 1;
            *next - 1
        };
        match self {
            X => line(next, "query.thread_position_in_grid.x".into()),
            Y => line(next, "query.thread_position_in_grid.y".into()),
            Group => line(next, "query.threadgroup_position_in_grid.x".into()),
            Local => line(next, "query.thread_position_in_threadgroup.x".into()),
            Width => line(next, "query.threads_per_grid.x".into()),
            Size => line(next, "query.threads_per_threadgroup.x".into()),
            FullSize => line(next, "query.dispatch_threads_per_threadgroup.x".into()),
            Uniform => line(next, "load v2, align 4".into()),
            Const(value) => line(next, format!("const {value}")),
            Index::Add(a, b) | Index::Sub(a, b) | Index::Mul(a, b) => {
                let name = match self {
                    Index::Add(..) => "add",
                    Index::Sub(..) => "sub",
                    _ => "mul",
                };
                let (a, b) = (a.write(text, next), b.write(text, next));
                *text += &format!("  v{next} = {name} v{a}, v{b} : i32\n");
                *next += 1;
                *next - 1
            }
            Index::Shl(a, by) => {
                let a = a.write(text, next);
                *text +=
                    &format!("  v{next} = const {by} : i32\n  v{} = shl v{a}, v{next} : i32\n", *next + 1);
                *next += 2;
                *next - 1
            }
        }
    }

    /// What a thread of a launch computes.
    fn value(&self, [x, y]: [u32; 2], launch: &Launch) -> u32 {
        let of = |index: &Index| index.value([x, y], launch);
        let [threads, size] = [launch.threads[0], launch.size];
        match self {
            X => x,
            Y => y,
            Group => x / size,
            Local => x % size,
            Width => threads,
            Size => size.min(threads - x / size * size),
            FullSize => size,
            Uniform => launch.uniform,
            Const(value) => *value,
            Index::Add(a, b) => of(a).wrapping_add(of(b)),
            Index::Sub(a, b) => of(a).wrapping_sub(of(b)),
            Index::Mul(a, b) => of(a).wrapping_mul(of(b)),
            Index::Shl(a, by) => of(a) << by,
        }
    }
}

/// Where a kernel reads or writes four bytes: `argument + (widened index + another one) × 4 + offset`.
#[derive(Clone, Debug)]
struct Place {
    index: Index,
    other: Index,
    signed: bool,
    offset: i64,
}

fn at(index: Index) -> Place {
    Place { index, other: Const(0), signed: false, offset: 0 }
}

impl Place {
    fn address(&self, thread: [u32; 2], launch: &Launch) -> i64 {
        let [index, other] = [&self.index, &self.other].map(|index| {
            let index = index.value(thread, launch);
            if self.signed { i64::from(index as i32) } else { i64::from(index) }
        });
        (index + other) * 4 + self.offset
    }

    /// A kernel that writes to, or reads from, its first argument there.
    fn kernel(&self, writes: bool) -> Module {
        let (mut body, mut next) = (String::new(), 3);
        let [index, other] = [&self.index, &self.other].map(|index| index.write(&mut body, &mut next));
        let (cast, offset) = (if self.signed { "sext" } else { "zext" }, self.offset);
        let [first, second, sum, pointer, value] = [0, 1, 2, 3, 4].map(|number| next + number);
        body += &format!("  v{first} = {cast} v{index} : i64\n  v{second} = {cast} v{other} : i64\n");
        body += &format!("  v{sum} = add v{first}, v{second} : i64\n");
        body += &format!("  v{pointer} = ptr_add v0 + v{sum} * 4 + {offset} : ptr.device\n");
        body += &match writes {
            true => format!("  v{value} = const 1 : i32\n  store v{pointer}, v{value}, align 4\n"),
            false => format!("  v{value} = load v{pointer}, align 4 : i32\n  store v1, v{value}, align 4\n"),
        };
        let text = format!(
            r#"
func f0 "k" (v0: ptr.device, v1: ptr.device, v2: ptr.constant) {{
{body}}}

kernel "k" f0 {{
  arg "x" buffer 0 device "int" scalar i32 size 4 align 4 read_write
  arg "y" buffer 1 device "int" scalar i32 size 4 align 4 read_write
  arg "n" buffer 2 constant "int" scalar i32 size 4 align 4 read
}}
"#
        );
        let module = parse_module(&text).expect("the text is well formed");
        verify(&module).expect("the module is valid");
        module
    }
}

/// A grid of two axes in threadgroups that have one row.
#[derive(Clone, Copy, Debug)]
struct Launch {
    threads: [u32; 2],
    size: u32,
    uniform: u32,
    /// The number is bound as bytes, not in a buffer that both kernels share.
    known: bool,
}

const LINE: Launch = Launch { threads: [1003, 1], size: 64, uniform: 7, known: false };

fn plane(width: u32, height: u32) -> Launch {
    Launch { threads: [width, height], ..LINE }
}

impl Launch {
    fn launched(&self) -> Launched {
        let [x, y] = self.threads.map(u64::from);
        Launched::exactly([x, y, 1], Some([self.size, 1, 1]))
    }

    /// The verdict on a kernel that writes there and one that reads here.
    fn fused(&self, write: &Place, read: &Place, launched: &Launched) -> Result<Module, Refusal> {
        let (first, second) = (write.kernel(true), read.kernel(false));
        let uniform = self.uniform.to_le_bytes();
        let bytes = [None, None, self.known.then_some(&uniform[..])];
        // Bytes are at a place of their own.
        let number = if self.known { [3, 4] } else { [3, 3] };
        let parts = [
            FusedKernel { module: &first, places: &[0, 1, number[0]], bytes: &bytes },
            FusedKernel { module: &second, places: &[0, 2, number[1]], bytes: &bytes },
        ];
        fuse("k + k", &parts, launched)
    }

    fn is_proved(&self, write: &Place, read: &Place) -> bool {
        self.fused(write, read, &self.launched()).is_ok()
    }

    fn both(&self, index: Index) -> bool {
        self.is_proved(&at(index.clone()), &at(index))
    }

    /// Whether a thread of the second kernel reads what another thread of the first writes.
    fn threads_meet(&self, write: &Place, read: &Place) -> bool {
        let [width, height] = self.threads;
        let threads = || (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        let mut writers: Vec<(i64, [u32; 2])> =
            threads().map(|thread| (write.address(thread, self), thread)).collect();
        writers.sort_unstable();
        threads().any(|thread| {
            let address = read.address(thread, self);
            let first = writers.partition_point(|(at, _)| at + 4 <= address);
            writers[first..].iter().take_while(|(at, _)| *at < address + 4).any(|(_, other)| *other != thread)
        })
    }
}

#[test]
fn threadgroup_position_times_size_plus_local_position_is_the_grid_position() {
    let full = || Group.mul(FullSize).add(Local);
    assert!(LINE.is_proved(&at(full()), &at(X)));
    // In the last threadgroup, which has fewer threads, it is another thread's.
    let own = || Group.mul(Size).add(Local);
    assert!(!LINE.is_proved(&at(own()), &at(X)));
    let whole = Launch { threads: [1024, 1], ..LINE };
    assert!(whole.is_proved(&at(own()), &at(X)));
    let fixed = || Group.mul(Const(64)).add(Local);
    assert!(LINE.is_proved(&at(fixed()), &at(X)));
    assert!(LINE.fused(&at(fixed()), &at(X), &Launched::ANY_LINE).is_err(), "the size is not known");
    let of_size = |size| Launch { size, ..LINE };
    assert!(!of_size(32).is_proved(&at(fixed()), &at(X)));
    assert!(of_size(32).both(fixed()), "with gaps");
    assert!(!of_size(128).both(fixed()), "threadgroups overlap");
    assert!(!LINE.both(Local) && !LINE.both(Group) && !LINE.both(Group.add(Local)));
    assert!(!LINE.both(Group.mul(Const(64)).add(Local).add(X).sub(Local)));
}

#[test]
fn uniform_offsets_are_proved() {
    assert!(
        LINE.both(X.add(Uniform)) && LINE.both(Uniform.sub(X)) && LINE.both(Uniform.sub(Const(1)).sub(X))
    );
    assert!(!LINE.is_proved(&at(X.add(Uniform)), &at(X)), "it need not be zero");
    let line = |uniform| Launch { uniform, known: true, ..LINE };
    assert!(line(7).both(X.add(Uniform)) && line(7).is_proved(&at(X.add(Const(7))), &at(X.add(Uniform))));
    assert!(line(0).is_proved(&at(X.add(Uniform)), &at(X)));
    assert!(!line(1).is_proved(&at(X.add(Uniform)), &at(X)));
    // Any line of any length comes round at most once.
    let any = |index: Index| LINE.fused(&at(index.clone()), &at(index), &Launched::ANY_LINE);
    assert!(any(X.add(Uniform)).is_ok() && any(X.add(X)).is_err());
    // A number that a kernel writes may be another one for the next.
    let kernel = at(X.add(Uniform)).kernel(true);
    let parts = [[0, 1, 2], [0, 2, 3]].map(|places| places.to_vec());
    let parts = parts.each_ref().map(|places| FusedKernel { module: &kernel, places, bytes: &[None; 3] });
    assert!(fuse("k + k", &parts, &LINE.launched()).is_err(), "the number is at different places");
    let writer = at(X).kernel(false);
    let parts = [
        FusedKernel { module: &writer, places: &[0, 1, 5], bytes: &[None; 3] },
        FusedKernel { module: &kernel, places: &[0, 2, 1], bytes: &[None; 3] },
    ];
    assert!(matches!(fuse("k + k", &parts, &LINE.launched()), Err(Refusal::NotOwn { .. })));
}

#[test]
fn products_of_32_bits_are_proved_where_they_do_not_come_round() {
    let double = || X.mul(Const(2));
    assert!(LINE.both(double()) && LINE.both(Index::Shl(Box::new(X), 1)));
    assert!(LINE.fused(&at(double()), &at(double()), &Launched::ANY_LINE).is_err());
    let long = |threads| Launch { threads: [threads, 1], ..LINE };
    assert!(long(1 << 31).both(double()) && !long((1 << 31) + 1).both(double()));
    assert!(!LINE.is_proved(&at(double()), &at(X)));
    assert!(LINE.both(Const(1002).sub(X)), "backwards");
    assert!(LINE.is_proved(&at(double().add(Const(1))), &Place { offset: 4, ..at(double()) }));
    let both = |offset| LINE.is_proved(&Place { offset, ..at(double()) }, &at(double()));
    assert!(both(4) && both(-4) && !both(8), "two elements for each thread");
}

#[test]
fn rows_are_proved_where_they_do_not_overlap() {
    let row = |width: Index| Y.mul(width).add(X);
    assert!(plane(100, 50).both(row(Width)) && plane(100, 50).both(row(Const(100))));
    assert!(plane(100, 50).both(row(Const(101))) && !plane(100, 50).both(row(Const(99))));
    let known = |uniform| Launch { uniform, known: true, ..plane(100, 50) };
    assert!(known(100).both(row(Uniform)) && !known(99).both(row(Uniform)));
    assert!(!known(99).is_proved(&at(row(Uniform)), &at(row(Width))));
    assert!(!plane(100, 50).both(row(Uniform)), "it could be anything");
    assert!(!plane(100, 50).both(X) && !plane(100, 50).both(Y), "each is of many threads");
    assert!(plane(100, 1).both(X) && plane(100, 1).both(row(Const(3))), "there is one row");
    assert!(plane(100, 50).both(X.mul(Const(50)).add(Y)), "columns");
    assert!(!plane(100, 50).is_proved(&at(X.mul(Const(50)).add(Y)), &at(row(Const(100)))));
    assert!(!plane(100, 50).both(X.add(Y)));
    // The last row would wrap around.
    assert!(plane(1 << 16, 1 << 16).both(row(Width)));
    assert!(!plane(1 << 16, (1 << 16) + 1).both(row(Width)));
    let signed = |launch: Launch| {
        let place = Place { signed: true, ..at(row(Width)) };
        launch.is_proved(&place, &at(row(Width)))
    };
    assert!(signed(plane(1 << 15, 1 << 16)));
    assert!(!signed(plane(1 << 15, (1 << 16) + 1)), "an int is negative where a uint is not");
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn leaf(&mut self) -> Index {
        // Sums wrap although grids are small.
        const CONSTANTS: [u32; 12] =
            [1, 2, 3, 5, 7, 8, 1 << 28, 1 << 30, 1 << 31, u32::MAX, u32::MAX - 2, 0xc000_0001];
        match self.below(12) {
            0..=2 => X,
            3 | 4 => Y,
            5 => Group,
            6 => Local,
            7 => self.of(&[Width, Size, FullSize]),
            8 => Uniform,
            _ => Const(self.of(&CONSTANTS)),
        }
    }

    fn index(&mut self, depth: usize) -> Index {
        if depth == 0 {
            return self.leaf();
        }
        match self.below(10) {
            0 => self.of(&[Y.mul(Width).add(X), Group.mul(FullSize).add(Local), Y.mul(Uniform).add(X)]),
            1..=3 => self.index(depth - 1).add(self.index(depth - 1)),
            4 => self.index(depth - 1).sub(self.index(depth - 1)),
            5 | 6 => self.index(depth - 1).mul(self.leaf()),
            7 => Index::Shl(Box::new(self.index(depth - 1)), self.of(&[1, 2, 29, 31])),
            _ => self.leaf(),
        }
    }
}

/// Checks a proof by enumerating all threads; also with another number in the buffer.
#[test]
fn proofs_hold_for_all_threads_of_small_grids() {
    let mut random = Random(1);
    let (mut proved, mut refused, mut meet) = (0, 0, 0);
    for _ in 0..30_000 {
        let threads = [random.of(&[1, 2, 3, 5, 7, 8, 9]), random.of(&[1, 1, 2, 3, 4])];
        let mut launch = Launch {
            threads,
            size: random.of(&[1, 2, 3, 4, 8]),
            uniform: random.of(&[0, 1, 2, 5, 7, 8, 9, u32::MAX, 1 << 31]),
            known: random.below(2) == 0,
        };
        let write = Place {
            index: random.index(3),
            other: if random.below(2) == 0 { Const(0) } else { random.index(2) },
            signed: random.below(3) == 0,
            offset: random.of(&[0, 0, 4, -4, 8]),
        };
        let mut read = write.clone();
        match random.below(4) {
            0 => read.offset += random.of(&[4, -4, 2]),
            1 => read.index = read.index.add(random.leaf()),
            2 => (read.index, read.signed) = (random.index(2), random.below(3) == 0),
            _ => {}
        }
        let meets = launch.threads_meet(&write, &read);
        meet += usize::from(meets);
        if launch.is_proved(&write, &read) {
            proved += 1;
            assert!(!meets, "{launch:?}\n{write:?}\n{read:?}");
            if !launch.known {
                launch.uniform = random.of(&[3, 6, 1 << 30, u32::MAX - 1]);
                assert!(!launch.threads_meet(&write, &read), "{launch:?}\n{write:?}\n{read:?}");
            }
        } else {
            refused += 1;
        }
    }
    assert!(proved > 1_000 && refused > 1_000 && meet > 1_000, "{proved} {refused} {meet}");
}
