//! Declarations as written.

use super::{Expr, InitClause, LazyBlock, NodeId, OperatorName, Path, TemplateArg, Type};
use crate::token::{FpPragmas, Name};
use anymetal_diagnostics::Span;
use std::sync::Arc;

/// `[[name(args)]]`; `[[clang::x]]` keeps the name `x` with its namespace.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// `clang` in `[[clang::optnone]]`.
    pub namespace: Option<Name>,
    /// The name.
    pub name: Name,
    /// The arguments as expressions (`buffer(0)`, `host_name("x")`, `access(read)`).
    pub args: Vec<Expr>,
    /// Where.
    pub span: Span,
}

/// `alignas(e)` or `aligned(e)`.
#[derive(Clone, Debug)]
pub struct Alignment {
    /// The alignment, in bytes.
    pub value: Expr,
    /// Whether it is written as `alignas`, which cannot be less than the natural alignment.
    pub is_alignas: bool,
}

/// A declaration.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// `template<…>` in front: the last of several, which leads to those before it.
    pub template: Option<TemplateParams>,
    /// Who may use it, of a member of a class; public elsewhere.
    pub access: Access,
    /// Where.
    pub span: Span,
}

/// Who may use a member or base of a class; the greater, the fewer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Access {
    /// `public`
    Public,
    /// `protected`
    Protected,
    /// `private`
    Private,
}

/// The shapes of declarations, at namespace, class and block scope.
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// `namespace a::b { … }` (nested ones are nested here).
    Namespace(Namespace),
    /// `using namespace n;`
    UsingNamespace(Path),
    /// `using a::b;`
    UsingDeclaration(UsingDeclaration),
    /// `using X = T;` or one declarator of a typedef.
    Alias(TypeAlias),
    /// A variable, program-scope constant, or static data member; one per declarator.
    Variable(Box<Variable>),
    /// A non-static data member.
    Field(Box<Field>),
    /// A function, method, constructor, operator; declared or defined; also `template<> …` full
    /// specialisations (then `template` is present and empty).
    Function(Arc<Function>),
    /// A struct, class or union, declared or defined, primary or specialised.
    Record(Arc<Record>),
    /// An enumeration.
    Enum(Arc<Enum>),
    /// `static_assert(cond, "message")`
    StaticAssert(Expr, Option<Name>),
    /// `auto [a, b] = e;`
    Bindings(Box<Bindings>),
    /// `template <typename T> S(T) -> S<T>;`: the result type is what the parameters deduce.
    DeductionGuide(Arc<Function>),
    /// `template R f<A>(…);` in its spellings.
    ExplicitInstantiation(Box<ExplicitInstantiation>),
    /// `friend class S;`, `friend S;`
    Friend(Box<Type>),
    /// `;`
    Empty,
}

/// A namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// `None` for the anonymous one.
    pub name: Option<Name>,
    /// `inline`
    pub is_inline: bool,
    /// What it contains.
    pub items: Vec<Item>,
}

/// `template<…>`.
#[derive(Clone, Debug)]
pub struct TemplateParams {
    /// Empty for a full specialisation.
    pub params: Vec<TemplateParam>,
    /// The `template<…>` before it: of a class template around a member that is defined outside of it.
    pub outer: Option<Box<TemplateParams>>,
    /// Where.
    pub span: Span,
}

impl TemplateParams {
    /// The heads of a declaration in the order of the source.
    pub fn heads(&self) -> Vec<&Self> {
        let mut heads: Vec<&Self> = std::iter::successors(Some(self), |head| head.outer.as_deref()).collect();
        heads.reverse();
        heads
    }

    /// The types of the values among the parameters.
    pub fn value_types(&self) -> impl Iterator<Item = &Type> {
        self.params.iter().filter_map(|param| match &param.kind {
            TemplateParamKind::Value(ty, _) => Some(ty),
            TemplateParamKind::Type(_) | TemplateParamKind::Template(..) => None,
        })
    }

    /// Adds a head before all others.
    pub fn add_outermost(&mut self, head: Self) {
        match &mut self.outer {
            Some(outer) => outer.add_outermost(head),
            None => self.outer = Some(Box::new(head)),
        }
    }
}

/// A template parameter.
#[derive(Clone, Debug)]
pub struct TemplateParam {
    /// What it stands for.
    pub kind: TemplateParamKind,
    /// `None` when unnamed.
    pub name: Option<Name>,
    /// `...`
    pub is_pack: bool,
    /// Where.
    pub span: Span,
}

impl TemplateParam {
    /// Whether it has a default argument.
    pub fn has_default(&self) -> bool {
        use TemplateParamKind::{Template, Type, Value};
        matches!(self.kind, Type(Some(_)) | Value(_, Some(_)) | Template(_, Some(_)))
    }
}

/// The kinds of template parameters.
#[derive(Clone, Debug)]
pub enum TemplateParamKind {
    /// `typename T = default`
    Type(Option<Type>),
    /// `int N = default`; the type may be a function pointer, a class or `auto`.
    Value(Type, Option<Expr>),
    /// `template <typename> class C = default`
    Template(TemplateParams, Option<Path>),
}

/// A type alias.
#[derive(Clone, Debug)]
pub struct TypeAlias {
    /// Its identity.
    pub id: NodeId,
    /// The new name.
    pub name: Name,
    /// What it names.
    pub ty: Type,
}

/// `using a::b;`
#[derive(Clone, Debug)]
pub struct UsingDeclaration {
    /// Its identity.
    pub id: NodeId,
    /// The declared name, with its scope.
    pub path: Path,
    /// `...`: one declaration for each element of a pack.
    pub is_pack: bool,
    /// `typename`
    pub is_typename: bool,
}

/// Name, type and initialiser of a variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its identity.
    pub id: NodeId,
    /// The name; a qualified one (`S::x`) or a specialised one (`is_x<T>`) keeps its path.
    pub declarator: Declarator,
    /// Its full type.
    pub ty: Type,
    /// `= e`, `(args)`, `{…}`.
    pub init: Option<Initialiser>,
    /// `constexpr`
    pub is_constexpr: bool,
    /// `static`
    pub is_static: bool,
    /// `extern`
    pub is_extern: bool,
    /// `inline`
    pub is_inline: bool,
    /// `alignas(e)`
    pub align: Vec<Alignment>,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// Where the name stands.
    pub span: Span,
}

/// A structured binding declaration: names for the elements of one unnamed variable.
#[derive(Clone, Debug)]
pub struct Bindings {
    /// The unnamed variable, whose type is `auto` with qualifiers or a reference.
    pub variable: Variable,
    /// The names in brackets.
    pub names: Vec<(Name, Span)>,
}

/// What a declarator declares.
#[derive(Clone, Debug)]
pub struct Declarator {
    /// The simple name.
    pub name: Name,
    /// `is_complex_v<T*>` in a variable template's specialisation.
    pub specialisation: Option<Vec<TemplateArg>>,
    /// The scope in `S<T>::x`.
    pub scope: Option<Path>,
}

/// An initialiser.
#[derive(Clone, Debug)]
pub enum Initialiser {
    /// `= e`
    Assign(Expr),
    /// `(a, b)`
    Paren(Vec<Expr>),
    /// `{a, b}` directly.
    Brace(Vec<InitClause>),
}

/// A non-static data member.
#[derive(Clone, Debug)]
pub struct Field {
    /// `None` for anonymous structs and unions.
    pub name: Option<Name>,
    /// Its type.
    pub ty: Type,
    /// The width of a bit-field.
    pub width: Option<Expr>,
    /// Default member initialiser.
    pub init: Option<Initialiser>,
    /// Attributes (`[[id(n)]]`).
    pub attributes: Vec<Attribute>,
    /// `alignas(e)`, `aligned(e)`
    pub align: Vec<Alignment>,
    /// `__attribute__((packed))`
    pub is_packed: bool,
    /// Where `mutable` stands.
    pub mutable: Option<Span>,
    /// Where.
    pub span: Span,
}

/// What a function is called.
#[derive(Clone, Debug)]
pub enum FunctionName {
    /// An ordinary name.
    Name(Name),
    /// An operator or conversion.
    Operator(OperatorName),
    /// The class's own name.
    Constructor(Name),
    /// `~S`
    Destructor,
}

impl FunctionName {
    /// The name, if it is an ordinary one.
    pub fn ordinary(&self) -> Option<Name> {
        match self {
            Self::Name(name) => Some(*name),
            Self::Operator(_) | Self::Constructor(_) | Self::Destructor => None,
        }
    }
}

/// Specifiers of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FunctionSpecifiers {
    /// `constexpr`
    pub is_constexpr: bool,
    /// `static`
    pub is_static: bool,
    /// `inline` or an attribute that means it
    pub is_inline: bool,
    /// `explicit`
    pub is_explicit: bool,
    /// `friend`
    pub is_friend: bool,
    /// Its declaration names an address space that is not told from `thread` or `threadgroup`: `object_data`,
    /// `ray_data` or `threadgroup_imageblock`. So it may look like another function, and is not.
    pub names_unmodelled_space: bool,
    /// `extern "C"` around it, which means nothing for a member
    pub has_c_linkage: bool,
    /// `kernel` or `[[kernel]]`
    pub is_kernel: bool,
    /// `vertex`, `[[mesh]]` and the like
    pub graphics: Option<GraphicsStage>,
}

impl FunctionSpecifiers {
    /// Whether the host uses the function: a kernel or a function of a graphics pipeline.
    pub fn is_entry_point(&self) -> bool {
        self.is_kernel || self.graphics.is_some()
    }
}

/// A stage of a graphics pipeline, whose functions are checked and do not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are the language's")]
pub enum GraphicsStage {
    Vertex,
    Fragment,
    Object,
    Mesh,
    Intersection,
}

impl GraphicsStage {
    /// The stage of a function with an attribute of that name.
    pub fn of_attribute(name: &str) -> Option<Self> {
        let all = [Self::Vertex, Self::Fragment, Self::Object, Self::Mesh, Self::Intersection];
        all.into_iter().find(|stage| stage.name() == name)
    }

    /// Its attribute.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vertex => "vertex",
            Self::Fragment => "fragment",
            Self::Object => "object",
            Self::Mesh => "mesh",
            Self::Intersection => "intersection",
        }
    }
}

/// Qualifiers after a method's parameter list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodQualifiers {
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// `device`, `thread`, …
    pub space: Option<super::AddressSpace>,
    /// `&` or `&&`
    pub reference: Option<RefQualifier>,
}

/// Which objects a method with a reference qualifier can be called on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefQualifier {
    /// `&`: lvalues.
    Lvalue,
    /// `&&`: rvalues.
    Rvalue,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// `None` when unnamed.
    pub name: Option<Name>,
    /// Its type as written (arrays not yet decayed; [`super::TypeKind::Pack`] for `Ts... xs`).
    pub ty: Type,
    /// Default argument.
    pub default: Option<Box<Expr>>,
    /// Attributes (`[[buffer(0)]]`, `[[thread_position_in_grid]]`, `[[function_constant(x)]]`).
    pub attributes: Vec<Attribute>,
    /// Where.
    pub span: Span,
}

/// `member(args)` or `member{args}` of a constructor.
#[derive(Clone, Debug)]
pub struct MemInit {
    /// The member, or the class itself (delegation), or a base.
    pub name: Path,
    /// The arguments.
    pub args: Vec<InitClause>,
    /// `{}`
    pub braced: bool,
    /// `...`: one for each element of a pack.
    pub is_pack: bool,
    /// Where.
    pub span: Span,
}

/// A function's body.
#[derive(Clone, Debug)]
pub enum FunctionBody {
    /// `;`
    None,
    /// `{ … }`
    Block(LazyBlock),
    /// `= default`
    Default,
    /// `= delete`
    Delete,
}

/// What a function declares of exceptions: Metal has none, but `noexcept(e)` depends on it.
#[derive(Clone, Debug, Default)]
pub enum Noexcept {
    /// Nothing.
    #[default]
    Absent,
    /// `noexcept`
    Always,
    /// `noexcept(e)`
    If(Box<Expr>),
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its identity.
    pub id: NodeId,
    /// Its name.
    pub name: FunctionName,
    /// The scope in `S<T>::f` (definitions outside of the class).
    pub scope: Option<Path>,
    /// Explicit arguments in `template<> f<int>(…)`.
    pub specialisation: Option<Vec<TemplateArg>>,
    /// The result type; `None` for constructors and conversion operators. A trailing one is here.
    pub ret: Option<Type>,
    /// The parameters.
    pub params: Vec<Param>,
    /// `...` at the end (never supported, kept for the message).
    pub is_variadic: bool,
    /// Specifiers before the name.
    pub specifiers: FunctionSpecifiers,
    /// Qualifiers after the parameter list.
    pub method: MethodQualifiers,
    /// `noexcept`
    pub noexcept: Noexcept,
    /// Attributes, of all places.
    pub attributes: Vec<Attribute>,
    /// Constructor initialisers.
    pub mem_inits: Vec<MemInit>,
    /// The body.
    pub body: FunctionBody,
    /// The pragmas in force where the body begins.
    pub fp: FpPragmas,
    /// Where the name stands.
    pub span: Span,
}

/// Struct, class or union.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordKind {
    /// `struct` and `class`
    Struct,
    /// `union`
    Union,
}

/// A base class.
#[derive(Clone, Debug)]
pub struct Base {
    /// The class.
    pub ty: Type,
    /// Who may convert to it and use its members through the derived class.
    pub access: Access,
    /// `...`: one base for each element of a pack.
    pub is_pack: bool,
}

/// A record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its identity.
    pub id: NodeId,
    /// Struct or union.
    pub kind: RecordKind,
    /// `None` for anonymous ones.
    pub name: Option<Name>,
    /// The scope in `struct A::B { … }`.
    pub scope: Option<Path>,
    /// `<int, U*>` of a specialisation.
    pub specialisation: Option<Vec<TemplateArg>>,
    /// Base classes.
    pub bases: Vec<Base>,
    /// `None` for a declaration only.
    pub members: Option<Vec<Item>>,
    /// `alignas(e)`, `aligned(e)`
    pub align: Vec<Alignment>,
    /// `__attribute__((packed))`
    pub is_packed: bool,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// Where the name stands.
    pub span: Span,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its identity.
    pub id: NodeId,
    /// `None` when anonymous.
    pub name: Option<Name>,
    /// `enum class`
    pub is_scoped: bool,
    /// `: T`
    pub underlying: Option<Type>,
    /// `None` for a declaration only.
    pub enumerators: Option<Vec<Enumerator>>,
    /// Where.
    pub span: Span,
}

/// An enumerator.
#[derive(Clone, Debug)]
pub struct Enumerator {
    /// Its name.
    pub name: Name,
    /// `= e`
    pub value: Option<Expr>,
    /// Where.
    pub span: Span,
}

/// `template [[host_name("n")]] [[kernel]] decltype(f<A>) f<A>;`, the same by a typedef, or with the
/// whole signature repeated.
#[derive(Clone, Debug)]
pub struct ExplicitInstantiation {
    /// Attributes (`host_name`).
    pub attributes: Vec<Attribute>,
    /// The template and its arguments, or without arguments when they follow from the signature.
    pub path: Path,
    /// The parameter types when the signature was written out.
    pub params: Option<Vec<Param>>,
    /// The declared type when it was not (`decltype(f<A>)`, a typedef).
    pub ty: Option<Type>,
    /// `template struct S<int>;`
    pub is_record: bool,
    /// `extern` before it: another file has the instance.
    pub is_extern: bool,
}
