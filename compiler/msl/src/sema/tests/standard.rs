//! Rules of C++ that clang's tests cover: each with members that are accepted and members that are refused.

use super::{accept, reject};

#[test]
fn parentheses_around_a_declared_name() {
    accept("void (f)(int); void (f)(int) {} int (((g)))(int n) { return n; } void h() { (f)(1); (g)(2); }");
    accept("struct S { void (f)(int) {} }; void k() { S s; s.f(1); int(a) = 3; int(b); b = a; }");
    accept("int x(int n) { return n; } int (*pick(int n))(int) { return x; } void k() { pick(1)(2); }");
    accept("auto (*q)() -> int = nullptr;");
    reject("using A = auto() -> auto;", &["auto-not-allowed"]);
}

#[test]
fn conditions_declare_initialised_objects() {
    accept(
        "void f() { if (int n = 1) {} while (bool b = false) {} for (int i = 0; bool c = i < 2; ++i) {} }",
    );
    for bad in ["if (int n) {}", "while (int a[1] = {0}) break;", "switch (int n) { case 1: break; }"] {
        reject(&format!("void f() {{ {bad} }}"), &["bad-variable"]);
    }
    reject("void f() { for (int c = 0; bool c = true;) break; }", &["redefinition"]);
}

#[test]
fn expressions_where_a_case_is_missing() {
    reject("void f(int n) { switch (n) { case 1: break; 2: break; } }", &["expected-token"]);
    accept("void f(int n) { again: n = 1; switch (n) { case 1: last: break; } }");
    // The body is checked whatever the selector is.
    reject("void f() { switch (unknown) { case missing: break; } }", &["unknown-name", "unknown-name"]);
}

#[test]
fn unnamed_unions_outside_of_classes() {
    accept(
        "void f() { union { int n; float x; }; n = 1; x = 2.0f; union { struct { short a, b; }; int c; }; a = b; }",
    );
    reject("union { int n; };", &["unnamed-record", "uninitialised-constant"]);
    reject("struct S { union { int n; static const int m = 1; }; };", &["static-member"]);
    reject("void f() { union { int n; }; int n; }", &["redefinition"]);
}

#[test]
fn conversions_to_references_and_functions() {
    accept(
        "struct S { int n; operator thread int &() { return n; } }; void f(S s) { thread int &r = s; r = 1; }",
    );
    accept(
        "int g(int n) { return n; } float g(float x) { return x; } void f() { float (*p)(float) = g; p = (g); p = &g; }",
    );
    accept("void g(); void (&r)() = (void(), g);");
    accept("enum class E { a }; struct A { operator E() { return E::a; } }; struct B { operator E() { return E::a; } };
            E f(bool c, A a, B b) { return c ? a : b; }");
    accept("template <typename T> struct id { using type = T; }; template <typename T> void f(T &&x) { typename id<T>::type n = x; n = 1; }
            void k() { int n = 0; f(static_cast<int &&>(n)); f(2); }");
}

#[test]
fn casts() {
    reject("void f(thread float *p) { static_cast<thread int *>(p); }", &["bad-cast"]);
    reject("void f(float x) { reinterpret_cast<int>(x); }", &["bad-cast"]);
    reject("void f() { const int n = 0; static_cast<thread int &>(n); }", &["bad-cast"]);
    accept("struct B { int n; }; struct D : B {}; void f(thread B *b, thread void *v, thread float *p) {
            static_cast<thread D *>(b); static_cast<thread int *>(v); reinterpret_cast<thread int *>(p); (thread int *)p; }");
}

#[test]
fn constant_expressions_do_not_overflow() {
    for bad in ["2147483647 + 1", "123456 * 234567", "1 << 32", "1 >> -1", "(-2147483647 - 1) / -1"] {
        reject(&format!("enum {{ e = {bad} }};"), &["not-constant"]);
    }
    accept("enum { a = 1 << 31, b = 4294967295u + 2u, c = 7 % -2 };");
    // Elsewhere they wrap.
    accept("void f() { int n = 2147483647; n = n + 1; }");
}

#[test]
fn destructors_that_cannot_be_used() {
    reject("struct N { ~N() = delete; }; struct S { N n; }; void f() { S s; }", &["deleted-function"]);
    reject("class N { ~N(); }; struct S : N {}; void f() { S s; }", &["deleted-function"]);
    accept("struct N { ~N() = default; }; struct S { N n; }; void f() { S s; S t = s; }");
}

#[test]
fn parts_of_copies() {
    reject("struct S { thread int &&r; }; void f(S s) { S t(s); }", &["deleted-function"]);
    accept(
        "struct A { A() {} A(thread A &) {} }; struct B { mutable A a; B() {} B(const thread B &) = default; };",
    );
    accept("struct S { mutable int n; void f() const { n = 1; } }; void f() { const S s = {1}; s.n = 2; }");
    reject("struct S { constexpr S() = default; int n; };", &["not-defaultable"]);
    accept("struct S { constexpr S() = default; int n = 1; }; struct T { constexpr T() = default; S s; };");
    reject("struct S { const thread int &r; S() : r(1) {} };", &["dangling-member"]);
}

#[test]
fn constants_of_enclosing_functions_in_local_classes() {
    let functions = "void use(int); void by(const thread int &);";
    for bad in ["(void)n;", "use(+*(a + 1));", "by(n);"] {
        let (ids, _) = super::check(&format!(
            "{functions} void f() {{ constexpr int n = 1; constexpr int a[] = {{1, 2}}; \
             struct S {{ void g(int i) {{ {bad} }} }}; }}"
        ));
        assert!(!ids.is_empty(), "{bad}");
    }
    accept(
        "void use(int) {} void f() { constexpr int n = 1; constexpr int a[] = {1, 2}; constexpr float4 v = 1;
            struct S { void g(int i) { use(n); use(a[i]); use(v.x); use(i ? n : a[n]); } }; S s; s.g(0); }",
    );
}

#[test]
fn types_of_variables_of_one_declaration() {
    reject("void f() { auto a = 1, b = 2.0f; }", &["auto-not-allowed"]);
    accept("void f() { auto a = 1, *p = &a, b = 2; const auto &r = a, s = b; }");
}

#[test]
fn incomplete_classes_are_reported_at_each_use() {
    reject("struct S; struct A { S s; }; struct B { S s; };", &["incomplete-type", "incomplete-type"]);
    reject("struct S; S g(); void f() { g(); }", &["incomplete-type"]);
    reject("void f() { auto l = [](int n) -> int[2] { return n; }; }", &["bad-result"]);
}

#[test]
fn names_of_captured_variables_in_decltype() {
    accept("template <typename T, typename U> constexpr constant bool same = false;
            template <typename T> constexpr constant bool same<T, T> = true;
            void f() { float x = 0; thread float &r = x; [=, &x] { static_assert(same<decltype(x), float>, \"\");
            static_assert(same<decltype(r), thread float &>, \"\"); }(); }");
}

#[test]
fn trailing_results_of_members_know_the_object() {
    accept(
        "struct A { int &f(int); float &f(int) const; int n; auto g() -> decltype(f(n)); auto h() const -> decltype(this->f(n)); };",
    );
}

#[test]
fn alignments_of_variables() {
    reject("struct S { alignas(8) int n; }; void f() { alignas(4) S s; }", &["bad-alignment"]);
    accept("struct S { alignas(8) int n; }; void f() { alignas(16) S s; alignas(4) alignas(8) S t; }");
}

#[test]
fn namespaces_and_other_names() {
    reject("void f(); namespace f {}", &["redefinition"]);
    reject("namespace n {} namespace m {} namespace a = n; namespace a = m;", &["redefinition"]);
    reject("inline namespace a::b {}", &["misplaced-specifier"]);
    accept(
        "namespace n { int f(); } namespace a = n; namespace a = n; namespace [[]] b {} namespace c __attribute__(()) {}",
    );
}

#[test]
fn operands_of_operators() {
    for bad in [
        "struct A {}; A operator|(A);",
        "struct A { friend A operator|(A); };",
        "struct A { A operator!(A); };",
        "float operator+(float, float);",
        "struct A { int operator[](); };",
    ] {
        reject(bad, &["operator-operands"]);
    }
    accept("struct A { A operator-(); A operator-(A); A operator++(int); int operator()(); friend A operator|(A, A); };
            enum E { e }; E operator~(E); template <typename T> T operator+(T, T);");
    accept("struct A { int n; }; struct B : A { void f(B b) { A::operator=(b); b.operator=(*this); } };");
}

#[test]
fn default_arguments_of_later_members() {
    reject("struct S { static void g(int n = f()); static int f(int m = 1); };", &["default-argument"]);
    accept("struct S { static int f(int m = 1); static void g(int n = f()); };");
    reject("struct S { friend void f(int n = 1); };", &["default-argument"]);
    accept("struct S { friend void f(int n = 1) {} };");
}
