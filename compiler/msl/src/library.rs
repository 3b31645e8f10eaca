//! The Metal standard library as header text, in `lib/`.
//!
//! A main text includes the headers in order, as if a program included all `<metal_…>` headers and
//! `<simd/simd.h>`; a second text includes the headers of graphics, which few programs use. Operations that
//! MSL cannot express are calls of [`crate::builtins`]. Names
//! starting with `__am_` are those builtins; names starting with `__lib_` are internal to the headers.
//! Invariant: the headers preprocess, parse and check without diagnostics (tests see to it).
//!
//! To add a function, write it into the header of its family; functions are checked when first used.

use crate::pp::{IncludeLoader, IncludedFile, NotLoaded};
use anymetal_diagnostics::{FileId, SourceMap};

/// The headers with the names that messages show, in the order in which they build on one another.
const HEADERS: &[(&str, &str)] = &[
    ("<metal_types>", include_str!("lib/types.metal")),
    ("<metal_macros>", include_str!("lib/macros.metal")),
    ("<metal_type_traits>", include_str!("lib/type_traits.metal")),
    ("<metal_limits>", include_str!("lib/limits.metal")),
    ("<metal_math>", include_str!("lib/math.metal")),
    ("<metal_integer>", include_str!("lib/integer.metal")),
    ("<metal_relational>", include_str!("lib/relational.metal")),
    ("<metal_geometric>", include_str!("lib/geometric.metal")),
    ("<metal_matrix>", include_str!("lib/matrix.metal")),
    ("<metal_pack>", include_str!("lib/pack.metal")),
    ("<metal_array>", include_str!("lib/array.metal")),
    ("<metal_visible_function_table>", include_str!("lib/functions.metal")),
    ("<metal_atomic>", include_str!("lib/atomic.metal")),
    ("<metal_compute>", include_str!("lib/compute.metal")),
    ("<metal_simdgroup>", include_str!("lib/simdgroup.metal")),
    ("<metal_simdgroup_matrix>", include_str!("lib/simdgroup_matrix.metal")),
    ("<metal_tensor>", include_str!("lib/tensor.metal")),
    ("<metal_cooperative_tensor>", include_str!("lib/cooperative_tensor.metal")),
    ("<MPPTensorOpsMatMul2d>", include_str!("lib/tensor_ops.metal")),
    ("<MPPTensorOpsReductions>", include_str!("lib/tensor_reductions.metal")),
    ("<MPPTensorOpsConvolution2d>", include_str!("lib/tensor_convolution.metal")),
    ("<metal_logging>", include_str!("lib/logging.metal")),
    ("<metal_command_buffer>", include_str!("lib/command_buffer.metal")),
    ("<anymetal_groups>", include_str!("lib/groups.metal")),
    ("<metal_internals>", include_str!("lib/internals.metal")),
    // Last, because a math mode that a header sets holds from there on.
    ("<metal_texture_formats>", include_str!("lib/texture_formats.metal")),
    ("<metal_pixel>", include_str!("lib/pixel.metal")),
    ("<anymetal_stage_input>", include_str!("lib/stage_input.metal")),
    ("<metal_texture_sampling>", include_str!("lib/texture_sampling.metal")),
    ("<metal_texture>", include_str!("lib/texture.metal")),
];

/// The headers of graphics and ray tracing, which are parsed for programs that use names from them.
const GRAPHICS_HEADERS: &[(&str, &str)] = &[
    ("<metal_graphics>", include_str!("lib/graphics.metal")),
    ("<metal_render_command>", include_str!("lib/render_command.metal")),
    ("<metal_raytracing>", include_str!("lib/raytracing.metal")),
];

/// Registers the text that includes all headers that every program has; preprocess it with [`Headers`].
pub fn add_sources(map: &mut SourceMap) -> FileId {
    add_includes(map, "<metal_stdlib>", HEADERS)
}

/// Registers the text that includes the headers of graphics, which build on the others.
pub fn add_graphics_sources(map: &mut SourceMap) -> FileId {
    add_includes(map, "<metal_graphics_stdlib>", GRAPHICS_HEADERS)
}

fn add_includes(map: &mut SourceMap, name: &str, headers: &[(&str, &str)]) -> FileId {
    let text: String = headers.iter().map(|(name, _)| format!("#include {name}\n")).collect();
    map.add_file(name, text)
}

/// Finds the library's headers, each under its own name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers;

impl IncludeLoader for Headers {
    fn load(&mut self, name: &str, angled: bool, _from: &str) -> Result<IncludedFile, NotLoaded> {
        let wanted =
            |header: &str| header.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) == Some(name);
        let all = || HEADERS.iter().chain(GRAPHICS_HEADERS);
        let found = all().find(|(header, _)| angled && wanted(header));
        let (name, text) = found.ok_or(NotLoaded::Missing)?;
        Ok(IncludedFile { name: (*name).to_owned(), text: (*text).to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{self, Scopes};
    use crate::pp::{self, MacroTable};
    use crate::token::{Token, TokenKind};
    use anymetal_diagnostics::Sink;

    /// The tokens of both units, one after the other.
    fn preprocessed(map: &mut SourceMap, sink: &mut Sink) -> Vec<Token> {
        let options = pp::Options { library_is_loaded: false, ..pp::Options::default() };
        let mut preprocess = |main, macros: &MacroTable, map: &mut SourceMap| {
            pp::preprocess(main, macros, &options, &mut Headers, map, sink)
        };
        let main = add_sources(map);
        let mut basis = preprocess(main, &MacroTable::default(), map);
        let main = add_graphics_sources(map);
        let graphics = preprocess(main, &basis.macros, map);
        assert_eq!(basis.tokens.pop().map(|token| token.kind), Some(TokenKind::Eof));
        [basis.tokens, graphics.tokens].concat()
    }

    #[test]
    fn skipped_bodies_are_what_they_would_have_been() {
        let (mut map, mut sink) = (SourceMap::new(), Sink::new());
        let tokens = preprocessed(&mut map, &mut sink);
        let at_once = parser::parse(&tokens, Scopes::default(), &mut sink);
        let later = parser::parse_library(tokens, Scopes::default(), &mut sink);
        assert_eq!(at_once.items.len(), later.items.len());
        for (at_once, later) in at_once.items.iter().zip(&later.items) {
            assert_eq!(format!("{at_once:?}"), format!("{later:?}"));
        }
    }

    #[test]
    fn headers_parse_without_diagnostics_and_leave_no_internal_macros() {
        let mut map = SourceMap::new();
        let mut sink = Sink::new();
        let tokens = preprocessed(&mut map, &mut sink);
        let unit = parser::parse(&tokens, Scopes::default(), &mut sink);
        let rendered = anymetal_diagnostics::render_text(&map, sink.diagnostics(), false);
        assert!(sink.diagnostics().is_empty(), "{rendered}");
        assert!(unit.items.len() > 100);
        for (name, text) in HEADERS.iter().chain(GRAPHICS_HEADERS) {
            let defined = text.lines().filter_map(|line| line.trim_start().strip_prefix("#define __AM_"));
            for definition in defined {
                let macro_name = definition.split(|char: char| !char.is_alphanumeric() && char != '_').next();
                let undef = format!("#undef __AM_{}", macro_name.unwrap_or_default());
                assert!(text.lines().any(|line| line == undef), "{name} leaves `{definition}` defined");
            }
        }
    }
}
