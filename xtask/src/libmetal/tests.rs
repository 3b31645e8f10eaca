//! A source in the form of `objc2-metal`'s, and the header that is written from it.

use super::declarations::Declarations;
use super::encoding::Encodings;
use super::header;

const SOURCE: &str = r#"
pub type MTLThingHandler = *mut block2::DynBlock<dyn Fn(NonNull<ProtocolObject<dyn MTLThing>>, *mut NSError)>;
pub type MTLStamp = u64;

pub struct MTLMode(pub NSUInteger);
impl MTLMode {
    #[doc(alias = "MTLModePlain")]
    pub const Plain: Self = Self(0);
    #[doc(alias = "MTLModeOther")]
    pub const Other: Self = Self(MTLMode::Plain.0 + 2);
}

pub struct MTLFlags(pub NSUInteger);
bitflags::bitflags! {
    impl MTLFlags: NSUInteger {
        #[doc(alias = "MTLFlagsFirst")]
        const First = 1<<0;
        #[doc(alias = "MTLFlagsAll")]
        const All = MTLFlags::First.0|1<<3;
    }
}

#[repr(C)]
pub struct MTLBox {
    pub sides: MTLSides,
    pub rows: [c_float; 4],
}
#[repr(C)]
pub struct MTLSides {
    pub width: NSUInteger,
}
impl MTLSides {
    // TODO: pub fn MTLSidesMake(width: NSUInteger,) -> MTLSides;
}

extern "C" {
    pub static MTLThingDomain: &'static NSErrorDomain;
}

extern_protocol!(
    pub unsafe trait MTLThing: NSObjectProtocol + Send + Sync {
        #[unsafe(method(isHeadless))]
        fn isHeadless(&self) -> bool;
        #[unsafe(method(contents))]
        fn contents(&self) -> NonNull<c_void>;
        #[unsafe(method(makeWith:count:error:_))]
        fn makeWith(&self, other: Option<&ProtocolObject<dyn MTLThing>>, count: NSUInteger)
            -> Result<Retained<ProtocolObject<dyn MTLThing>>, Retained<NSError>>;
        #[unsafe(method(setBytes:type:handler:))]
        unsafe fn setBytes(&self, bytes: NonNull<c_void>, r#type: MTLMode, handler: MTLThingHandler);
    }
);

extern_class!(
    #[unsafe(super(MTLBase, NSObject))]
    pub struct MTLDerived;
);
extern_class!(
    #[unsafe(super(NSObject))]
    pub struct MTLBase;
);
extern_conformance!(
    unsafe impl NSCopying for MTLBase {}
);
impl MTLBase {
    extern_methods!(
        #[unsafe(method(new))]
        pub unsafe fn new() -> Retained<Self>;
        #[unsafe(method(setNames:))]
        pub fn setNames(&self, names: Option<&NSArray<NSString>>);
    );
}
"#;

fn written() -> String {
    let mut declarations = Declarations::default();
    declarations.read(SOURCE).unwrap();
    header::write(&declarations)
}

#[test]
fn every_kind_of_declaration_becomes_its_counterpart() {
    let header = written();
    for expected in [
        "@class MTLBase, MTLDerived;\n@protocol MTLThing;",
        "typedef NS_ENUM(NSUInteger, MTLMode) {\n",
        "    MTLModePlain = 0,\n    MTLModeOther = (MTLModePlain + 2),\n};",
        "typedef NS_ENUM(NSUInteger, MTLFlags) {\n",
        "    MTLFlagsFirst = (1 << 0),\n    MTLFlagsAll = (MTLFlagsFirst | (1 << 3)),\n};",
        "typedef uint64_t MTLStamp;",
        "typedef struct {\n    MTLSides sides;\n    float rows[4];\n} MTLBox;",
        "typedef void (^MTLThingHandler)(id<MTLThing>, NSError *);",
        "FOUNDATION_EXPORT NSErrorDomain const MTLThingDomain;",
        "@protocol MTLThing <NSObject>\n",
        "@property(readonly, getter=isHeadless) BOOL headless;\n",
        "- (void *)contents;\n",
        "- (id<MTLThing>)makeWith:(id<MTLThing>)other_ count:(NSUInteger)count_ error:(NSError **)error_;\n",
        "- (void)setBytes:(const void *)bytes_ type:(MTLMode)type_ handler:(MTLThingHandler)handler_;\n",
        "@interface MTLBase : NSObject <NSCopying>\n+ (instancetype)new;\n",
        "- (void)setNames:(NSArray *)names_;\n@end",
        "static inline MTLSides MTLSidesMake(NSUInteger width_) {\n",
        "    MTLSides made = {width_};\n    return made;\n}",
    ] {
        assert!(header.contains(expected), "{expected}\nis not in\n{header}");
    }
}

#[test]
fn what_is_needed_is_declared_first() {
    let header = written();
    let place = |text: &str| header.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    assert!(place("} MTLSides;") < place("} MTLBox;"));
    assert!(place("@interface MTLBase") < place("@interface MTLDerived : MTLBase"));
}

#[test]
fn methods_have_type_encodings() {
    let mut declarations = Declarations::default();
    declarations.read(SOURCE).unwrap();
    let encodings = Encodings::new(&declarations);
    let encoded = |selector: &str| {
        let interfaces = declarations.protocols.values().chain(declarations.classes.values());
        let method = interfaces.flat_map(|of| &of.methods).find(|method| method.name() == selector);
        encodings.method(method.unwrap_or_else(|| panic!("{selector} is missing")))
    };
    let methods = ["isHeadless", "contents", "makeWith:count:error:", "setBytes:type:handler:", "setNames:"];
    assert_eq!(methods.map(encoded), ["C@:", "^v@:", "@@:@Q^@", "v@:^vQ@?", "v@:@"]);
}
