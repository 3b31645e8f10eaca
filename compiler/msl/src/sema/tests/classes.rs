//! Members, special member functions and constant objects of classes, and calls of members.

use super::{accept, reject};

#[test]
fn initialisers_of_members_are_checked() {
    reject("struct S { int a = unknown(); };", &["unknown-name"]);
    reject("struct S { int a = unknown(); }; void f() { S s; }", &["unknown-name"]);
    accept("struct S { int a = 1; int b = a + f(); int f() const { return 2; } int c = this->a; };");
    accept("template <typename T> struct S { T a = T(); T b = g(a); int c = T::value; };");
}

#[test]
fn constructors_of_empty_bases_run() {
    let empty = "struct Empty { constexpr Empty(); };";
    reject(
        &format!("{empty} struct S : Empty {{ int n; constexpr S() : n(1) {{}} }}; constexpr constant S s;"),
        &["undefined-function", "not-constant"],
    );
    let empty = "struct Empty { constexpr Empty() {} };";
    accept(&format!(
        "{empty} struct S : Empty {{ int n; constexpr S() : n(1) {{}} }}; constexpr constant S s;"
    ));
}

#[test]
fn functions_in_error_and_later_definitions_are_not_constant() {
    reject(
        "constexpr int f() { return unknown; } constexpr constant int n = f();",
        &["unknown-name", "not-constant"],
    );
    reject(
        "constexpr int f(); constexpr constant int n = f(); constexpr int f() { return 1; }",
        &["not-constant"],
    );
    accept(
        "constexpr int g(); constexpr int f() { return g(); } constexpr int g() { return 1; }
         constexpr constant int n = f();",
    );
    accept(
        "template <typename T> constexpr T f(); template <typename T> constexpr T f() { return T(1); }
            constexpr constant int n = f<int>();",
    );
}

#[test]
fn defaulted_outside_of_the_class_and_deleted() {
    let part = "struct P { P(int) {} };";
    reject(&format!("{part} struct S {{ P p; S(); }}; S::S() = default;"), &["not-defaultable"]);
    accept(&format!("{part} struct S {{ P p = 1; S(); }}; S::S() = default;"));
}

#[test]
fn static_members_of_unnamed_classes_and_volatile_ones() {
    reject("struct S { struct { struct A { static constant int x = 1; } a; } s; };", &["static-member"]);
    reject("struct S { static const volatile int x = 1; };", &["static-member"]);
    accept("struct S { struct A { static constant int x = 1; } a; static const int y = 1; };");
}

#[test]
fn calls_without_an_object() {
    let class = "struct S { int f(float); static int f(half); void g(); static void h(); };";
    reject(&format!("{class} int k() {{ return S::f(1); }}"), &["ambiguous-call"]);
    reject(&format!("{class} void k() {{ S::g(); }}"), &["no-object"]);
    accept(&format!("{class} void k() {{ S::h(); S::f(1.0h); }}"));
    let classes = "struct A { void f(); }; struct C : A {}; struct B : A { void t(); };";
    reject(&format!("{classes} void B::t() {{ C::f(); }}"), &["no-object"]);
    accept(&format!("{classes} void B::t() {{ A::f(); B::f(); f(); }}"));
}

#[test]
fn members_of_other_classes() {
    let classes = "struct A { int n; static int s(); }; struct B : A {}; struct C { int n; };";
    for bad in ["b.C::n = 1;", "b.m::n = 1;"] {
        reject(&format!("{classes} namespace m {{ int n(); }} void f(B b) {{ {bad} }}"), &["unknown-member"]);
    }
    accept(&format!("{classes} void f(B b) {{ b.A::n = 1; b.B::n = 1; b.A::s(); }}"));
}

#[test]
fn conversions_of_bases_are_hidden() {
    let classes = "struct A { operator int() const; }; struct B : A { operator int(); };";
    reject(&format!("{classes} int f(const B b) {{ return b; }}"), &["no-conversion"]);
    accept(&format!("{classes} int f(B b) {{ return b; }} int g(const A a) {{ return a; }}"));
}

#[test]
fn aggregates_without_elements_need_braces() {
    reject("struct E {}; struct S { E e; int n; }; void f() { S s = {1}; }", &["excess-initialisers"]);
    accept("struct E {}; struct S { E e; int n; }; void f(E e) { S s = {{}, 1}, t = {e, 1}; }");
}

#[test]
fn members_do_not_refer_to_temporary_objects() {
    let class = "struct R { const thread int& n; };";
    reject(&format!("{class} struct S {{ R r; S() : r{{1}} {{}} }};"), &["dangling-member"]);
    reject(&format!("{class} struct S : R {{ S() : R{{1}} {{}} }};"), &["dangling-member"]);
    accept(&format!("{class} struct S {{ R r; S(thread int& n) : r{{n}} {{}} }};"));
}

#[test]
fn results_that_are_references_to_auto() {
    reject("thread auto& f() { return 1; }", &["no-conversion"]);
    reject("thread auto& f(thread int& n) { return void(); }", &["deduced-result"]);
    accept("thread auto& f(thread int& n) { return n; } auto&& g() { return 1; }");
}

#[test]
fn dependent_types_need_typename() {
    let class = "template <typename T> struct C { typedef T V; };";
    for bad in ["T::V v;", "C<T>::V v;", "for (C<T>::V v; ; ) {}"] {
        reject(&format!("{class} template <typename T> void f() {{ {bad} }}"), &["missing-typename"]);
    }
    accept(&format!(
        "{class} template <typename T> void f() {{ typename T::V v; C<int>::V w; typename C<T>::V u; }}"
    ));
    accept("template <typename T> struct S { typedef T V; void f() { S::V v; S<T>::V w; V u; } };");
}

#[test]
fn declarations_of_templates_that_no_argument_completes() {
    reject("template <typename T> void f() { thread T& x; }", &["bad-variable"]);
    reject("template <typename T> void f() { T x[]; }", &["bad-variable"]);
    accept("template <typename T, int N> void f(thread T& y) { thread T& x = y; T z[N]; T w[] = {y}; }");
}

#[test]
fn template_parameters_are_not_known_before_they_are_declared() {
    reject("template <int I = (1 * I)> struct S {};", &["unknown-name"]);
    reject("template <int I = J, int J = 1> struct S {};", &["unknown-name"]);
    accept("template <int I = 1, int J = I> struct S {}; template <typename T, T V = T()> struct U {};");
    accept("template <typename T> struct S { template <typename U = T, int N = sizeof(U)> void f(); };");
}

#[test]
fn operators_on_enumerations_take_the_enumeration() {
    let declared = "enum class E { e }; struct B { template <typename T> B(T) {} };";
    reject(&format!("{declared} int operator~(B b); int f() {{ return ~E::e; }}"), &["invalid-operands"]);
    accept(&format!("{declared} int operator~(E e); int f() {{ return ~E::e; }}"));
    accept(&format!("{declared} int operator~(B b); int f() {{ return ~B(1); }}"));
    accept(&format!(
        "{declared} template <typename T> int operator+(T t, int n); int f() {{ return E::e + 1; }}"
    ));
}

#[test]
fn constructors_for_several_address_spaces() {
    let class = "struct S { S(float2x2 m) thread {} S(float2x2 m) device {} S(float2x2 m) threadgroup {} };";
    accept(&format!("{class} void f(float2x2 m) {{ S s(m); S t = S(m); }}"));
    let class = "struct S { S(thread int* p) {} S(device int* p) {} };";
    reject(&format!("{class} void f() {{ S s(nullptr); }}"), &["ambiguous-call"]);
}
