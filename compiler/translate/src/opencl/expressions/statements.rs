//! Statements and declarations: what is in scope where an expression stands.

use std::collections::BTreeMap;

use super::super::types::{Type, is_qualifier};
use super::{MAX_STEPS, Reader, Signature};

impl Reader<'_, '_> {
    /// Reads statements up to the end; gives the type of the last expression.
    pub(super) fn statements(&mut self) -> Type {
        let mut last = Type::Unknown;
        let depth = self.scopes.len();
        while self.at < self.end && self.steps < MAX_STEPS {
            match self.word() {
                "{" => {
                    self.scopes.push(BTreeMap::new());
                    self.advance();
                }
                "}" => {
                    if self.scopes.len() > depth {
                        self.scopes.pop();
                    }
                    self.advance();
                }
                "return" => {
                    self.advance();
                    if let Some(value) = self.expression() {
                        let result = self.result.clone();
                        self.convert_pointer(&result, &value);
                        last = value.ty;
                    }
                }
                ";" | ":" | "," | ")" | "do" | "else" | "case" | "default" | "goto" | "break"
                | "continue" => self.advance(),
                "if" | "while" | "switch" => {
                    self.advance();
                    if self.next_is("(") {
                        let close = self.text.closing(self.at);
                        self.advance();
                        let _ = self.expression();
                        self.go_behind(close.filter(|&close| close >= self.at));
                    }
                }
                "for" => {
                    self.advance();
                    if self.next_is("(") {
                        self.advance();
                    }
                }
                "__attribute__" => {
                    let close = self.text.closing(self.at + 1);
                    self.go_behind(close);
                }
                _ => {
                    let start = self.at;
                    if self.declaration() {
                        continue;
                    }
                    self.at = start;
                    match self.expression() {
                        Some(operand) => last = operand.ty,
                        None => {
                            if self.at <= start {
                                self.at = start;
                                self.advance();
                            }
                        }
                    }
                }
            }
        }
        self.scopes.truncate(depth);
        last
    }

    /// Reads a declaration with its initialisers, or a function; false if there is none here.
    pub(super) fn declaration(&mut self) -> bool {
        let is_typedef = self.next_is("typedef");
        let first = if is_typedef { self.at + 1 } else { self.at };
        let Some((ty, next)) = self.type_at(first) else { return false };
        let follows = self.text.at(next + 1);
        let is_name = next < self.end && self.text.is_word(next);
        let is_plain = matches!(follows, "=" | ";" | "," | "[" | ")" | ":" | "(" | "__attribute__")
            || next + 1 >= self.end;
        if !(is_name && is_plain) && !(self.text.at(next) == ";" && next < self.end) {
            return false;
        }
        self.at = next.saturating_sub(1);
        self.advance();
        let mut ty = ty;
        let base = match ty.unqualified() {
            Type::Pointer(_) => self.without_stars(first),
            _ => None,
        };
        while self.at < self.end && self.text.is_word(self.at) {
            let name = self.word().to_owned();
            self.advance();
            if self.next_is("(") && !is_typedef {
                return self.function(&name, ty);
            }
            let mut declared = ty.clone();
            while self.next_is("[") {
                let close = self.text.closing(self.at);
                self.advance();
                let _ = self.expression();
                self.go_behind(close);
                declared = Type::pointer(declared);
            }
            while self.next_is("__attribute__") {
                let close = self.text.closing(self.at + 1);
                self.go_behind(close);
            }
            if self.next_is(":") {
                self.advance();
                let _ = self.conditional();
            }
            match is_typedef {
                true => drop(self.names.types.insert(name, declared.clone())),
                false => self.declare(&name, declared.clone()),
            }
            if self.next_is("=") {
                self.advance();
                self.initialiser(&declared);
            }
            if !self.next_is(",") {
                break;
            }
            self.advance();
            // `float *a, b`: the star is the first name's.
            if let Some(base) = &base {
                ty = base.clone();
            }
            while self.next_is("*") || is_qualifier(self.word()) {
                match self.word() {
                    "*" => ty = Type::pointer(ty),
                    "const" => ty = Type::constant(ty),
                    _ => {}
                }
                self.advance();
            }
        }
        true
    }

    /// The type before the stars of a declaration.
    fn without_stars(&mut self, first: usize) -> Option<Type> {
        let (mut ty, _) = self.type_at(first)?;
        let mut token = first;
        while token < self.end && !matches!(self.text.at(token), "*" | "=" | ";") {
            token += 1;
        }
        // Stars that stand in the type's own definition belong to it.
        while self.text.at(token) == "*" {
            let Type::Pointer(to) = ty.unqualified() else { break };
            ty = (**to).clone();
            token += 1;
        }
        Some(ty)
    }

    /// A function's parameters and, if it stands there, its body.
    fn function(&mut self, name: &str, result: Type) -> bool {
        let open = self.at;
        let Some(close) = self.text.closing(open).filter(|&close| close < self.end) else { return true };
        let mut after = close + 1;
        while self.text.at(after) == "__attribute__" {
            after = self.text.closing(after + 1).map_or(self.end, |close| close + 1);
        }
        let has_body = self.text.at(after) == "{";
        if self.scopes.len() > 1 && !has_body {
            // `float4 a(…)` in a function: there are no constructors.
            return false;
        }
        let (mut names, mut params) = (BTreeMap::new(), Vec::new());
        for (first, last) in self.text.parts(open, close) {
            let (mut ty, next) = self.type_at(first).unwrap_or((Type::Unknown, first));
            let mut bound = next + 1;
            while bound < last && self.text.at(bound) == "[" {
                ty = Type::pointer(ty);
                bound = self.text.closing(bound).map_or(last, |close| close + 1);
            }
            params.push(ty.clone());
            if next > first && next <= last && self.text.is_word(next) {
                names.insert(self.text.at(next).to_owned(), ty);
            }
        }
        let signature = Signature { result: result.clone(), params };
        self.functions.insert(name.to_owned(), signature);
        self.at = after.saturating_sub(1);
        self.advance();
        if has_body {
            let body = self.text.closing(after).unwrap_or(self.end).min(self.end);
            let end = std::mem::replace(&mut self.end, body);
            self.advance();
            self.scopes.push(names);
            self.result = result;
            self.statements();
            self.result = Type::Unknown;
            self.scopes.pop();
            self.end = end;
            self.go_behind(Some(body));
        }
        true
    }

    /// The initialiser of a variable, of a member or of an element, of which the type is given.
    pub(super) fn initialiser(&mut self, ty: &Type) {
        let ty = ty.unqualified();
        if !self.next_is("{") {
            if let Some(value) = self.assignment() {
                self.convert_pointer(ty, &value);
            }
            return;
        }
        let close = self.text.closing(self.at).unwrap_or(self.end).min(self.end);
        self.advance();
        let mut elements = self.elements(ty).into_iter();
        let mut element = elements.next();
        while self.at < close && self.steps < MAX_STEPS {
            let start = self.at;
            let of = element.clone().unwrap_or(Type::Unknown);
            match self.text.at(start) {
                "{" if !self.is_too_deep() => {
                    self.depth += 1;
                    self.initialiser(&of);
                    self.depth -= 1;
                }
                // `.name =`
                "." => {
                    self.advance();
                    element = Some(self.member_type(ty, self.text.at(self.at)));
                    self.advance();
                }
                // All elements of an array have one type.
                "," => {
                    element = elements.next().or(element.filter(|_| matches!(ty, Type::Pointer(_))));
                    self.advance();
                }
                "=" | "[" | "]" | "{" => self.advance(),
                _ => {
                    if let Some(value) = self.assignment() {
                        self.convert_pointer(&of, &value);
                    }
                    if self.at <= start {
                        self.at = start;
                        self.advance();
                    }
                }
            }
        }
        self.at = close;
        if self.at < self.end {
            self.advance();
        }
    }

    /// The types of what an initialiser in braces lists; one for all elements of an array.
    fn elements(&self, ty: &Type) -> Vec<Type> {
        match ty {
            Type::Record(record) => self.names.records[*record].order.clone(),
            Type::Pointer(element) => vec![(**element).clone()],
            other => vec![other.clone()],
        }
    }

    fn member_type(&self, ty: &Type, name: &str) -> Type {
        match ty {
            Type::Record(record) => {
                self.names.records[*record].members.get(name).cloned().unwrap_or(Type::Unknown)
            }
            _ => Type::Unknown,
        }
    }
}
