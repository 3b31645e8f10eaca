//! Modules as text, with the positions that the text form leaves out.
//!
//! Invariant: a module that was read is verified, its positions name files that it has, and chains of inlined
//! calls end.

use std::collections::BTreeMap;
use std::sync::Arc;

use anymetal_ir::{Function, Loc, MacroUse, Module, Origin, parse_module, print_module, verify};
use anymetal_isolate::IsolationError;
use serde::{Deserialize, Serialize};

/// File, line, column, origin.
type WireLoc = (u32, u32, u32, u32);

/// The positions of a module for the sanitizer. Its text has the number of a position in place of each line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Positions {
    locs: Vec<WireLoc>,
    /// For each function.
    origins: Vec<Vec<WireOrigin>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireOrigin {
    function: String,
    /// Name, place of the text, place of the use.
    macros: Vec<(String, WireLoc, WireLoc)>,
    inlined_at: Option<WireLoc>,
}

fn wire(loc: Loc) -> WireLoc {
    (loc.file, loc.line, loc.column, loc.origin)
}

fn loc((file, line, column, origin): WireLoc) -> Loc {
    Loc { file, line, column, origin }
}

/// The module's text, and what it leaves out if the module has origins.
pub(super) fn write(module: &Module) -> (String, Option<Positions>) {
    if module.functions.iter().all(|function| function.origins.is_empty()) {
        return (print_module(module), None);
    }
    let mut numbered = module.clone();
    let mut numbers: BTreeMap<WireLoc, u32> = BTreeMap::new();
    let mut locs = Vec::new();
    for data in numbered.functions.iter_mut().flat_map(|function| &mut function.insts) {
        if data.loc == Loc::default() {
            continue;
        }
        let number = *numbers.entry(wire(data.loc)).or_insert_with(|| {
            locs.push(wire(data.loc));
            u32::try_from(locs.len()).expect("a module has fewer instructions than 2^32")
        });
        data.loc = Loc { line: number, ..Loc::default() };
    }
    let origin = |origin: &Origin| WireOrigin {
        function: origin.function.to_string(),
        macros: origin
            .macros
            .iter()
            .map(|of| (of.name.to_string(), wire(of.text), wire(of.used_at)))
            .collect(),
        inlined_at: origin.inlined_at.map(wire),
    };
    let origins = module.functions.iter().map(|function| function.origins.iter().map(origin).collect());
    (print_module(&numbered), Some(Positions { locs, origins: origins.collect() }))
}

/// The module of a text.
pub(super) fn read(text: &str, positions: Option<Positions>) -> Result<Module, IsolationError> {
    let malformed = |reason: String| IsolationError::malformed(reason);
    let mut module = parse_module(text).map_err(|error| malformed(error.to_string()))?;
    if let Some(positions) = positions {
        place(&mut module, positions)?;
    }
    for function in &module.functions {
        check_positions(function, module.files.len())?;
    }
    match verify(&module) {
        Ok(()) => Ok(module),
        Err(errors) => Err(malformed(errors.first().map(ToString::to_string).unwrap_or_default())),
    }
}

/// Gives the module the positions that its lines number.
fn place(module: &mut Module, positions: Positions) -> Result<(), IsolationError> {
    let Positions { locs, origins } = positions;
    if origins.len() != module.functions.len() {
        return Err(IsolationError::malformed("positions of another module"));
    }
    for (function, origins) in module.functions.iter_mut().zip(origins) {
        for data in function.insts.iter_mut().filter(|data| data.loc.is_known()) {
            let found = locs.get(data.loc.line as usize - 1);
            data.loc = loc(*found.ok_or_else(|| IsolationError::malformed("a position that is not there"))?);
        }
        let origin = |origin: WireOrigin| {
            let of_macro = |(name, text, used_at): (String, WireLoc, WireLoc)| MacroUse {
                name: name.into(),
                text: loc(text),
                used_at: loc(used_at),
            };
            Origin {
                function: origin.function.into(),
                macros: origin.macros.into_iter().map(of_macro).collect::<Arc<[MacroUse]>>(),
                inlined_at: origin.inlined_at.map(loc),
            }
        };
        function.origins = origins.into_iter().map(origin).collect();
    }
    Ok(())
}

fn check_positions(function: &Function, files: usize) -> Result<(), IsolationError> {
    let of_macros = |of: &MacroUse| [of.text, of.used_at];
    let of_origins = function.origins.iter();
    let of_origins =
        of_origins.flat_map(|origin| origin.macros.iter().flat_map(of_macros).chain(origin.inlined_at));
    let mut all = function.insts.iter().map(|data| data.loc).chain(of_origins);
    if all.any(|loc| loc.is_known() && loc.file as usize >= files) {
        return Err(IsolationError::malformed("a position in a file that is not there"));
    }
    // The call after which a chain of calls is known to end, for each origin from which it was followed.
    let mut ends = vec![false; function.origins.len()];
    for first in 0..ends.len() {
        let mut chain = Vec::new();
        let mut next = Some(first);
        while let Some(at) = next.filter(|at| ends.get(*at) == Some(&false)) {
            if chain.len() > ends.len() {
                return Err(IsolationError::malformed("an inlined call that leads to itself"));
            }
            chain.push(at);
            next = function.origins[at].inlined_at.and_then(|call| (call.origin as usize).checked_sub(1));
        }
        chain.into_iter().for_each(|at| ends[at] = true);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "file 0 \"a.metal\"\n\nfunc f0 \"k\" () {\n  v0 = const 1 : i32 @0:4:9\n}\n";

    fn module(inlined_at: Option<Loc>, file: u32) -> Module {
        let mut module = parse_module(TEXT).unwrap();
        let function = &mut module.functions[0];
        function.insts[0].loc = Loc { file, line: 4, column: 9, origin: 1 };
        let name = Arc::from("f");
        function.origins = vec![Origin { function: name, macros: Arc::from([]), inlined_at }];
        module
    }

    #[test]
    fn origins_are_read_as_they_were_written() {
        let call = Loc { file: 0, line: 9, column: 2, origin: 0 };
        for inlined_at in [None, Some(call)] {
            let module = module(inlined_at, 0);
            let (text, positions) = write(&module);
            let read = read(&text, positions).unwrap();
            assert_eq!(read.functions[0].origins, module.functions[0].origins);
            assert_eq!(read.functions[0].insts[0].loc, module.functions[0].insts[0].loc);
        }
    }

    #[test]
    fn positions_that_lead_nowhere_or_in_circles_are_refused() {
        let circle = Loc { file: 0, line: 9, column: 2, origin: 1 };
        for module in [module(Some(circle), 0), module(None, 1)] {
            let (text, positions) = write(&module);
            assert_eq!(read(&text, positions).unwrap_err().id(), "isolation-malformed");
        }
        let outside = TEXT.replace("@0:4:9", "@7:4:9");
        assert_eq!(read(&outside, None).unwrap_err().id(), "isolation-malformed");
        let (text, positions) = write(&module(None, 0));
        assert!(read(&text.replace("@0:1:0", "@0:2:0"), positions).is_err());
    }
}
