//! Grids of launches of kernels written in Rust.

use crate::extent::Extent;
use crate::launch::Launch;

/// The threads of a launch: a number, a pair or a triple of numbers are threads; or [`LaunchGrid::groups`].
#[derive(Debug, Clone, Copy)]
pub struct LaunchGrid {
    extent: Extent,
    counts_groups: bool,
    group_size: Option<Extent>,
}

impl LaunchGrid {
    /// That many threads.
    pub fn threads(threads: impl Into<Extent>) -> Self {
        Self { extent: threads.into(), counts_groups: false, group_size: None }
    }

    /// That many threadgroups of that size.
    pub fn groups(groups: impl Into<Extent>, size: impl Into<Extent>) -> Self {
        Self { extent: groups.into(), counts_groups: true, group_size: Some(size.into()) }
    }

    /// Threads of a threadgroup.
    #[must_use]
    pub fn group_size(mut self, size: impl Into<Extent>) -> Self {
        self.group_size = Some(size.into());
        self
    }

    /// Gives the launch this grid.
    pub fn of(self, launch: Launch<'_>) -> Launch<'_> {
        let launch =
            if self.counts_groups { launch.groups(self.extent) } else { launch.threads(self.extent) };
        match self.group_size {
            Some(size) => launch.group_size(size),
            None => launch,
        }
    }
}

impl<T: Into<Extent>> From<T> for LaunchGrid {
    fn from(threads: T) -> Self {
        Self::threads(threads)
    }
}

/// Calls `thread` with each position of the grid, x fastest.
pub fn for_each_thread(size: [u32; 3], mut thread: impl FnMut([u32; 3])) {
    for z in 0..size[2] {
        for y in 0..size[1] {
            for x in 0..size[0] {
                thread([x, y, z]);
            }
        }
    }
}
