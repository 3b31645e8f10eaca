//! The entry point: arguments for the host, facts about the thread for the body.

use super::encoding;
use super::function::FunctionLowerer;
use super::logging;
use super::recursion::Instance;
use super::resources;
use super::stage_in;
use super::{Lowerer, value};
use crate::hir::{self, KernelParamKind, ScalarTy};
use anymetal_ir as ir;

impl Lowerer<'_> {
    pub(super) fn kernel(&mut self) {
        let kernel = &self.program.kernel;
        let mut args: Vec<_> = kernel.params.iter().flat_map(|param| self.arguments(param)).collect();
        self.add_stage_in_arguments(&mut args);
        if self.messages.logs(kernel.function) {
            args.extend(logging::arguments());
        }
        let encodes = self.encoding.encodes(kernel.function);
        if encodes {
            args.extend(encoding::arguments());
        }
        let params: Vec<_> = args.iter().map(|arg| ir::Type::Ptr(arg.space)).collect();
        let mut entry = ir::Function::new(kernel.name.clone(), &params, None);
        self.entry(&mut entry, &args, encodes);
        let function = self.add_function(entry);
        self.pending_functions();
        self.module.kernels.push(ir::Kernel {
            name: kernel.name.clone(),
            function,
            args,
            max_threads: kernel.max_threads,
            required_threads: kernel.required_threads,
            thread_attributes: thread_attributes(kernel),
            logs: self.messages.take_sites(),
            stage_inputs: stage_in::stage_inputs(kernel),
        });
    }

    /// Queries the thread's built-in values and calls the body.
    fn entry(&mut self, entry: &mut ir::Function, args: &[ir::KernelArg], encodes: bool) {
        let kernel = &self.program.kernel;
        let body = self.function_id(Instance::outermost(kernel.function));
        let loc = self.loc(self.program.function(kernel.function).span);
        let mut pointers = entry.params.clone().into_iter();
        let mut b = ir::Builder::new(entry);
        b.loc = loc;
        let record = encodes.then(|| self.encoding_record(&mut b, args));
        let textures = self.textures.uses(kernel.function).then(|| self.texture_records(&mut b));
        let [origin, size] = self.region(&mut b);
        let mut values = Vec::new();
        let mut conditions = self.resource_conditions.clone().into_iter();
        for param in &kernel.params {
            let mut bound =
                resources::Bound { textures, conditions: &mut conditions, pointers: &mut pointers };
            values.push(match param.kind {
                KernelParamKind::Resource { .. } | KernelParamKind::Structure { .. } => {
                    self.resource_value(&mut b, param, &mut bound)
                }
                KernelParamKind::Thread { attribute: hir::DISPATCH_QUADGROUPS, elem, .. } => {
                    dispatch_quadgroups(&mut b, elem)
                }
                KernelParamKind::Thread { attribute: hir::GRID_ORIGIN, elem, len, .. } => {
                    fact_of_words(&mut b, &origin[..len.into()], elem)
                }
                KernelParamKind::Thread { attribute: hir::GRID_SIZE, elem, len, .. } => {
                    fact_of_words(&mut b, &size[..len.into()], elem)
                }
                KernelParamKind::StageIn { ref members } => {
                    b.loc = self.loc(param.span);
                    let value = self.stage_in_value(&mut b, members, param.ty, [&origin, &size]);
                    b.loc = loc;
                    value
                }
                KernelParamKind::Thread { query, elem, len, .. } => thread_fact(&mut b, query, elem, len),
                _ => pointers.next().expect("one IR parameter per pointer"),
            });
        }
        // The log, of a kernel that has one.
        let logs = pointers.skip(self.stage_in_pointers());
        values.extend(logs.take(if self.messages.logs(kernel.function) { 2 } else { 0 }));
        values.extend(record);
        values.extend(textures.map(|records| records.own));
        assert!(conditions.next().is_none(), "each condition is that of one resource");
        let expected = self.module.function(body).params.len();
        assert_eq!(values.len(), expected, "the body of {} has a value for each parameter", kernel.name);
        b.push(ir::Op::Call(body, values));
    }

    /// What the host binds for a parameter.
    fn arguments(&mut self, param: &hir::KernelParam) -> Vec<ir::KernelArg> {
        match &param.kind {
            KernelParamKind::Resource { .. } => self.resource_arguments(param),
            KernelParamKind::Structure { members } => {
                members.iter().flat_map(|(_, member)| self.arguments(member)).collect()
            }
            _ => self.argument(param).into_iter().collect(),
        }
    }

    fn argument(&mut self, param: &hir::KernelParam) -> Option<ir::KernelArg> {
        let (kind, binding, element, reference) = match &param.kind {
            KernelParamKind::Buffer { binding, element, is_reference } => {
                (ir::ArgKind::Buffer, binding, *element, *is_reference)
            }
            KernelParamKind::ThreadgroupMemory { binding, element, is_reference } => {
                (ir::ArgKind::ThreadgroupMemory, binding, *element, *is_reference)
            }
            KernelParamKind::Resource { .. }
            | KernelParamKind::Structure { .. }
            | KernelParamKind::StageIn { .. }
            | KernelParamKind::Thread { .. } => return None,
        };
        let conditions = self.conditions(param, binding);
        let argument = self.pointer_argument(param.name.as_str(), binding.index, element, conditions);
        Some(ir::KernelArg { kind, reference, ..argument })
    }

    /// A buffer that is declared as a pointer to an element.
    pub(super) fn pointer_argument(
        &self,
        name: &str,
        index: u32,
        element: hir::QualTy,
        conditions: Conditions,
    ) -> ir::KernelArg {
        let layout = self.types().layout(element.ty);
        let read_only = element.is_const || element.space == ir::Space::Constant;
        ir::KernelArg {
            name: name.to_owned(),
            kind: ir::ArgKind::Buffer,
            index,
            index_by: conditions.index_by,
            space: element.space,
            type_name: self.types().display(element.ty),
            element: self.element_type(element.ty),
            element_size: layout.size,
            element_align: layout.align,
            reference: false,
            access: if read_only { ir::Access::Read } else { ir::Access::ReadWrite },
            enabled_by: conditions.enabled_by,
            enabled: true,
        }
    }

    pub(super) fn element_type(&self, ty: hir::Ty) -> ir::ElementType {
        match *self.types().kind(ty) {
            hir::TyKind::Vector { elem, len, .. } => {
                ir::ElementType::Vector { scalar: elem.into(), signed: elem.is_signed(), count: len }
            }
            // An atomic is a record around its scalar; the host sees the scalar.
            hir::TyKind::Record(id) => match &self.types().record(id).fields[..] {
                [only] if self.types().record(id).name.contains("atomic") => self.element_type(only.ty.ty),
                _ => ir::ElementType::Aggregate,
            },
            _ => match self.types().scalar_repr(ty) {
                Some(scalar) => ir::ElementType::Scalar { scalar: scalar.into(), signed: scalar.is_signed() },
                None => ir::ElementType::Aggregate,
            },
        }
    }

    /// The functions of function constants that specialisation evaluates for an argument.
    pub(super) fn conditions(&mut self, param: &hir::KernelParam, binding: &hir::Binding) -> Conditions {
        let name = param.name.as_str();
        let index_by = binding.index_by.as_ref();
        let enabled_by = binding.enabled.as_ref();
        Conditions {
            index_by: index_by.map(|value| self.evaluated(format!("{name}.index"), value, ir::Type::I32)),
            enabled_by: enabled_by
                .map(|value| self.evaluated(format!("{name}.enabled"), value, ir::Type::BOOL)),
        }
    }

    /// A function that returns a value that depends on function constants only.
    fn evaluated(&mut self, name: String, value: &hir::Expr, ty: ir::Type) -> ir::FuncId {
        // Elements of an array share an expression, but names are unique.
        let name = format!("{name}.{}", self.module.functions.len());
        let mut function = ir::Function::new(name, &[], Some(ty));
        let shell = Instance::outermost(self.program.kernel.function);
        let mut lowerer = FunctionLowerer::new(self, shell, &mut function);
        let value = value::lower(&mut lowerer, value);
        lowerer.b.push(ir::Op::Return(Some(value)));
        self.add_function(function)
    }
}

/// The functions that say what the index of an argument is and whether it exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    pub(super) index_by: Option<ir::FuncId>,
    pub(super) enabled_by: Option<ir::FuncId>,
}

fn thread_attributes(kernel: &hir::Kernel) -> Vec<String> {
    let attribute = |param: &hir::KernelParam| match param.kind {
        KernelParamKind::Thread { attribute, .. } => Some(attribute.to_owned()),
        _ => None,
    };
    kernel.params.iter().filter_map(attribute).collect()
}

/// The query for another component.
fn component(query: ir::Query, n: u8) -> ir::Query {
    use ir::Query as Q;
    match query {
        Q::ThreadPositionInGrid(_) => Q::ThreadPositionInGrid(n),
        Q::ThreadPositionInThreadgroup(_) => Q::ThreadPositionInThreadgroup(n),
        Q::ThreadgroupPositionInGrid(_) => Q::ThreadgroupPositionInGrid(n),
        Q::ThreadsPerGrid(_) => Q::ThreadsPerGrid(n),
        Q::ThreadsPerThreadgroup(_) => Q::ThreadsPerThreadgroup(n),
        Q::DispatchThreadsPerThreadgroup(_) => Q::DispatchThreadsPerThreadgroup(n),
        Q::ThreadgroupsPerGrid(_) => Q::ThreadgroupsPerGrid(n),
        other => {
            assert_eq!(n, 0, "{other:?} has one component");
            other
        }
    }
}

/// Quad-groups of a threadgroup of the size given at dispatch.
fn dispatch_quadgroups(b: &mut ir::Builder<'_>, elem: ScalarTy) -> ir::Value {
    let [x, y, z] = [0, 1, 2].map(|n| b.query(ir::Query::DispatchThreadsPerThreadgroup(n)));
    let plane = b.binary(ir::BinOp::Mul, x, y);
    let threads = b.binary(ir::BinOp::Mul, plane, z);
    let [three, four] = [3, 4].map(|value| b.i32(value));
    let rounded = b.binary(ir::BinOp::Add, threads, three);
    let groups = b.binary(ir::BinOp::UDiv, rounded, four);
    match ir::Scalar::from(elem) {
        scalar if scalar.bits() == 32 => groups,
        scalar => b.cast(ir::CastOp::Trunc, groups, ir::Type::Scalar(scalar)),
    }
}

pub(super) fn thread_fact(b: &mut ir::Builder<'_>, query: ir::Query, elem: ScalarTy, len: u8) -> ir::Value {
    let words: Vec<_> = (0..len).map(|n| b.query(component(query, n))).collect();
    fact_of_words(b, &words, elem)
}

/// A scalar or a vector of integers of the type that a kernel wants.
fn fact_of_words(b: &mut ir::Builder<'_>, words: &[ir::Value], elem: ScalarTy) -> ir::Value {
    let scalar = ir::Scalar::from(elem);
    let part = |&word: &ir::Value| match scalar.bits() {
        32 => word,
        bits if bits < 32 => b.cast(ir::CastOp::Trunc, word, ir::Type::Scalar(scalar)),
        _ => b.cast(ir::CastOp::ZExt, word, ir::Type::Scalar(scalar)),
    };
    let parts: Vec<_> = words.iter().map(part).collect();
    match parts[..] {
        [one] => one,
        _ => b.value(ir::Op::Compose(parts), ir::Type::Vector(scalar, words.len() as u8)),
    }
}
