//! Parameters of kernels: their bindings, and those that are copied because the kernel changes them.

use super::Translator;
use super::items::Function;
use super::needs::{Hidden, Origin};
use super::typename::plain_type;
use crate::token::{Changes, Text};

/// Whether a function assigns to a parameter, steps it, or takes its address.
pub(super) fn is_changed(text: &Text<'_>, function: &Function, param: usize) -> bool {
    let Some((open, close)) = function.body else { return false };
    let Some(declarator) = &function.params[param].declarator else { return false };
    let name = text.at(declarator.name);
    (open..close).filter(|&token| text.at(token) == name).any(|token| {
        let before = text.at(token - 1);
        if matches!(before, "." | "->") {
            return false;
        }
        let mut next = token + 1;
        loop {
            match text.at(next) {
                "." if text.at(next + 2) == "(" => return true,
                "." => next += 2,
                "[" => next = text.closing(next).unwrap_or(close) + 1,
                _ => break,
            }
        }
        let after = text.at(next);
        let is_assigned = after == "="
            || (after.len() >= 2 && after.ends_with('=') && !matches!(after, "==" | "!=" | "<=" | ">="));
        let two = token.wrapping_sub(2);
        let is_address = before == "&" && !text.is_word(two) && !matches!(text.at(two), ")" | "]");
        is_assigned || matches!(after, "++" | "--") || matches!(before, "++" | "--") || is_address
    })
}

impl Translator<'_, '_> {
    /// Binds the parameters of a kernel and adds the hidden ones.
    pub(super) fn kernel(&mut self, function: &Function, hidden: &[Hidden], changes: &mut Changes) {
        let (mut buffers, mut dynamic, mut start) = (0, None, String::new());
        for (number, param) in function.params.iter().enumerate() {
            let Some(one) = &param.declarator else {
                if function.body.is_none() {
                    continue;
                }
                self.refuse(
                    param.first,
                    "a parameter without a name, or of a type that is not understood",
                    "name it",
                );
                continue;
            };
            if param.end < param.last {
                changes.remove_all(param.end + 1..=param.last);
            }
            if one.stars.is_empty() && one.arrays == 0 {
                self.value(function, number, changes, &mut start);
            } else if one.arrays > 0 && one.reference.is_none() {
                let extent = self.text.closing(one.name + 1).unwrap_or(one.name);
                changes.insert_before(one.name, if one.arrays == 1 { "*" } else { "(*" });
                changes.remove_all(one.name + 1..=extent);
                if one.arrays > 1 {
                    changes.insert_after(one.name, ")");
                }
            }
            changes.insert_after(param.end, &format!(" [[buffer({buffers})]]"));
            buffers += 1;
        }
        let mut more = Vec::new();
        for one in hidden {
            more.push(match &one.origin {
                Origin::Attribute(attribute) => format!("{} [[{attribute}]]", one.parameter),
                Origin::Buffer => {
                    buffers += 1;
                    format!("{} [[buffer({})]]", one.parameter, buffers - 1)
                }
                // Other names of dynamic memory are of the same memory.
                Origin::Dynamic(ty) => match dynamic {
                    Some(first) => {
                        start.push_str(&format!(" {} = ({ty}){first};", one.parameter));
                        continue;
                    }
                    None => {
                        dynamic = Some(&one.name);
                        format!("{} [[threadgroup(0)]]", one.parameter)
                    }
                },
                Origin::Local(declaration) => {
                    start.push_str(&format!(" {declaration}"));
                    continue;
                }
            });
        }
        // The line gets shorter by the word of a kernel.
        let start_of_line = self.text.range(function.open).start - self.text.column(function.open);
        let is_on_line = |token: &usize| self.text.range(*token).start >= start_of_line;
        let heads = (function.first..function.at)
            .filter(is_on_line)
            .filter(|&token| self.text.at(token) == "__global__");
        let column =
            self.text.column(function.open) + 1 - heads.count() * ("__global__".len() - "kernel".len());
        let between = match self.options.line_directive {
            true => ", ".to_owned(),
            false => format!(",\n{}", " ".repeat(column)),
        };
        let comma = if function.params.is_empty() || more.is_empty() { "" } else { &*between };
        if self.text.at(function.open + 1) == "void" && function.params.is_empty() {
            changes.remove(function.open + 1);
        }
        changes.insert_before(function.close, &format!("{comma}{}", more.join(&between)));
        if let (Some((open, _)), false) = (function.body, start.is_empty()) {
            changes.insert_after(open, &start);
        }
    }

    /// A number or structure comes in constant memory; where the kernel changes it, a copy does.
    fn value(&self, function: &Function, number: usize, changes: &mut Changes, start: &mut String) {
        let param = &function.params[number];
        let Some(one) = &param.declarator else { return };
        for token in param.first..one.name {
            if matches!(self.text.at(token), "const" | "&") {
                changes.remove(token);
            }
        }
        changes.insert_before(param.first, "constant ");
        changes.insert_after(one.name - 1, "&");
        if is_changed(&self.text, function, number) {
            let name = self.text.at(one.name);
            let ty = plain_type(&self.text, one.ty).replace("const ", "");
            start.push_str(&format!(" {ty} {name} = {name}_;"));
            changes.replace(one.name, format!("{name}_"));
        }
    }
}
