//! Writes declarations as one Objective-C header; what is plain C in it is for C and C++ as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use syn::Type;

use super::constants::Names;
use super::declarations::{Declarations, Enumeration, Interface, Method, Structure};
use super::types::Types;

const START: &str = "\
// Written by `cargo xtask libmetal` from the definitions of objc2-metal.
#ifndef ANYMETAL_METAL_H
#define ANYMETAL_METAL_H

#import <CoreFoundation/CoreFoundation.h>
#import <CoreGraphics/CGGeometry.h>
#import <Foundation/Foundation.h>
#import <IOSurface/IOSurfaceRef.h>
#import <dispatch/dispatch.h>
#import <mach/mach.h>
#import <simd/simd.h>

#define MTLResourceCPUCacheModeShift 0
#define MTLResourceCPUCacheModeMask (0xfUL << MTLResourceCPUCacheModeShift)
#define MTLResourceStorageModeShift 4
#define MTLResourceStorageModeMask (0xfUL << MTLResourceStorageModeShift)
#define MTLResourceHazardTrackingModeShift 8
#define MTLResourceHazardTrackingModeMask (0x3UL << MTLResourceHazardTrackingModeShift)

typedef struct {
    float x;
    float y;
    float z;
} MTLPackedFloat3;

";

/// What `objc2-metal` leaves out, because it is inline in C.
const END: &str = "
static inline MTLRegion MTLRegionMake1D(NSUInteger x, NSUInteger width) {
    MTLRegion region = {{x, 0, 0}, {width, 1, 1}};
    return region;
}

static inline MTLRegion MTLRegionMake2D(NSUInteger x, NSUInteger y, NSUInteger width, NSUInteger height) {
    MTLRegion region = {{x, y, 0}, {width, height, 1}};
    return region;
}

static inline MTLRegion MTLRegionMake3D(NSUInteger x, NSUInteger y, NSUInteger z,
                                        NSUInteger width, NSUInteger height, NSUInteger depth) {
    MTLRegion region = {{x, y, z}, {width, height, depth}};
    return region;
}

#ifdef __OBJC__
FOUNDATION_EXPORT id<MTLDevice> MTLCreateSystemDefaultDevice(void);
FOUNDATION_EXPORT NSArray *MTLCopyAllDevices(void);
#endif

#endif
";

/// Classes of Foundation that Metal's methods name and whose header is ours.
const FOUNDATION: [&str; 12] = [
    "NSObject",
    "NSString",
    "NSArray",
    "NSDictionary",
    "NSSet",
    "NSError",
    "NSURL",
    "NSData",
    "NSNumber",
    "NSBundle",
    "NSValue",
    "NSDate",
];
/// Aliases of `NSString` in Foundation.
const FOUNDATION_NAMES: [&str; 3] = ["NSErrorDomain", "NSErrorUserInfoKey", "NSNotificationName"];

/// What an alias may stand for outside Objective-C.
const SCALARS: [&str; 5] = ["NSInteger", "NSUInteger", "NSTimeInterval", "uint32_t", "uint64_t"];

/// The header's text.
pub(crate) fn write(declarations: &Declarations) -> String {
    let writer = Writer::new(declarations);
    let mut text = START.to_owned();
    writer.forward(&mut text);
    writer.enumerations(&mut text);
    writer.structures(&mut text);
    writer.aliases(&mut text);
    writer.variables(&mut text);
    writer.interfaces(&mut text);
    writer.makers(&mut text);
    text.push_str(END);
    text
}

struct Writer<'a> {
    declarations: &'a Declarations,
    types: Types,
    names: Names,
}

impl<'a> Writer<'a> {
    fn new(declarations: &'a Declarations) -> Writer<'a> {
        let mut objects: BTreeSet<String> = declarations.classes.keys().cloned().collect();
        objects.extend(FOUNDATION.map(str::to_owned));
        let mut pointers: BTreeSet<String> = FOUNDATION_NAMES.map(str::to_owned).into();
        for (name, ty) in &declarations.aliases {
            let of = Self::name_of(ty);
            if of.is_some_and(|of| objects.contains(&of)) || is_block_pointer(ty) {
                pointers.insert(name.clone());
            }
        }
        let mut names = Names::default();
        for owner in &declarations.enumerations {
            for constant in &owner.constants {
                names.add(&owner.name, &constant.rust_name, &constant.name);
            }
        }
        Writer { declarations, types: Types::new(objects, pointers), names }
    }

    fn name_of(ty: &Type) -> Option<String> {
        let Type::Path(path) = ty else { return None };
        Some(path.path.segments.last()?.ident.to_string())
    }

    fn forward(&self, text: &mut String) {
        let list = |names: &BTreeMap<String, Interface>| names.keys().cloned().collect::<Vec<_>>().join(", ");
        let (classes, protocols) = (list(&self.declarations.classes), list(&self.declarations.protocols));
        let _ = writeln!(text, "#ifdef __OBJC__\n@class {classes};\n@protocol {protocols};\n#endif\n");
    }

    fn enumerations(&self, text: &mut String) {
        for (name, value) in &self.declarations.numbers {
            if let Some(value) = self.names.c("", value) {
                let _ = writeln!(text, "#define {name} ({value})");
            }
        }
        for owner in &self.declarations.enumerations {
            self.enumeration(owner, text);
        }
    }

    fn enumeration(&self, owner: &Enumeration, text: &mut String) {
        let Some(underlying) = self.types.c(&owner.underlying) else { return };
        let name = &owner.name;
        if owner.constants.is_empty() {
            let _ = writeln!(text, "typedef {underlying} {name};\n");
            return;
        }
        let _ = writeln!(text, "typedef NS_ENUM({underlying}, {name}) {{");
        for constant in &owner.constants {
            if let Some(value) = self.names.c(name, &constant.value) {
                let _ = writeln!(text, "    {} = {value},", constant.name);
            }
        }
        let _ = writeln!(text, "}};\n");
    }

    /// Structures after those that they hold.
    fn structures(&self, text: &mut String) {
        for (name, ty) in &self.declarations.aliases {
            let c = self.types.c(ty).filter(|c| SCALARS.contains(&c.as_str()));
            if let Some(c) = c {
                let _ = writeln!(text, "typedef {c} {name};");
            }
        }
        let mut written = BTreeSet::new();
        let mut left: Vec<&Structure> = self.declarations.structures.iter().collect();
        let all: BTreeSet<&str> = left.iter().map(|structure| structure.name.as_str()).collect();
        while !left.is_empty() {
            let before = left.len();
            left.retain(|structure| {
                let needed = structure.fields.iter().filter_map(|(_, ty)| element(ty));
                let ready =
                    needed.into_iter().all(|name| !all.contains(name.as_str()) || written.contains(&name));
                if ready {
                    self.structure(structure, text);
                    written.insert(structure.name.clone());
                }
                !ready
            });
            if left.len() == before {
                return;
            }
        }
    }

    fn structure(&self, structure: &Structure, text: &mut String) {
        let field = |(name, ty): &(String, Type)| match ty {
            Type::Array(array) => {
                let length = self.names.c("", &array.len)?;
                Some(format!("    {} {name}[{length}];\n", self.types.c(&array.elem)?))
            }
            ty => Some(format!("    {} {name};\n", self.types.c(ty)?)),
        };
        let fields: Option<String> = structure.fields.iter().map(field).collect();
        if let Some(fields) = fields {
            let _ = writeln!(text, "typedef struct {{\n{fields}}} {};\n", structure.name);
        }
    }

    /// Blocks, and names of objects' types; structures have been written.
    fn aliases(&self, text: &mut String) {
        let mut objective = String::new();
        for (name, ty) in &self.declarations.aliases {
            if let Type::Ptr(pointer) = ty
                && let Some((result, arguments)) = self.types.block_parts(&pointer.elem)
            {
                let _ = writeln!(objective, "typedef {result} (^{name})({arguments});");
                continue;
            }
            match Self::name_of(ty) {
                Some(of) if self.declarations.classes.contains_key(&of) || of == "NSString" => {
                    let _ = writeln!(objective, "typedef {of} *{name};");
                }
                Some(of) if self.declarations.structures.iter().any(|known| known.name == of) => {
                    let _ = writeln!(text, "typedef {of} {name};");
                }
                Some(of) if self.declarations.enumerations.iter().any(|known| known.name == of) => {
                    let _ = writeln!(text, "typedef {of} {name};");
                }
                _ => {
                    if let Type::Ptr(_) = ty {
                        let _ = writeln!(text, "typedef void *{name};");
                    }
                }
            }
        }
        let _ = writeln!(text, "#ifdef __OBJC__\n{objective}#endif\n");
    }

    fn variables(&self, text: &mut String) {
        let _ = writeln!(text, "#ifdef __OBJC__");
        for (name, ty) in &self.declarations.variables {
            if let Some(c) = self.types.c(ty) {
                let _ = writeln!(text, "FOUNDATION_EXPORT {c} const {name};");
            }
        }
        let _ = writeln!(text, "#endif\n");
    }

    fn interfaces(&self, text: &mut String) {
        let _ = writeln!(text, "#ifdef __OBJC__\n");
        let protocols = &self.declarations.protocols;
        for name in in_order(protocols, |interface| interface.protocols.clone()) {
            let interface = &protocols[&name];
            let adopted = adopted(&interface.protocols);
            let _ = writeln!(text, "@protocol {name}{adopted}");
            self.methods(interface, text);
            let _ = writeln!(text, "@end\n");
        }
        let classes = &self.declarations.classes;
        for name in in_order(classes, |interface| interface.superclass.iter().cloned().collect()) {
            let interface = &classes[&name];
            match &interface.superclass {
                Some(superclass) => {
                    let _ =
                        writeln!(text, "@interface {name} : {superclass}{}", adopted(&interface.protocols));
                }
                // More methods of a class of Foundation.
                None => {
                    let _ = writeln!(text, "@interface {name} (Metal)");
                }
            }
            self.methods(interface, text);
            let _ = writeln!(text, "@end\n");
        }
        let _ = writeln!(text, "#endif\n");
    }

    fn methods(&self, interface: &Interface, text: &mut String) {
        for method in &interface.methods {
            if let Some(line) = self.method(method) {
                text.push_str(&line);
            }
        }
    }

    fn method(&self, method: &Method) -> Option<String> {
        let result = self.types.result(method.result.as_ref())?;
        let sign = if method.of_class { '+' } else { '-' };
        let (selector, has_error) = (method.name(), method.has_error());
        if !selector.contains(':') {
            let getter = selector.strip_prefix("is").filter(|_| result == "BOOL" && !method.of_class);
            return Some(match getter.and_then(uncapitalised) {
                Some(name) => format!("@property(readonly, getter={selector}) BOOL {name};\n"),
                None => format!("{sign} ({result}){selector};\n"),
            });
        }
        let mut parameters: Vec<(String, String)> = Vec::new();
        for (name, ty) in &method.parameters {
            let c = self.types.c(ty)?;
            // A method that only reads memory takes constant memory as well; Rust does not say which.
            let c = if c == "void *" { "const void *".to_owned() } else { c };
            parameters.push((c, name.clone()));
        }
        if has_error {
            parameters.push(("NSError **".to_owned(), "error".to_owned()));
        }
        let parts: Vec<&str> = selector.split_terminator(':').collect();
        if parts.len() != parameters.len() {
            return None;
        }
        let written = parts.iter().zip(parameters).map(|(part, (ty, name))| format!("{part}:({ty}){name}_"));
        Some(format!("{sign} ({result}){};\n", written.collect::<Vec<_>>().join(" ")))
    }

    fn makers(&self, text: &mut String) {
        let mut written = BTreeSet::new();
        for maker in &self.declarations.makers {
            let types =
                |list: &[(String, Type)]| list.iter().map(|(_, ty)| self.types.c(ty)).collect::<Vec<_>>();
            let made = self.declarations.structures.iter().find(|structure| structure.name == maker.made);
            let Some(made) = made.filter(|made| types(&made.fields) == types(&maker.parameters)) else {
                continue;
            };
            if !written.insert(&maker.name) {
                continue;
            }
            let parameters =
                maker.parameters.iter().map(|(name, ty)| Some(format!("{} {name}_", self.types.c(ty)?)));
            let Some(parameters) = parameters.collect::<Option<Vec<_>>>() else { continue };
            let values: Vec<String> = maker.parameters.iter().map(|(name, _)| format!("{name}_")).collect();
            let _ = writeln!(
                text,
                "static inline {} {}({}) {{\n    {} made = {{{}}};\n    return made;\n}}\n",
                made.name,
                maker.name,
                parameters.join(", "),
                made.name,
                values.join(", ")
            );
        }
    }
}

fn is_block_pointer(ty: &Type) -> bool {
    matches!(ty, Type::Ptr(pointer) if matches!(&*pointer.elem, Type::Path(path)
        if path.path.segments.last().is_some_and(|last| last.ident == "DynBlock")))
}

/// The structure that a field holds.
fn element(ty: &Type) -> Option<String> {
    match ty {
        Type::Array(array) => element(&array.elem),
        ty => Writer::name_of(ty),
    }
}

fn adopted(protocols: &[String]) -> String {
    let known = protocols
        .iter()
        .filter(|name| *name == "NSObject" || *name == "NSCopying" || name.starts_with("MTL"));
    let known: Vec<&str> = known.map(String::as_str).collect();
    if known.is_empty() { String::new() } else { format!(" <{}>", known.join(", ")) }
}

fn uncapitalised(name: &str) -> Option<String> {
    let first = name.chars().next().filter(char::is_ascii_uppercase)?;
    Some(format!("{}{}", first.to_ascii_lowercase(), &name[1..]))
}

/// The names, each after those that it needs.
fn in_order(all: &BTreeMap<String, Interface>, needs: impl Fn(&Interface) -> Vec<String>) -> Vec<String> {
    fn visit(
        name: &String,
        all: &BTreeMap<String, Interface>,
        needs: &dyn Fn(&Interface) -> Vec<String>,
        order: &mut Vec<String>,
    ) {
        let Some(interface) = all.get(name).filter(|_| !order.contains(name)) else { return };
        needs(interface).iter().for_each(|needed| visit(needed, all, needs, order));
        order.push(name.clone());
    }
    let mut order = Vec::new();
    all.keys().for_each(|name| visit(name, all, &needs, &mut order));
    order
}
