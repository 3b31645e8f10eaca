//! Predefined macros: the language version, the compiler's own limits, and the command line's.

use super::macro_table::{Builtin, Macro, MacroKind};
use super::state::Preprocessor;
use super::{Definition, Options};
use crate::token::{MathMode, Name};
use anymetal_diagnostics::Span;
use std::fmt::Write;
use std::sync::Arc;

const BUILTINS: &[(&str, Builtin)] = &[
    ("__LINE__", Builtin::Line),
    ("__FILE__", Builtin::File),
    ("__FILE_NAME__", Builtin::FileName),
    ("__BASE_FILE__", Builtin::BaseFile),
    ("__COUNTER__", Builtin::Counter),
    ("__INCLUDE_LEVEL__", Builtin::IncludeLevel),
    ("__DATE__", Builtin::Date),
    ("__TIME__", Builtin::Time),
];

/// What does not depend on options.
const FIXED: &[(&str, &str)] = &[
    ("__METAL__", "1"),
    ("__METAL_MACOS__", "1"),
    ("__AIR64__", "1"),
    ("__HAVE_BFLOAT__", "1"),
    ("__cplusplus", "201703L"),
    ("__STDC__", "1"),
    ("__STDC_HOSTED__", "0"),
    ("__METAL_FAST_MATH__", "1"),
    ("__METAL_PRECISE_MATH__", "0"),
    ("__METAL_MEMORY_SCOPE_SYSTEM__", "1"),
    ("__CHAR_BIT__", "8"),
    ("__LITTLE_ENDIAN__", "1"),
    ("__ORDER_LITTLE_ENDIAN__", "1234"),
    ("__ORDER_BIG_ENDIAN__", "4321"),
    ("__BYTE_ORDER__", "1234"),
    ("__SCHAR_MAX__", "127"),
    ("__SHRT_MAX__", "32767"),
    ("__INT_MAX__", "2147483647"),
    ("__LONG_MAX__", "9223372036854775807L"),
    ("__LONG_LONG_MAX__", "9223372036854775807LL"),
    ("__INT8_MAX__", "127"),
    ("__INT16_MAX__", "32767"),
    ("__INT32_MAX__", "2147483647"),
    ("__INT64_MAX__", "9223372036854775807L"),
    ("__UINT8_MAX__", "255"),
    ("__UINT16_MAX__", "65535"),
    ("__UINT32_MAX__", "4294967295U"),
    ("__UINT64_MAX__", "18446744073709551615UL"),
    ("__SIZE_MAX__", "18446744073709551615UL"),
    ("__PTRDIFF_MAX__", "9223372036854775807L"),
    ("__SIZEOF_SHORT__", "2"),
    ("__SIZEOF_INT__", "4"),
    ("__SIZEOF_LONG__", "8"),
    ("__SIZEOF_LONG_LONG__", "8"),
    ("__SIZEOF_FLOAT__", "4"),
    ("__SIZEOF_POINTER__", "8"),
    ("__SIZEOF_SIZE_T__", "8"),
    ("__SIZE_TYPE__", "unsigned long"),
    ("__PTRDIFF_TYPE__", "long"),
    ("__INT32_TYPE__", "int"),
    ("__UINT32_TYPE__", "unsigned int"),
    ("__INT64_TYPE__", "long"),
    ("__UINT64_TYPE__", "unsigned long"),
    ("__FLT_RADIX__", "2"),
    ("__FLT_DIG__", "6"),
    ("__FLT_MANT_DIG__", "24"),
    ("__FLT_MAX_EXP__", "128"),
    ("__FLT_MIN_EXP__", "(-125)"),
    ("__FLT_MAX_10_EXP__", "38"),
    ("__FLT_MIN_10_EXP__", "(-37)"),
    ("__FLT_MAX__", "0x1.fffffep127f"),
    ("__FLT_MIN__", "0x1.0p-126f"),
    ("__FLT_EPSILON__", "0x1.0p-23f"),
    ("__FLT_DENORM_MIN__", "0x1.0p-149f"),
    ("__cpp_alias_templates", "200704L"),
    ("__cpp_constexpr", "201603L"),
    ("__cpp_decltype", "200707L"),
    ("__cpp_decltype_auto", "201304L"),
    ("__cpp_deduction_guides", "201703L"),
    ("__cpp_fold_expressions", "201603L"),
    ("__cpp_generic_lambdas", "201304L"),
    ("__cpp_if_constexpr", "201606L"),
    ("__cpp_inline_variables", "201606L"),
    ("__cpp_lambdas", "200907L"),
    ("__cpp_noexcept_function_type", "201510L"),
    ("__cpp_range_based_for", "201603L"),
    ("__cpp_static_assert", "201411L"),
    ("__cpp_unicode_characters", "200704L"),
    ("__cpp_variable_templates", "201304L"),
    ("__cpp_variadic_templates", "200704L"),
];

/// Defines the macros of the options, before the main file is read.
pub(super) fn define(pp: &mut Preprocessor<'_>) {
    let options = pp.options;
    if !pp.macros.claim_predefined(options.metal_version, options.math_mode) {
        define_builtins(pp);
        let file = pp.map.add_file("<predefined>", predefined_text(options));
        pp.run_definitions(file);
    }
    if !options.definitions.is_empty() {
        let file = pp.map.add_file("<command line>", command_line_text(&options.definitions));
        pp.run_definitions(file);
    }
    // From here on a redefinition is one of the user's own: settle what was defined so far.
    pp.macros = std::mem::take(&mut pp.macros).freeze();
}

fn define_builtins(pp: &mut Preprocessor<'_>) {
    for &(name, builtin) in BUILTINS {
        pp.macros.define(Macro {
            name: Name::new(name),
            shared_name: Arc::from(name),
            kind: MacroKind::Builtin(builtin),
            body: Vec::new(),
            definition: Span::NONE,
        });
    }
}

fn predefined_text(options: &Options) -> String {
    let mut text = String::new();
    let mut define = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "#define {name} {value}");
    };
    for &(name, value) in FIXED {
        define(name, value);
    }
    define("__METAL_VERSION__", &options.metal_version.to_string());
    let fast = if options.math_mode == MathMode::Fast { "1" } else { "0" };
    define("__METAL_MAYBE_FAST_MATH__", fast);
    define("__METAL_RELAXED_MATH__", if options.math_mode == MathMode::Relaxed { "1" } else { "0" });
    if options.math_mode == MathMode::Fast {
        define("__FAST_MATH__", "1");
    } else {
        // The table may be that of another mode, which the headers were read in.
        text += "#undef __FAST_MATH__\n";
    }
    text
}

fn command_line_text(definitions: &[Definition]) -> String {
    let mut text = String::new();
    for definition in definitions {
        let (directive, operand) = match definition {
            Definition::Define(operand) => match operand.split_once('=') {
                Some((name, body)) => ("define", format!("{name} {body}")),
                None => ("define", format!("{operand} 1")),
            },
            Definition::Undefine(name) => ("undef", name.clone()),
        };
        // A line break would start a further directive.
        let operand = operand.replace(['\n', '\r'], " ");
        let _ = writeln!(text, "#{directive} {operand}");
    }
    text
}
