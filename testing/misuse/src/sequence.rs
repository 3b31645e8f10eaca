//! One random sequence of calls.
//!
//! Owns [`run`]. A sequence mixes valid calls, so that objects exist and work runs, with hostile ones.
//! What must hold after each call is checked: a known status, a reason without "bug", nothing written by
//! a call that failed, nothing written beyond the bytes that were requested, and the bytes of a buffer
//! that no kernel wrote. Invariant: memory that the caller promises is really there, since a C library
//! cannot check that; everything else is arbitrary.

use std::ffi::{CStr, c_char, c_int, c_void};

use anymetal_ir_random::Rng;

use crate::abi::{
    Argument, ArgumentInfo, Grid, Handle, LinkedFunction, anymetal_buffer_borrow, anymetal_buffer_length,
    anymetal_buffer_make, anymetal_buffer_read, anymetal_buffer_release, anymetal_buffer_write,
    anymetal_device_name, anymetal_device_open, anymetal_device_release, anymetal_function_table_make,
    anymetal_function_table_release, anymetal_function_table_set, anymetal_kernel_argument,
    anymetal_kernel_argument_count, anymetal_kernel_is_machine_code, anymetal_kernel_make,
    anymetal_kernel_make_linked, anymetal_kernel_max_threads_per_threadgroup, anymetal_kernel_release,
    anymetal_last_error, anymetal_launch, anymetal_launch_within, anymetal_library_compile,
    anymetal_library_release, anymetal_queue_make, anymetal_queue_release, anymetal_submission_is_done,
    anymetal_submission_release, anymetal_submission_wait,
};

const OK: c_int = 0;
const BUG: c_int = 7;
const CALLS: usize = 60;
/// Bytes of a block of the program's own memory, between two guards.
const BLOCK: usize = 4096;
const GUARD: u8 = 0xa7;

const SOURCES: [&str; 4] = [
    "kernel void f(device int* x, constant int& a, threadgroup int* t, uint i [[thread_position_in_grid]]) { \
     t[0] = a; x[i] = t[0]; }",
    "#include <metal_stdlib>\nusing namespace metal;\n[[visible]] int twice(int x) { return 2 * x; }\n\
     [[visible]] int square(int x) { return x * x; }\n\
     kernel void g(device int* x, visible_function_table<int(int)> ops, uint i [[thread_position_in_grid]]) { \
     x[i] = ops[i % 4](x[i]); }",
    "kernel void f(device const char* x, device char* y, constant float4* a) { y[0] = x[1] + char(a[1].x); }",
    "kernel void f(device int* x) { x[0] = unknown; } \u{1f980}",
];

/// The types of handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Device,
    Library,
    Kernel,
    Buffer,
    Table,
    Queue,
    Submission,
}

const KINDS: [Kind; 7] =
    [Kind::Device, Kind::Library, Kind::Kernel, Kind::Buffer, Kind::Table, Kind::Queue, Kind::Submission];

/// A handle that was made.
#[derive(Clone)]
struct Object {
    kind: Kind,
    handle: Handle,
    is_live: bool,
    /// The bytes of a buffer as far as they are known: until a kernel is given the buffer.
    bytes: Option<Vec<u8>>,
}

/// How calls ended.
#[derive(Default, Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) succeeded: u64,
    pub(crate) refused: u64,
}

struct World {
    rng: Rng,
    objects: Vec<Object>,
    /// Memory of the program: guard, block, guard.
    memory: Box<[u8]>,
    counts: Counts,
    problem: Option<String>,
}

/// Runs the sequence of a seed; an error names the check that failed.
pub(crate) fn run(seed: u64) -> Result<Counts, String> {
    let memory = vec![GUARD; 3 * BLOCK].into_boxed_slice();
    let mut world =
        World { rng: Rng::new(seed), objects: Vec::new(), memory, counts: Counts::default(), problem: None };
    world.open();
    for _ in 0..CALLS {
        world.step();
        world.check_guards();
        if let Some(problem) = world.problem.take() {
            return Err(problem);
        }
    }
    world.close();
    world.problem.map_or(Ok(world.counts), Err)
}

/// The reason of the last failure.
fn reason() -> String {
    // SAFETY: the library returns a string that is valid until the thread's next call.
    unsafe { CStr::from_ptr(anymetal_last_error()) }.to_string_lossy().into_owned()
}

impl World {
    /// A device, a queue, a library with a kernel and a buffer, so that most calls have what they need.
    fn open(&mut self) {
        self.open_device(c"cpu".as_ptr());
        for source in [0, 1] {
            self.compile(source);
        }
        self.make_queue();
        self.make_kernel();
        self.make_buffer();
    }

    /// Releases all in random order, and some twice.
    fn close(&mut self) {
        for _ in 0..self.objects.len() / 4 {
            self.release();
        }
        for at in 0..self.objects.len() {
            if self.objects[at].is_live {
                self.release_at(at);
            }
        }
        if let Some(lost) = self.objects.iter().find(|object| object.is_live) {
            self.problem = Some(format!("{:?} is live at the end", lost.kind));
        }
    }

    fn step(&mut self) {
        match self.rng.below(20) {
            0 => {
                let name = self.text(&[c"cpu", c"nowhere", c""]);
                self.open_device(name);
            }
            1 => {
                let source = self.rng.below(SOURCES.len());
                self.compile(source);
            }
            2 => self.make_kernel(),
            3 => self.make_linked(),
            4 | 5 => self.make_buffer(),
            6 => self.borrow(),
            7 | 8 => self.read(),
            9 | 10 => self.write(),
            11 => self.make_table(),
            12 => self.set_table(),
            13 => self.make_queue(),
            14..=16 => self.launch(),
            17 => self.wait(),
            18 => self.questions(),
            _ => self.release(),
        }
    }

    // ---- Arguments

    /// Mostly a live handle of the kind; else a stale one, one of another kind, or an arbitrary value.
    fn handle(&mut self, kind: Kind) -> Handle {
        let fits = |object: &&Object, live| object.kind == kind && object.is_live == live;
        let hostile = self.rng.one_in(8);
        let wanted: Vec<Handle> = match (hostile, self.rng.below(4)) {
            (false, _) => self.objects.iter().filter(|one| fits(one, true)).map(|one| one.handle).collect(),
            (true, 0) => self.objects.iter().filter(|one| fits(one, false)).map(|one| one.handle).collect(),
            (true, 1) => self.objects.iter().filter(|one| one.kind != kind).map(|one| one.handle).collect(),
            (true, _) => Vec::new(),
        };
        if !wanted.is_empty() {
            return self.rng.pick(&wanted);
        }
        let address = self.memory.as_mut_ptr().cast::<c_void>();
        let number = self.rng.next() as usize;
        let near = self.objects.last().map_or(0, |last| last.handle.addr()).wrapping_add(number % 5);
        let arbitrary: [usize; 6] = [0, 1, address.addr(), number, near, usize::MAX];
        std::ptr::without_provenance_mut(self.rng.pick(&arbitrary))
    }

    /// A length: mostly small, else zero, at a border, or huge.
    fn length(&mut self, usual: usize) -> usize {
        if !self.rng.one_in(6) {
            return usual;
        }
        let shift = self.rng.below(64);
        let random = self.rng.next() as usize;
        self.rng.pick(&[0, 1, usual + 1, 1 << shift, (1 << shift) - 1, usize::MAX, usize::MAX - 3, random])
    }

    fn text(&mut self, usual: &[&'static CStr]) -> *const c_char {
        match self.rng.below(10) {
            0 => std::ptr::null(),
            1 => c"\xff\xfe".as_ptr(),
            2 => c"a name that nothing has: \n%s%n".as_ptr(),
            _ => self.rng.pick(usual).as_ptr(),
        }
    }

    /// An address in the block; `count` bytes from it on are there if `count` is at most 64.
    fn address(&mut self) -> *mut c_void {
        if self.rng.one_in(12) {
            return std::ptr::null_mut();
        }
        let at = BLOCK + self.rng.below(BLOCK - 64);
        self.memory[at..].as_mut_ptr().cast()
    }

    // ---- Ends of calls

    fn ended(&mut self, call: &str, status: c_int) -> bool {
        self.counts.calls += 1;
        let is_known = (OK..BUG).contains(&status);
        let text = if status == OK { String::new() } else { reason() };
        if !is_known || text.contains("bug of anymetal") || text.contains("panicked") {
            self.problem = Some(format!("{call}: status {status}, {text:?}"));
        } else if status != OK && text.is_empty() {
            self.problem = Some(format!("{call}: status {status} without a reason"));
        }
        match status == OK {
            true => self.counts.succeeded += 1,
            false => self.counts.refused += 1,
        }
        status == OK
    }

    /// A place for a handle, and what it holds before the call. Some are NULL, some are not aligned.
    fn made(&mut self, call: &str, kind: Kind, make: impl FnOnce(*mut Handle) -> c_int) -> Option<usize> {
        const NOTHING: usize = 0x5a5a_5a5a_5a5a_5a5a;
        let mut places = [NOTHING; 2].map(std::ptr::without_provenance_mut::<c_void>);
        let first = places.as_mut_ptr();
        let place = match self.rng.below(24) {
            0 => std::ptr::null_mut(),
            1 => first.cast::<u8>().wrapping_add(3).cast(),
            _ => first,
        };
        let status = make(place);
        let is_made = self.ended(call, status);
        let is_written = places[0].addr() != NOTHING;
        let is_optional = kind == Kind::Submission && place.is_null();
        if is_made && place != first && !is_optional {
            self.problem = Some(format!("{call}: a result without a place"));
        }
        if is_written != (is_made && place == first) || places[1].addr() != NOTHING {
            self.problem = Some(format!("{call}: status {status}, and the place is written: {is_written}"));
        }
        if !is_written {
            return None;
        }
        self.objects.push(Object { kind, handle: places[0], is_live: true, bytes: None });
        Some(self.objects.len() - 1)
    }

    fn check_guards(&mut self) {
        let block = &self.memory;
        let guards = block[..BLOCK].iter().chain(&block[2 * BLOCK..]);
        if self.problem.is_none() && guards.into_iter().any(|&byte| byte != GUARD) {
            self.problem = Some("memory outside of what the library was given was written".to_owned());
        }
    }

    // ---- Calls

    fn open_device(&mut self, name: *const c_char) {
        // SAFETY: the name is NULL or a string, the place NULL or may be written.
        self.made("device_open", Kind::Device, |place| unsafe { anymetal_device_open(name, place) });
    }

    fn compile(&mut self, source: usize) {
        let (device, source) = (self.handle(Kind::Device), SOURCES[source]);
        let mut length = self.length(source.len());
        // Shorter is valid; what is longer must be beyond the limit, since the bytes are not there.
        if length > source.len() && length <= 64 << 20 {
            length = source.len() / 2;
        }
        let mode = if self.rng.one_in(10) { self.rng.next() as c_int } else { self.rng.below(3) as c_int };
        let start = if self.rng.one_in(20) { std::ptr::null() } else { source.as_ptr() };
        // SAFETY: the source has the length or the length is refused; the place is NULL or may be written.
        self.made("library_compile", Kind::Library, |place| unsafe {
            anymetal_library_compile(device, start.cast(), length, mode, place)
        });
    }

    fn make_kernel(&mut self) {
        let (library, name) = (self.handle(Kind::Library), self.text(&[c"f", c"g"]));
        // SAFETY: the name is NULL or a string, the place NULL or may be written.
        self.made("kernel_make", Kind::Kernel, |place| unsafe { anymetal_kernel_make(library, name, place) });
    }

    fn make_linked(&mut self) {
        let functions: [LinkedFunction; 2] = std::array::from_fn(|_| LinkedFunction {
            library: self.handle(Kind::Library),
            name: self.text(&[c"twice", c"square"]),
            alias: self.text(&[c"next", c"twice"]),
        });
        let (library, name) = (self.handle(Kind::Library), self.text(&[c"g", c"f"]));
        let count = self.rng.pick(&[0, 1, 2, 2, 2, (1 << 16) + 1, usize::MAX, usize::MAX / 24, 1 << 60]);
        let start = if self.rng.one_in(20) { std::ptr::null() } else { functions.as_ptr() };
        // SAFETY: two functions are there and larger counts are refused; strings are strings or NULL.
        self.made("kernel_make_linked", Kind::Kernel, |place| unsafe {
            anymetal_kernel_make_linked(library, name, start, count, place)
        });
    }

    fn make_buffer(&mut self) {
        let device = self.handle(Kind::Device);
        let mut length = self.rng.pick(&[0, 1, 4, 16, 64, 1000, 4096]);
        length = self.length(length);
        // Large ones that a machine may have are left out: the campaign's own memory is watched.
        if length > 1 << 20 && length < 1 << 48 {
            length = 1 << 20;
        }
        // SAFETY: the place is NULL or may be written.
        let made = self.made("buffer_make", Kind::Buffer, |place| unsafe {
            anymetal_buffer_make(device, length, place)
        });
        if let Some(at) = made {
            self.objects[at].bytes = Some(vec![0; length]);
        }
    }

    fn borrow(&mut self) {
        let device = self.handle(Kind::Device);
        // Never freed: work whose submission was released may still use it when the sequence has ended.
        let block: &'static mut [u64] = Vec::leak(vec![0; 64]);
        let start: *mut c_void =
            if self.rng.one_in(12) { std::ptr::null_mut() } else { block.as_mut_ptr().cast() };
        let mut length = self.length(512);
        // The bytes must be there or the length be one that no memory has.
        if length > 512 && length < 1 << 57 {
            length = 17;
        }
        // SAFETY: the block has the bytes, and is never freed.
        self.made("buffer_borrow", Kind::Buffer, |place| unsafe {
            anymetal_buffer_borrow(device, start, length, place)
        });
    }

    /// The known bytes of a live buffer.
    fn bytes_of(&mut self, handle: Handle) -> Option<&mut Vec<u8>> {
        self.objects.iter_mut().find(|one| one.is_live && one.handle == handle)?.bytes.as_mut()
    }

    /// Offset and count of a copy; the count is at most 64 where the address has to have the bytes.
    fn range(&mut self, buffer: Handle) -> (usize, usize) {
        // SAFETY: any value may be passed.
        let len = unsafe { anymetal_buffer_length(buffer) };
        let count = self.rng.below(len.min(64) + 1);
        let offset = self.rng.below(len - count + 1);
        let (offset, count) = (self.length(offset), self.length(count));
        // Counts between are valid for large buffers, and the block does not have them.
        let is_there = count <= 64 || count > len;
        (offset, if is_there { count } else { 64.min(len) })
    }

    fn read(&mut self) {
        let buffer = self.handle(Kind::Buffer);
        let ((offset, count), address) = (self.range(buffer), self.address());
        let before = self.memory.clone();
        // SAFETY: 64 bytes are at the address, or it is NULL; larger counts exceed the buffer.
        let status = unsafe { anymetal_buffer_read(buffer, offset, address, count) };
        let is_read = self.ended("buffer_read", status);
        let at = address.addr().wrapping_sub(self.memory.as_ptr().addr());
        let mut expected = before;
        if is_read && count > 0 {
            let read = self.memory[at..at + count].to_vec();
            expected[at..at + count].copy_from_slice(&read);
            let known = self.bytes_of(buffer).map(|bytes| bytes[offset..offset + count] == read[..]);
            if known == Some(false) {
                self.problem = Some(format!("{count} bytes from {offset} on are not those written before"));
            }
        }
        if self.memory != expected {
            self.problem = Some(format!("status {status}: more than {count} bytes were written"));
        }
    }

    fn write(&mut self) {
        let buffer = self.handle(Kind::Buffer);
        let ((offset, count), address) = (self.range(buffer), self.address());
        for at in 0..BLOCK / 64 {
            self.memory[BLOCK + at * 64] = self.rng.next() as u8;
        }
        // SAFETY: 64 bytes are at the address, or it is NULL; larger counts exceed the buffer.
        let status = unsafe { anymetal_buffer_write(buffer, offset, address, count) };
        if self.ended("buffer_write", status) && count > 0 {
            let at = address.addr().wrapping_sub(self.memory.as_ptr().addr());
            let written = self.memory[at..at + count].to_vec();
            if let Some(bytes) = self.bytes_of(buffer) {
                bytes[offset..offset + count].copy_from_slice(&written);
            }
        }
    }

    fn make_table(&mut self) {
        let names: [*const c_char; 4] = std::array::from_fn(|_| self.text(&[c"twice", c"square"]));
        let kernel = self.handle(Kind::Kernel);
        let count = self.rng.pick(&[0, 1, 2, 3, 4, 4, (1 << 16) + 1, 1 << 32, 1 << 61, usize::MAX]);
        let start = if self.rng.one_in(20) { std::ptr::null() } else { names.as_ptr() };
        // SAFETY: four names are there and larger counts are refused.
        self.made("function_table_make", Kind::Table, |place| unsafe {
            anymetal_function_table_make(kernel, start, count, place)
        });
    }

    fn set_table(&mut self) {
        let (table, index) = (self.handle(Kind::Table), self.rng.below(4));
        let (index, name) = (self.length(index), self.text(&[c"twice", c"square"]));
        // SAFETY: the name is NULL or a string.
        let status = unsafe { anymetal_function_table_set(table, index, name) };
        self.ended("function_table_set", status);
    }

    fn make_queue(&mut self) {
        let device = self.handle(Kind::Device);
        // SAFETY: the place is NULL or may be written.
        self.made("queue_make", Kind::Queue, |place| unsafe { anymetal_queue_make(device, place) });
    }

    fn argument(&mut self) -> Argument {
        let kind = match self.rng.below(14) {
            0 => self.rng.next() as c_int,
            1..=4 => 1,
            other => (other % 7) as c_int,
        };
        let offset = self.rng.pick(&[0, 0, 4, 8, 3]);
        let length = self.rng.pick(&[4, 4, 16, 32, 0]);
        let mut argument = Argument {
            kind,
            buffer: self.handle(Kind::Buffer),
            offset: self.length(offset),
            integer: self.rng.pick(&[0, 1, 7, -1, i64::MIN, i64::MAX, 1 << 32]),
            number: self.rng.pick(&[0.5, 2.0, f64::NAN, f64::INFINITY, -1e300]),
            bytes: self.address(),
            length: self.length(length),
            functions: self.handle(Kind::Table),
        };
        // 64 bytes are there; what is more must be beyond the limit.
        if argument.length > 64 && argument.length <= 4096 {
            argument.length = 64;
        }
        argument
    }

    fn launch(&mut self) {
        let (queue, kernel) = (self.handle(Kind::Queue), self.handle(Kind::Kernel));
        let mut arguments: [Argument; 4] = std::array::from_fn(|_| self.argument());
        // What the first kernel takes, more often than chance has it.
        if !self.rng.one_in(3) {
            arguments[0].kind = 1;
            arguments[1].kind = self.rng.pick(&[2, 4, 6]);
            arguments[2].kind = 5;
            arguments[2].integer = 0;
        }
        let count = self.rng.pick(&[0, 1, 2, 2, 3, 3, 3, 3, 4, 1 << 20, 1 << 58, usize::MAX]);
        let start = match self.rng.below(24) {
            0 => std::ptr::null(),
            1 => arguments.as_ptr().cast::<u8>().wrapping_add(1).cast(),
            _ => arguments.as_ptr(),
        };
        let mut grid = Grid {
            threads: std::array::from_fn(|_| self.rng.pick(&[1, 1, 1, 2, 7, 0])),
            group_size: std::array::from_fn(|_| self.rng.pick(&[1, 1, 2, 4])),
        };
        if self.rng.one_in(2) {
            grid.group_size = [0; 3];
        }
        if self.rng.one_in(10) {
            grid.threads = [u32::MAX; 3];
        }
        if self.rng.one_in(10) {
            grid.group_size[self.rng.below(3)] = self.rng.pick(&[0, 1025, u32::MAX]);
        }
        // Whatever happens, the buffers' bytes are not known after.
        for argument in &arguments {
            let given = self.objects.iter_mut().filter(|one| one.handle == argument.buffer);
            given.for_each(|one| one.bytes = None);
        }
        let deadline = self.rng.one_in(4).then(|| self.rng.pick(&[0.0, 60.0, -1.0, 1e300, f64::NAN]));
        // Without a deadline the largest grid would not end.
        let deadline = deadline.filter(|seconds| *seconds > 0.0 || grid.threads[0] != u32::MAX);
        // SAFETY: four arguments are there, and no kernel here declares more; their bytes are there, or
        // their lengths are refused; the place is NULL or may be written.
        self.made("launch", Kind::Submission, |place| unsafe {
            match deadline {
                None => anymetal_launch(queue, kernel, start, count, grid, place),
                Some(seconds) => anymetal_launch_within(queue, kernel, start, count, grid, seconds, place),
            }
        });
    }

    fn wait(&mut self) {
        let submission = self.handle(Kind::Submission);
        let mut seconds = [0.0f64; 2];
        let place = match self.rng.below(8) {
            0 => std::ptr::null_mut(),
            1 => seconds.as_mut_ptr().cast::<u8>().wrapping_add(1).cast(),
            _ => seconds.as_mut_ptr(),
        };
        // SAFETY: the place is NULL, or within the two numbers.
        let status = unsafe { anymetal_submission_wait(submission, place) };
        self.ended("submission_wait", status);
    }

    /// Functions without a status.
    fn questions(&mut self) {
        let [device, kernel, submission] =
            [Kind::Device, Kind::Kernel, Kind::Submission].map(|kind| self.handle(kind));
        let number = self.rng.below(3);
        let number = self.length(number);
        let mut info: ArgumentInfo = [0; 4];
        // SAFETY: any handle may be passed, the place may be written; the name is a string.
        let (name, status) = unsafe {
            let _ = anymetal_kernel_max_threads_per_threadgroup(kernel);
            let _ = anymetal_kernel_is_machine_code(kernel);
            let _ = anymetal_kernel_argument_count(kernel);
            let _ = anymetal_submission_is_done(submission);
            let status = anymetal_kernel_argument(kernel, number, &raw mut info);
            (CStr::from_ptr(anymetal_device_name(device)).to_bytes().to_vec(), status)
        };
        self.ended("kernel_argument", status);
        let is_live =
            self.objects.iter().any(|one| one.kind == Kind::Device && one.is_live && one.handle == device);
        if is_live == name.is_empty() {
            self.problem = Some(format!("device_name: {name:?}"));
        }
    }

    /// Releases an object, or again, or with the function of another type.
    fn release(&mut self) {
        if self.objects.is_empty() {
            return;
        }
        let at = self.rng.below(self.objects.len());
        if self.rng.one_in(4) {
            let (kind, handle) = (self.rng.pick(&KINDS), self.objects[at].handle);
            if kind != self.objects[at].kind {
                // SAFETY: any handle may be passed.
                unsafe { release(kind, handle) };
                self.counts.calls += 1;
                return;
            }
        }
        self.release_at(at);
    }

    fn release_at(&mut self, at: usize) {
        let object = &mut self.objects[at];
        object.is_live = false;
        self.counts.calls += 1;
        // SAFETY: any handle may be passed.
        unsafe { release(object.kind, object.handle) };
    }
}

/// # Safety
///
/// None for the handle.
unsafe fn release(kind: Kind, handle: Handle) {
    // SAFETY: any handle may be passed.
    unsafe {
        match kind {
            Kind::Device => anymetal_device_release(handle),
            Kind::Library => anymetal_library_release(handle),
            Kind::Kernel => anymetal_kernel_release(handle),
            Kind::Buffer => anymetal_buffer_release(handle),
            Kind::Table => anymetal_function_table_release(handle),
            Kind::Queue => anymetal_queue_release(handle),
            Kind::Submission => anymetal_submission_release(handle),
        }
    }
}
