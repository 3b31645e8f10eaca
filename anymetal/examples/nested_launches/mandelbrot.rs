//! The Mandelbrot set by adaptive subdivision (Mariani and Silver): a square whose edge has one number of
//! steps is filled with it, any other is divided into four, each with a launch that its parent encodes.

use std::path::Path;

use anymetal::{Buffer, ComputeEncoder, Device, Error, Pipeline, Queue};

use crate::compare::{MAX_DEPTH, Outcome, PingPong, Took, compare, library, timed};
use crate::picture;

const SIZE: u32 = 1024;
/// The squares that the host begins with, and the smallest that are divided.
const FIRST: u32 = 128;
const LAST: u32 = 16;
const STEPS: u32 = 1024;
const GROUP: u32 = 64;
const MAX_COMMANDS: u32 = 1 << 14;
const LEFT: f32 = -1.5;
const TOP: f32 = -1.125;
const WIDTH: f32 = 2.25;

const SOURCE: &str = r"
#include <metal_stdlib>
#include <metal_command_buffer>
using namespace metal;

struct View { float left, top, width; uint size, last, steps; };
struct Square { ushort x, y; uint size; };
struct Nested { command_buffer commands[2]; compute_pipeline_state divide; };

static uint steps_at(uint x, uint y, View view) {
    float scale = view.width / float(view.size);
    float cx = view.left + float(x) * scale, cy = view.top + float(y) * scale;
    float zx = 0.0f, zy = 0.0f;
    uint step = 0;
    for (; step < view.steps; step++) {
        float xx = zx * zx, yy = zy * zy;
        if (xx + yy > 4.0f) break;
        zy = 2.0f * zx * zy + cy;
        zx = xx - yy + cx;
    }
    return step;
}

// Whether the square is done: filled, or computed. Fills `least` and `most`.
static bool finish(device uint* image, Square square, View view, threadgroup atomic_uint* bounds, uint lane,
                   uint size) {
    if (lane == 0) {
        atomic_store_explicit(bounds, 0xffffffffu, memory_order_relaxed);
        atomic_store_explicit(bounds + 1, 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint edge = square.size - 1, least = 0xffffffff, most = 0;
    for (uint i = lane; i < 4 * edge; i += size) {
        uint side = i / edge, at = i % edge;
        uint x = side == 0 ? at : side == 1 ? edge : side == 2 ? edge - at : 0;
        uint y = side == 0 ? 0 : side == 1 ? at : side == 2 ? edge : edge - at;
        uint steps = steps_at(square.x + x, square.y + y, view);
        least = min(least, steps);
        most = max(most, steps);
    }
    atomic_fetch_min_explicit(bounds, least, memory_order_relaxed);
    atomic_fetch_max_explicit(bounds + 1, most, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    least = atomic_load_explicit(bounds, memory_order_relaxed);
    most = atomic_load_explicit(bounds + 1, memory_order_relaxed);
    bool fills = least == most;
    if (!fills && square.size > view.last) return false;
    for (uint i = lane; i < square.size * square.size; i += size) {
        uint x = square.x + i % square.size, y = square.y + i / square.size;
        image[y * view.size + x] = fills ? least : steps_at(x, y, view);
    }
    return true;
}

#define THREADS uint lane [[thread_position_in_threadgroup]], uint size [[threads_per_threadgroup]]

kernel void divide_only(device uint* image [[buffer(0)]], constant Square& square [[buffer(1)]],
                        constant View& view [[buffer(2)]], THREADS) {
    threadgroup atomic_uint bounds[2];
    finish(image, square, view, bounds, lane, size);
}

kernel void clear(device uint* range [[buffer(0)]]) {
    range[0] = range[1] = 0;
    range[2] = 1;
}

// Squares take places in one list; commands take places in the indirect command buffer of their level.
kernel void divide(device uint* image [[buffer(0)]], device const Square& square [[buffer(1)]],
                   constant View& view [[buffer(2)]], device Square* squares [[buffer(3)]],
                   device atomic_uint* square_count [[buffer(4)]], constant Nested& nested [[buffer(5)]],
                   device uint* ranges [[buffer(6)]], THREADS) {
    threadgroup atomic_uint bounds[2];
    Square own = square;
    if (finish(image, own, view, bounds, lane, size) || lane >= 4) return;
    uint half_size = own.size / 2;
    uint at = atomic_fetch_add_explicit(square_count, 1u, memory_order_relaxed);
    squares[at] = { ushort(own.x + (lane & 1) * half_size), ushort(own.y + (lane >> 1) * half_size), half_size };
    uint parity = ctz(half_size) & 1;
    device atomic_uint* range = (device atomic_uint*)(ranges + 4 * parity);
    uint place = atomic_fetch_add_explicit(range + 2, 1u, memory_order_relaxed);
    atomic_fetch_max_explicit(range + 1, place + 1, memory_order_relaxed);
    compute_command command(nested.commands[parity], place);
    command.set_compute_pipeline_state(nested.divide);
    command.set_barrier();
    command.set_kernel_buffer(image, 0);
    command.set_kernel_buffer(squares + at, 1);
    command.set_kernel_buffer(&view, 2);
    command.set_kernel_buffer(squares, 3);
    command.set_kernel_buffer(square_count, 4);
    command.set_kernel_buffer(&nested, 5);
    command.set_kernel_buffer(ranges, 6);
    command.concurrent_dispatch_threadgroups(uint3(1), uint3(size, 1, 1));
}
";

/// A square of plain Rust's.
#[derive(Clone, Copy)]
struct Square {
    x: u32,
    y: u32,
    size: u32,
}

/// The image by plain Rust, and the squares in the order in which levels have them.
struct Reference {
    image: Vec<u32>,
    squares: Vec<Square>,
}

fn steps_at(x: u32, y: u32) -> u32 {
    let scale = WIDTH / SIZE as f32;
    let (cx, cy) = (LEFT + x as f32 * scale, TOP + y as f32 * scale);
    let (mut zx, mut zy) = (0f32, 0f32);
    for step in 0..STEPS {
        let (xx, yy) = (zx * zx, zy * zy);
        if xx + yy > 4.0 {
            return step;
        }
        zy = 2.0 * zx * zy + cy;
        zx = xx - yy + cx;
    }
    STEPS
}

impl Square {
    fn children(self) -> [Square; 4] {
        let size = self.size / 2;
        [0, 1, 2, 3].map(|at| Square { x: self.x + at % 2 * size, y: self.y + at / 2 * size, size })
    }

    fn edge(self) -> impl Iterator<Item = (u32, u32)> {
        let Square { x, y, size } = self;
        (0..size)
            .flat_map(move |at| [(x + at, y), (x + at, y + size - 1), (x, y + at), (x + size - 1, y + at)])
    }

    fn pixels(self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.size).flat_map(move |y| (0..self.size).map(move |x| (self.x + x, self.y + y)))
    }
}

fn first_squares() -> Vec<Square> {
    let side = SIZE / FIRST;
    let square = |at| Square { x: at % side * FIRST, y: at / side * FIRST, size: FIRST };
    (0..side * side).map(square).collect()
}

impl Reference {
    fn new() -> Reference {
        let mut squares = first_squares();
        let mut image = vec![0; (SIZE * SIZE) as usize];
        let mut next = 0;
        while let Some(&square) = squares.get(next) {
            next += 1;
            let first = steps_at(square.x, square.y);
            let fills = square.edge().all(|(x, y)| steps_at(x, y) == first);
            if !fills && square.size > LAST {
                squares.extend(square.children());
                continue;
            }
            for (x, y) in square.pixels() {
                image[(y * SIZE + x) as usize] = if fills { first } else { steps_at(x, y) };
            }
        }
        Reference { image, squares }
    }
}

struct Set {
    reference: Reference,
    queue: Queue,
    divide: Pipeline,
    divide_only: Pipeline,
    image: Buffer<u32>,
    view: Buffer<u32>,
    squares: Buffer<u32>,
    /// Those of the reference, for the host's form.
    known_squares: Buffer<u32>,
    square_count: Buffer<u32>,
    nested: PingPong,
    handles: Buffer<u64>,
    /// Of the commands that the host encodes, whose pipeline must exist.
    _clear: Pipeline,
}

fn words(squares: &[Square]) -> Vec<u32> {
    squares.iter().flat_map(|square| [square.x | square.y << 16, square.size]).collect()
}

impl Set {
    fn new(device: &Device) -> Outcome<Set> {
        let (reference, library) = (Reference::new(), library(device, SOURCE)?);
        let (divide, clear) = (library.pipeline("divide")?, library.pipeline("clear")?);
        let nested = PingPong::new(device, MAX_COMMANDS, 7)?;
        for (at, commands) in nested.commands.iter().enumerate() {
            let mut command = commands.command(0)?;
            command.set_pipeline(&clear)?.set_buffer(0, &nested.ranges, 4 * (1 - at))?;
            command.dispatch_threads(1, 1)?;
        }
        let [one, other] = [0, 1].map(|at: usize| nested.commands[at].gpu_resource_id());
        let view = [LEFT.to_bits(), TOP.to_bits(), WIDTH.to_bits(), SIZE, LAST, STEPS];
        Ok(Set {
            queue: device.queue()?,
            divide_only: library.pipeline("divide_only")?,
            image: device.buffer_zeroed((SIZE * SIZE) as usize)?,
            view: device.buffer(&view)?,
            squares: device.buffer_zeroed(2 * (MAX_COMMANDS as usize + reference.squares.len()))?,
            known_squares: device.buffer(&words(&reference.squares))?,
            square_count: device.buffer_zeroed(1)?,
            handles: device.buffer(&[one, other, divide.gpu_resource_id()])?,
            divide,
            nested,
            reference,
            _clear: clear,
        })
    }

    fn begin(&self) -> Result<(), Error> {
        let first = first_squares();
        self.squares.write_at(0, &words(&first))?;
        self.square_count.write(&[first.len() as u32])?;
        self.image.write(&vec![u32::MAX; (SIZE * SIZE) as usize])?;
        self.nested.ranges.write(&[0, 0, 1, 0, 0, 0, 1, 0])
    }

    fn check(&self) -> Outcome<()> {
        match self.image.read()? == self.reference.image {
            true => Ok(()),
            false => Err("the set differs from plain Rust's".into()),
        }
    }

    fn nested(&self) -> Outcome<Took> {
        self.begin()?;
        let took = timed(|| {
            let mut commands = self.queue.command_buffer()?;
            let mut encoder = commands.compute_encoder();
            encoder.set_pipeline(&self.divide);
            encoder.use_indirect_command_buffer(&self.nested.commands[0])?;
            encoder.use_indirect_command_buffer(&self.nested.commands[1])?;
            encoder.set_buffer(0, &self.image, 0)?;
            encoder.set_buffer(2, &self.view, 0)?;
            encoder.set_buffer(3, &self.squares, 0)?;
            encoder.set_buffer(4, &self.square_count, 0)?;
            encoder.set_buffer(5, &self.handles, 0)?;
            encoder.set_buffer(6, &self.nested.ranges, 0)?;
            self.each_square(&mut encoder, &self.squares, first_squares().len())?;
            // Commands for squares of half the first size come first.
            let first = (FIRST / 2).trailing_zeros() as usize % 2;
            let view = |at: usize| self.nested.ranges.view(4 * at..4 * at + 2);
            let (ranges, commands_of) = ([view(first)?, view(1 - first)?], &self.nested.commands);
            let both = [(&commands_of[first], &ranges[0]), (&commands_of[1 - first], &ranges[1])];
            encoder.execute_commands_while_encoded(&both, MAX_DEPTH)?;
            encoder.end_encoding();
            commands.commit()?.wait().map(drop)
        })?;
        self.check()?;
        Ok(took)
    }

    fn each_square(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        squares: &Buffer<u32>,
        count: usize,
    ) -> Result<(), Error> {
        for square in 0..count {
            encoder.set_buffer(1, squares, 2 * square)?;
            encoder.dispatch_threadgroups(1, GROUP)?;
        }
        Ok(())
    }

    /// The host knows all squares.
    fn host_driven(&self) -> Outcome<Took> {
        self.begin()?;
        let took = timed(|| {
            let mut commands = self.queue.command_buffer()?;
            let mut encoder = commands.compute_encoder();
            encoder.set_pipeline(&self.divide_only);
            encoder.set_buffer(0, &self.image, 0)?;
            encoder.set_buffer(2, &self.view, 0)?;
            self.each_square(&mut encoder, &self.known_squares, self.reference.squares.len())?;
            encoder.end_encoding();
            commands.commit()?.wait().map(drop)
        })?;
        self.check()?;
        Ok(took)
    }

    fn draw(&self, folder: &Path) -> Outcome<()> {
        let color = |&steps: &u32| match steps {
            STEPS => [0, 0, 0],
            steps => {
                let at = (steps as f32 / STEPS as f32).powf(0.35);
                [at * at, at * 0.8, 0.25 + 0.75 * at].map(|part| (part.min(1.0) * 255.0) as u8)
            }
        };
        let mut pixels: Vec<[u8; 3]> = self.image.read()?.iter().map(color).collect();
        for square in &self.reference.squares {
            for (x, y) in square.edge().filter(|&(x, y)| x == square.x || y == square.y) {
                let pixel = &mut pixels[(y * SIZE + x) as usize];
                *pixel = pixel.map(|part| part.saturating_add(24));
            }
        }
        picture::write(folder, "mandelbrot.png", SIZE as usize, &pixels)
    }
}

pub(crate) fn run(device: &Device, pictures: Option<&Path>) -> Outcome<()> {
    let set = Set::new(device)?;
    let launches = set.reference.squares.len();
    let what = format!("Mandelbrot set, {SIZE}x{SIZE} pixels, {launches} launches");
    compare(&what, || set.nested(), || set.host_driven())?;
    pictures.map_or(Ok(()), |folder| set.draw(folder))
}
