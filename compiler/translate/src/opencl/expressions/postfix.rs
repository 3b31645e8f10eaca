//! Casts, literals, names, calls and components.

use super::super::functions::{self, Conversions};
use super::super::positions;
use super::super::types::Type;
use super::super::wide;
use super::{Change, MAX_STEPS, Operand, Reader, Signature, is_assignment, pointee};

impl Reader<'_, '_> {
    /// A cast, a literal of a vector, or an expression in parentheses.
    pub(super) fn parenthesis(&mut self) -> Option<Operand> {
        let open = self.at;
        let close = self.text.closing(open).filter(|&close| close < self.end)?;
        let cast = self.type_at(open + 1).filter(|(_, next)| *next == close);
        let cast = cast.map(|(ty, _)| ty.unqualified().clone());
        let follows = self.text.at(close + 1);
        let has_list = close + 1 < self.end && matches!(follows, "(" | "{");
        let ty = match cast {
            Some(ty) => ty,
            None if follows == "(" && close + 1 < self.end && self.is_type_by_use(open, close) => {
                Type::AnyVector
            }
            None => return self.postfix(),
        };
        if matches!(ty, Type::Pointer(_)) && self.is_null(open, close) {
            for token in open..=close {
                self.change(Change::Remove(token));
            }
            self.replace(close + 1, "nullptr");
            self.go_behind(Some(close + 1));
            return Some(Operand::value(open, close + 1, Type::pointer(Type::Unknown)));
        }
        if has_list && ty.is_vector() {
            let literal = self.literal(open, close, ty)?;
            return self.postfixes(literal);
        }
        if has_list && follows == "{" {
            // A literal of a structure or an array.
            self.go_behind(Some(close));
            let end = self.text.closing(self.at).filter(|&end| end < self.end)?;
            self.initialiser(&ty);
            return self.postfixes(Operand::value(open, end, ty));
        }
        self.go_behind(Some(close));
        let operand = self.unary()?;
        Some(Operand::value(open, operand.last, ty))
    }

    /// `(void*)0`
    fn is_null(&self, open: usize, close: usize) -> bool {
        let has_space = (open..close).any(|token| {
            matches!(self.text.at(token).trim_start_matches('_'), "global" | "local" | "constant")
        });
        let is_void = (open..close).any(|token| self.text.at(token) == "void");
        self.text.at(close + 1) == "0" && close + 1 < self.end && (is_void || !has_space)
    }

    /// Whether `(name)(a, b)` can only be a literal: nothing else that is known has the name.
    fn is_type_by_use(&self, open: usize, close: usize) -> bool {
        let name = self.text.at(open + 1);
        let is_call = self.text.at(open + 2) == "(" && self.text.closing(open + 2) == Some(close - 1);
        let is_name = close == open + 2 || is_call;
        let Some(end) = self.text.closing(close + 1) else { return false };
        is_name
            && self.text.is_word(open + 1)
            && !self.is_variable(name)
            && !self.functions.contains_key(name)
            && !self.declarations.functions.iter().any(|function| function.name == name)
            && self.text.parts(close + 1, end).len() > 1
            && (is_call || !self.has_parameters(name))
    }

    fn has_parameters(&self, name: &str) -> bool {
        let definitions = self.macros.get(name).map(Vec::as_slice).unwrap_or_default();
        definitions.iter().any(|&definition| self.definitions[definition].params.is_some())
    }

    /// `(float4)(a, b)`, with the parentheses of the type.
    fn literal(&mut self, open: usize, close: usize, ty: Type) -> Option<Operand> {
        self.go_behind(Some(close));
        let list = self.at;
        let end = self.text.closing(list).filter(|&end| end < self.end)?;
        self.change(Change::Remove(open));
        self.change(Change::Remove(close));
        if self.text.at(list) == "{" {
            self.replace(list, "(");
            self.replace(end, ")");
        }
        self.advance();
        let mut parts = Vec::new();
        while self.at < end {
            let start = self.at;
            match self.assignment() {
                Some(part) => parts.push(part.ty),
                None if self.at <= start => {
                    self.at = start;
                    self.advance();
                }
                None => {}
            }
            if self.next_is(",") {
                self.advance();
            }
        }
        if let Type::Vector(scalar, width) = &ty
            && *width > 4
        {
            let widths: Vec<u32> = parts.iter().map(width_of).collect();
            if widths.len() > 1 && !wide::has_constructor(*width, &widths) {
                self.found.wide.literals.insert((*width, scalar.clone()));
                for token in open + 2..close {
                    self.change(Change::Remove(token));
                }
                self.replace(open + 1, &format!("cl_{scalar}{width}"));
            }
        }
        self.go_behind(Some(end));
        Some(Operand::value(open, end, ty))
    }

    pub(super) fn postfix(&mut self) -> Option<Operand> {
        let first = self.at;
        let operand = match self.word() {
            "(" => {
                let close = self.text.closing(first).filter(|&close| close < self.end)?;
                self.advance();
                let outer = std::mem::replace(&mut self.end, close);
                // `({ … })` has the value of its last expression.
                let inner = match self.next_is("{") {
                    true => Operand::value(first, close, self.statements()),
                    false => self.expression().unwrap_or(Operand::value(first, close, Type::Unknown)),
                };
                self.end = outer;
                self.go_behind(Some(close));
                Operand { first, last: close, ..inner }
            }
            _ if self.text.is_word(first) => self.name(first)?,
            "" => return None,
            word if self.text.is_number(first) || word.starts_with(['"', '\'']) => {
                let ty = Type::scalar(type_of_number(word));
                self.advance();
                Operand::value(first, first, ty)
            }
            _ => return None,
        };
        self.postfixes(operand)
    }

    /// A variable, a macro or a call.
    fn name(&mut self, first: usize) -> Option<Operand> {
        let name = self.word().to_owned();
        if matches!(&*name, "return" | "else" | "do" | "case" | "goto" | "break" | "continue") {
            return None;
        }
        self.advance();
        if !self.next_is("(") || self.is_variable(&name) {
            return Some(Operand::object(first, first, &self.lookup(&name)));
        }
        let close = self.text.closing(self.at).filter(|&close| close < self.end)?;
        let outer = std::mem::replace(&mut self.end, close);
        self.advance();
        let mut args = Vec::new();
        while self.at < self.end {
            let start = self.at;
            if let Some((ty, next)) = self.type_at(start)
                && (next == self.end || self.text.at(next) == ",")
                && ty.unqualified().is_vector()
                && self.has_parameters(&name)
            {
                self.found.varied.insert(name.clone());
            }
            match self.assignment() {
                Some(arg) => args.push(arg),
                None if self.at <= start => {
                    self.at = start;
                    self.advance();
                    continue;
                }
                None => {}
            }
            if self.next_is(",") {
                self.advance();
            }
        }
        self.end = outer;
        self.go_behind(Some(close));
        let types: Vec<Type> = args.iter().map(|arg| arg.ty.clone()).collect();
        let ty = self.call(&name, &types, first, close);
        self.note_wide(&ty);
        match self.functions.get(&name).cloned() {
            Some(Signature { params, .. }) => {
                params.iter().zip(&args).for_each(|(param, arg)| self.convert_pointer(param, arg));
            }
            None if !self.macros.contains_key(&name) => self.convert_numbers(&name, &args),
            None => {}
        }
        Some(Operand::value(first, close, ty.unqualified().clone()))
    }

    /// Converts numbers of several types to their common type, since the overloads for each type would be
    /// ambiguous.
    fn convert_numbers(&mut self, name: &str, args: &[Operand]) {
        let types: Vec<Type> = args.iter().map(|arg| arg.ty.clone()).collect();
        match (functions::conversions(name, &types), self.frames.last()) {
            (Conversions::None, _) => {}
            (Conversions::To(ty, which), _) => {
                for arg in which {
                    self.before(args[arg].first, &format!("{ty}("));
                    self.after(args[arg].last, ")");
                }
            }
            (Conversions::Varied, Some(frame)) => {
                self.found.varied.insert(self.definitions[frame.definition].name.clone());
            }
            (Conversions::Varied, None) => {}
        }
    }

    fn postfixes(&mut self, mut operand: Operand) -> Option<Operand> {
        while self.steps < MAX_STEPS {
            match self.word() {
                "[" => {
                    let close = self.text.closing(self.at).filter(|&close| close < self.end)?;
                    self.advance();
                    let outer = std::mem::replace(&mut self.end, close);
                    let _ = self.expression();
                    self.end = outer;
                    self.go_behind(Some(close));
                    let element = pointee(&operand.ty);
                    // An element of an array in a constant structure is constant.
                    let is_const = element.is_const() || operand.is_const;
                    operand = Operand { is_const, ..Operand::object(operand.first, close, &element) };
                }
                "++" | "--" => {
                    operand.last = self.at;
                    self.advance();
                }
                "." | "->" => {
                    let dot = self.at;
                    if dot + 1 >= self.end || !self.text.is_word(dot + 1) {
                        return Some(operand);
                    }
                    self.advance();
                    self.advance();
                    operand = self.member(operand, dot);
                }
                _ => break,
            }
        }
        Some(operand)
    }

    fn member(&mut self, base: Operand, dot: usize) -> Operand {
        let name = self.text.at(dot + 1);
        let is_arrow = self.text.at(dot) == "->";
        let object = if is_arrow { pointee(&base.ty) } else { base.ty.clone() };
        let is_const = object.is_const() || (!is_arrow && base.is_const);
        let ty = match object.unqualified() {
            Type::Record(record) => {
                self.names.records[*record].members.get(name).cloned().unwrap_or(Type::Unknown)
            }
            Type::Vector(scalar, width) => self.components(&base, dot, scalar, *width),
            _ if self.names.records.iter().any(|record| record.members.contains_key(name)) => Type::Unknown,
            _ => {
                let digits = name.strip_prefix(['s', 'S']).unwrap_or_default();
                match small_components(digits) {
                    Some(letters) if !digits.is_empty() => self.replace(dot + 1, &letters),
                    _ => {}
                }
                Type::Unknown
            }
        };
        let member = Operand::object(base.first, dot + 1, &ty);
        Operand { is_const: is_const || member.is_const, ..member }
    }

    /// Components of a vector.
    fn components(&mut self, base: &Operand, dot: usize, scalar: &str, width: u32) -> Type {
        // A macro may name components.
        let spelled = self.spelled(dot + 1).to_owned();
        let name = if wide::numbers(&spelled, width).is_some() { &*spelled } else { self.text.at(dot + 1) };
        let Some(numbers) = wide::numbers(name, width) else {
            self.refuse(
                dot + 1,
                format!("a vector of {width} has no components `{name}`"),
                "components are `x` to `w`, `s0` to `sf`, `lo`, `hi`, `even` and `odd`",
            );
            return Type::Unknown;
        };
        let count = numbers.len() as u32;
        let ty = match count {
            1 => Type::scalar(scalar),
            _ => Type::Vector(scalar.to_owned(), count),
        };
        if width <= 4 && count <= 4 {
            let letters: String = numbers.iter().map(|&n| &"xyzw"[n as usize..=n as usize]).collect();
            if letters != name {
                self.replace(dot + 1, &letters);
            }
            return ty;
        }
        if let Some(path) = wide::path(width, &numbers) {
            if path != name {
                self.replace(dot + 1, &path);
            }
            return ty;
        }
        if !matches!(count, 2 | 3 | 4 | 8 | 16) {
            self.refuse(dot + 1, format!("{count} components of {width}"), "name 2, 3, 4, 8 or 16");
        } else if is_assignment(self.word()) || matches!(self.word(), "++" | "--") {
            let hint = "assign components of one quarter, or a half: `.lo` and `.hi`";
            self.refuse(dot + 1, format!("an assignment to the components `{name}` of {width}"), hint);
        } else {
            self.note_wide(&ty);
            self.found.wide.picks.insert((width, scalar.to_owned(), name.to_owned()));
            let is_arrow = self.text.at(dot) == "->";
            self.before(base.first, &format!("cl_{name}({}", if is_arrow { "*(" } else { "" }));
            self.replace(dot, if is_arrow { "))" } else { ")" });
            self.replace(dot + 1, "");
        }
        ty
    }

    /// The type of a call's result.
    fn call(&mut self, name: &str, args: &[Type], first: usize, close: usize) -> Type {
        if let Some(ty) = self.macro_value(name, Some(args)) {
            return ty;
        }
        if let Some(function) = self.functions.get(name) {
            return function.result.clone();
        }
        let values = args.iter().filter(|arg| !matches!(arg, Type::Pointer(_) | Type::Record(_)));
        let general = values.cloned().reduce(|all, arg| all.common(&arg)).unwrap_or(Type::Unknown);
        let general = functions::generic_type(name, args.len(), general);
        let converted = name.strip_prefix("convert_").or(name.strip_prefix("as_"));
        if let Some(ty) = converted.and_then(|ty| self.names.named(ty.split('_').next()?)) {
            return ty;
        }
        if let Some(width) = name.strip_prefix("vload_half").or(name.strip_prefix("vloada_half")) {
            return width
                .parse()
                .map_or(Type::scalar("float"), |width| Type::Vector("float".to_owned(), width));
        }
        if let Some(width) = name.strip_prefix("vload").and_then(|width| width.parse().ok()) {
            let element = args.get(1).map_or(Type::Unknown, pointee);
            return match element.unqualified() {
                Type::Scalar(scalar) => Type::Vector(scalar.clone(), width),
                _ => Type::AnyVector,
            };
        }
        if let (Type::Scalar(_), Some(helper)) = (&general, geometric_of_numbers(name)) {
            self.help(helper);
            return Type::scalar("float");
        }
        match name {
            "cross" => {
                if matches!(general, Type::Vector(_, 4)) {
                    self.help("cl_cross");
                }
                general
            }
            "dot" | "length" | "distance" | "fast_length" | "fast_distance" => Type::scalar("float"),
            "shuffle" | "shuffle2" => match (args.first(), args.last()) {
                (Some(Type::Vector(scalar, _)), Some(Type::Vector(_, width))) => {
                    Type::Vector(scalar.clone(), *width)
                }
                _ => Type::AnyVector,
            },
            "nan" => match general {
                Type::Vector(_, width) => Type::Vector("float".to_owned(), width),
                _ => Type::scalar("float"),
            },
            "ilogb" => match general {
                Type::Vector(_, width) => Type::Vector("int".to_owned(), width),
                Type::Scalar(_) => Type::scalar("int"),
                other => other,
            },
            "any" | "all" => {
                self.help("cl_any");
                self.replace(first, if name == "any" { "cl_any" } else { "cl_all" });
                Type::scalar("int")
            }
            "isnan" | "isinf" | "isfinite" | "isnormal" | "signbit" | "isordered" | "isunordered" => {
                if let Type::Vector(scalar, width @ ..=4) = general.flags() {
                    self.before(first, &format!("-{scalar}{width}("));
                    self.after(close, ")");
                }
                general.flags()
            }
            _ if name.starts_with("is") => general.flags(),
            "abs" | "abs_diff" => {
                // Metal's may be of the argument's type.
                let ty = general.magnitude();
                if ty != general {
                    self.note_wide(&ty);
                    self.before(first, &format!("{}(", ty.name()));
                    self.after(close, ")");
                }
                ty
            }
            "read_imagef" => Type::Vector("float".to_owned(), 4),
            "read_imagei" => Type::Vector("int".to_owned(), 4),
            "read_imageui" => Type::Vector("uint".to_owned(), 4),
            "get_image_dim" => Type::Vector("int".to_owned(), 2),
            "upsample" => upsampled(&general),
            _ if positions::is_size(name) => Type::scalar("ulong"),
            _ if name.starts_with("get_") || name.starts_with("atom") => Type::scalar("int"),
            _ => general,
        }
    }
}

fn type_of_number(word: &str) -> &'static str {
    let is_hex = word.starts_with("0x") || word.starts_with("0X");
    let suffix = word
        .trim_start_matches(|c: char| c.is_ascii_hexdigit() || matches!(c, 'x' | 'X'))
        .to_ascii_lowercase();
    let is_decimal_float = !is_hex && word.contains(['.', 'e', 'E', 'f', 'F']);
    match &*suffix {
        _ if is_decimal_float || (is_hex && word.contains(['.', 'p', 'P'])) => "float",
        "u" => "uint",
        "l" | "ll" => "long",
        "ul" | "ull" | "lu" | "llu" => "ulong",
        _ => "int",
    }
}

/// The prelude's geometric function of numbers: Metal has those of vectors only.
fn geometric_of_numbers(name: &str) -> Option<&'static str> {
    Some(match name {
        "dot" => "cl_dot",
        "length" => "cl_length",
        "distance" => "cl_distance",
        "normalize" => "cl_normalize",
        "fast_length" => "cl_fast_length",
        "fast_distance" => "cl_fast_distance",
        "fast_normalize" => "cl_fast_normalize",
        _ => return None,
    })
}

fn width_of(ty: &Type) -> u32 {
    if let Type::Vector(_, width) = ty { *width } else { 1 }
}

/// The integers of twice the size.
fn upsampled(ty: &Type) -> Type {
    let wider = |scalar: &str| match scalar {
        "char" => "short",
        "uchar" => "ushort",
        "short" => "int",
        "ushort" => "uint",
        "int" => "long",
        _ => "ulong",
    };
    match ty {
        Type::Scalar(scalar) => Type::scalar(wider(scalar)),
        Type::Vector(scalar, width) => Type::Vector(wider(scalar).to_owned(), *width),
        other => other.clone(),
    }
}

/// The letters for hexadecimal digits below 4.
fn small_components(digits: &str) -> Option<String> {
    digits.chars().map(|digit| "xyzw".chars().nth(digit.to_digit(16)? as usize)).collect()
}
