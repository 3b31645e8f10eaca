//! Visible functions: those of a library, those of others that are linked, and their numbers.
//!
//! A library with functions of other libraries is a library of its own, which shares the source; all that is
//! made of it has a key of both. Each linked function is a module of its own until the kernel's module takes
//! it in. Invariant: no two functions of a pipeline have one name; a linked function takes the place of the
//! library's own of that name.

use std::sync::{Arc, Mutex, OnceLock};

use anymetal_ir::{FuncId, FunctionConstantId, Module, Op, verify};
use anymetal_msl::{Diagnostics, FunctionHandle, FunctionHandles, UnlinkedModule, function_number};
use anymetal_opt::{LinkError, link, specialise};

use super::state::Modules;
use super::{Library, LibraryState};
use crate::constants::{self, ConstantKey, ConstantValue};
use crate::error::CompileError;
use crate::includes;
use crate::isolated;
use crate::key::KeyBuilder;

/// How many numbers the functions of one library may have besides those of handles.
const NUMBERS_PER_LIBRARY: u32 = 1 << 16;

/// A visible function of a library, to be linked with kernels of another or of the same.
#[derive(Debug, Clone)]
pub struct LinkedFunction {
    /// The library that defines it.
    pub library: Library,
    /// The name the host uses.
    pub name: String,
    /// The name that it has in the pipeline; `None`: its own (Metal's `specializedName`).
    pub alias: Option<String>,
    /// Values for the function constants that it depends on.
    pub constants: Vec<(ConstantKey, ConstantValue)>,
    /// Whether only calls by its name lead to it: tables cannot have it.
    pub is_private: bool,
}

/// The number that a function has in the tables of a library's pipelines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionNumber {
    /// The name the host uses.
    pub name: String,
    /// The number; never 0.
    pub number: u32,
}

impl LinkedFunction {
    /// Whether two stand for one function by one name.
    fn is_same(&self, other: &Self) -> bool {
        self.library.state.source_key == other.library.state.source_key
            && (&self.name, self.alias(), &self.constants) == (&other.name, other.alias(), &other.constants)
    }

    /// The name that it has in the pipeline.
    pub fn alias(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }
}

impl Library {
    /// The visible functions with a definition, in source order.
    pub fn visible_functions(&self) -> &[String] {
        &self.state.current_manifest().visible_functions
    }

    /// The type of a visible function, in MSL.
    pub fn function_type(&self, name: &str) -> Result<String, CompileError> {
        let key = match self.shared().isolation()? {
            Some(pool) => isolated::function_type(pool, self, name)?,
            None => self.function_key(name)?,
        };
        Ok(key.split('#').next().expect("a text has a first part").to_owned())
    }

    /// The type of a visible function as it is compared: in MSL, and what the text does not tell.
    pub(crate) fn function_key(&self, name: &str) -> Result<String, CompileError> {
        self.state.function_type(name)
    }

    /// The same source, whose kernels may call these functions of other libraries, too: by their names, where
    /// they declare them, and through tables.
    ///
    /// # Errors
    /// A function that its library does not have.
    pub fn linked_with(&self, functions: Vec<LinkedFunction>) -> Result<Library, CompileError> {
        let mut distinct: Vec<LinkedFunction> = Vec::new();
        for linked in functions {
            linked.library.check_function(&linked.name)?;
            match distinct.iter_mut().find(|known| known.is_same(&linked)) {
                Some(known) => known.is_private &= linked.is_private,
                None => distinct.push(linked),
            }
        }
        let LibraryState { shared, source, source_key, manifest, front, .. } = &*self.state;
        let state = LibraryState {
            shared: Arc::clone(shared),
            source: source.clone(),
            source_key: *source_key,
            manifest: manifest.clone(),
            front: front.get().map_or_else(OnceLock::new, |front| OnceLock::from(front.clone())),
            modules: Mutex::new(Modules::default()),
            checked: OnceLock::new(),
            linked: distinct,
        };
        Ok(Library::new(Arc::new(state)))
    }

    /// The functions that tables of this library's pipelines may have.
    pub fn function_numbers(&self) -> Vec<FunctionNumber> {
        let own = self.state.own_functions().map(String::as_str);
        let linked = self.state.linked.iter().filter(|linked| !linked.is_private).map(LinkedFunction::alias);
        let number = |name: &str| FunctionNumber { name: name.to_owned(), number: function_number(name) };
        own.chain(linked).map(number).collect()
    }

    fn check_function(&self, name: &str) -> Result<(), CompileError> {
        let existing = self.visible_functions();
        if existing.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(CompileError::UnknownFunction { name: name.to_owned(), existing: existing.to_vec() })
    }
}

/// The diagnostics of a source as an error.
fn source_error(diagnostics: Diagnostics) -> CompileError {
    CompileError::Source(Arc::new(diagnostics))
}

impl LibraryState {
    /// Two functions with one number, which is a hash of the name, cannot be in one pipeline.
    fn check_numbers(handles: &[FunctionHandle]) -> Result<(), CompileError> {
        for (n, handle) in handles.iter().enumerate() {
            if let Some(other) = handles[..n].iter().find(|other| other.number == handle.number) {
                let names = [other.name.clone(), handle.name.clone()];
                return Err(CompileError::FunctionConflict { names });
            }
        }
        Ok(())
    }

    /// The library's own functions that no linked one takes the place of.
    fn own_functions(&self) -> impl Iterator<Item = &String> {
        let own = self.current_manifest().visible_functions.iter();
        own.filter(|name| !self.linked.iter().any(|linked| linked.alias() == name.as_str()))
    }

    fn function_type(&self, name: &str) -> Result<String, CompileError> {
        self.front()?.library().function_type(name).map_err(source_error)
    }

    /// Adds what is linked to a key.
    pub(super) fn add_linked_to(&self, mut key: KeyBuilder) -> KeyBuilder {
        for linked in &self.linked {
            let state = &linked.library.state;
            let content = includes::content_key(&state.source_key, &state.current_manifest().probes);
            key = key.field("linked").field(content.as_bytes()).field(&linked.name).field(linked.alias());
            key = key.number(linked.is_private.into());
            key = constants::add_to(&linked.constants, key);
        }
        key
    }

    /// The functions of the library's pipelines, as the library sees them.
    pub(super) fn handles(&self) -> Result<FunctionHandles, CompileError> {
        self.handles_seen_by(None)
    }

    /// The functions of the library's pipelines, as seen by the library of a linked function, or by itself.
    /// Only functions without values for constants of their own are the same as those that a library calls
    /// itself.
    fn handles_seen_by(&self, seen_by: Option<usize>) -> Result<FunctionHandles, CompileError> {
        let of = |position: usize| &self.linked[position];
        let is_own = |linked: &LinkedFunction| {
            let own_key = match seen_by {
                None => self.source_key,
                Some(by) if of(by).constants.is_empty() => of(by).library.state.source_key,
                Some(_) => return false,
            };
            linked.constants.is_empty()
                && linked.alias.is_none()
                && linked.library.state.source_key == own_key
        };
        let mut handles = match seen_by {
            None => FunctionHandles::own(self.own_functions().map(String::as_str)).handles,
            Some(_) => Vec::new(),
        };
        for linked in &self.linked {
            let signature = match is_own(linked) {
                true => None,
                false => Some(linked.library.state.function_type(&linked.name)?),
            };
            let (name, number) = (linked.alias().to_owned(), function_number(linked.alias()));
            handles.push(FunctionHandle { name, number, signature, is_in_tables: !linked.is_private });
        }
        let unit = seen_by.map_or(0, |position| position as u32 + 1);
        let next = NUMBERS_PER_LIBRARY.saturating_mul(unit) + 1;
        Self::check_numbers(&handles)?;
        Ok(FunctionHandles { handles, next })
    }

    /// A kernel's module with all that is linked, and the remarks on it, rendered if there are any.
    pub(super) fn linked_module(
        &self,
        kernel: &str,
        for_sanitizer: bool,
    ) -> Result<(Module, Diagnostics), CompileError> {
        let functions = self.handles()?;
        let made = self.front()?.library().unlinked_module(kernel, &functions, for_sanitizer);
        let (unlinked, warnings) = made.map_err(source_error)?;
        let UnlinkedModule { mut module, linked, .. } = unlinked;
        let mut linker = Linker { state: self, kernel, for_sanitizer, done: Vec::new() };
        linker.link_all(&mut module, &functions, &linked)?;
        if !linker.done.is_empty() {
            linker.check_calls(&module)?;
        }
        Ok((module, warnings))
    }
}

/// A kernel's module while functions of other libraries come into it.
struct Linker<'s> {
    state: &'s LibraryState,
    kernel: &'s str,
    for_sanitizer: bool,
    /// Which linked functions are in the module, and where.
    done: Vec<(usize, FuncId)>,
}

impl Linker<'_> {
    /// Gives functions without code their code, and those that they call.
    fn link_all(
        &mut self,
        module: &mut Module,
        functions: &FunctionHandles,
        places: &[(FuncId, usize)],
    ) -> Result<(), CompileError> {
        let first = functions.handles.len() - self.state.linked.len();
        for &(place, handle) in places {
            let position =
                handle.checked_sub(first).ok_or_else(|| self.unsupported("a function of its own"))?;
            self.link_one(module, place, position)?;
        }
        Ok(())
    }

    fn link_one(&mut self, module: &mut Module, place: FuncId, position: usize) -> Result<(), CompileError> {
        let linked = &self.state.linked[position];
        if let Some(&(_, known)) = self.done.iter().find(|(done, _)| *done == position) {
            forward(module, place, known);
            return Ok(());
        }
        self.done.push((position, place));
        let functions = self.state.handles_seen_by(Some(position))?;
        let library = linked.library.state.front()?.library();
        let made = library.unlinked_function(&linked.name, &functions, self.for_sanitizer);
        let unlinked = made.map_err(source_error)?;
        if unlinked.needs_kernel {
            let what = "writes messages or encodes commands, which functions of other libraries cannot";
            return Err(self.unsupported(&format!("`{}`, which {what}", linked.name)));
        }
        let UnlinkedModule { module: mut other, function, linked: places, .. } = unlinked;
        let function = function.ok_or_else(|| self.unsupported("a kernel"))?;
        let values = constants::resolve(&linked.constants, &other, &linked.name, true)?;
        check_constants(&other, &values, &linked.name)?;
        specialise(&mut other, &values).map_err(|error| self.unsupported(&error.to_string()))?;
        let base = module.functions.len() as u32;
        link(module, place, &other, function)
            .map_err(|error: LinkError| self.unsupported(&error.to_string()))?;
        let places: Vec<_> = places.iter().map(|&(place, handle)| (FuncId(place.0 + base), handle)).collect();
        self.link_all(module, &functions, &places)
    }

    /// Functions that call one another across libraries have no end: within a library calls have.
    fn check_calls(&self, module: &Module) -> Result<(), CompileError> {
        let calls_itself = |errors: Vec<anymetal_ir::VerifyError>| {
            errors.iter().map(ToString::to_string).find(|error| error.contains("calls itself"))
        };
        match verify(module).err().and_then(calls_itself) {
            Some(error) => {
                Err(self.unsupported(&format!("a function of another library that calls back: {error}")))
            }
            None => Ok(()),
        }
    }

    fn unsupported(&self, what: &str) -> CompileError {
        CompileError::Unsupported { kernel: self.kernel.to_owned(), reason: format!("it links {what}") }
    }
}

/// Refuses a function that reads a constant without a value, unless it asks whether there is one.
fn check_constants(
    module: &Module,
    values: &[(FunctionConstantId, Option<u64>)],
    name: &str,
) -> Result<(), CompileError> {
    let ops = || module.functions.iter().flat_map(|function| function.insts.iter().map(|data| &data.op));
    let lacks_value = |id: FunctionConstantId| {
        let is_given = values.iter().any(|(known, _)| *known == id);
        let is_asked = || ops().any(|op| matches!(op, Op::FunctionConstantDefined(asked) if *asked == id));
        !is_given && !is_asked() && !module.function_constant(id).is_hidden()
    };
    let missing = ops().find_map(|op| match op {
        Op::FunctionConstant(id) if lacks_value(*id) => Some(module.function_constant(*id)),
        _ => None,
    });
    match missing {
        Some(constant) => {
            let missing = vec![constants::describe(constant, true)];
            Err(CompileError::MissingConstants { kernel: name.to_owned(), missing })
        }
        None => Ok(()),
    }
}

/// Makes a function without code call another of the same type.
fn forward(module: &mut Module, place: FuncId, to: FuncId) {
    let function = &mut module.functions[place.index()];
    let (args, ret) = (function.params.clone(), function.ret);
    let mut b = anymetal_ir::Builder::new(function);
    let call = Op::Call(to, args);
    match ret {
        Some(ty) => {
            let value = b.value(call, ty);
            b.push(Op::Return(Some(value)));
        }
        None => {
            b.push(call);
        }
    }
}
