//! Descriptors of memory: what a buffer, a heap or a texture is made with.
//!
//! Owns [`BufferDescriptor`], [`HeapDescriptor`] and [`ResourceOptions`], which they have in common. Each is
//! made by a constructor and changed by methods, so that later versions can add to them.

use anymetal_core::memory::mode::{BufferUsage, ModeRequest};
use anymetal_core::tenant::Tenant;

/// Label, tenant and placement of memory. A label alone is enough:
/// `device.create_texture(&shape, "picture")`.
#[derive(Debug, Clone, Default)]
pub struct ResourceOptions {
    pub(crate) label: String,
    pub(crate) tenant: Option<Tenant>,
    /// `None`: where host and device see it.
    pub(crate) placement: Option<(BufferUsage, ModeRequest)>,
}

impl ResourceOptions {
    /// No label, no tenant, shared memory.
    pub fn new() -> Self {
        ResourceOptions::default()
    }

    /// With a name for messages and listings.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Charged to the quota of a tenant, as by [`crate::Device::for_tenant`]. Otherwise that of the device's
    /// handle is charged, if it has a tenant.
    pub fn tenant(mut self, tenant: &Tenant) -> Self {
        self.tenant = Some(tenant.clone());
        self
    }

    /// Where its usage has it best, or where the request says if the usage allows that;
    /// [`crate::Buffer::why`] tells.
    pub fn placed(mut self, usage: BufferUsage, request: ModeRequest) -> Self {
        self.placement = Some((usage, request));
        self
    }
}

impl<S: AsRef<str> + ?Sized> From<&S> for ResourceOptions {
    fn from(label: &S) -> Self {
        ResourceOptions::new().label(label.as_ref())
    }
}

/// Adds the setters of [`ResourceOptions`] to a descriptor that has them in its field `options`.
macro_rules! resource_setters {
    () => {
        /// With a name for messages and listings.
        pub fn label(mut self, label: impl Into<String>) -> Self {
            self.options = self.options.label(label);
            self
        }

        /// See [`ResourceOptions::tenant`].
        pub fn tenant(mut self, tenant: &Tenant) -> Self {
            self.options = self.options.tenant(tenant);
            self
        }

        /// See [`ResourceOptions::placed`].
        pub fn placed(mut self, usage: BufferUsage, request: ModeRequest) -> Self {
            self.options = self.options.placed(usage, request);
            self
        }

        /// With that label, tenant and placement.
        pub fn options(mut self, options: ResourceOptions) -> Self {
            self.options = options;
            self
        }
    };
}

/// What a new buffer holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Contents<'a, T> {
    Elements(&'a [T]),
    Zeros(usize),
    /// What its memory held before.
    Unspecified(usize),
}

/// A buffer to make with [`crate::Device::create_buffer`] or [`crate::memory::Heap::create_buffer`].
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::tenant::TenantLimits;
/// use anymetal::{BufferDescriptor, Device};
///
/// let device = Device::system_default()?;
/// let guest = device.tenant("guest", TenantLimits::new().bytes(1000));
/// let descriptor = BufferDescriptor::<f32>::zeroed(200).label("scores").tenant(&guest);
/// let scores = device.create_buffer(&descriptor)?;
/// assert_eq!((scores.label(), guest.usage().bytes), ("scores", 800));
/// assert!(device.create_buffer(&descriptor).is_err(), "beyond the guest's quota");
///
/// let pooled = device.create_buffer(&BufferDescriptor::new(&[1u32, 2]).label("pair").pooled())?;
/// assert_eq!(pooled.read()?, [1, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct BufferDescriptor<'a, T> {
    pub(crate) contents: Contents<'a, T>,
    pub(crate) options: ResourceOptions,
    pub(crate) is_pooled: bool,
}

impl<'a, T> BufferDescriptor<'a, T> {
    /// A buffer with a copy of those elements.
    pub fn new(elements: &'a [T]) -> Self {
        BufferDescriptor::with_contents(Contents::Elements(elements))
    }

    /// A buffer of that many elements, all bytes zero.
    pub fn zeroed(count: usize) -> Self {
        BufferDescriptor::with_contents(Contents::Zeros(count))
    }

    /// A buffer of that many elements that is to be written before it is read. A pooled one holds what its
    /// last user left, if that was the same tenant or there is none; others hold zeros.
    pub fn uninitialized(count: usize) -> Self {
        BufferDescriptor::with_contents(Contents::Unspecified(count))
    }

    fn with_contents(contents: Contents<'a, T>) -> Self {
        BufferDescriptor { contents, options: ResourceOptions::new(), is_pooled: false }
    }

    resource_setters!();

    /// From the device's pool, as by [`crate::Device::acquire`].
    pub fn pooled(mut self) -> Self {
        self.is_pooled = true;
        self
    }

    /// How many elements it has.
    pub(crate) fn count(&self) -> usize {
        match self.contents {
            Contents::Elements(elements) => elements.len(),
            Contents::Zeros(count) | Contents::Unspecified(count) => count,
        }
    }
}

/// A heap to make with [`crate::Device::create_heap`].
#[derive(Debug, Clone)]
pub struct HeapDescriptor {
    pub(crate) bytes: u64,
    pub(crate) options: ResourceOptions,
    pub(crate) is_whole: bool,
}

impl HeapDescriptor {
    /// A heap of that many bytes.
    pub fn new(bytes: u64) -> Self {
        HeapDescriptor { bytes, options: ResourceOptions::new(), is_whole: false }
    }

    resource_setters!();

    /// Whether kernels may access all of it through each of its buffers, as on Metal's GPUs. An access beyond
    /// a buffer is then found at the heap's end only, and its buffers cannot be mapped. On NVIDIA GPUs
    /// kernels may access the buffer alone.
    pub fn whole(mut self, whole: bool) -> Self {
        self.is_whole = whole;
        self
    }
}
