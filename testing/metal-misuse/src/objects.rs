//! A live object of every class, and the methods that are not called blindly.

use std::ffi::c_void;

use crate::runtime::{class_named, release, send, string};

/// Kernels for pipelines, with every kind of argument.
const SOURCE: &str = "
    #include <metal_stdlib>
    using namespace metal;
    constant int factor [[function_constant(0)]];
    struct Block { device int* x; texture2d<float> t; sampler s; int n; };
    kernel void constant_factor(device int* x) { x[0] = factor; }
    [[visible]] int twice(int x) { return 2 * x; }
    kernel void scale(device int* x, constant int& y, uint i [[thread_position_in_grid]]) { if (i < 4) x[i] *= y; }
    kernel void arguments(constant Block& block [[buffer(0)]], device int* out [[buffer(1)]], uint i [[thread_position_in_grid]]) { if (i < 1) out[i] = block.n; }
    kernel void picture(texture2d<float, access::write> t [[texture(0)]], uint2 i [[thread_position_in_grid]]) { if (all(i < 2)) t.write(float4(1), i); }
    kernel void call(visible_function_table<int(int)> f [[buffer(0)]], device int* out [[buffer(1)]], uint i [[thread_position_in_grid]]) { if (i < 1 && f.size() > 0) out[i] = int(f.size()); }
";

/// Objects that are made once and used for all others.
#[derive(Debug, Clone, Copy)]
pub struct Basis {
    /// The device.
    pub device: usize,
    library: usize,
    queue: usize,
}

impl Basis {
    /// The default device with a library.
    pub fn new() -> Basis {
        let device = crate::runtime::MTLCreateSystemDefaultDevice();
        assert!(device != 0, "there is a device");
        // SAFETY: the classes have the methods.
        unsafe {
            let library = send(device, "newLibraryWithSource:options:error:", &[string(SOURCE), 0, 0]);
            assert!(library != 0, "the kernels compile");
            Basis { device, library, queue: send(device, "newCommandQueue", &[]) }
        }
    }

    /// A new object of a class, with a reference of the caller's; `None` of a class that is not known here.
    ///
    /// # Panics
    ///
    /// If one cannot be made.
    pub fn object(&self, class: &str) -> Option<usize> {
        // SAFETY: the classes have the methods.
        let object = unsafe { self.make(class)? };
        assert!(object != 0, "an object of {class} can be made");
        Some(object)
    }

    unsafe fn made(&self, class: &str) -> usize {
        self.object(class).expect("the class is known")
    }

    unsafe fn function(&self, name: &str) -> usize {
        // SAFETY: the library has the method.
        unsafe { send(self.library, "newFunctionWithName:", &[string(name)]) }
    }

    unsafe fn pipeline(&self, name: &str) -> usize {
        // SAFETY: the classes have the methods.
        unsafe {
            let descriptor = self.made("MTLComputePipelineDescriptor");
            send(descriptor, "setComputeFunction:", &[self.function(name)]);
            send(descriptor, "setSupportIndirectCommandBuffers:", &[1]);
            if name == "call" {
                let linked = self.made("MTLLinkedFunctions");
                let functions = send(class_named("NSArray"), "arrayWithObject:", &[self.function("twice")]);
                send(linked, "setFunctions:", &[functions]);
                send(descriptor, "setLinkedFunctions:", &[linked]);
            }
            send(
                self.device,
                "newComputePipelineStateWithDescriptor:options:reflection:error:",
                &[descriptor, 0, 0, 0],
            )
        }
    }

    unsafe fn command_buffer(&self) -> usize {
        // SAFETY: the queue has the method, whose result belongs to the pool.
        unsafe { crate::runtime::retain(send(self.queue, "commandBuffer", &[])) }
    }

    unsafe fn made_by(&self, maker: usize, selector: &str, words: &[usize]) -> usize {
        // SAFETY: the caller passes a message that the maker has; its result belongs to the pool.
        unsafe { crate::runtime::retain(send(maker, selector, words)) }
    }

    unsafe fn make(&self, class: &str) -> Option<usize> {
        let device = self.device;
        // SAFETY: the classes have the methods.
        Some(unsafe {
            match class {
                "AnymetalDevice" => crate::runtime::retain(device),
                "AnymetalCommandQueue" => send(device, "newCommandQueue", &[]),
                "AnymetalCommandBuffer" => self.command_buffer(),
                "AnymetalComputeCommandEncoder" => {
                    self.made_by(self.command_buffer(), "computeCommandEncoder", &[])
                }
                "AnymetalBlitCommandEncoder" => {
                    self.made_by(self.command_buffer(), "blitCommandEncoder", &[])
                }
                "AnymetalRenderCommandEncoder" => {
                    let pass = self.made("MTLRenderPassDescriptor");
                    let colors = send(pass, "colorAttachments", &[]);
                    let color = send(colors, "objectAtIndexedSubscript:", &[0]);
                    send(color, "setTexture:", &[self.made("AnymetalTexture")]);
                    send(color, "setLoadAction:", &[2]);
                    self.made_by(self.command_buffer(), "renderCommandEncoderWithDescriptor:", &[pass])
                }
                "AnymetalBuffer" => send(device, "newBufferWithLength:options:", &[4096, 0]),
                "AnymetalTexture" => {
                    let descriptor = self.made("MTLTextureDescriptor");
                    send(descriptor, "setWidth:", &[8]);
                    send(descriptor, "setHeight:", &[8]);
                    send(descriptor, "setUsage:", &[7]);
                    send(device, "newTextureWithDescriptor:", &[descriptor])
                }
                "AnymetalHeap" => {
                    let descriptor = self.made("MTLHeapDescriptor");
                    send(descriptor, "setSize:", &[1 << 16]);
                    send(device, "newHeapWithDescriptor:", &[descriptor])
                }
                "AnymetalFence" => send(device, "newFence", &[]),
                "AnymetalDepthStencilState" => {
                    let descriptor = self.made("MTLDepthStencilDescriptor");
                    send(device, "newDepthStencilStateWithDescriptor:", &[descriptor])
                }
                "AnymetalSharedEvent" => send(device, "newSharedEvent", &[]),
                "MTLSharedEventHandle" => send(self.made("AnymetalSharedEvent"), "newSharedEventHandle", &[]),
                "AnymetalLibrary" => crate::runtime::retain(self.library),
                "AnymetalFunction" => self.function("scale"),
                "AnymetalComputePipelineState" => self.pipeline("scale"),
                "AnymetalFunctionHandle" => {
                    let function = self.function("twice");
                    self.made_by(self.pipeline("call"), "functionHandleWithFunction:", &[function])
                }
                "AnymetalVisibleFunctionTable" => {
                    let descriptor = self.made("MTLVisibleFunctionTableDescriptor");
                    send(descriptor, "setFunctionCount:", &[2]);
                    send(self.pipeline("call"), "newVisibleFunctionTableWithDescriptor:", &[descriptor])
                }
                "AnymetalArgumentEncoder" => {
                    send(self.function("arguments"), "newArgumentEncoderWithBufferIndex:", &[0])
                }
                "MTLComputePipelineReflection" => self.made_by(self.pipeline("scale"), "reflection", &[]),
                "AnymetalBinding" => {
                    let bindings = send(self.made("MTLComputePipelineReflection"), "bindings", &[]);
                    self.made_by(bindings, "firstObject", &[])
                }
                "MTLFunctionConstant" => {
                    let all = send(self.function("constant_factor"), "functionConstantsDictionary", &[]);
                    self.made_by(send(all, "allValues", &[]), "firstObject", &[])
                }
                "AnymetalIndirectCommandBuffer" => {
                    let descriptor = self.made("MTLIndirectCommandBufferDescriptor");
                    send(descriptor, "setCommandTypes:", &[32]);
                    send(
                        device,
                        "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:",
                        &[descriptor, 4, 0],
                    )
                }
                "AnymetalIndirectComputeCommand" => self.made_by(
                    self.made("AnymetalIndirectCommandBuffer"),
                    "indirectComputeCommandAtIndex:",
                    &[0],
                ),
                "AnymetalSamplerState" => {
                    let descriptor = self.made("MTLSamplerDescriptor");
                    send(descriptor, "setSupportArgumentBuffers:", &[1]);
                    send(device, "newSamplerStateWithDescriptor:", &[descriptor])
                }
                "AnymetalResidencySet" => send(
                    device,
                    "newResidencySetWithDescriptor:error:",
                    &[self.made("MTLResidencySetDescriptor"), 0],
                ),
                "AnymetalLogState" => {
                    send(device, "newLogStateWithDescriptor:error:", &[self.made("MTLLogStateDescriptor"), 0])
                }
                "AnymetalBinaryArchive" => send(
                    device,
                    "newBinaryArchiveWithDescriptor:error:",
                    &[self.made("MTLBinaryArchiveDescriptor"), 0],
                ),
                "AnymetalCounterSet" => self.made_by(send(device, "counterSets", &[]), "firstObject", &[]),
                "AnymetalCounter" => {
                    let set = self.made("AnymetalCounterSet");
                    self.made_by(send(set, "counters", &[]), "firstObject", &[])
                }
                "AnymetalCounterSampleBuffer" => {
                    let descriptor = self.made("MTLCounterSampleBufferDescriptor");
                    send(descriptor, "setCounterSet:", &[self.made("AnymetalCounterSet")]);
                    send(descriptor, "setSampleCount:", &[4]);
                    send(device, "newCounterSampleBufferWithDescriptor:error:", &[descriptor, 0])
                }
                "AnymetalCaptureScope" => {
                    let manager = send(class_named("MTLCaptureManager"), "sharedCaptureManager", &[]);
                    send(manager, "newCaptureScopeWithDevice:", &[device])
                }
                "MTLCaptureManager" => self.made_by(class_named(class), "sharedCaptureManager", &[]),
                "MTLArchitecture" => self.made_by(device, "architecture", &[]),
                "MPSMatrixDescriptor" => {
                    let selector = "matrixDescriptorWithRows:columns:rowBytes:dataType:";
                    self.made_by(class_named(class), selector, &[4, 4, 16, MPS_FLOAT])
                }
                "MPSVectorDescriptor" => {
                    self.made_by(class_named(class), "vectorDescriptorWithLength:dataType:", &[4, MPS_FLOAT])
                }
                "MPSMatrix" | "MPSVector" => {
                    let words = [self.made("AnymetalBuffer"), self.made(&format!("{class}Descriptor"))];
                    send(send(class_named(class), "alloc", &[]), "initWithBuffer:descriptor:", &words)
                }
                "MPSMatrixMultiplication" => {
                    let selector = "initWithDevice:resultRows:resultColumns:interiorColumns:";
                    send(send(class_named(class), "alloc", &[]), selector, &[device, 4, 4, 4])
                }
                "MPSMatrixVectorMultiplication" => {
                    let selector = "initWithDevice:rows:columns:";
                    send(send(class_named(class), "alloc", &[]), selector, &[device, 4, 4])
                }
                "NSNumber" => self.made_by(class_named(class), "numberWithInt:", &[5]),
                "NSString" | "NSConstantString" | "NSMutableString" => {
                    let own = if class == "NSMutableString" { class } else { "NSString" };
                    send(send(class_named(own), "alloc", &[]), "initWithString:", &[string("text")])
                }
                "NSURL" => self.made_by(class_named(class), "fileURLWithPath:", &[string("/nowhere/at/all")]),
                "NSError" => self.made_by(
                    class_named(class),
                    "errorWithDomain:code:userInfo:",
                    &[string("domain"), 1, 0],
                ),
                "NSException" => self.made_by(
                    class_named(class),
                    "exceptionWithName:reason:userInfo:",
                    &[string("name"), 0, 0],
                ),
                "NSScanner" => self.made_by(class_named(class), "scannerWithString:", &[string("some text")]),
                "NSCharacterSet" => self.made_by(class_named(class), "whitespaceCharacterSet", &[]),
                "NSBundle" => self.made_by(class_named(class), "mainBundle", &[]),
                "NSProcessInfo" => self.made_by(class_named(class), "processInfo", &[]),
                "NSFileManager" => self.made_by(class_named(class), "defaultManager", &[]),
                "__NSStackBlock" | "__NSGlobalBlock" | "__NSMallocBlock" => block(),
                // All others are made by `init`.
                _ if class.starts_with("NS") || class.starts_with("MTL") => {
                    send(class_named(class), "new", &[])
                }
                _ => return None,
            }
        })
    }
}

impl Default for Basis {
    fn default() -> Self {
        Basis::new()
    }
}

/// `MPSDataTypeFloat32`.
const MPS_FLOAT: usize = 0x1000_0020;

/// A block in the layout of compilers, which takes anything and does nothing.
#[repr(C)]
struct Block {
    isa: *const c_void,
    flags: i32,
    reserved: i32,
    invoke: extern "C-unwind" fn(*const Block),
    descriptor: &'static [usize; 2],
}

unsafe extern "C" {
    static _NSConcreteGlobalBlock: [usize; 4];
}

extern "C-unwind" fn nothing(_: *const Block) {}

/// A global block that takes anything and does nothing.
pub fn block() -> usize {
    static SIZE: [usize; 2] = [0, size_of::<Block>()];
    const IS_GLOBAL: i32 = 1 << 28;
    let isa = (&raw const _NSConcreteGlobalBlock).cast();
    let block = Block { isa, flags: IS_GLOBAL, reserved: 0, invoke: nothing, descriptor: &SIZE };
    std::ptr::from_ref(Box::leak(Box::new(block))).expose_provenance()
}

/// Why a method is not called blindly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exempt {
    /// It ends a reference that the caller may not have.
    Ownership,
    /// It throws an object, which no frame of Rust can catch.
    Throws,
    /// It waits, as documented, for something that does not happen.
    Waits,
    /// It changes files.
    Files,
}

/// The methods that are not called by the walk over all methods.
pub const EXEMPT: &[(&str, Exempt)] = &[
    ("dealloc", Exempt::Ownership),
    ("release", Exempt::Ownership),
    ("autorelease", Exempt::Ownership),
    // A pool that ends takes those within it along.
    ("drain", Exempt::Ownership),
    ("raise", Exempt::Throws),
    ("raise:format:", Exempt::Throws),
    ("waitUntilSignaledValue:timeoutMS:", Exempt::Waits),
    // Of a command buffer that is never committed.
    ("waitUntilCompleted", Exempt::Waits),
    ("waitUntilScheduled", Exempt::Waits),
];

/// The methods that random calls leave out besides [`EXEMPT`].
pub const EXEMPT_AT_RANDOM: &[(&str, Exempt)] = &[
    ("retain", Exempt::Ownership),
    ("lock", Exempt::Waits),
    ("lockBeforeDate:", Exempt::Waits),
    ("removeItemAtPath:error:", Exempt::Files),
    ("writeToFile:atomically:", Exempt::Files),
    ("serializeToURL:error:", Exempt::Files),
];

/// Whether the walk leaves a method out.
pub fn is_exempt(selector: &str) -> bool {
    EXEMPT.iter().any(|(exempt, _)| *exempt == selector)
}

/// Whether random calls leave a method out.
pub fn is_exempt_at_random(selector: &str) -> bool {
    is_exempt(selector) || EXEMPT_AT_RANDOM.iter().any(|(exempt, _)| *exempt == selector)
}

/// Gives back an object that was made here.
///
/// # Safety
///
/// The caller has a reference.
pub unsafe fn end(object: usize) {
    // SAFETY: as promised.
    unsafe { release(object) }
}
