//! The catalogue of diagnostic ids: the only list of them, from which `docs/diagnostics.md` is generated.
//!
//! Invariant, checked by `cargo xtask tidy`: every id that the front end reports has a row here, every row's
//! id is reported somewhere, and each is produced by a file of `tests/ui` or by the test that its row names.
//! Ids are stable: programs may match on them.

/// What shows that an id is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// An annotation in a file of `tests/ui`.
    UiFile,
    /// A Rust test in this file, for limits on the size of the input.
    RustTest(&'static str),
    /// No test can produce it, for this reason.
    Untested(&'static str),
}

/// One id and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Words in lower case, joined by hyphens.
    pub id: &'static str,
    /// What it reports, in one line.
    pub meaning: &'static str,
    /// What shows that it is reported.
    pub proof: Proof,
    /// Of what can be a warning: its group.
    pub warning: Option<WarningFlag>,
}

/// How a warning is switched on and off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarningFlag {
    /// The group of `-W…` that it is in, by clang's name where clang has the warning.
    pub group: &'static str,
    /// Whether it is reported without an option.
    pub is_default: bool,
    /// Whether it is an error without an option.
    pub is_error: bool,
}

/// The ids of one stage.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The stage, as a heading.
    pub stage: &'static str,
    /// Its ids in alphabetical order.
    pub entries: &'static [Entry],
}

/// A row with a file in `tests/ui`.
const fn id(id: &'static str, meaning: &'static str) -> Entry {
    Entry { id, meaning, proof: Proof::UiFile, warning: None }
}

/// A warning that is on by default, with the group that switches it off.
const fn on(id: &'static str, group: &'static str, meaning: &'static str) -> Entry {
    Entry {
        id,
        meaning,
        proof: Proof::UiFile,
        warning: Some(WarningFlag { group, is_default: true, is_error: false }),
    }
}

/// An error that an option can switch off, and whose id is the name of its group.
const fn strict(id: &'static str, meaning: &'static str) -> Entry {
    let flag = WarningFlag { group: id, is_default: true, is_error: true };
    Entry { id, meaning, proof: Proof::UiFile, warning: Some(flag) }
}

/// A warning that an option switches on, and whose id is the name of its group.
const fn off(id: &'static str, meaning: &'static str) -> Entry {
    Entry {
        id,
        meaning,
        proof: Proof::UiFile,
        warning: Some(WarningFlag { group: id, is_default: false, is_error: false }),
    }
}

/// A row with another proof.
const fn other(id: &'static str, meaning: &'static str, proof: Proof) -> Entry {
    Entry { id, meaning, proof, warning: None }
}

/// Every id of the front end, by stage.
pub const CATALOGUE: &[Group] = &[
    Group { stage: "Preprocessor", entries: PREPROCESSOR },
    Group { stage: "Parser", entries: PARSER },
    Group { stage: "Semantic analysis", entries: ANALYSIS },
    Group { stage: "Warnings by clang's names", entries: WARNINGS },
    Group { stage: "Translation from OpenCL C", entries: TRANSLATION },
];

/// The row of an id.
pub fn catalogue_entry(id: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().flat_map(|group| group.entries).find(|entry| entry.id == id)
}

/// All ids.
pub fn catalogue_ids() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().flat_map(|group| group.entries).map(|entry| entry.id)
}

/// Where small limits stand for the large ones.
const LIMITS: Proof = Proof::RustTest("compiler/msl/src/pp/tests/hostile.rs");

/// Of the table of names.
const NAMES: Proof = Proof::Untested("the table of names is larger than the memory of a test");

/// Of the number of functions that overload resolution tries.
const OVERLOADS: Proof = Proof::RustTest("compiler/msl/src/sema/tests/objects.rs");

/// Of the number of using-directives.
const BOMBS: Proof = Proof::RustTest("compiler/driver/tests/budgets/bombs.rs");

/// Of errors in code that no entry point reaches.
const WHOLE_PROGRAM: Proof = Proof::RustTest("compiler/msl/src/sema/tests/whole_program.rs");

/// Of rules of declarations.
const DECLARATIONS: Proof = Proof::RustTest("compiler/msl/src/sema/tests/declarations.rs");

/// Of errors without an explanation.
const FALLBACK: Proof = Proof::Untested("reaching it is a bug of the front end; please report it");

const PREPROCESSOR: &[Entry] = &[
    on("diagnostic-pragma", "unknown-pragmas", "a pragma about diagnostics in a form that is not known"),
    id("error-directive", "an `#error` directive was reached"),
    id("expansion-limit", "macro expansion nests too deeply or makes too much text"),
    on("extra-tokens", "extra-tokens", "text after a complete directive"),
    other("file-too-large", "a source file is larger than 64 MiB", LIMITS),
    id("include-limit", "`#include` nests too deeply, or there are too many"),
    id("include-outside-roots", "an included file is outside of the source's folder and the include folders"),
    id("invalid-condition", "the condition of `#if`, `#elif` or `#ifdef` is not a constant expression"),
    id("invalid-include", "`#include` without a file name in quotes or angle brackets"),
    id("invalid-line-directive", "`#line` without a line number"),
    id("invalid-literal", "an empty character literal"),
    id("invalid-macro", "the name, parameters or body of a macro definition are wrong"),
    id("invalid-number", "a number with wrong digits or an unknown suffix"),
    id("invalid-paste", "`##` gives text that is not a token"),
    id("invalid-pragma", "`_Pragma` without a string literal, or a loop pragma with wrong options"),
    id("invalid-stringise", "`#` gives an invalid string literal"),
    id("literal-too-long", "a string literal has more than 1 MiB"),
    id("macro-argument-count", "a macro is called with the wrong number of arguments"),
    on("macro-redefined", "macro-redefined", "a macro is defined again with another body"),
    id("missing-include", "an included file is not found"),
    id("poisoned-name", "a use of a name after `#pragma GCC poison`"),
    on("pragma-message", "#pragma-messages", "a `#pragma message` was reached"),
    on(
        "pragma-once-outside-header",
        "pragma-once-outside-header",
        "`#pragma once` in a file that nothing includes",
    ),
    other("source-too-large", "the files together are larger than 256 MiB", LIMITS),
    id("stray-character", "a character that begins no token, or that no identifier contains"),
    other("too-many-names", "the process has met more distinct names than fit its table", NAMES),
    id("too-many-tokens", "the translation unit has more than 1.5 million tokens"),
    id("universal-name", "a universal character name of a character that has none"),
    id("unknown-directive", "a directive that does not exist"),
    on("unknown-escape-sequence", "unknown-escape-sequence", "an escape sequence that does not exist"),
    on(
        "unknown-pragma",
        "ignored-pragmas",
        "a floating-point pragma in a form that is not known, which is ignored",
    ),
    off("unknown-pragmas", "a pragma that is not known"),
    on(
        "unknown-warning-option",
        "unknown-warning-option",
        "a pragma names a group of warnings that does not exist",
    ),
    id("unmatched-conditional", "`#else`, `#elif` or `#endif` without `#if`, or after `#else`"),
    id("unreadable-include", "an included file cannot be read, is too large or is not a regular file"),
    id("unterminated-comment", "a `/*` comment without `*/`"),
    id("unterminated-conditional", "`#if` without `#endif`"),
    id("unterminated-literal", "a string or character literal without its closing quote"),
    id("unterminated-macro-call", "a call of a macro without `)`"),
    on("warning-directive", "#warnings", "a `#warning` directive was reached"),
];

/// Translations of small sources.
const TRANSLATED: Proof = Proof::RustTest("compiler/translate/src/opencl/tests.rs");

const TRANSLATION: &[Entry] = &[
    other("double-as-float", "warning: `double` becomes `float`", TRANSLATED),
    other(
        "shared-in-function",
        "warning: a shared variable of CUDA's that stays in a function template",
        Proof::RustTest("compiler/translate/src/cuda/tests.rs"),
    ),
    other("untranslatable", "OpenCL C or CUDA C++ that Metal has nothing for", TRANSLATED),
    other("work-dim", "warning: the number of dimensions is computed from the size of the grid", TRANSLATED),
];

const PARSER: &[Entry] = &[
    id("expected-declaration", "text where a declaration must begin"),
    id("expected-expression", "text where an expression must begin"),
    id("expected-name", "a declaration, enumerator or attribute without a name"),
    id("expected-operator", "`operator` before what cannot be overloaded"),
    id("expected-token", "a punctuation mark such as `;` or `)` is missing"),
    id("expected-type", "a type is missing, as in a cast, a base class or a template parameter"),
    id("misplaced-label", "`case` or `default` that is not directly in a block"),
    id(
        "misplaced-pragma",
        "a floating-point pragma that is neither at file scope nor at the start of a block, a loop pragma without a loop, or `#pragma unused` that is neither at file scope nor in a block",
    ),
    id(
        "misplaced-specifier",
        "a word such as `static` or `constexpr` before a declaration that cannot have it",
    ),
    id("missing-type", "a function without a result type"),
    id("template-parameter", "a template parameter that no argument can be given for"),
    id("too-ambiguous", "templates and parentheses nest so that parsing would take too long"),
    id("too-deep", "expressions, statements, types or instantiations nest too deeply"),
    id("two-address-spaces", "a type with two address spaces"),
    id("unclosed-brace", "`{` without `}`"),
    on("unknown-attribute", "unknown-attributes", "an attribute that is not known, and is ignored"),
    id("unmatched-brace", "`}` without `{`"),
    id("unnamed-record", "an unnamed structure or union that declares nothing"),
    id("unsupported-attribute", "an attribute that changes meaning and is not supported there"),
];

const ANALYSIS: &[Entry] = &[
    id("address-of-value", "`&` of something that is not in memory"),
    id("ambiguous-base", "a conversion to a base that a class has several times"),
    id("ambiguous-call", "several functions fit a call equally well"),
    id("ambiguous-conversion", "several constructors or conversion operators convert equally well"),
    id("ambiguous-function", "a function's name without a call means several functions"),
    id("ambiguous-member", "a name is a member of several bases of a class"),
    id("ambiguous-name", "several namespaces that directives make visible declare a name"),
    id("ambiguous-specialisation", "several partial specialisations fit a class equally well"),
    id("argument-count", "a call with the wrong number of arguments"),
    id("array-designator", "`[n] =` in an initialiser list, which is not supported"),
    id("array-length", "an array with a negative length, or too long"),
    id(
        "atomic-operation",
        "an atomic operation that Metal does not have for the type, the memory order or the address space",
    ),
    id("attribute-argument", "an attribute without its argument, or with one out of range"),
    other("attribute-placement", "an attribute on something that it does not apply to", DECLARATIONS),
    id("auto-not-allowed", "`auto` where no type can be deduced"),
    id("auto-recursion", "a function with a deduced result type calls itself before a `return`"),
    id("bad-alignment", "`alignas` of what is not a power of two up to 4096"),
    id("bad-array-element", "an array of references, functions or `void`"),
    id("bad-base", "a base that is not a class"),
    id(
        "bad-bindings",
        "structured bindings of something that has no such members, or with specifiers they do not take",
    ),
    id("bad-bit-cast", "`as_type` between types of different sizes, or of an array"),
    id("bad-bit-field", "a bit-field of a type that is no integer, or with a bad width"),
    id("bad-cast", "a cast between types that cannot be cast"),
    id("bad-construction", "a scalar, vector or matrix constructed from the wrong values"),
    other(
        "bad-friend",
        "a friend that is qualified, misplaced, an enumeration, or that no declaration fits",
        WHOLE_PROGRAM,
    ),
    id("bad-index", "an index that is not an integer, or an index into `void`"),
    id("bad-member-type", "a member of type `void` or of a function type"),
    id("bad-range", "a range-based `for` over what is not an array"),
    other("bad-result", "a function that returns an array or a function", DECLARATIONS),
    id("bad-selector", "`switch` on what is not an integer"),
    id("bad-sizeof", "`sizeof` of a bit-field, or of something without a size"),
    id("bad-swizzle", "a vector has no such elements"),
    other(
        "bad-template",
        "a `template<…>` that fits nothing that is declared, or something that cannot be a template",
        WHOLE_PROGRAM,
    ),
    id(
        "bad-variable",
        "a variable of a type that variables cannot have, or without the initialiser it needs",
    ),
    id("binding-count", "more or fewer structured bindings than members"),
    id("builtin-result", "a built-in function that needs a template argument is called without"),
    id("cast-changes-space", "a cast of a reference to another address space"),
    id("cast-to-reference", "a value is cast to a reference"),
    id("class-deduction", "the template arguments of a class cannot be deduced from its initialiser"),
    id("conflicting-spaces", "an alias that has an address space is given another"),
    other("copy-by-value", "a constructor that takes an object of its class by value", DECLARATIONS),
    id("dangling-member", "a constructor binds a reference member to a temporary object"),
    other("deduced-result", "a result type that is deduced differently, or cannot be deduced", WHOLE_PROGRAM),
    other(
        "deduction-guide",
        "a deduction guide that its template cannot have, or that is declared twice",
        WHOLE_PROGRAM,
    ),
    other("default-argument", "a parameter without a default argument after one that has one", WHOLE_PROGRAM),
    id(
        "deleted-function",
        "a use of a function that is `= delete`, or of a copy or default constructor, or assignment, that C++ deletes",
    ),
    other("directive-limit", "the program has too many using-directives", BOMBS),
    id("duplicate-attribute", "two parameters or members that are one built-in value"),
    id("duplicate-case", "two `case` labels of one value, or two `default` labels"),
    id("duplicate-index", "two parameters or members with one index"),
    id("empty-fold", "an empty pack folded by an operator that has no value for it"),
    on("empty-range", "empty-range", "the last value of a range of cases is below the first"),
    id("enum-type", "an enumeration whose underlying type is not an integer type"),
    id("excess-initialisers", "more initialisers than members or elements"),
    id("excess-result", "a `void` function returns a value"),
    other(
        "explicit-constructor",
        "copy initialisation by a list chooses an explicit constructor",
        DECLARATIONS,
    ),
    id(
        "explicit-instantiation",
        "an explicit instantiation or specialisation that the declarations before it exclude",
    ),
    id("fall-through", "too many `case` labels continue into the next"),
    id("fold-operand", "a fold expression with no pack, or with two"),
    id("fold-operator", "a fold expression with two different operators"),
    on(
        "format-extra-args",
        "format-extra-args",
        "a message of a log has more arguments than its format prints",
    ),
    id("function-constant-expected", "`is_function_constant_defined` of something else"),
    id("function-constant-index", "a function constant's index is not between 0 and 65535"),
    id(
        "function-constant-type",
        "a function constant that is not a scalar or a vector, or that has an initialiser",
    ),
    id("function-pointer", "a pointer to a method, or a linked function of another type"),
    id("inaccessible-member", "a private or protected member or base is used outside of its class"),
    id("incomplete-type", "a type is used that is declared only, or contains itself"),
    on("index-out-of-range", "array-bounds", "a constant index outside of a vector"),
    id("init-list", "an initialiser list where an expression is needed"),
    id("instantiation-limit", "templates instantiate each other too deeply or too often"),
    id("invalid-argument", "an argument of a type that a built-in function does not take"),
    id("invalid-operands", "an operator does not take operands of these types"),
    id("jump-past-initialiser", "a label of a switch jumps past the initialisation of a variable"),
    id("kernel-call", "a kernel or a graphics function is called by a function"),
    id("kernel-parameter", "a parameter that a kernel cannot have"),
    id("kernel-result", "a kernel that does not return `void`"),
    other("lambda-capture", "a capture that is repeated, or of what cannot be captured", DECLARATIONS),
    other(
        "literal-operator",
        "a literal operator with parameters or linkage that none can have",
        DECLARATIONS,
    ),
    id("local-function", "a function defined inside of a function"),
    id("log-format", "a message of a log whose format, arguments or names are wrong"),
    id("matrix-index", "a constant index outside of a matrix"),
    id("member-space", "a member with an address space"),
    id("method-value", "a method named without a call"),
    other("misplaced-qualification", "a member with a qualified name in its class", WHOLE_PROGRAM),
    id("missing-result", "`return` without a value in a function that returns one"),
    other(
        "missing-template",
        "template arguments of a member of a dependent type, without `template` before its name",
        WHOLE_PROGRAM,
    ),
    id("missing-typename", "a type that is a member of a dependent type, without `typename` before its name"),
    other(
        "narrowing",
        "a conversion in braces that may lose the value, or a constant that does not fit its type",
        WHOLE_PROGRAM,
    ),
    id("nested-designator", "`.a.b =` in an initialiser list, which is not supported"),
    id("no-conversion", "a value cannot be converted to the type that is needed"),
    id("no-default-constructor", "an object without arguments of a class that needs some"),
    id("no-double", "`double`, which Metal does not have"),
    id("no-matching-function", "no function of the name takes these arguments"),
    id("no-matching-template", "an explicit instantiation or specialisation fits no template"),
    id("no-members", "`.` on a value that has no members"),
    id("no-object", "a data member is named without an object"),
    id("no-size", "`sizeof` of a type without a size"),
    other(
        "no-such-member",
        "a definition of a member outside of its class that the class does not declare",
        WHOLE_PROGRAM,
    ),
    id("no-this", "`this` outside of methods"),
    id("not-a-class", "`::` after a type that is not a class"),
    id("not-a-function-type", "a function where a value of another type is needed"),
    id("not-a-pack", "`...` with something that is not a parameter pack"),
    id("not-a-pointer", "`->` on what is not a pointer"),
    id("not-a-scope", "`::` after what is neither a namespace nor a type"),
    id("not-a-template", "template arguments for what is not a template"),
    id("not-a-type", "a name where a type is needed means something else"),
    id("not-a-value", "a name where a value is needed means something else"),
    other("not-an-enumeration", "`__underlying_type` of something else", WHOLE_PROGRAM),
    id("not-an-integer", "a constant that must be an integer has another type"),
    id("not-assignable", "an assignment to a constant, to constant memory or to a value"),
    id("not-callable", "a call of a value that is not a function"),
    id("not-captured", "a lambda or local class uses a variable that it does not capture"),
    id("not-constant", "an expression that must be constant is not"),
    other(
        "not-defaultable",
        "`= default` of a function that is not a special member function, or that cannot have this form",
        WHOLE_PROGRAM,
    ),
    id("not-indexable", "`[]` on a value that has no elements"),
    other("not-understood", "an error without an explanation of its own", FALLBACK),
    id("operator-operands", "an operator function with the wrong number or types of operands"),
    other("overload-limit", "overload resolution tries too many functions", OVERLOADS),
    id("own-initialiser", "a variable of deduced type, or a reference, is used in its own initialiser"),
    id("pack-expansion", "a parameter pack is expanded where that is not possible"),
    id("pointer-to-reference", "a pointer to a reference"),
    id("program-scope-space", "a variable at program scope that is not in constant memory"),
    other("qualified-function", "a pointer or reference to the type of a method", WHOLE_PROGRAM),
    id("qualified-reference", "`const` or `volatile` after the `&` of a reference"),
    id("recursive-alias", "a type alias that is defined by itself"),
    id("recursive-constant", "a constant whose value depends on itself"),
    other("recursive-default", "a default argument that needs its own value", WHOLE_PROGRAM),
    id("redefinition", "a name or member is declared twice"),
    id("reference-to-reference", "a reference to a reference"),
    id("reference-to-void", "a reference to `void`"),
    id("stage-attribute", "an attribute that functions of this stage do not have"),
    id("stage-attribute-type", "a built-in value of a graphics function has another type"),
    id("stage-in", "stage-in data that are not a structure, or a member that cannot be stage-in data"),
    id("stage-parameter", "a parameter that a graphics function cannot have"),
    id("stage-result", "a graphics function does not return what its stage needs"),
    id("static-assert", "a `static_assert` is false"),
    other(
        "static-member",
        "a static data member where none can be, or with a misplaced initialiser",
        DECLARATIONS,
    ),
    id("stray-break", "`break` outside of loops and `switch`"),
    id("stray-continue", "`continue` outside of loops"),
    id("stray-label", "`case` or `default` outside of a `switch`, or nested inside of one"),
    other("tag-mismatch", "`struct`, `union` or `enum` before a type of another kind", WHOLE_PROGRAM),
    id("template-arguments", "a variable template without template arguments"),
    id(
        "template-expected",
        "the argument of a template template parameter is not a template with its parameters",
    ),
    id("thread-attribute-types", "attributes of threads whose types do not go together"),
    strict("threadgroup-in-function", "a threadgroup variable in a function that is not a kernel"),
    on(
        "threadgroup-initialiser",
        "threadgroup-initialiser",
        "a threadgroup variable with an initialiser, which has no effect",
    ),
    id("too-few-template-arguments", "a template with too few arguments"),
    id("too-large", "a structure larger than any memory"),
    other(
        "too-many-errors",
        "more errors than `--error-limit` were found",
        Proof::RustTest("compiler/diagnostics/src/warnings.rs"),
    ),
    id("too-many-template-arguments", "a template with too many arguments"),
    id("type-expected", "a value as the argument of a type parameter"),
    id("undefined-function", "a function that is called but never defined"),
    id("unexpanded-pack", "a parameter pack is used without `...`"),
    id(
        "uniform-value",
        "a uniform variable, parameter or result takes the value of a variable that is not uniform",
    ),
    id("uninitialised-constant", "a constant at program scope without a value"),
    id("uninitialised-member", "a const or reference member without an initialiser"),
    id("unknown-builtin", "a function of the library's own that does not exist"),
    id("unknown-member", "a class, namespace or enumeration has no such member"),
    id("unknown-name", "a name that is not declared"),
    id("unknown-namespace", "a namespace that is not declared"),
    id("unknown-trait", "a type trait that does not exist"),
    id("unsupported-feature", "a part of Metal or of C++ that is not supported"),
    on("unused-comparison", "unused-comparison", "a statement is a comparison, whose result is lost"),
    other(
        "using-declaration",
        "a using-declaration that names something that it cannot make a member or name",
        WHOLE_PROGRAM,
    ),
    id("value-expected", "a type as the argument of a value parameter"),
    id("variadic-function", "a function with `...`"),
    id("vector-condition", "a vector or matrix as a condition"),
    id("vector-element", "a vector or matrix of what is not an arithmetic type"),
    id("vector-size", "a vector or matrix with other than 2 to 4 elements in a direction"),
    id("void-parameter", "a parameter of type `void`"),
    id("void-variable", "a variable of type `void`"),
    id(
        "wrong-namespace",
        "a specialisation, instantiation or definition outside of the namespaces around its entity",
    ),
];

const WARNINGS: &[Entry] = &[
    on(
        "bitwise-conditional-parentheses",
        "bitwise-conditional-parentheses",
        "`a | b ? c : d`: `|` is evaluated first",
    ),
    off("bitwise-op-parentheses", "`a | b & c`: `&` is evaluated first"),
    on("bitwise-precedence", "parentheses", "`a & b == c`: `==` is evaluated first"),
    on("chained-comparison", "parentheses", "`a < b < c` compares a truth value with `c`"),
    on("condition-assignment", "parentheses", "an assignment is a condition"),
    on("conditional-precedence", "parentheses", "`a + b ? c : d`: `+` is evaluated first"),
    on(
        "constant-conversion",
        "constant-conversion",
        "an implicit conversion changes the value of an integer constant",
    ),
    on("dangling-else", "dangling-else", "an `else` whose `if` is easily mistaken"),
    on("division-by-zero", "division-by-zero", "an integer is divided by the constant zero"),
    on("empty-body", "empty-body", "a `;` on the line of `if`, `for` or `while` is its body"),
    on("enum-compare", "enum-compare", "enumerators of two enumerations are compared"),
    off("for-loop-analysis", "nothing changes the variables in the condition of a `for`"),
    on("ignored-attributes", "ignored-attributes", "an attribute has no effect in the name of a type"),
    off("ignored-qualifiers", "a qualifier of a result type has no effect"),
    on(
        "implicit-const-int-float-conversion",
        "implicit-const-int-float-conversion",
        "an implicit conversion of an integer constant to a floating-point type changes its value",
    ),
    off("infinite-recursion", "all paths through a function call it"),
    on("integer-overflow", "integer-overflow", "constant arithmetic on signed integers overflows"),
    on(
        "literal-conversion",
        "literal-conversion",
        "a floating-point literal is converted to an integer that is not its value",
    ),
    on("literal-range", "literal-range", "a floating-point literal is beyond the range of its type"),
    on("logical-not-parentheses", "logical-not-parentheses", "`!a == b`: `!` is applied first"),
    off("logical-op-parentheses", "`a || b && c`: `&&` is evaluated first"),
    off(
        "misleading-indentation",
        "a statement is indented as if it belonged to the `if`, `for` or `while` before it",
    ),
    off(
        "missing-address-space",
        "a pointer or reference has no address space, which Metal's compiler refuses",
    ),
    off("missing-braces", "an aggregate in a list has no braces of its own"),
    on("missing-case", "switch", "a `switch` without `default` has no case for an enumerator"),
    off("missing-field-initializers", "a list has no value for a member"),
    on("null-dereference", "null-dereference", "a null pointer is dereferenced"),
    on(
        "parentheses-equality",
        "parentheses-equality",
        "`==` in double parentheses, which is usual for assignments only",
    ),
    on("past-array", "array-bounds", "a constant index is outside of an array"),
    on("return-stack-address", "return-stack-address", "the address of a local variable is returned"),
    on("return-type", "return-type", "the end of a function that returns a value can be reached"),
    on("self-assign", "self-assign", "a variable is assigned to itself"),
    off("shadow", "a declaration hides a local variable"),
    on("shift-count-negative", "shift-count-negative", "the count of a shift is negative"),
    on(
        "shift-count-overflow",
        "shift-count-overflow",
        "the count of a shift is not below the number of bits",
    ),
    on("shift-op-parentheses", "shift-op-parentheses", "`a << b + c`: `+` is evaluated first"),
    off("sign-compare", "a signed and an unsigned integer are compared"),
    off("sometimes-uninitialized", "a variable has no value on one of the ways to its use"),
    on("switch-bool", "switch-bool", "the selector of a `switch` is a `bool`"),
    off("tautological-bitwise-compare", "the result of `(a & b) == c` does not depend on `a`"),
    on("tautological-compare", "tautological-compare", "something is compared with itself"),
    on(
        "tautological-constant-out-of-range-compare",
        "tautological-constant-out-of-range-compare",
        "a constant that the other operand's type does not have is compared",
    ),
    off("uninitialized", "a variable has no value where it is used"),
    on("unsequenced", "unsequenced", "a variable is changed and used in an order that is not determined"),
    off("unused-but-set-variable", "a variable is assigned to, but never read"),
    off("unused-function", "a static function is never used"),
    off("unused-local-typedef", "a type that a function declares is never named"),
    off("unused-parameter", "a parameter is never used"),
    on("unused-result", "unused-result", "the result of a function with `nodiscard` is not used"),
    on("unused-value", "unused-value", "the value of an expression statement is not used"),
    off("unused-variable", "a variable is never used"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_each_id_has_one() {
        let mut all: Vec<&str> = Vec::new();
        for group in CATALOGUE {
            assert!(group.entries.is_sorted_by(|a, b| a.id < b.id), "{} is not sorted", group.stage);
            all.extend(group.entries.iter().map(|entry| entry.id));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "an id has two rows");
    }

    #[test]
    fn an_id_is_found() {
        assert_eq!(catalogue_entry("unknown-name").map(|entry| entry.proof), Some(Proof::UiFile));
        assert_eq!(catalogue_entry("no-such-id"), None);
    }
}
