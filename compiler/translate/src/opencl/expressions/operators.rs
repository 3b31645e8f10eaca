//! Operators: by precedence, and what comparisons, logic and choices of vectors become.

use super::super::types::Type;
use super::{MAX_STEPS, Operand, Reader, is_assignment, pointee};
use crate::branches::precedence;

impl Reader<'_, '_> {
    pub(super) fn expression(&mut self) -> Option<Operand> {
        let mut left = self.assignment()?;
        while self.next_is(",") {
            self.advance();
            let Some(right) = self.assignment() else { return Some(left) };
            left = Operand { first: left.first, ..right };
        }
        Some(left)
    }

    pub(super) fn assignment(&mut self) -> Option<Operand> {
        if self.is_too_deep() || self.steps > MAX_STEPS {
            return None;
        }
        self.depth += 1;
        let value = self.assignment_inner();
        self.depth -= 1;
        value
    }

    fn assignment_inner(&mut self) -> Option<Operand> {
        let left = self.conditional()?;
        if !is_assignment(self.word()) {
            return Some(left);
        }
        let is_plain = self.next_is("=");
        self.advance();
        let Some(right) = self.assignment() else { return Some(left) };
        if is_plain {
            self.convert_pointer(&left.ty, &right);
        }
        Some(Operand { last: right.last, ..left })
    }

    pub(super) fn conditional(&mut self) -> Option<Operand> {
        let cond = self.binary(1)?;
        if !self.next_is("?") {
            return Some(cond);
        }
        let question = self.at;
        self.advance();
        let Some(then) = self.expression() else { return Some(cond) };
        if !self.next_is(":") {
            return Some(cond);
        }
        let colon = self.at;
        self.advance();
        let Some(otherwise) = self.assignment_of_conditional() else { return Some(cond) };
        let ty = match then.decayed().common(&otherwise.decayed()) {
            // Numbers are widened to the condition's number of components.
            Type::Scalar(scalar) if matches!(cond.ty, Type::Vector(..)) => match &cond.ty {
                Type::Vector(_, width) => Type::Vector(scalar, *width),
                _ => Type::Unknown,
            },
            ty => ty,
        };
        let is_to_constant = matches!(otherwise.decayed(), Type::Pointer(to) if to.is_const());
        let ty = if is_to_constant { ty.to_constant() } else { ty };
        self.convert_pointer(&ty, &otherwise);
        match &cond.ty {
            Type::Vector(..) => {
                self.help("cl_choose");
                self.before(cond.first, "cl_choose(");
                self.replace(question, ",");
                self.replace(colon, ",");
                self.after(otherwise.last, ")");
            }
            Type::AnyVector | Type::Mixed => {
                self.help("cl_flags");
                self.before(cond.first, "cl_test(");
                self.after(cond.last, ")");
            }
            _ => {}
        }
        Some(Operand::value(cond.first, otherwise.last, ty))
    }

    fn assignment_of_conditional(&mut self) -> Option<Operand> {
        if self.is_too_deep() {
            return None;
        }
        self.depth += 1;
        let value = self.conditional();
        self.depth -= 1;
        value
    }

    fn binary(&mut self, least: u32) -> Option<Operand> {
        let mut left = self.unary()?;
        loop {
            let operator = self.at;
            let Some(level) = precedence(self.word()).filter(|level| *level >= least) else {
                return Some(left);
            };
            self.advance();
            let Some(right) = self.binary(level + 1) else { return Some(left) };
            left = self.operation(operator, left, right);
        }
    }

    fn operation(&mut self, operator: usize, left: Operand, right: Operand) -> Operand {
        let word = self.text.at(operator);
        let common = left.decayed().common(&right.decayed());
        let ty = match word {
            "<" | ">" | "<=" | ">=" | "==" | "!=" => {
                self.comparison(operator, &left, &right, &common);
                common.flags()
            }
            "&&" | "||" => {
                self.logical(operator, &left, &right, &common);
                common.flags()
            }
            "<<" | ">>" if !matches!(left.ty, Type::Unknown) => left.ty.promoted(),
            "-" if matches!((&left.ty, &right.ty), (Type::Pointer(_), Type::Pointer(_))) => {
                Type::scalar("long")
            }
            _ => common.promoted(),
        };
        Operand::value(left.first, right.last, ty)
    }

    fn comparison(&mut self, operator: usize, left: &Operand, right: &Operand, common: &Type) {
        // The other pointer converts as it is compared.
        self.convert_pointer(&right.ty.to_constant(), left);
        match common.flags() {
            flags @ Type::Vector(..) if flags.is_wide() => self.note_wide(&flags),
            Type::Vector(scalar, width) => {
                self.before(left.first, &format!("-{scalar}{width}("));
                self.after(right.last, ")");
            }
            Type::AnyVector | Type::Mixed => {
                self.help("cl_compare");
                let function = match self.text.at(operator) {
                    "<" => "cl_less(",
                    ">" => "cl_greater(",
                    "<=" => "cl_less_equal(",
                    ">=" => "cl_greater_equal(",
                    "==" => "cl_equal(",
                    _ => "cl_not_equal(",
                };
                self.before(left.first, function);
                self.replace(operator, ",");
                self.after(right.last, ")");
            }
            _ => {}
        }
    }

    fn logical(&mut self, operator: usize, left: &Operand, right: &Operand, common: &Type) {
        let word = self.text.at(operator);
        match common.flags() {
            flags @ Type::Vector(..) if flags.is_wide() => self.note_wide(&flags),
            Type::Vector(scalar, width) => {
                self.before(left.first, &format!("-{scalar}{width}((("));
                self.replace(operator, &format!(") != 0) {word} (("));
                self.after(right.last, ") != 0))");
            }
            Type::AnyVector | Type::Mixed => {
                self.help("cl_flags");
                self.before(left.first, "cl_flags(cl_true(");
                self.replace(operator, &format!(") {word} cl_true("));
                self.after(right.last, "))");
            }
            _ => {}
        }
    }

    pub(super) fn unary(&mut self) -> Option<Operand> {
        if self.is_too_deep() || self.steps > MAX_STEPS {
            return None;
        }
        self.depth += 1;
        let operand = self.unary_inner();
        self.depth -= 1;
        operand
    }

    fn unary_inner(&mut self) -> Option<Operand> {
        let first = self.at;
        match self.word() {
            "-" | "+" | "~" => {
                self.advance();
                let operand = self.unary()?;
                Some(Operand::value(first, operand.last, operand.ty.promoted()))
            }
            "++" | "--" => {
                self.advance();
                let operand = self.unary()?;
                Some(Operand::value(first, operand.last, operand.ty))
            }
            "!" => {
                self.advance();
                let operand = self.unary()?;
                let ty = operand.ty.flags();
                match &ty {
                    flags @ Type::Vector(..) if flags.is_wide() => self.note_wide(flags),
                    Type::Vector(scalar, width) => {
                        self.replace(first, &format!("-{scalar}{width}("));
                        self.after(operand.last, " == 0)");
                    }
                    Type::AnyVector | Type::Mixed => {
                        self.help("cl_flags");
                        self.replace(first, "cl_flags(!cl_true(");
                        self.after(operand.last, "))");
                    }
                    _ => {}
                }
                Some(Operand::value(first, operand.last, ty))
            }
            "*" => {
                self.advance();
                let operand = self.unary()?;
                Some(Operand::object(first, operand.last, &pointee(&operand.ty)))
            }
            "&" => {
                self.advance();
                let operand = self.unary()?;
                let of = if operand.is_const { Type::constant(operand.ty) } else { operand.ty };
                Some(Operand::value(first, operand.last, Type::pointer(of)))
            }
            "sizeof" => {
                self.advance();
                let close = self.text.closing(self.at).filter(|_| self.next_is("("));
                let last = match close {
                    Some(close) => {
                        self.go_behind(Some(close));
                        close
                    }
                    None => self.unary()?.last,
                };
                Some(Operand::value(first, last, Type::scalar("ulong")))
            }
            "(" => self.parenthesis(),
            _ => self.postfix(),
        }
    }
}
