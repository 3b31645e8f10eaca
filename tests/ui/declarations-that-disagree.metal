// checked
// Declarations of one entity that do not agree, and entities that share a name.
#include <metal_stdlib>
using namespace metal;

template <typename T> T constant_later(T x);
template <typename T> constexpr T constant_later(T x); //~ redefinition: with and without `constexpr`

template <typename T> void default_later(T x);
template <typename T> void default_later(T x = T()); //~ redefinition: cannot be added

template <typename T> T specialised(T x);
template <> int specialised(int x);
template <> constexpr int specialised(int x); //~ redefinition: with and without `constexpr`
template <> float specialised(float x);
template <> float specialised(float x) = delete; //~ redefinition: must be its first declaration

void may_throw();
void may_throw() noexcept; //~ redefinition: does not match the previous declaration
void never_throws() noexcept;
void never_throws() {} //~ redefinition: is missing the exception specification

extern "C" int linked(int x);
extern "C" int linked(float x); //~ redefinition: C linkage

struct Class;
typedef int Class; //~ redefinition: is a class and an alias

struct Natural {}; //~ redefinition: must be specified on definition
struct alignas(16) Natural;

struct Members
{
    int field;
    static constant int field; //~ redefinition: different kind of symbol
};

struct Shape {};
struct Befriends
{
    friend union Shape; //~ tag-mismatch
};

namespace other
{
    template <typename T> void elsewhere(T x);
}
using namespace other;
template <> void elsewhere(int x); //~ no-matching-template

// What agrees.
template <typename T> T constant_later(thread T* x);
template <typename T> void default_first(T x = T());
template <typename T> void default_first(T x) {}
template <> constexpr half specialised(half x) { return x; }
void never_throws(int x);
void repeated() noexcept;
void repeated() noexcept(true);
int linked(half x);
typedef struct Own {} Own;
struct alignas(16) Wide;
struct alignas(16) Wide {};
template <> void other::elsewhere(float x);
