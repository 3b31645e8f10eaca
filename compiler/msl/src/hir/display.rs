//! Types as a user would write them, for messages.
//!
//! Beyond a depth and a length that no reader follows, `…` stands for the rest.

use super::ty::{QualTy, Ty, TyKind, Types};
use anymetal_ir::Space;
use std::fmt::Write;

/// Levels of pointers, arrays and functions that are written out.
const MAX_DEPTH: u32 = 16;

/// Bytes after which nothing more is written out.
const MAX_LENGTH: usize = 2000;

impl Types {
    /// The type as a user would write it.
    pub fn display(&self, ty: Ty) -> String {
        let mut out = String::new();
        self.write(&mut out, ty, 0);
        out
    }

    /// The qualified type as a user would write it.
    pub fn display_qual(&self, ty: QualTy) -> String {
        let mut out = String::new();
        self.write_qual(&mut out, ty, 0);
        out
    }

    fn write_qual(&self, out: &mut String, ty: QualTy, depth: u32) {
        if ty.space != Space::Thread {
            let _ = write!(out, "{} ", ty.space.name());
        }
        // Before a pointer they would read as the qualifiers of what it points to.
        let follow = self.pointee(ty.ty).is_some();
        if follow {
            self.write(out, ty.ty, depth + 1);
        }
        for (word, is_there) in [("const", ty.is_const), ("volatile", ty.is_volatile)] {
            if is_there {
                let _ = if follow { write!(out, " {word}") } else { write!(out, "{word} ") };
            }
        }
        if !follow {
            self.write(out, ty.ty, depth + 1);
        }
    }

    fn write(&self, out: &mut String, ty: Ty, depth: u32) {
        if depth > MAX_DEPTH || out.len() > MAX_LENGTH {
            out.push('…');
            return;
        }
        let _ = match *self.kind(ty) {
            TyKind::Error => write!(out, "<error>"),
            TyKind::Void => write!(out, "void"),
            TyKind::Nullptr => write!(out, "nullptr_t"),
            TyKind::Scalar(scalar) => write!(out, "{}", scalar.msl_name()),
            TyKind::Vector { elem, len, packed } => {
                write!(out, "{}{}{len}", if packed { "packed_" } else { "" }, elem.msl_name())
            }
            TyKind::Matrix { elem, cols, rows } => write!(out, "{}{cols}x{rows}", elem.msl_name()),
            TyKind::Pointer(pointee) => {
                self.write_qual(out, pointee, depth);
                write!(out, " *")
            }
            TyKind::Reference { to, rvalue } => {
                self.write_qual(out, to, depth);
                write!(out, "{}", if rvalue { " &&" } else { " &" })
            }
            TyKind::Array(elem, len) => {
                self.write(out, elem, depth + 1);
                write!(out, "[{len}]")
            }
            TyKind::Record(id) => write!(out, "{}", self.record(id).name),
            TyKind::Enum(id) => write!(out, "{}", self.enumeration(id).name),
            TyKind::Function { ret, ref params, form } => {
                self.write_qual(out, ret, depth);
                out.push('(');
                for (n, &param) in params.iter().enumerate() {
                    out.push_str(if n > 0 { ", " } else { "" });
                    self.write_qual(out, param, depth);
                }
                let dots = if form.is_variadic && params.is_empty() { "..." } else { ", ..." };
                let dots = if form.is_variadic { dots } else { "" };
                let cv = if form.is_const { " const" } else { "" };
                let volatile = if form.is_volatile { " volatile" } else { "" };
                let reference = form.reference.map_or("", |rvalue| if rvalue { " &&" } else { " &" });
                write!(out, "{dots}){cv}{volatile}{reference}")
            }
        };
    }
}
