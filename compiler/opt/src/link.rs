//! Links modules: gives a function without code that of a function of another module.
//!
//! What the other module needs is copied, with new numbers: functions, data, threadgroup variables, files.
//! Invariant: calls of the function stay as they are, and so do all numbers of the module itself.

use anymetal_ir::{FuncId, GlobalId, Loc, Module, Op, ThreadgroupId, Type};
use thiserror::Error;

/// Why a function cannot take the place of another.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LinkError {
    /// Its parameters or its result have other types.
    #[error("`{name}` has parameters or a result of other types than its caller expects")]
    OtherTypes {
        /// The function.
        name: String,
    },
    /// It depends on function constants.
    #[error("`{name}` depends on the function constant `{constant}`, which has no value")]
    FunctionConstant {
        /// The function.
        name: String,
        /// The first of them.
        constant: String,
    },
}

/// Makes `function` of `other` the code of `place`, whose name it keeps. `other` is specialised.
///
/// # Errors
/// Where the function does not fit; the module is then unchanged.
pub fn link(module: &mut Module, place: FuncId, other: &Module, function: FuncId) -> Result<(), LinkError> {
    let (own, given) = (module.function(place), other.function(function));
    let types = |function: &anymetal_ir::Function| -> Vec<Type> {
        function.params.iter().map(|&param| function.ty(param)).collect()
    };
    if types(own) != types(given) || own.ret != given.ret {
        return Err(LinkError::OtherTypes { name: own.name.clone() });
    }
    if let Some(constant) = other.function_constants.first().filter(|_| reads_constants(other)) {
        let (name, constant) = (own.name.clone(), constant.name.clone());
        return Err(LinkError::FunctionConstant { name, constant });
    }
    let offsets = Offsets {
        place,
        function,
        functions: module.functions.len() as u32,
        globals: module.globals.len() as u32,
        threadgroup: module.threadgroup_vars.len() as u32,
        files: module.files.len() as u32,
    };
    assert_eq!(given.params.len(), own.params.len(), "functions of equal types");
    let prefix = own.name.clone();
    module.files.extend(other.files.iter().cloned());
    module.threadgroup_vars.extend(other.threadgroup_vars.iter().cloned());
    for global in &other.globals {
        // Names are unique; what follows the last dot tells them apart.
        let name = match global.name.rsplit_once('.') {
            Some((name, _)) => format!("{name}.{}", module.globals.len()),
            None => format!("{}.{}", global.name, module.globals.len()),
        };
        module.globals.push(anymetal_ir::Global { name, ..global.clone() });
    }
    for (n, copied) in (0u32..).zip(&other.functions) {
        let mut copied = copied.clone();
        offsets.renumber(&mut copied);
        let name = format!("{prefix}/{}", copied.name);
        if FuncId(n) == function {
            module.functions[place.index()] = anymetal_ir::Function { name: prefix.clone(), ..copied };
            // Its own place stays empty.
            module.functions.push(anymetal_ir::Function::new(format!("{name}.linked"), &[], None));
        } else {
            module.functions.push(anymetal_ir::Function { name, ..copied });
        }
    }
    assert_eq!(
        module.functions.len(),
        offsets.functions as usize + other.functions.len(),
        "a function's new number is its old one after the module's own",
    );
    Ok(())
}

fn reads_constants(module: &Module) -> bool {
    let mut insts = module.functions.iter().flat_map(|function| &function.insts);
    insts.any(|data| matches!(data.op, Op::FunctionConstant(_) | Op::FunctionConstantDefined(_)))
}

/// Where the numbers of the other module begin.
struct Offsets {
    place: FuncId,
    function: FuncId,
    functions: u32,
    globals: u32,
    threadgroup: u32,
    files: u32,
}

impl Offsets {
    fn renumber(&self, function: &mut anymetal_ir::Function) {
        let files = self.files;
        let move_loc = |loc: &mut Loc| {
            if loc.is_known() {
                loc.file += files;
            }
        };
        for data in &mut function.insts {
            move_loc(&mut data.loc);
            match &mut data.op {
                Op::Call(callee, _) if *callee == self.function => *callee = self.place,
                Op::Call(callee, _) => *callee = FuncId(callee.0 + self.functions),
                Op::GlobalAddr(global) => *global = GlobalId(global.0 + self.globals),
                Op::ThreadgroupAddr(variable) => *variable = ThreadgroupId(variable.0 + self.threadgroup),
                _ => {}
            }
        }
        for origin in &mut function.origins {
            let macros = origin.macros.iter().cloned().map(|mut used| {
                move_loc(&mut used.text);
                move_loc(&mut used.used_at);
                used
            });
            origin.macros = macros.collect();
            if let Some(at) = &mut origin.inlined_at {
                move_loc(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anymetal_ir::{parse_module, print_module, verify};

    fn parsed(text: &str) -> Module {
        parse_module(text).expect("the text is a module")
    }

    /// A function `name` that gives the constant `value`, through a call.
    fn giving(value: u32) -> Module {
        let mut module = Module::new();
        let mut inner = anymetal_ir::Function::new("inner", &[], Some(Type::I32));
        let mut b = anymetal_ir::Builder::new(&mut inner);
        let constant = b.i32(value as i32);
        b.push(Op::Return(Some(constant)));
        let mut outer = anymetal_ir::Function::new("outer", &[], Some(Type::I32));
        let mut b = anymetal_ir::Builder::new(&mut outer);
        let called = b.value(Op::Call(FuncId(0), Vec::new()), Type::I32);
        b.push(Op::Return(Some(called)));
        module.functions = vec![inner, outer];
        module
    }

    #[test]
    fn a_linked_function_brings_what_it_calls() {
        let mut module = Module::new();
        module.functions.push(anymetal_ir::Function::new("other", &[], Some(Type::I32)));
        link(&mut module, FuncId(0), &giving(7), FuncId(1)).expect("it fits");
        link(&mut module.clone(), FuncId(0), &giving(7), FuncId(1)).expect("again");
        verify(&module).expect("the module is valid");
        assert_eq!(module.functions[0].name, "other");
        let callee = module.functions[0].insts.iter().find_map(|data| match data.op {
            Op::Call(callee, _) => Some(callee),
            _ => None,
        });
        assert_eq!(callee.map(|callee| module.function(callee).name.as_str()), Some("other/inner"));
        assert_eq!(print_module(&parsed(&print_module(&module))), print_module(&module));
    }

    #[test]
    fn a_function_of_another_type_is_refused() {
        let mut module = Module::new();
        module.functions.push(anymetal_ir::Function::new("other", &[Type::I32], Some(Type::I32)));
        let before = module.clone();
        let refused = link(&mut module, FuncId(0), &giving(7), FuncId(1));
        assert_eq!(refused, Err(LinkError::OtherTypes { name: "other".to_owned() }));
        assert_eq!(module, before);
    }
}
