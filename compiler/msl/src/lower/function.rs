//! One function: its variables, parameters and result.

use super::origin::Origins;
use super::recursion::Instance;
use super::{Lowerer, fp_mode, stmt};
use crate::hir;
use crate::token::{ContractMode, FpPragmas};
use anymetal_diagnostics::Span;
use anymetal_ir as ir;

/// A function under construction.
///
/// The IR function is taken out of the module while it is built, so that callees can be declared
/// meanwhile.
pub(super) struct FunctionLowerer<'l, 'p, 'f> {
    pub(super) module: &'l mut Lowerer<'p>,
    pub(super) b: ir::Builder<'f>,
    pub(super) hir: &'p hir::Function,
    /// Which copy of the function this is.
    pub(super) instance: Instance,
    /// The address of each variable, once it has one.
    addresses: Vec<Option<Variable>>,
    /// Enclosing loops and switches: where `break` and `continue` go.
    pub(super) targets: Vec<Target>,
    /// The pointer through which an aggregate result is returned.
    pub(super) result: Option<ir::Value>,
    /// The log and the number of the command, in functions with messages.
    pub(super) log: Option<[ir::Value; 2]>,
    /// Where resources are, in functions that encode commands.
    pub(super) encoding: Option<ir::Value>,
    /// Where the kernel's textures are, in functions that use textures.
    pub(super) textures: Option<ir::Value>,
    /// What is known of positions, if that is wanted.
    origins: Option<Origins>,
}

/// Where a variable lives.
#[derive(Clone, Copy)]
enum Variable {
    Local(ir::Local),
    /// An aggregate parameter: the caller's copy.
    Pointer(ir::Value),
}

/// An enclosing construct.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) label: ir::Label,
    pub(super) is_loop: bool,
}

impl Lowerer<'_> {
    /// Writes the code of all functions declared so far, and of those they call.
    pub(super) fn pending_functions(&mut self) {
        while let Some((source, target)) = self.pending.pop() {
            let placeholder = ir::Function::new("", &[], None);
            let slot = &mut self.module.functions[target.index()];
            let mut function = std::mem::replace(slot, placeholder);
            self.function(source, &mut function);
            self.module.functions[target.index()] = function;
        }
    }

    fn function(&mut self, source: Instance, function: &mut ir::Function) {
        let hir = self.program.function(source.function);
        let params = function.params.clone();
        let mut lowerer = FunctionLowerer::new(self, source, function);
        if lowerer.module.for_sanitizer {
            lowerer.origins = Some(Origins::new(&hir.name));
            lowerer.at(hir.span);
        }
        lowerer.parameters(&params);
        stmt::lower_block(&mut lowerer, &hir.body);
        lowerer.end();
        // Here too, so that code without optimisation copies the same bytes.
        anymetal_opt::bool_copies::bool_copies(function);
    }
}

impl<'l, 'p, 'f> FunctionLowerer<'l, 'p, 'f> {
    pub(super) fn new(
        module: &'l mut Lowerer<'p>,
        instance: Instance,
        function: &'f mut ir::Function,
    ) -> Self {
        let hir = module.program.function(instance.function);
        let mut b = ir::Builder::new(function);
        b.loc = module.loc(hir.span);
        let mut lowerer = Self {
            module,
            b,
            hir,
            instance,
            addresses: vec![None; hir.locals.len()],
            targets: Vec::new(),
            result: None,
            log: None,
            encoding: None,
            textures: None,
            origins: None,
        };
        lowerer.follow(hir.fp);
        lowerer
    }

    /// Sets the mode of the arithmetic that follows.
    pub(super) fn follow(&mut self, pragmas: FpPragmas) {
        self.b.fp = pragmas.math_mode.map_or(self.module.default_mode, fp_mode);
        self.b.contract = pragmas.contract == ContractMode::Fast;
    }

    fn parameters(&mut self, params: &[ir::Value]) {
        let mut params = params;
        if let [rest @ .., record] = params
            && self.module.textures.uses(self.instance.function)
        {
            (self.textures, params) = (Some(*record), rest);
        }
        if let [rest @ .., record] = params
            && self.module.encoding.encodes(self.instance.function)
        {
            (self.encoding, params) = (Some(*record), rest);
        }
        if let [.., log, command] = *params
            && self.module.messages.logs(self.instance.function)
        {
            self.log = Some([log, command]);
        }
        let mut params = params.iter().copied();
        if self.module.is_aggregate(self.hir.ret) {
            self.result = params.next();
        }
        let hidden = params.len().checked_sub(self.hir.params.len());
        let logs = self.log.map_or(0, |log| log.len());
        assert_eq!(hidden, Some(logs), "{} has a value for each parameter", self.hir.name);
        for (&local, value) in self.hir.params.iter().zip(params) {
            let ty = self.hir.locals[local.0 as usize].ty;
            if self.module.is_aggregate(ty) {
                self.addresses[local.0 as usize] = Some(Variable::Pointer(value));
            } else {
                let address = self.start_local(local);
                let align = self.access_align(ty);
                self.b.store(address, value, align);
            }
        }
    }

    /// Reaching the end of a function that gives a value is the program's mistake: any value will do.
    fn end(&mut self) {
        assert_eq!(self.b.block(), self.b.func.body, "a nested block is still open");
        assert!(self.targets.is_empty(), "a loop or switch is still open");
        if self.b.is_terminated() {
            return;
        }
        if let Some(ty) = self.b.func.ret {
            let undefined = self.b.value(ir::Op::Undef, ty);
            self.b.push(ir::Op::Return(Some(undefined)));
        }
    }

    pub(super) fn types(&self) -> &'p hir::Types {
        &self.module.program.types
    }

    pub(super) fn at(&mut self, span: Span) {
        if !span.is_none() {
            self.b.loc = self.module.loc(span);
            if let Some(origins) = &mut self.origins {
                self.b.loc.origin = origins.number(self.module, span, &mut self.b.func.origins);
            }
        }
    }

    /// The IR type of values of this type.
    ///
    /// # Panics
    /// For aggregates: a bug in lowering.
    pub(super) fn value_type(&self, ty: hir::Ty) -> ir::Type {
        match self.module.value_type(ty) {
            Some(ty) => ty,
            None => panic!("lowering took `{}` for a value", self.types().display(ty)),
        }
    }

    /// The alignment an access of this value type may claim: that of its element, since programs
    /// cast pointers to wider vectors without checking.
    pub(super) fn access_align(&self, ty: hir::Ty) -> u32 {
        match self.types().element(ty).filter(|_| !self.module.for_sanitizer) {
            Some(element) => element.size(),
            None => self.types().layout(ty).align,
        }
    }

    /// The address of a variable.
    pub(super) fn local_address(&mut self, local: hir::LocalId) -> ir::Value {
        let slot = self.ensure_local(local);
        match slot {
            Variable::Local(local) => self.b.local_addr(local),
            Variable::Pointer(pointer) => pointer,
        }
    }

    /// Begins a variable's lifetime and gives its address.
    pub(super) fn start_local(&mut self, local: hir::LocalId) -> ir::Value {
        if let Variable::Local(slot) = self.ensure_local(local) {
            self.b.push(ir::Op::LocalStart(slot));
        }
        self.local_address(local)
    }

    fn ensure_local(&mut self, local: hir::LocalId) -> Variable {
        let index = local.0 as usize;
        if let Some(known) = self.addresses[index] {
            return known;
        }
        let data = &self.hir.locals[index];
        let layout = self.types().layout(data.ty);
        let slot = self.b.func.add_local(data.name.as_str(), layout.size, layout.align);
        self.addresses[index] = Some(Variable::Local(slot));
        Variable::Local(slot)
    }

    /// A fresh temporary; its lifetime begins here.
    pub(super) fn temporary(&mut self, ty: hir::Ty) -> ir::Value {
        let layout = self.types().layout(ty);
        let slot = self.b.func.add_local("", layout.size, layout.align);
        self.b.push(ir::Op::LocalStart(slot));
        self.b.local_addr(slot)
    }
}
