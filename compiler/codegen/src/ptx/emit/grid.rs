//! Positions of the thread.
//!
//! In threadgroups cut off at the grid's edge Metal numbers only the threads that exist, x fastest; the
//! hardware numbers all. So the hardware's linear index is divided anew by the real size, and threads beyond
//! the last one end at once: barriers and operations between lanes do without them.

use anymetal_ir::Query;

use super::Emitter;
use crate::llvm::{GLOBAL, I32, I64, IntPredicate, Opd};

/// What is known of the thread once the kernel has begun.
#[derive(Debug)]
pub(super) struct Grid {
    /// Parameters.
    pub(super) fault: Opd,
    pub(super) stop: Opd,
    /// The words of barriers of the grid, if the kernel has one.
    pub(super) barrier: Opd,
    pub(super) threads: [Opd; 3],
    /// The thread's linear index in its threadgroup.
    pub(super) linear: Opd,
    /// Its position in the threadgroup.
    position: [Opd; 3],
    /// The threadgroup's position, its size, and the full size.
    group: [Opd; 3],
    size: [Opd; 3],
    full: [Opd; 3],
    /// Threads of this threadgroup.
    count: Opd,
}

impl Grid {
    /// Along an axis: the threadgroup's position, the full size of threadgroups, the threads of the grid.
    pub(super) fn along(&self, axis: usize) -> (Opd, Opd, Opd) {
        (self.group[axis].clone(), self.full[axis].clone(), self.threads[axis].clone())
    }

    /// The number of threads of this threadgroup that exist.
    pub(super) fn count(&self) -> Opd {
        self.count.clone()
    }
}

impl Default for Grid {
    fn default() -> Self {
        let zeros = || [Opd::i32(0), Opd::i32(0), Opd::i32(0)];
        Self {
            fault: Opd::zero(GLOBAL),
            stop: Opd::zero(GLOBAL),
            barrier: Opd::zero(GLOBAL),
            threads: zeros(),
            linear: Opd::i32(0),
            position: zeros(),
            group: zeros(),
            size: zeros(),
            full: zeros(),
            count: Opd::i32(0),
        }
    }
}

impl Emitter<'_> {
    fn special(&mut self, name: &str, axis: usize) -> Opd {
        assert!(axis < 3, "axes are x, y and z");
        let name = format!("llvm.nvvm.read.ptx.sreg.{name}.{}", ["x", "y", "z"][axis]);
        self.t.call_declared(I32, &name, &[])
    }

    fn three(&mut self, mut make: impl FnMut(&mut Self, usize) -> Opd) -> [Opd; 3] {
        [make(self, 0), make(self, 1), make(self, 2)]
    }

    fn product(&mut self, of: &[Opd; 3]) -> Opd {
        let xy = self.t.mul(&of[0], &of[1]);
        self.t.mul(&xy, &of[2])
    }

    /// Computes the positions at the start of the kernel and ends threads that do not exist.
    pub(super) fn start_grid(&mut self) {
        let options = self.input.options;
        self.grid.group = self.three(|this, axis| this.special("ctaid", axis));
        self.grid.full = match options.group_size {
            Some(size) => size.map(|n| Opd::i32(i64::from(n))),
            None => self.three(|this, axis| this.special("ntid", axis)),
        };
        let thread = self.three(|this, axis| match this.grid.full[axis] {
            Opd::Int(_, 1) => Opd::i32(0),
            _ => this.special("tid", axis),
        });
        self.grid.linear = self.linear_of(&thread);
        if options.whole_threadgroups_only && options.group_size.is_some() {
            self.grid.size = self.grid.full.clone();
            self.grid.position = thread;
            self.grid.count = self.product(&self.grid.size.clone());
            let is_full = matches!(self.grid.count, Opd::Int(_, count) if count % 32 == 0);
            let count = self.grid.count.clone();
            return self.start_lanes((!is_full).then_some(&count));
        }
        self.grid.size = self.three(|this, axis| {
            let start = this.t.mul(&this.grid.group[axis].clone(), &this.grid.full[axis].clone());
            let left = this.t.sub(&this.grid.threads[axis].clone(), &start);
            let full = this.grid.full[axis].clone();
            this.t.intrinsic("umin", "", &[&full, &left])
        });
        self.grid.count = self.product(&self.grid.size.clone());
        let full = self.product(&self.grid.full.clone());
        self.renumber(thread, &full);
        let count = self.grid.count.clone();
        self.start_lanes(Some(&count));
    }

    fn linear_of(&mut self, thread: &[Opd; 3]) -> Opd {
        let [x, y, z] = thread;
        let planes = self.t.mul(z, &self.grid.full[1].clone());
        let rows = self.t.add(y, &planes);
        let rows = self.t.mul(&rows, &self.grid.full[0].clone());
        self.t.add(x, &rows)
    }

    /// Positions in whole threadgroups are the hardware's; in others they are computed.
    fn renumber(&mut self, thread: [Opd; 3], full: &Opd) {
        self.t.expect(full, I32);
        let (cut, exists, join, gone) = (self.t.block(), self.t.block(), self.t.block(), self.t.block());
        let count = self.grid.count.clone();
        let is_whole = self.t.icmp(IntPredicate::Eq, &count, full);
        let before = self.t.current();
        self.t.branch_likely(&is_whole, join, cut);
        self.t.label(cut);
        let linear = self.grid.linear.clone();
        let is_there = self.t.icmp(IntPredicate::ULt, &linear, &count);
        self.t.branch_if(&is_there, exists, gone);
        self.t.label(gone);
        self.t.ret_void();
        self.t.label(exists);
        let [width, height, _] = self.grid.size.clone();
        let x = self.t.urem(&linear, &width);
        let row = self.t.udiv(&linear, &width);
        let y = self.t.urem(&row, &height);
        let z = self.t.udiv(&row, &height);
        self.t.label(join);
        let computed = [x, y, z];
        self.grid.position =
            self.three(|this, axis| this.t.phi(&[(&thread[axis], before), (&computed[axis], exists)]));
    }

    /// The threadgroup's linear index, as 64 bits.
    pub(super) fn linear_group(&mut self) -> Opd {
        let counts = self.three(|this, axis| this.special("nctaid", axis));
        let group = self.grid.group.clone();
        let wide = |this: &mut Self, value: &Opd| this.t.zext(value, I64);
        let [x, y, z] = [wide(self, &group[0]), wide(self, &group[1]), wide(self, &group[2])];
        let [width, height] = [wide(self, &counts[0]), wide(self, &counts[1])];
        let planes = self.t.mul(&z, &height);
        let rows = self.t.add(&y, &planes);
        let rows = self.t.mul(&rows, &width);
        self.t.add(&x, &rows)
    }

    /// The thread's linear index by the full threadgroup's size.
    pub(super) fn thread_by_full_size(&mut self) -> Opd {
        let position = self.grid.position.clone();
        self.linear_of(&position)
    }

    /// The thread's lane.
    pub(super) fn lane(&mut self) -> Opd {
        let linear = self.grid.linear.clone();
        self.t.and(&linear, 31)
    }

    pub(super) fn query(&mut self, query: Query) -> Opd {
        let axis_of = |axis: u8| usize::from(axis.min(2));
        let linear = self.grid.linear.clone();
        match query {
            Query::ThreadPositionInGrid(axis) => {
                let axis = axis_of(axis);
                let (group, full) = (self.grid.group[axis].clone(), self.grid.full[axis].clone());
                let start = self.t.mul(&group, &full);
                let position = self.grid.position[axis].clone();
                self.t.add(&start, &position)
            }
            Query::ThreadPositionInThreadgroup(axis) => self.grid.position[axis_of(axis)].clone(),
            Query::ThreadgroupPositionInGrid(axis) => self.grid.group[axis_of(axis)].clone(),
            Query::ThreadsPerGrid(axis) => self.grid.threads[axis_of(axis)].clone(),
            Query::ThreadsPerThreadgroup(axis) => self.grid.size[axis_of(axis)].clone(),
            Query::DispatchThreadsPerThreadgroup(axis) => self.grid.full[axis_of(axis)].clone(),
            Query::ThreadgroupsPerGrid(axis) => self.special("nctaid", axis_of(axis)),
            Query::ThreadIndexInThreadgroup => linear,
            Query::ThreadIndexInSimdgroup => self.lane(),
            Query::SimdgroupIndexInThreadgroup => self.t.lshr(&linear, 5),
            Query::ThreadsPerSimdgroup => Opd::i32(32),
            Query::ThreadIndexInQuadgroup => self.t.and(&linear, 3),
            Query::QuadgroupIndexInThreadgroup => self.t.lshr(&linear, 2),
            Query::SimdgroupsPerThreadgroup => self.divided_up(&self.grid.count.clone(), 5),
            Query::QuadgroupsPerThreadgroup => self.divided_up(&self.grid.count.clone(), 2),
            Query::DispatchSimdgroupsPerThreadgroup => {
                let threads = self.product(&self.grid.full.clone());
                self.divided_up(&threads, 5)
            }
        }
    }

    /// `count` divided by a power of two, rounded up.
    pub(super) fn divided_up(&mut self, count: &Opd, bits: i64) -> Opd {
        assert!((0..31).contains(&bits), "counts are not divided by 2^{bits}");
        let sum = self.t.add(count, (1 << bits) - 1);
        match sum {
            Opd::Int(_, sum) => Opd::i32(sum >> bits),
            sum => self.t.lshr(&sum, bits),
        }
    }
}
