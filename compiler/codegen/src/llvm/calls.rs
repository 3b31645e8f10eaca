//! Calls.

use std::fmt;

use super::{Builder, Opd, Type, VOID};

impl Builder {
    /// Declares an intrinsic or external function.
    pub(crate) fn declare_function(&mut self, result: Type, name: &str, parameters: &[Type]) {
        let parameters: Vec<String> = parameters.iter().map(ToString::to_string).collect();
        self.declare(format!("declare {result} @{name}({})", parameters.join(", ")));
    }

    /// A call of `@{name}`.
    pub(crate) fn call(&mut self, result: Type, name: impl fmt::Display, args: &[&Opd]) -> Opd {
        self.call_with(result, name, args, "")
    }

    /// A call of `@{name}` with an attribute group, such as ` #1`.
    pub(crate) fn call_with(
        &mut self,
        result: Type,
        name: impl fmt::Display,
        args: &[&Opd],
        attributes: &str,
    ) -> Opd {
        assert!(result != VOID, "the result of a call is a value");
        self.result(result, format_args!("call {result} @{name}({}){attributes}", arguments(args)))
    }

    /// A call of `@{name}` without a result.
    pub(crate) fn call_void(&mut self, name: impl fmt::Display, args: &[&Opd]) {
        self.call_void_with(name, args, "");
    }

    /// A call of `@{name}` without a result, with metadata.
    pub(crate) fn call_void_with(&mut self, name: impl fmt::Display, args: &[&Opd], metadata: &str) {
        self.line(format_args!("call void @{name}({}){metadata}", arguments(args)));
    }

    /// A call of `@{name}`, which returns a structure of two values.
    pub(crate) fn call_pair(
        &mut self,
        (first, second): (Type, Type),
        name: impl fmt::Display,
        args: &[&Opd],
    ) -> (Opd, Opd) {
        let both = self.fresh();
        let ty = format!("{{ {first}, {second} }}");
        self.line(format_args!("%r{both} = call {ty} @{name}({})", arguments(args)));
        let a = self.result(first, format_args!("extractvalue {ty} %r{both}, 0"));
        (a, self.result(second, format_args!("extractvalue {ty} %r{both}, 1")))
    }

    /// Assembly with side effects and without operands.
    pub(crate) fn asm_void(&mut self, template: &str, constraints: &str, attributes: &str) {
        self.line(format_args!("call void asm sideeffect \"{template}\", \"{constraints}\"(){attributes}"));
    }

    /// Assembly without side effects, which takes operands and has a result.
    pub(crate) fn asm(
        &mut self,
        result: Type,
        (template, constraints): (&str, &str),
        args: &[&Opd],
        attributes: &str,
    ) -> Opd {
        self.result(
            result,
            format_args!(
                "call {result} asm \"{template}\", \"{constraints}\"({}){attributes}",
                arguments(args)
            ),
        )
    }

    /// [`Self::call_void`], which also declares the function.
    pub(crate) fn call_void_declared(&mut self, name: &str, args: &[&Opd]) {
        self.declare_for(VOID, name, args);
        self.call_void(name, args);
    }

    /// [`Self::call`], which also declares the function.
    pub(crate) fn call_declared(&mut self, result: Type, name: &str, args: &[&Opd]) -> Opd {
        self.declare_for(result, name, args);
        self.call(result, name, args)
    }

    /// Declares a function that takes these arguments.
    pub(crate) fn declare_for(&mut self, result: Type, name: &str, args: &[&Opd]) {
        let parameters: Vec<Type> = args.iter().map(|arg| arg.ty()).collect();
        self.declare_function(result, name, &parameters);
    }

    /// A call of an intrinsic `@llvm.{name}` whose operands all have one type, the result's.
    #[track_caller]
    pub(crate) fn intrinsic(&mut self, name: &str, flags: &str, args: &[&Opd]) -> Opd {
        let ty = args[0].ty();
        for arg in args {
            self.expect(arg, ty);
        }
        let name = format!("llvm.{name}.{}", ty.suffix());
        self.declare_for(ty, &name, args);
        self.result(ty, format_args!("call {flags}{ty} @{name}({})", arguments(args)))
    }

    /// Trailing or leading zero bits of an integer (`cttz`, `ctlz`); of zero, the number of its bits unless
    /// `zero_is_poison`.
    pub(crate) fn count_zeros(&mut self, name: &str, bits: &Opd, zero_is_poison: bool) -> Opd {
        let name = format!("llvm.{name}.{}", bits.ty().suffix());
        self.call_declared(bits.ty(), &name, &[bits, &Opd::bool(zero_is_poison)])
    }

    /// Assembly with a structure of four results of one type, of which the first `count` are returned.
    pub(crate) fn asm_of_four(
        &mut self,
        result: Type,
        (template, constraints): (&str, &str),
        args: &[&Opd],
        attributes: &str,
        count: usize,
    ) -> Vec<Opd> {
        let (register, ty) = (self.fresh(), format!("{{ {result}, {result}, {result}, {result} }}"));
        self.line(format_args!(
            "%r{register} = call {ty} asm \"{template}\", \"{constraints}\"({}){attributes}",
            arguments(args)
        ));
        (0..count)
            .map(|at| self.result(result, format_args!("extractvalue {ty} %r{register}, {at}")))
            .collect()
    }
}

/// The arguments of a call with their types.
fn arguments(args: &[&Opd]) -> String {
    let args: Vec<String> = args.iter().map(|arg| arg.typed().to_string()).collect();
    args.join(", ")
}
