//! Declarations of one entity that do not agree, and entities that share a name.

use super::{accept, reject};

#[test]
fn templates_agree_on_constexpr_and_default_arguments() {
    reject("template <typename T> int f(T); template <typename T> constexpr int f(T);", &["redefinition"]);
    reject("template <typename T> int f(T); template <typename T> int f(T = T());", &["redefinition"]);
    reject(
        "template <typename T> T f(T); template <> int f(int); template <> constexpr int f(int);",
        &["redefinition"],
    );
    reject(
        "template <typename T> void f(T); template <> void f(int); template <> void f(int) = delete;",
        &["redefinition"],
    );
    accept("template <typename T> int f(T); template <typename T> constexpr int f(T *);");
    accept("template <typename T> int f(T = T()); template <typename T> int f(T) { return 1; }");
    accept("template <typename T> T f(T); template <> constexpr int f(int) { return 1; }");
}

#[test]
fn exception_specifications_agree() {
    reject("void f(); void f() noexcept;", &["redefinition"]);
    reject("void f() noexcept; void f() {}", &["redefinition"]);
    reject("template <typename T> void f(T) noexcept; template <> void f(int);", &["redefinition"]);
    reject("template <typename T> void f(T); template <> void f(int) noexcept;", &["redefinition"]);
    accept("void f() noexcept; void f() noexcept(true); void g(); void g() noexcept(false);");
    accept("template <typename T> void f(T) noexcept; template <> void f(int) noexcept;");
    accept("struct S { ~S() {} }; void f() noexcept; void f(int);");
}

#[test]
fn functions_with_c_linkage_are_not_overloaded() {
    reject("extern \"C\" int f(int); extern \"C\" int f(float);", &["redefinition"]);
    reject("extern \"C\" { template <typename T> void f(T); }", &["bad-template"]);
    accept("extern \"C\" int f(int); int f(float); extern \"C\" { int g(int); int g(int); }");
    accept("extern \"C\" { struct S { int f(int); int f(float); }; }");
    accept("extern \"C\" { extern \"C++\" { template <typename T> void f(T); } }");
}

#[test]
fn deleted_definitions_come_first() {
    reject("void f(); void f() = delete;", &["redefinition"]);
    accept("void f() = delete; void f(int) = delete; void g(); void g(int) = delete;");
}

#[test]
fn aliases_and_classes_of_one_name() {
    reject("struct S; typedef int S;", &["redefinition"]);
    reject("typedef int S; struct S;", &["redefinition"]);
    accept("struct S {}; typedef S S; typedef struct T {} T; typedef struct U U; struct U {};");
    accept("enum E { e }; typedef E E; namespace n { struct S; } typedef int S;");
}

#[test]
fn variables_with_deduced_types() {
    // Constants without an initialiser are errors themselves.
    let declared = "uninitialised-constant";
    reject("extern constant int a; constant auto a = 1.0f;", &["redefinition", declared]);
    reject("extern constant float a; constant auto a = 1.0f;", &[declared]);
}

#[test]
fn alignment_is_on_the_definition() {
    reject("struct S {}; struct alignas(16) S;", &["redefinition"]);
    reject("struct alignas(16) S; struct S {};", &["redefinition"]);
    accept("struct S; struct alignas(16) S {}; struct S;");
}

#[test]
fn members_of_one_name() {
    reject("struct S { int a; static constant int a; };", &["redefinition"]);
    reject("struct S { union { int x; union { float y; int S; }; }; };", &["redefinition"]);
    accept("struct S { int S; union { int x; union { float y; int z; }; }; };");
}

#[test]
fn friends_that_instances_define() {
    let class = "template <typename T> struct A { friend void f(int) {} };";
    accept(&format!("{class} struct B {{ friend void f(int) {{}} }};"));
    reject(
        &format!("struct B {{ friend void f(int) {{}} }}; {class} void g(A<int> a) {{}}"),
        &["redefinition"],
    );
    let template = "template <typename T> struct A { template <typename U> friend void f(U) {} };";
    reject(
        &format!("template <typename U> void f(U) {{}} {template} void g(A<int> a) {{}}"),
        &["redefinition"],
    );
    accept(&format!("template <typename U> void f(U); {template} void g(A<int> a) {{}}"));
    accept(&format!("template <typename U> void f(U) {{}} {template}"));
    reject("struct A { friend int f(int x = 1) { return x; } friend int f(int); };", &["redefinition"]);
}

#[test]
fn specialisations_belong_to_the_namespace_of_their_template() {
    let template = "namespace n { template <typename T> void f(T); }";
    reject(&format!("{template} using namespace n; template <> void f(int);"), &["no-matching-template"]);
    accept(&format!("{template} template <> void n::f(int);"));
    accept("inline namespace n { template <typename T> void f(T); } template <> void f(int);");
}

#[test]
fn friends_are_of_the_declared_kind() {
    reject("struct A {}; struct B { friend union A; };", &["tag-mismatch"]);
    accept("struct A {}; struct B { friend struct A; friend class C; friend union D; };");
}

#[test]
fn default_arguments_of_declarations_in_blocks_and_outside_of_classes() {
    reject("void g() { void f(int n = 1); void f(int n = 2); }", &["redefinition"]);
    accept("void f(int n); void g() { void f(int n = 1); { void f(int n = 2); } }");
    reject("struct S { int a; int f(int); }; int S::f(int n = a) { return n; }", &["no-object"]);
    accept("struct S { static constant int a = 1; int f(int); }; int S::f(int n = a) { return n; }");
}

#[test]
fn partial_specialisations_are_where_their_template_is() {
    let class = "struct A { template <typename T> struct C {};";
    reject(
        &format!("{class} struct B {{ template <typename T> struct C<T *>; }}; }};"),
        &["no-matching-template"],
    );
    let class = format!("namespace n {{ {class} }}; }}");
    reject(
        &format!("{class} namespace m {{ template <typename T> struct n::A::C<thread T *> {{}}; }}"),
        &["wrong-namespace"],
    );
    accept(&format!("{class} template <typename T> struct n::A::C<thread T *> {{}};"));
    accept("struct A { template <typename T> struct C {}; template <typename T> struct C<thread T *> {}; };");
}

#[test]
fn specialisations_of_members_that_an_instance_makes_the_same() {
    let class = "template <typename T, typename U> struct S {
        template <typename> struct I {}; template <> struct I<T> {}; template <> struct I<U> {}; };";
    reject(&format!("{class} void f(S<int, int> s) {{}}"), &["redefinition"]);
    accept(&format!("{class} void f(S<int, float> s) {{}}"));
}

#[test]
fn definitions_outside_of_classes_have_a_declaration() {
    reject("struct Unknown::S {};", &["unknown-name"]);
    reject("template <typename T> void Unknown<T>::f() {}", &["unknown-name"]);
    reject("struct S { S(int n); }; template <typename T> S::S(T t) {}", &["no-such-member"]);
    accept("struct S { template <typename T> S(T t); }; template <typename T> S::S(T t) {}");
    accept("template <typename T> struct S { void f(); }; template <typename T> void S<T>::f() {}");
}
