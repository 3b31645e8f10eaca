//! Templates: which declarations are one, which specialisation is meant, and what is deduced.

use super::{accept, reject};

#[test]
fn equivalent_function_templates() {
    reject("template <typename T> void f(T) {} template <typename U> void f(U) {}", &["redefinition"]);
    reject(
        "template <int A, int B> struct S {};
         template <int X, int Y> void f(S<0, (X + Y)>) {}
         template <int X, int Y> void f(S<0, (X - Y)>) {}
         template <int M, int N> void f(S<0, (M + N)>) {}",
        &["redefinition"],
    );
    reject(
        "template <typename T> using Pointer = thread T *;
         template <typename T> void f(Pointer<T>) {}
         template <typename U> void f(thread U *) {}",
        &["redefinition"],
    );
    reject(
        "template <typename T> typename T::type f(T) { return 0; }
         template <typename U> typename U::type f(U) { return 0; }",
        &["redefinition"],
    );
    accept(
        "template <typename T> typename T::type f(T) { return 0; }
         template <typename U> typename U::other f(U) { return 0; }
         template <typename T> void g(T); template <typename U> void g(U) {}
         template <int N> void h(thread int (&)[N]) {} template <int N> void h(thread int (&)[N + 1]) {}
         template <typename T, typename U> void i(T, U) {} template <typename T, typename U> void i(U, T) {}",
    );
}

#[test]
fn members_that_are_declared_twice() {
    reject(
        "template <typename T, typename U> struct S {
             typedef T type;
             void f(T); void f(U); void f(type);
             void g(thread const S &); void g(thread S &); void g(thread const S<T, U> &);
         };",
        &["redefinition", "redefinition"],
    );
    reject(
        "template <typename T> struct S { template <typename U> void f(U, T); template <typename V> void
         f(V, T); };",
        &["redefinition"],
    );
    reject(
        "template <typename T, typename U> struct S { void f(T); void f(U); }; S<int, int> s() { return {};
         }",
        &["redefinition"],
    );
    reject(
        "template <typename T> struct S { void f(); };
         template <typename T> void S<T>::f() {} template <typename U> void S<U>::f() {}",
        &["redefinition"],
    );
    accept(
        "template <typename T, typename U> struct S { void f(T); void f(U); void f(thread T *); T g(int)
         const; T g(int); };
         template <typename T> struct P { typename T::a f(typename T::a); typename T::b f(typename T::b); };",
    );
}

#[test]
fn which_template_a_specialisation_is_of() {
    accept(
        "template <typename T> constexpr int f(T) { return 0; }
         template <typename T> constexpr int f(thread T *) { return 1; }
         template <> constexpr int f(thread int *) { return 2; }
         constexpr int one(thread float *p) { return f(p); } constexpr int two(thread int *p) { return f(p); }
         static_assert(one(nullptr) == 1); static_assert(two(nullptr) == 2);",
    );
    reject(
        "template <typename T, typename U> void f(T, thread U *); template <typename T, typename U> void
         f(thread T *, U);
         template <> void f(thread int *, thread int *);",
        &["ambiguous-function"],
    );
    reject(
        "template <typename T> int f(T) { return 1; } int g(int x) { return f(x); } template <> int f(int)
         { return 2; }",
        &["explicit-instantiation"],
    );
    accept(
        "template <typename T> int f(T) { return 1; } template <> int f(int); int g(int x) { return f(x); }
         template <> int f(int) { return 2; }",
    );
}

#[test]
fn deduction() {
    reject(
        "template <typename T> T most(T a, T b) { return a > b ? a : b; } auto f() { return most(1, 2.0f); }",
        &["no-matching-function"],
    );
    accept(
        "template <typename T> T most(T a, T b) { return a > b ? a : b; } auto f() { return most<float>(1,
         2.0f); }
         template <typename... Ts> struct Tuple {}; template <typename... Ts> int count(Tuple<Ts...>) {
         return sizeof...(Ts); }
         int g(Tuple<int, float> t) { return count(t) + count<int>(t) + count<int, float>(t); }
         template <typename... Ts> void all(Ts...); void h() { all<int, float>(1.0f, 2, 3); }",
    );
    reject(
        "template <typename... Ts> struct Tuple {}; template <typename... Ts> void f(Tuple<Ts...>,
         Tuple<Ts...>);
         void g(Tuple<int> a, Tuple<int, int> b) { f(a, b); }",
        &["no-matching-function"],
    );
    accept(
        "struct Any { template <typename T> operator thread T &() const; }; void f(Any a) { thread int &x =
         a; int y = a; (void)(x + y); }",
    );
}

#[test]
fn declarations_of_instances() {
    reject(
        "template <typename T> struct S { typedef typename T::type type; }; S<int> f();  struct U { S<int>
         s; };",
        &["not-a-class"],
    );
    reject(
        "struct E {}; template <typename T> struct S { typename T::type f(); }; struct U { S<E> s; };",
        &["unknown-member"],
    );
    reject(
        "template <typename T> struct S { template <T N> struct I {}; }; struct U { S<float> s; };",
        &["template-parameter"],
    );
    reject(
        "template <typename T> struct S; struct A { S<int> s; }; struct B { S<int> s; };",
        &["incomplete-type", "incomplete-type"],
    );
    accept(
        "template <typename T> struct S { void f() { T::g(); } template <typename U> typename U::type h(U);
         }; struct U { S<int> s; };",
    );
}

#[test]
fn heads_of_definitions() {
    let class = "template <typename T, int N> struct S { void f(T); }; ";
    let reject = |definition: &str, ids: &[&str]| reject(&format!("{class}{definition}"), ids);
    reject("template <typename T, int N, int M> void S<T, N>::f(T) {}", &["bad-template"]);
    reject("template <typename T, int N> void S<T *, 2>::f(T) {}", &["bad-template"]);
    reject("template <typename T, int N> void S<T, N>::f(int) {}", &["no-such-member"]);
    accept(&format!("{class}template <typename U, int M> void S<U, M>::f(U) {{}}"));
}

#[test]
fn friends_that_are_templates() {
    let templates = "template <typename T> struct A {}; template <typename T> void f(T); ";
    let reject = |friend: &str, ids: &[&str]| reject(&format!("{templates} struct X {{ {friend} }};"), ids);
    reject("template <typename T> friend A<T>;", &["bad-template"]);
    reject("template <typename T> friend struct A<thread T *>;", &["bad-template"]);
    reject("template <> friend struct A<int>;", &["bad-template"]);
    reject("template <> friend void f<int>(int);", &["bad-template"]);
    accept(&format!(
        "{templates} struct X {{ template <typename T> friend struct A; friend struct A<int>; friend void
         f<int>(int); template <typename T> friend void f(T); }};"
    ));
}

#[test]
fn typename_in_arguments() {
    reject(
        "template <typename T> struct A {}; template <typename T> struct B { A<T::type> a; };",
        &["type-expected"],
    );
    accept(
        "template <typename T> struct A {}; template <int N> struct C {}; template <typename T> struct B {
         A<typename T::type> a; C<T::value> c; };",
    );
}
