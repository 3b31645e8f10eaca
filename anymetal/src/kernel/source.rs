//! MSL text of a kernel written in Rust, put together from what it needs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::types::{DeviceConstant, DeviceType};

/// A function with `#[device_fn]`.
#[derive(Debug, Clone, Copy)]
pub struct DeviceFunction {
    name: &'static str,
    text: &'static str,
    needs: fn(&mut Source),
}

impl DeviceFunction {
    /// A function with its text, and what adds to a source that it needs.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str, needs: fn(&mut Source)) -> Self {
        Self { name, text, needs }
    }
}

/// The parts of a source, each once. Names are those of the last word of a path: two functions, structures or
/// constants of one kernel have different names.
#[derive(Debug, Default)]
pub struct Source {
    known: BTreeSet<String>,
    constants: String,
    structures: String,
    functions: String,
}

impl Source {
    /// Whether the name is new.
    fn is_new(&mut self, name: &str) -> bool {
        self.known.insert(name.to_owned())
    }

    /// A constant.
    pub fn constant(&mut self, name: &str, value: impl DeviceConstant) {
        if self.is_new(name) {
            let _ = writeln!(self.constants, "constant constexpr {};", value.define(name));
        }
    }

    /// Another name for a type: an argument for a type parameter.
    pub fn alias<T: DeviceType>(&mut self, name: &str) {
        T::define(self);
        if self.is_new(name) {
            let _ = writeln!(self.structures, "typedef {};\n", T::declare(name));
        }
    }

    /// A structure with its fields, as declarations.
    pub fn structure(&mut self, name: &str, fields: &[String]) {
        if self.is_new(name) {
            let fields: String = fields.iter().map(|field| format!("    {field};\n")).collect();
            let _ = writeln!(self.structures, "struct {name} {{\n{fields}}};\n");
        }
    }

    /// A function that makes a structure of its fields, which are given in the order of their names.
    pub fn literal(&mut self, name: &str, fields: &[String]) {
        let maker = format!("make_{name}");
        if !self.is_new(&maker) {
            return;
        }
        let names: Vec<&str> = fields.iter().filter_map(|field| field.split(' ').next_back()).collect();
        let mut sorted: Vec<(&str, &String)> = names.iter().copied().zip(fields).collect();
        sorted.sort_unstable();
        let params: Vec<&str> = sorted.iter().map(|(_, field)| field.as_str()).collect();
        let _ = writeln!(
            self.functions,
            "inline {name} {maker}({}) {{\n    return {name}{{{}}};\n}}\n",
            params.join(", "),
            names.join(", ")
        );
    }

    /// A function, after all that it needs.
    pub fn function(&mut self, function: &DeviceFunction) {
        if self.is_new(function.name) {
            (function.needs)(self);
            let _ = writeln!(self.functions, "{}", function.text);
        }
    }

    /// The whole text.
    #[must_use]
    pub fn finish(self, kernel: &str) -> String {
        let Self { constants, structures, functions, .. } = self;
        let gap = if constants.is_empty() { "" } else { "\n" };
        format!(
            "#include <metal_stdlib>\nusing namespace metal;\n\n{constants}{gap}{structures}{functions}{kernel}"
        )
    }
}
