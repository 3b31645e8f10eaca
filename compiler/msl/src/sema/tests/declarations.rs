//! Rules of declarations and initialisation that only a check of everything reports.

use super::{accept, reject};

#[test]
fn copy_list_initialisation_takes_no_explicit_constructor() {
    let class = "struct S { S() {} explicit S(int) {} S(int, int) {} }; void g(S s) {}";
    for bad in ["S s = {1};", "auto l = []() -> S { return {1}; };", "g({1});", "S a[] = {{1}};"] {
        reject(&format!("{class} void k() {{ {bad} }}"), &["explicit-constructor"]);
    }
    for good in ["S s{1};", "S s = {1, 2};", "S s = S{1};", "S s = {};", "auto s = S{1};"] {
        accept(&format!("{class} void k() {{ {good} }}"));
    }
    let class = "struct S { explicit S() {} };";
    reject(&format!("{class} void f() {{ S s = {{}}; }}"), &["explicit-constructor"]);
    accept(&format!("{class} void f() {{ S s{{}}; S t; S u = S(); }}"));
    // The member is initialised directly.
    accept("struct S { explicit S(int) {} }; struct T { S s; T() : s{1} {} };");
}

#[test]
fn constant_expressions_call_constexpr_functions() {
    let functions = "int f(int n) { return n; } constexpr int g(int n) { return n; }";
    for bad in ["constexpr int n = f(1);", "static_assert(f(1) == 1);", "int a[f(3)];", "enum { e = f(1) };"]
    {
        reject(&format!("{functions} void k() {{ {bad} }}"), &["not-constant"]);
    }
    accept(&format!(
        "{functions} constant int n = f(1); void k() {{ constexpr int m = g(n); int a[g(3)]; }}"
    ));
    reject("struct S { int n; S(int n) : n(n) {} }; constexpr constant S s(1);", &["not-constant"]);
    accept("struct S { int n; constexpr S(int n) : n(n) {} }; constexpr constant S s(1);");
    // The word may be at one declaration of a member.
    accept(
        "constexpr constant float x = metal::max(1.0f, 2.0f); constexpr auto l = [](int n) { return n; };",
    );
}

#[test]
fn specifiers_of_declarations() {
    for bad in [
        "struct S { explicit void f(); };",
        "struct S { extern void f(); };",
        "struct S { constexpr ~S() = default; };",
        "constexpr int;",
        "void f() { inline int g(); }",
        "struct S { static void f(); }; static void S::f() {}",
        "int *f() -> int;",
        "struct S { ~S(int); };",
        "struct S { friend void f() const; };",
        "struct S { mutable const int n; };",
        "struct S { mutable thread int &n; S(thread int &x) : n(x) {} };",
    ] {
        reject(bad, &["misplaced-specifier"]);
    }
    accept("struct S { explicit operator bool() const { return true; } static void f(); mutable int n; };");
    accept("auto f() -> int; namespace n { void f(); } static void n_f() {}");
    reject("struct T {}; struct S { friend int n; };", &["bad-friend"]);
    reject("struct S { friend struct T {}; };", &["bad-friend"]);
    reject("struct S { friend operator int(); };", &["bad-friend"]);
    accept("typedef void F(); struct S { friend F f; friend struct T; friend void g(int); };");
    reject("struct S { const int : 3; };", &["bad-bit-field"]);
    reject("namespace n { struct T; } struct S { struct n::T {}; };", &["misplaced-qualification"]);
}

#[test]
fn default_arguments_are_of_declared_functions() {
    reject("void f(void (*g)(int n = 1));", &["default-argument"]);
    reject("typedef void F(int = 1);", &["default-argument"]);
    reject("template <typename... T> void f(T... t = 0);", &["default-argument"]);
    reject("struct S { S operator+(int n = 1); };", &["default-argument"]);
    reject("struct S { void f(int n = 1); }; void S::f(int n = 2) {}", &["redefinition"]);
    reject(
        "template <typename T> struct S { void f(int); }; template <typename T> void S<T>::f(int n = 1) {}",
        &["default-argument"],
    );
    accept("struct S { void g(int n, int m = 2); }; void S::g(int n = 1, int m) {}");
}

#[test]
fn attributes_stand_at_what_they_apply_to() {
    reject("[[carries_dependency()]] int f();", &["attribute-argument"]);
    reject("void f(int (*g)([[carries_dependency]] int n));", &["attribute-placement"]);
    reject("alignas(8) void f();", &["attribute-placement"]);
    reject("int f(int); [[carries_dependency]] int f(int);", &["redefinition"]);
    accept("[[carries_dependency]] int f([[carries_dependency]] int n); struct alignas(16) S { int n; };");
}

#[test]
fn alignments_are_not_less_than_the_natural_one() {
    reject("struct alignas(2) S { int n; };", &["bad-alignment"]);
    reject("struct S { alignas(2) int n; };", &["bad-alignment"]);
    reject("struct alignas(8) S; struct S { int n; };", &["redefinition"]);
    accept("struct alignas(16) S { alignas(4) int n; alignas(0) float4 v; };");
    accept("struct __attribute__((aligned(2))) S { int n; };");
}

#[test]
fn defaulted_functions() {
    for bad in [
        "S(int n = 5) = default;",
        "S(const thread S &, int n = 1) = default;",
        "S(const thread S &&) = default;",
        "S(volatile thread S &) = default;",
        "void operator=(const thread S &) = default;",
        "const thread S &operator=(const thread S &) = default;",
        "thread S &operator=(const thread S &) const = default;",
        "S(int) = default;",
        "bool operator!() = default;",
    ] {
        reject(&format!("struct S {{ {bad} }};"), &["not-defaultable"]);
    }
    reject(
        "struct T { T(thread T &); }; struct S { S(const thread S &) = default; T t; };",
        &["not-defaultable"],
    );
    accept(
        "struct S { S() = default; S(const thread S &) = default; S(thread S &&) = default; ~S() = default;
         thread S &operator=(const thread S &) = default; thread S &operator=(thread S &&) = default; };",
    );
    accept("template <typename T> struct S { S(T) = default; };");
}

#[test]
fn constants_need_values() {
    reject("void f() { const int n; }", &["bad-variable"]);
    reject("struct S { int n; }; void f() { const S s; }", &["bad-variable"]);
    accept("struct S { int n; S() : n(1) {} }; struct T {}; void f() { const S s; const T t; int n; }");
    reject("union U { int a; float b; U() : a(1), b(2) {} };", &["uninitialised-member"]);
    reject("struct S { union { int a; float b; }; S() : b(2), a(1) {} };", &["uninitialised-member"]);
    reject("union U { int a = 1; float b = 2; };", &["uninitialised-member"]);
    accept(
        "union U { int a = 1; float b; U() : b(2) {} }; struct S { int a; float b; S() : a(1), b(2) {} };",
    );
}

#[test]
fn static_data_members() {
    reject("struct S { static int n = 1; };", &["static-member"]);
    reject("struct S { static const float x = 1; };", &["static-member"]);
    reject("struct S { static constexpr int n; };", &["uninitialised-constant"]);
    reject("void f() { struct L { static constexpr int n = 1; }; }", &["static-member"]);
    reject("struct S { union { static const int n; int m; }; };", &["static-member"]);
    reject("struct S { static const int n = 1; }; const int S::n = 2;", &["redefinition"]);
    reject("struct S { static const int n; }; const int S::n = 1; const int S::n = 1;", &["redefinition"]);
    accept(
        "struct S { static constexpr constant float x = 1; static const int n = 1; static constant float y = 2;
         static constexpr int m = 1; }; constexpr int S::m;",
    );
    reject("struct S { int a; union { int a; int b; }; };", &["redefinition"]);
    reject("struct S { union { int a; int b; }; void a(); };", &["redefinition"]);
}

#[test]
fn lambdas_capture_variables_once() {
    for bad in ["[n, n] {};", "[=, n] {};", "[&, &n] {};", "[n](int n) {};", "[this] {};", "[g] {};"] {
        reject(&format!("constant int g = 1; void f() {{ int n = 1; (void){bad} }}"), &["lambda-capture"]);
    }
    reject("void f() { int n = 1; auto l = [] { return [n] {}; }; }", &["not-captured"]);
    reject("void f() { auto l = [] { unknown(); }; }", &["unknown-name"]);
    reject("void f() { auto l = [](auto x) { unknown(); }; }", &["unknown-name"]);
    reject("void f() { int n = 1; auto l = [n] { n = 2; }; }", &["not-assignable"]);
    reject("void f() { auto l = [] {}; l = l; }", &["deleted-function"]);
    reject("void f() { auto l = [] {}; decltype(l) m; }", &["no-default-constructor"]);
    accept(
        "void f() { int n = 1, m = 2; auto l = [n, &m]() mutable { n = 2; m = n; }; l(); auto k = l;
         [&] { m = 1; }(); auto i = [&, n] { return n + m; }; auto j = [=, &m] { m = n; };
         auto t = [x = n, &y = m] { y = x; }; }",
    );
}

#[test]
fn friends_of_local_classes_and_private_functions() {
    reject("void f() { struct L { friend void g() {} }; }", &["bad-friend"]);
    reject("void g(); void f() { struct L { friend void g(); }; }", &["bad-friend"]);
    accept("void f() { void g(); struct L { friend void g(); }; }");
    reject("class S { void f(); }; class T { friend void S::f(); };", &["inaccessible-member"]);
    accept("class T; class S { friend class T; void f(); }; class T { friend void S::f(); };");
}

#[test]
fn variables_of_namespaces_in_blocks() {
    accept("constant int n = 1; int f() { extern constant int n; return n; }");
    reject("constant int n = 1; void f() { extern constant float n; }", &["redefinition"]);
    reject("int f() { int g(); return 1; } float g();", &["redefinition"]);
    reject("void f() { extern int n = 1; }", &["bad-variable"]);
    reject("extern constant int n; constant float n = 1;", &["redefinition", "uninitialised-constant"]);
}

#[test]
fn types_of_results_parameters_and_bases() {
    reject("auto f() -> int[3];", &["bad-result"]);
    reject("struct S; S f(int n) {}", &["incomplete-type"]);
    reject("struct S { struct T : S {}; };", &["incomplete-type"]);
    accept("struct S { struct T; void f() { struct U : S {}; } }; struct S::T : S {}; struct R; R g(R);");
    reject("void f() { const volatile thread int &r = 1; }", &["no-conversion"]);
}

#[test]
fn using_declarations_of_namespaces_and_members() {
    reject("namespace n { namespace m {} } using n::m;", &["using-declaration"]);
    reject("namespace n {} struct S { using namespace n; };", &["using-declaration"]);
    reject("struct S { void n(); using S::n; };", &["using-declaration"]);
    reject("struct S { int n; }; struct T : S { using typename S::n; };", &["using-declaration"]);
}

#[test]
fn members_are_defined_once() {
    let class = "struct S { S() = default; S(int); void f(); ~S() = default; };";
    reject(&format!("{class} S::S() = default;"), &["redefinition"]);
    reject(&format!("{class} S::~S() = default;"), &["redefinition"]);
    reject(&format!("{class} void S::f() {{}} void S::f() {{}}"), &["redefinition"]);
    accept(&format!("{class} S::S(int) {{}} void S::f() {{}}"));
    reject("struct S { S(S); };", &["copy-by-value"]);
    reject(
        "struct S { S(const thread S &, int); }; S::S(const thread S &, int n = 1) {}",
        &["default-argument"],
    );
    reject("struct S { ~T(); };", &["expected-name"]);
    reject("struct S {}; const int S::n = 1;", &["no-such-member"]);
    reject("namespace n {} constant int n::m = 1;", &["no-such-member"]);
    reject("namespace n {} struct n {};", &["redefinition"]);
}

#[test]
fn literal_operators() {
    for bad in [
        "int operator \"\" _a(const constant char *, int, int);",
        "template <typename T> int operator \"\" _a();",
        "extern \"C\" int operator \"\" _a(char);",
        "int operator \"\" _a();",
    ] {
        reject(bad, &["literal-operator"]);
    }
    accept(
        "int operator \"\" _a(const constant char *); int operator \"\" _b(ulong);
            template <char... C> int operator \"\" _c();",
    );
}

#[test]
fn rvalue_references_bind_to_no_lvalue_that_a_conversion_returns() {
    let class = "struct S { operator thread int &() const; operator float() const; };";
    reject(&format!("{class} void f(S s) {{ thread int &&r = s; }}"), &["no-conversion"]);
    accept(&format!("{class} void f(S s) {{ thread float &&r = s; }}"));
}
