//! One launch and what must come out of it. Plain data.

use crate::compare::Tolerance;
use crate::data::Data;
use crate::pointers::PointerTo;
use std::ops::Range;

/// The grid of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grid {
    /// A number of threads; threadgroups at the edge may be partial.
    Threads([u32; 3]),
    /// A number of full threadgroups.
    Groups([u32; 3]),
}

/// The binding of an argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Binding {
    /// A buffer with those bytes, bound from an offset on.
    Buffer {
        /// Its contents.
        bytes: Vec<u8>,
        /// The first byte that the kernel sees.
        offset: usize,
    },
    /// The buffer that is bound at another index, once more.
    Alias {
        /// That index.
        of: u32,
        /// The bytes of the buffer that are bound; `None`: those that the other argument binds.
        bytes: Option<Range<usize>>,
    },
    /// Nothing.
    Unbound,
    /// Bytes of threadgroup memory.
    Threadgroup(u64),
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    /// Metal's index, of buffers or of threadgroup memory.
    pub index: u32,
    /// Its binding.
    pub binding: Binding,
}

/// The value of a function constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    /// Of type `bool`.
    Bool(bool),
    /// Of an integer type.
    Integer(i64),
    /// Of a floating-point type.
    Float(f64),
}

/// A launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// The entry point.
    pub kernel: String,
    /// Function constants by index.
    pub constants: Vec<(u32, Constant)>,
    /// Arguments, in any order.
    pub args: Vec<Arg>,
    /// The grid.
    pub grid: Grid,
    /// Threads per threadgroup.
    pub group: [u32; 3],
    /// Addresses that are written into buffers beforehand.
    pub pointers: Vec<PointerTo>,
}

/// What a buffer must hold afterwards.
#[derive(Clone, PartialEq, Debug)]
pub struct Expected {
    /// The argument's index.
    pub index: u32,
    /// The contents, from the bound offset on; bytes after them are ignored.
    pub data: Data,
    /// How close an executor must come.
    pub tolerance: Tolerance,
    /// How close a device must come to the interpreter.
    pub agreement: Tolerance,
}

/// Whether a launch accesses memory out of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Faults {
    /// It does not.
    #[default]
    Never,
    /// It must.
    Always,
    /// For some inputs it reads past the end of an array and ignores the values, or stores there values that
    /// are not read.
    Harmless,
}

/// A launch with its outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Its distinguishing property, for messages.
    pub name: String,
    /// The launch.
    pub launch: Launch,
    /// Its outcome.
    pub expected: Vec<Expected>,
    /// Whether it ends with a fault: an access out of bounds.
    pub faults: Faults,
    /// Whether only some threads of a SIMD-group may reach a barrier. The specification forbids it, but
    /// SIMD-groups arrive as a whole, and public kernels rely on that.
    pub divergent_barriers: bool,
    /// Whether results come from library functions with a documented error, so that executors may differ in
    /// safe math mode too.
    pub library: bool,
}

impl Launch {
    /// A launch without arguments.
    pub fn new(kernel: &str, grid: Grid, group: [u32; 3]) -> Self {
        Self {
            kernel: kernel.to_owned(),
            constants: Vec::new(),
            args: Vec::new(),
            pointers: Vec::new(),
            grid,
            group,
        }
    }

    /// Binds elements at the next index.
    #[must_use]
    pub fn data(self, data: &Data) -> Self {
        self.data_from(data, 0)
    }

    /// Binds elements, from one of them on, at the next index.
    #[must_use]
    pub fn data_from(mut self, data: &Data, first: usize) -> Self {
        let mut bytes = data.bytes.clone();
        // Metal has no empty buffers.
        bytes.resize(bytes.len().max(first * data.dtype.size() + 16), 0);
        let binding = Binding::Buffer { bytes, offset: first * data.dtype.size() };
        let index = self.next_index();
        self.args.push(Arg { index, binding });
        self
    }

    /// Binds a scalar of those bytes at the next index.
    #[must_use]
    pub fn scalar(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let binding = Binding::Buffer { bytes: bytes.as_ref().to_vec(), offset: 0 };
        let index = self.next_index();
        self.args.push(Arg { index, binding });
        self
    }

    /// Binds a `size_t` at the next index.
    #[must_use]
    pub fn size(self, value: usize) -> Self {
        self.scalar((value as u64).to_le_bytes())
    }

    /// Binds an array of `size_t` at the next index.
    #[must_use]
    pub fn sizes(self, values: &[usize]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|&value| (value as u64).to_le_bytes()).collect();
        self.scalar(if bytes.is_empty() { vec![0; 8] } else { bytes })
    }

    /// Binds the buffer of another index once more, at the next index.
    #[must_use]
    pub fn alias(mut self, of: u32) -> Self {
        let index = self.next_index();
        self.args.push(Arg { index, binding: Binding::Alias { of, bytes: None } });
        self
    }

    /// Where the buffer of an argument is among the arguments: its own place, or that of another's.
    pub fn buffer_of(&self, position: usize) -> usize {
        let Binding::Alias { of, .. } = self.args[position].binding else { return position };
        let is_it = |arg: &Arg| arg.index == of && matches!(arg.binding, Binding::Buffer { .. });
        self.args.iter().position(is_it).unwrap_or(position)
    }

    /// The bytes that an argument binds of its buffer ([`Self::buffer_of`]); `None`: it binds none.
    pub fn bound_bytes(&self, position: usize) -> Option<Range<usize>> {
        if let Binding::Alias { bytes: Some(bytes), .. } = &self.args[position].binding {
            return Some(bytes.clone());
        }
        match &self.args[self.buffer_of(position)].binding {
            Binding::Buffer { bytes, offset } => Some(*offset..bytes.len()),
            Binding::Alias { .. } | Binding::Unbound | Binding::Threadgroup(_) => None,
        }
    }

    /// Gives threadgroup memory at an index.
    #[must_use]
    pub fn threadgroup(mut self, index: u32, bytes: u64) -> Self {
        self.args.push(Arg { index, binding: Binding::Threadgroup(bytes) });
        self
    }

    /// Sets a function constant.
    #[must_use]
    pub fn constant(mut self, index: u32, value: Constant) -> Self {
        self.constants.push((index, value));
        self
    }

    /// Threads of the grid.
    pub fn threads(&self) -> u64 {
        let volume = |sizes: [u32; 3]| sizes.iter().map(|&size| u64::from(size)).product::<u64>();
        match self.grid {
            Grid::Threads(threads) => volume(threads),
            Grid::Groups(groups) => volume(groups) * volume(self.group),
        }
    }

    fn next_index(&self) -> u32 {
        let buffers = self.args.iter().filter(|arg| !matches!(arg.binding, Binding::Threadgroup(_)));
        buffers.map(|arg| arg.index + 1).max().unwrap_or(0)
    }
}

impl Case {
    /// A launch whose outcome is exact.
    pub fn exact(name: impl Into<String>, launch: Launch, index: u32, data: Data) -> Self {
        Self::near(name, launch, index, data, Tolerance::Exact, Tolerance::Exact)
    }

    /// A launch with one output.
    pub fn near(
        name: impl Into<String>,
        launch: Launch,
        index: u32,
        data: Data,
        tolerance: Tolerance,
        agreement: Tolerance,
    ) -> Self {
        let expected = vec![Expected { index, data, tolerance, agreement }];
        Self {
            name: name.into(),
            launch,
            expected,
            faults: Faults::Never,
            divergent_barriers: false,
            library: false,
        }
    }

    /// The case of a kernel whose results come from library functions with a documented error.
    #[must_use]
    pub fn through_library(self, library: bool) -> Self {
        Self { library, ..self }
    }
}
