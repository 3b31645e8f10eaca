//! Launches that the host code has: `kernel<<<grid, group, shared, stream>>>(…)`.

use std::collections::BTreeSet;

use super::items::{Function, Items};
use super::words::is_builtin_type;
use crate::token::Text;

/// A launch, as the host wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The token of the kernel's name.
    pub(super) name: usize,
    /// Template arguments, if they are given.
    pub(super) template: Option<(usize, usize)>,
    /// First and last token of each part of the configuration.
    pub(super) config: Vec<(usize, usize)>,
    /// Of each argument.
    pub(super) args: Vec<(usize, usize)>,
}

/// All launches of a source.
pub(super) fn find(text: &Text<'_>) -> Vec<Found> {
    (1..text.len())
        .filter(|&token| text.at(token) == "<<" && text.at(token + 1) == "<")
        .filter_map(|token| {
            let (name, template) = match text.at(token - 1) {
                ">" | ">>" => {
                    let open = (0..token - 1)
                        .rev()
                        .take(200)
                        .find(|&open| text.angle_closing(open) == Some(token - 1))?;
                    (open.checked_sub(1)?, Some((open + 1, token.checked_sub(2)?)))
                }
                _ => (token - 1, None),
            };
            text.is_word(name).then_some(())?;
            let (close, config) = config(text, token + 2)?;
            let open = close + 2;
            let end = text.closing(open).filter(|_| text.at(open) == "(")?;
            Some(Found { name, template, config, args: text.parts(open, end) })
        })
        .collect()
}

/// The parts of a configuration, and the token `>>` at its end.
fn config(text: &Text<'_>, start: usize) -> Option<(usize, Vec<(usize, usize)>)> {
    let (mut token, mut first, mut parts) = (start, start, Vec::new());
    while token < text.len() {
        match text.at(token) {
            "(" | "[" | "{" => token = text.closing(token)?,
            ";" => return None,
            "," => {
                parts.push((first, token - 1));
                first = token + 1;
            }
            ">>" if text.at(token + 1) == ">" => {
                parts.push((first, token.checked_sub(1)?));
                return Some((token, parts));
            }
            _ => {}
        }
        token += 1;
    }
    None
}

/// What the host code says of its variables.
pub(super) struct Host<'a, 's> {
    pub(super) text: &'a Text<'s>,
    pub(super) items: &'a Items,
}

impl Host<'_, '_> {
    /// The template arguments with which kernels are launched: the kernel's name, and the text of these.
    pub(super) fn instantiations(&self, launches: &[Found]) -> BTreeSet<(String, String)> {
        let mut all = BTreeSet::new();
        for launch in launches {
            let name = self.text.at(launch.name).to_owned();
            all.extend(
                self.template_arguments(launch).into_iter().map(|arguments| (name.clone(), arguments)),
            );
        }
        all
    }

    /// The template arguments that a launch may have; more than one list if it is in a template of the host.
    pub(super) fn template_arguments(&self, launch: &Found) -> Vec<String> {
        let name = self.text.at(launch.name);
        let is_it =
            |function: &&Function| function.name == name && function.is_kernel && function.template.is_some();
        let kernel = self.items.functions.iter().find(is_it);
        kernel.map(|kernel| self.arguments(kernel, launch)).unwrap_or_default()
    }

    fn arguments(&self, kernel: &Function, launch: &Found) -> Vec<String> {
        let given: Vec<String> = match launch.template {
            Some((first, last)) => self.parts(first, last),
            None => Vec::new(),
        };
        let Some((open, close)) = kernel.template else { return Vec::new() };
        let mut all = given;
        let params = self.template_parts(open, close);
        for &(first, last) in params.iter().skip(all.len()) {
            if (first..=last).any(|token| self.text.at(token) == "=") {
                break;
            }
            match self.deduced(kernel, launch, last) {
                Some(ty) => all.push(ty),
                None => return Vec::new(),
            }
        }
        self.substituted(all, launch.name)
    }

    /// First and last token of the parameters between `<` and `>`.
    fn template_parts(&self, open: usize, close: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut first, mut depth) = (Vec::new(), open + 1, 0u32);
        for token in open + 1..=close {
            match self.text.at(token) {
                "<" | "(" => depth += 1,
                ">" | ")" if depth > 0 => depth -= 1,
                "," if depth == 0 => {
                    parts.push((first, token - 1));
                    first = token + 1;
                }
                _ => {}
            }
        }
        if first < close {
            parts.push((first, close - 1));
        }
        parts
    }

    fn parts(&self, first: usize, last: usize) -> Vec<String> {
        let parts = self.template_parts(first.saturating_sub(1), last + 1);
        parts.into_iter().map(|(first, last)| self.text.between(first, last).to_owned()).collect()
    }

    /// The type of the argument for a parameter whose type is the template's.
    fn deduced(&self, kernel: &Function, launch: &Found, template_name: usize) -> Option<String> {
        let wanted = self.text.at(template_name);
        let uses = |param: &super::items::Param| {
            let ty = param.declarator.as_ref().map(|declarator| declarator.ty);
            ty.is_some_and(|(first, last)| first == last && self.text.at(first) == wanted)
        };
        let position = kernel.params.iter().position(uses)?;
        let &(first, last) = launch.args.get(position)?;
        let name = (first..=last).find(|&token| self.text.is_word(token))?;
        self.type_of(name)
    }

    /// The type of a variable of the host, without stars.
    fn type_of(&self, name: usize) -> Option<String> {
        let word = self.text.at(name);
        let declared = (1..name).rev().find(|&token| {
            self.text.at(token) == word
                && !matches!(self.text.at(token - 1), "." | "->")
                && self.type_before(token).is_some()
        })?;
        self.type_before(declared)
    }

    fn type_before(&self, name: usize) -> Option<String> {
        let mut token = name - 1;
        while token > 0 && matches!(self.text.at(token), "*" | "&" | "const" | "__restrict__") {
            token -= 1;
        }
        let last = token;
        let is_part = |token: usize| is_builtin_type(self.text.at(token)) || self.text.at(token) == "long";
        while token > 0 && is_part(token) && is_part(token - 1) {
            token -= 1;
        }
        let before = self.text.at(token.wrapping_sub(1));
        let is_type = is_part(last)
            || (self.text.is_word(last)
                && last < name
                && !matches!(self.text.at(last), "return" | "else" | "sizeof" | "delete" | "auto" | "void")
                && matches!(before, ";" | "{" | "}" | "," | "(" | "const"));
        (is_type && self.text.at(last) != "void").then(|| self.text.between(token, last).to_owned())
    }

    /// The arguments with the parameters of a host template replaced by those of its calls.
    fn substituted(&self, arguments: Vec<String>, at: usize) -> Vec<String> {
        let inside = |function: &&Function| {
            function.body.is_some_and(|(open, close)| open < at && at < close) && function.template.is_some()
        };
        let host = self.items.functions.iter().find(inside);
        let Some((host, (open, close))) = host.and_then(|host| Some((host, host.template?))) else {
            return vec![self.constants(arguments, at).join(", ")];
        };
        let names: Vec<&str> =
            self.template_parts(open, close).iter().map(|&(_, last)| self.text.at(last)).collect();
        if !arguments.iter().any(|argument| names.contains(&argument.as_str())) {
            return vec![self.constants(arguments, at).join(", ")];
        }
        let mut all = Vec::new();
        for token in 0..self.text.len() {
            let is_call = self.text.at(token) == host.name && self.text.at(token + 1) == "<";
            let Some(close) = self.text.angle_closing(token + 1).filter(|_| is_call) else { continue };
            let given = self.parts(token + 2, close - 1);
            let with = |argument: &String| {
                let position = names.iter().position(|name| name == argument);
                position.map_or(Some(argument.clone()), |position| given.get(position).cloned())
            };
            let found: Option<Vec<String>> = arguments.iter().map(with).collect();
            all.extend(found.map(|found| self.constants(found, at).join(", ")));
            if all.len() > 64 {
                break;
            }
        }
        all
    }

    /// Names of the host's own constants are replaced by their values.
    fn constants(&self, arguments: Vec<String>, at: usize) -> Vec<String> {
        let value = |argument: String| {
            let is_local = |token: &usize| self.text.at(*token) == argument && self.text.at(token + 1) == "=";
            let known = self.items.macros.contains_key(&argument)
                || self.items.items.iter().any(|item| item.names.contains(&argument));
            let found = (0..at).rev().find(is_local).filter(|_| !known);
            let number = found
                .map(|token| self.text.at(token + 2))
                .filter(|text| text.starts_with(|c: char| c.is_ascii_digit()));
            number.map_or(argument, str::to_owned)
        };
        arguments.into_iter().map(value).collect()
    }
}
