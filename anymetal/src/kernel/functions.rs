//! Functions that only devices have. In a kernel they are Metal's functions of the same name; on the host
//! they panic, and the module of a kernel that calls them has no `host`.

/// The memory that a barrier orders: Metal's `mem_flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemFlags {
    /// `mem_none`
    None,
    /// `mem_device`
    Device,
    /// `mem_threadgroup`
    Threadgroup,
    /// Both.
    DeviceAndThreadgroup,
}

#[cold]
fn only_on_devices(name: &str) -> ! {
    panic!("`{name}` works between the threads of a device: launch the kernel")
}

/// Waits for all threads of the threadgroup.
pub fn threadgroup_barrier(_flags: MemFlags) {
    only_on_devices("threadgroup_barrier")
}

/// Waits for all threads of the SIMD-group.
pub fn simdgroup_barrier(_flags: MemFlags) {
    only_on_devices("simdgroup_barrier")
}

/// Whether this is the first active thread of the SIMD-group.
pub fn simd_is_first() -> bool {
    only_on_devices("simd_is_first")
}

/// Whether it is true in all active threads of the SIMD-group.
pub fn simd_all(_value: bool) -> bool {
    only_on_devices("simd_all")
}

/// Whether it is true in some active thread of the SIMD-group.
pub fn simd_any(_value: bool) -> bool {
    only_on_devices("simd_any")
}

macro_rules! of_one {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => { $(
        $(#[doc = $doc])+
        pub fn $name<T: Copy>(_value: T) -> T {
            only_on_devices(stringify!($name))
        }
    )+ };
}

of_one! {
    /// The sum over the SIMD-group.
    simd_sum;
    /// The product over the SIMD-group.
    simd_product;
    /// The least of the SIMD-group.
    simd_min;
    /// The greatest of the SIMD-group.
    simd_max;
    /// The bitwise and over the SIMD-group.
    simd_and;
    /// The bitwise or over the SIMD-group.
    simd_or;
    /// The bitwise exclusive or over the SIMD-group.
    simd_xor;
    /// The sum up to this thread, with it.
    simd_prefix_inclusive_sum;
    /// The sum of the threads before this one.
    simd_prefix_exclusive_sum;
    /// The value of the first active thread.
    simd_broadcast_first;
    /// The sum over the quad-group.
    quad_sum;
    /// The greatest of the quad-group.
    quad_max;
    /// The least of the quad-group.
    quad_min;
}

macro_rules! of_lane {
    ($($(#[doc = $doc:literal])+ $name:ident($lane:ident: $type:ty);)+) => { $(
        $(#[doc = $doc])+
        pub fn $name<T: Copy>(_value: T, $lane: $type) -> T {
            let _ = $lane;
            only_on_devices(stringify!($name))
        }
    )+ };
}

of_lane! {
    /// The value of that lane.
    simd_broadcast(lane: u16);
    /// The value of that lane, which may differ between threads.
    simd_shuffle(lane: u16);
    /// The value of the lane so many below.
    simd_shuffle_up(distance: u16);
    /// The value of the lane so many above.
    simd_shuffle_down(distance: u16);
    /// The value of the lane whose number differs in these bits.
    simd_shuffle_xor(mask: u16);
}
