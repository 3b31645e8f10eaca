//! What only a check of everything reports: code that no entry point reaches, templates without arguments.

use super::{accept, reject};

#[test]
fn members_are_checked() {
    reject("struct S { void f() { unknown(); } };", &["unknown-name"]);
    reject("struct S { int x; void f() const { x = 1; } };", &["not-assignable"]);
    reject("void f() { struct L { int g() { return y; } }; }", &["unknown-name"]);
    reject("struct S { friend void f() { unknown(); } };", &["unknown-name"]);
    reject("struct S { void f(int x = y); };", &["unknown-name"]);
    reject("struct S { void f() noexcept(y); };", &["unknown-name"]);
    reject("struct S { void f(); }; void S::f() { unknown(); }", &["unknown-name"]);
    accept("struct S { int x; int f() const { return g() + x; } int g() const { return 1; } };");
}

#[test]
fn templates_without_arguments() {
    reject("template <typename T> void f(T t) { unknown(1); }", &["unknown-name"]);
    reject("template <typename T> void f(T t, float x) { (void)(x % 3); }", &["invalid-operands"]);
    reject("template <typename T> struct S { void f() { unknown = 1; } };", &["unknown-name"]);
    reject(
        "template <int N> struct S { struct I { int x; void f() const { x = 1; } }; };",
        &["not-assignable"],
    );
    reject(
        "template <typename T> struct S; template <typename T> struct S<T *> { int f() { return y; } };",
        &["unknown-name"],
    );
    reject("struct S { template <typename T> void f() { unknown(1); } };", &["unknown-name"]);
    // What depends on an argument waits for it.
    accept("template <typename T> auto f(T t) { auto x = t.size(); return g(t, x) + T::value; }");
    accept(
        "template <typename T> struct S : T { void f() { this->g(); typename T::type x = this->y; h(x); } };",
    );
    accept(
        "template <typename... Ts> int f(Ts... ts) { static_assert(sizeof...(Ts) > 3); return (ts + ...); }",
    );
    accept("template <typename T> struct S { T x; void f(T); void f(T *); void g() { f(1); f(x); } };");
    accept("template <int N> struct S { int a[N]; enum { n = N }; static_assert(sizeof(S<N>) == n); };");
    accept("template <template <typename> class C> struct S { C<int> c; void f() { c.g(); } };");
    accept("template <typename T> struct S { S<T> *next; void f() { next->next->f(); } };");
}

#[test]
fn dependent_templates_need_the_word() {
    reject("template <typename T> void f(T t) { t.template g<int>(); t.g<int>(); }", &["missing-template"]);
    accept("struct S { template <typename T> void g(); }; template <typename T> void f(S s) { s.g<int>(); }");
}

#[test]
fn names_are_known_from_their_declaration_on() {
    reject("int f() { return g(); } int g() { return 1; }", &["unknown-name"]);
    reject("struct S; struct T { S s; }; struct S {};", &["incomplete-type"]);
    accept("struct S { struct U u(); int f() { return g(); } int g() { return 1; } }; struct U {};");
    accept("template <typename T> int f(T t) { return g(t); } int g(int); int h() { return f(1); }");
}

#[test]
fn redeclarations() {
    reject("void f() {} void f() {}", &["redefinition"]);
    reject("int f(int); float f(int);", &["redefinition"]);
    reject("struct S {}; struct S {};", &["redefinition"]);
    reject("struct S; union S {};", &["redefinition"]);
    reject("void S(); typedef int S;", &["redefinition"]);
    reject("enum E { a }; enum F { a };", &["redefinition"]);
    reject("struct S { void f(); void f(); };", &["redefinition"]);
    reject("struct S { int f; void f(); };", &["redefinition"]);
    reject("struct S { S(); int S; };", &["redefinition"]);
    accept("struct S { int S; };");
    reject("void f() {} struct S { friend void f() {} };", &["redefinition"]);
    reject("void f() { if (int x = 1) { int x; } }", &["redefinition"]);
    accept(
        "struct S {}; void S(); typedef struct T {} T; struct U; struct U {}; void f(); void f() {} void f(int);",
    );
    accept("struct S { void f(); void f() const; static void f(int); struct T {} T; };");
    accept("void f() { int x; while (true) { int x; } { int x; } }");
}

#[test]
fn definitions_of_members() {
    reject("struct S { void f(); }; void S::g() {}", &["no-such-member"]);
    reject("struct S { void f(); }; void S::f() const {}", &["no-such-member"]);
    reject("struct S { void f() = default; };", &["not-defaultable"]);
    accept("struct S { S(); void f(int); }; S::S() {} void S::f(int) {}");
}

#[test]
fn using_declarations() {
    reject("struct S { static int f(); }; using S::f;", &["using-declaration"]);
    reject("namespace n { void f(); } struct S { using n::f; };", &["using-declaration"]);
    reject("struct T { void f(); }; struct S { using T::f; };", &["using-declaration"]);
    reject("using n::f;", &["unknown-name"]);
    accept("namespace n { void f(); } using n::f; struct T { void g(); }; struct S : T { using T::g; };");
}

#[test]
fn constants_do_not_narrow() {
    reject("template <uchar N> struct S {}; using T = S<1000>;", &["narrowing"]);
    reject("enum E : uchar { a = 256 };", &["narrowing"]);
    accept("template <uchar N> struct S {}; using T = S<255>; enum E : char { a = -128 };");
}

#[test]
fn deduced_results() {
    reject("auto f(int x) { if (x) return 1; return 1.0f; }", &["deduced-result"]);
    reject("auto f(int x) { if (x) return 1; return; }", &["deduced-result"]);
    reject("auto *f() {}", &["deduced-result"]);
    accept("auto f(int x) { if (x) return 1; return 2; } auto g() { return; }");
}

#[test]
fn a_default_argument_does_not_need_itself() {
    reject("struct S { S(int x, S y = 0); };", &["recursive-default"]);
    accept("struct S { S(int x = 1, int y = 2); void f(S s = S()); };");
}

#[test]
fn lists_do_not_narrow() {
    reject("void f(int i) { uint u{i}; }", &["narrowing"]);
    reject("void f() { int a[2] = {1, 3000000000u}; }", &["narrowing"]);
    reject("struct S { S(uchar c); }; void f(int i) { S s{i}; }", &["narrowing"]);
    reject("struct S { half h; }; void f(float x) { S s = {x}; }", &["narrowing"]);
    reject("void f(float x) { int i{x}; }", &["narrowing"]);
    reject("void f(int i) { float x = {i}; }", &["narrowing"]);
    reject("void f() { half h{1e30f}; }", &["narrowing"]);
    accept("struct S { half h; uchar c; float f; long l; }; void f(int i) { S s = {1.5f, 255, 3, i}; }");
    accept("void f(int i, float x) { uint2 v = {i, 1}; half2 h{x, x}; float y = {1.0}; bool b{1}; }");
    accept("constant bool b [[function_constant(0)]]; void f() { constexpr int n = 3; uint a[1] = {n}; }");
}

#[test]
fn types_of_methods() {
    accept(
        "template <typename T> struct F { enum { n }; }; constant int x = F<void() const>::n; typedef int G(int, ...) &;",
    );
    reject("typedef void F() const; void f(F *p);", &["qualified-function"]);
    accept("char f(...); long f(int); static_assert(sizeof(f(1.0f, 2) + 0) == sizeof(int));");
    reject("void f(...); void g() { f(1); }", &["variadic-function"]);
}

#[test]
fn templates_declared_twice() {
    reject("template <typename T> void f(T *) {} template <typename U> void f(U *) {}", &["redefinition"]);
    reject("template <typename T> struct S { typedef T U; void f(T); void f(U); };", &["redefinition"]);
    reject(
        "template <typename T> struct S; template <typename T> struct S<T *> { void f(S *); void f(S<T *> *); };",
        &["redefinition"],
    );
    reject("template <typename T> using A = T; template <typename T> using A = T *;", &["redefinition"]);
    accept(
        "template <typename T> void f(T) {} template <typename T> void f(T *) {} template <typename T> int f(T *) { return 1; }",
    );
    accept("template <typename T> using A = T; template <typename T> using A = T;");
    accept(
        "template <typename T> metal::enable_if_t<(sizeof(T) > 2)> f(T) {} template <typename T> metal::enable_if_t<(sizeof(T) < 3)> f(T) {}",
    );
}

#[test]
fn heads_of_templates() {
    reject("template <typename T> struct S; template <> template <> struct S<int> {};", &["bad-template"]);
    reject(
        "template <typename T> struct S { ~S(); template <typename U> void operator=(U); template <typename U> ~S(); };",
        &["bad-template"],
    );
    reject("void f() { struct L { template <typename T> void g(); }; }", &["bad-template"]);
    reject("void f<1>();", &["bad-template"]);
    reject("struct S { template <> void f<int>(); };", &["no-matching-template"]);
    accept(
        "template <typename T> struct S { template <typename U> void f(U); }; template <> template <> void S<int>::f(int) {}",
    );
    accept(
        "template <typename T> struct S { void f(); }; template <> struct S<int> { void f(); }; void S<int>::f() {}",
    );
}

#[test]
fn friends_and_tags() {
    reject("struct S { friend enum E; }; ", &["bad-friend"]);
    reject("namespace n { void f(int); } struct S { friend void n::f(float); };", &["bad-friend"]);
    accept("namespace n { void f(int); } struct S { friend void n::f(int); friend S operator+(S, S); };");
    reject("struct S {}; void f(union S *);", &["tag-mismatch"]);
    accept("struct S {}; enum E { a }; void f(class S *, enum E, struct Unknown *);");
    reject("struct S { void S::f(); };", &["misplaced-qualification"]);
    reject("typedef __underlying_type(int) T;", &["not-an-enumeration"]);
    accept("enum E : uchar { a }; static_assert(sizeof(__underlying_type(E)) == 1);");
}

#[test]
fn default_arguments_of_declarations() {
    reject("void f(int = 1); void f(int = 2);", &["redefinition"]);
    reject("void f(int a = 1, int b);", &["default-argument"]);
    reject("constant int a = 1; void f(int a, int b = a);", &["not-captured"]);
    accept("void f(int, int = 1); void f(int = 2, int); template <typename... T> void g(int = 1, T...);");
}

#[test]
fn friends_of_instances_are_functions_of_the_namespace() {
    let two = "template <class T> struct A { friend void f(int) {} };
               template <class T> struct B { friend void f(int) {} };";
    reject(&format!("{two} void g() {{ A<int> a; B<int> b; }}"), &["redefinition"]);
    accept(&format!("{two} void g() {{ A<int> a; }}"));
    reject(
        "template <class T> struct A { friend void f(T) {} }; void g() { A<int> a; } void f(int) {}",
        &["redefinition"],
    );
    reject("void f(int); template <class T> struct A { friend int f(int); };", &["redefinition"]);
    accept("template <class T> struct A { friend void f(T) {} }; void g() { A<int> a; A<float> b; }");
}

#[test]
fn deduction_guides() {
    let template = "template <typename T> struct S { S(int); }; ";
    let reject = |guides: &str, ids: &[&str]| reject(&format!("{template}{guides}"), ids);
    reject("S(int) -> S<int>; S(int) -> S<int>;", &["deduction-guide"]);
    reject("S(int) -> S<int>; S(int) -> S<float>;", &["deduction-guide"]);
    reject("S(int) -> int;", &["deduction-guide"]);
    reject("template <typename T> S(thread T *) -> const S<T>;", &["deduction-guide"]);
    reject("namespace n { S(int) -> S<int>; }", &["deduction-guide"]);
    reject("template <typename T> using A = S<T>; A(int) -> A<int>;", &["deduction-guide"]);
    accept(&format!(
        "{template}S(int) -> S<int>; S(float) -> S<float>; template <typename T> S(T) -> S<typename T::a>;
         template <typename T> S(T) -> S<typename T::b>;"
    ));
    accept(
        "struct Outer { template <typename T> struct In { In(int); }; template <typename U> In(U) -> In<U>;
         };",
    );
}
