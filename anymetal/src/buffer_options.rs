//! How buffers and heaps are made: label, tenant, placement.

use anymetal_core::memory::mode::{BufferUsage, ModeRequest};
use anymetal_core::tenant::Tenant;

/// How a buffer or a heap is made. A label alone is enough: `device.buffer_with(&weights, "weights")`.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::tenant::TenantLimits;
/// use anymetal::{BufferOptions, Device};
///
/// let device = Device::system_default()?;
/// let guest = device.tenant("guest", TenantLimits { bytes: Some(1000), ..TenantLimits::default() });
/// let options = || BufferOptions::new().label("scores").tenant(&guest);
/// let scores = device.buffer_zeroed_with::<f32>(200, options())?;
/// assert_eq!((scores.label(), guest.usage().bytes), ("scores", 800));
/// assert!(device.buffer_zeroed_with::<f32>(200, options()).is_err(), "beyond the guest's quota");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BufferOptions {
    /// A name for messages and listings; may be empty.
    pub label: String,
    /// The tenant whose quota is charged, as by [`crate::Device::for_tenant`]; `None`: that of the device's
    /// handle, if it has one.
    pub tenant: Option<Tenant>,
    /// Where its memory is to be; `None`: where host and device see it.
    pub placement: Option<(BufferUsage, ModeRequest)>,
    /// Of a heap: whether kernels may access all of it through each of its buffers, as on Metal's GPUs, so
    /// that what strays behind a buffer is found at the heap's end only. Its buffers cannot be mapped then.
    /// On NVIDIA GPUs kernels may access the buffer alone.
    pub whole_heap: bool,
}

impl BufferOptions {
    /// No label, no tenant, shared memory.
    pub fn new() -> Self {
        BufferOptions::default()
    }

    /// With a name for messages and listings.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// On a tenant's account.
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

    /// Of a heap, see [`BufferOptions::whole_heap`].
    pub fn whole_heap(mut self, whole: bool) -> Self {
        self.whole_heap = whole;
        self
    }
}

impl<S: AsRef<str> + ?Sized> From<&S> for BufferOptions {
    fn from(label: &S) -> Self {
        BufferOptions::new().label(label.as_ref())
    }
}
