//! `MTLSamplerDescriptor` and `MTLSamplerState`.

use anymetal::SamplerDescriptor as State;
use anymetal::texture::{AddressMode, BorderColor, CompareFunction, Filter, MipFilter};
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{Bool, NSObject};

use super::descriptor::descriptor;
use super::device::Device;
use super::size::ResourceId;
use super::violation;
use crate::foundation::NSString;

descriptor! {
    /// What sampler to make.
    SamplerDescriptor = "MTLSamplerDescriptor", SamplerProperties;
    values {
        min_filter, set_min_filter: usize = 0, [minFilter] [setMinFilter:];
        mag_filter, set_mag_filter: usize = 0, [magFilter] [setMagFilter:];
        mip_filter, set_mip_filter: usize = 0, [mipFilter] [setMipFilter:];
        max_anisotropy, set_max_anisotropy: usize = 1, [maxAnisotropy] [setMaxAnisotropy:];
        s_address, set_s_address: usize = 0, [sAddressMode] [setSAddressMode:];
        t_address, set_t_address: usize = 0, [tAddressMode] [setTAddressMode:];
        r_address, set_r_address: usize = 0, [rAddressMode] [setRAddressMode:];
        border, set_border: usize = 0, [borderColor] [setBorderColor:];
        reduction, set_reduction: usize = 0, [reductionMode] [setReductionMode:];
        normalized, set_normalized: Bool = Bool::YES, [normalizedCoordinates] [setNormalizedCoordinates:];
        lod_min, set_lod_min: f32 = 0.0, [lodMinClamp] [setLodMinClamp:];
        lod_max, set_lod_max: f32 = f32::MAX, [lodMaxClamp] [setLodMaxClamp:];
        lod_average, set_lod_average: Bool = Bool::NO, [lodAverage] [setLodAverage:];
        lod_bias, set_lod_bias: f32 = 0.0, [lodBias] [setLodBias:];
        compare, set_compare: usize = 0, [compareFunction] [setCompareFunction:];
        in_argument_buffers, set_in_argument_buffers: Bool = Bool::NO, [supportArgumentBuffers] [setSupportArgumentBuffers:];
    }
    objects { label, set_label: NSString, [label] [setLabel:]; }
}

/// The value with one of Metal's numbers, for a method that takes it.
fn choose<T: Copy>(method: &str, what: &str, number: usize, values: &[T]) -> T {
    match values.get(number) {
        Some(value) => *value,
        None => violation(method, format_args!("anymetal has no {what} with the number {number}")),
    }
}

fn address(method: &str, number: usize) -> AddressMode {
    use AddressMode::{ClampToBorder, ClampToEdge, ClampToZero, MirrorRepeat, Repeat};
    if number == 1 {
        violation(method, "anymetal has no samplers with MTLSamplerAddressModeMirrorClampToEdge");
    }
    // The second is the one above.
    let modes = [ClampToEdge, ClampToEdge, Repeat, MirrorRepeat, ClampToZero, ClampToBorder];
    choose(method, "address mode", number, &modes)
}

fn compare(method: &str, number: usize) -> CompareFunction {
    use CompareFunction::{Always, Equal, Greater, GreaterEqual, Less, LessEqual, Never, NotEqual};
    let functions = [Never, Less, Equal, LessEqual, Greater, NotEqual, GreaterEqual, Always];
    choose(method, "compare function", number, &functions)
}

/// What levels a sampler uses, if not all of them.
pub(crate) fn lod_clamp(least: f32, largest: f32) -> Option<[f32; 2]> {
    (least > 0.0 || largest < f32::MAX).then_some([least, largest])
}

impl SamplerProperties {
    fn state(&self, method: &str) -> State {
        if self.reduction() != 0 {
            violation(method, "anymetal has no samplers that reduce to a minimum or maximum");
        }
        if self.lod_bias() != 0.0 {
            violation(method, "anymetal has no samplers with a bias of the level of detail");
        }
        if !(1..=16).contains(&self.max_anisotropy()) {
            violation(method, format_args!("the anisotropy is 1 to 16, not {}", self.max_anisotropy()));
        }
        let filter = |number| choose(method, "filter", number, &[Filter::Nearest, Filter::Linear]);
        let mip_filters = [MipFilter::None, MipFilter::Nearest, MipFilter::Linear];
        let borders = [BorderColor::TransparentBlack, BorderColor::OpaqueBlack, BorderColor::OpaqueWhite];
        State::default()
            .address([self.s_address(), self.t_address(), self.r_address()].map(|mode| address(method, mode)))
            .mag_filter(filter(self.mag_filter()))
            .min_filter(filter(self.min_filter()))
            .mip_filter(choose(method, "mip filter", self.mip_filter(), &mip_filters))
            .pixel_coordinates(!self.normalized().as_bool())
            .border(choose(method, "border colour", self.border(), &borders))
            .compare(compare(method, self.compare()))
            .lod_clamp(lod_clamp(self.lod_min(), self.lod_max()))
    }
}

/// The instance variables of a sampler.
#[derive(Debug)]
pub(crate) struct SamplerIvars {
    pub(crate) state: State,
    in_argument_buffers: bool,
    device: Retained<Device>,
    label: Option<Retained<NSString>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalSamplerState"]
    #[ivars = SamplerIvars]
    #[derive(Debug)]
    pub(crate) struct Sampler;

    impl Sampler {
        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.clone()
        }

        #[unsafe(method(gpuResourceID))]
        fn gpu_resource_id(&self) -> ResourceId {
            ResourceId { number: self.resource_id("MTLSamplerState gpuResourceID").bits() }
        }

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }
    }
);

impl Sampler {
    /// A sampler as described, for a method that makes it.
    pub(crate) fn make(method: &str, device: &Device, descriptor: &SamplerDescriptor) -> Retained<Sampler> {
        let properties = descriptor.ivars();
        let (state, label) = (properties.state(method), properties.label());
        let in_argument_buffers = properties.in_argument_buffers().as_bool();
        crate::foundation::object(SamplerIvars { state, in_argument_buffers, device: device.retain(), label })
    }

    /// What it is in an argument buffer, for a method that asks for it.
    pub(crate) fn resource_id(&self, method: &str) -> anymetal::texture::GpuResourceId {
        if !self.ivars().in_argument_buffers {
            violation(method, "the sampler was made without supportArgumentBuffers");
        }
        self.ivars().state.gpu_resource_id()
    }
}
