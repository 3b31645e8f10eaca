// Errors in member functions of class templates name who called them; those that the Metal library finds are
// reported where the program calls it.
#include <metal_stdlib>
using namespace metal;

enum class Kind { first, second };

template <Kind K> struct Tagged
{
    int value;
};

template <typename T> struct Cell
{
    T value;
    T get() const
    {
        static_assert(sizeof(T) == 4, "four bytes"); //~ static-assert: four bytes
        return value;
    }
};

template <typename T> T taken(T value)
{
    Cell<T> cell = {value};
    return cell.get();
}

kernel void in_the_program(device half* x [[buffer(0)]]) { x[0] = taken(x[0]); }

kernel void in_the_library(texture2d<float> from [[texture(0)]], texture2d<half, access::write> to [[texture(1)]],
                           uint2 at [[thread_position_in_grid]])
{
    from.write(float4(1), at); //~ static-assert: access::write or access::read_write can be written
    half4 texel = to.read(at); //~ static-assert: cannot be read
}

kernel void enumerators(texture2d<float> from [[texture(0)]], texture2d<half, access::read_write> to [[texture(1)]])
{
    Tagged<Kind::second> tagged = {1};
    float number = tagged; //~ no-conversion: `Tagged<Kind::second>`
    float other = Tagged<Kind(7)>{1}; //~ no-conversion: `Tagged<Kind(7)>`
    to = from; //~ no-conversion: from `texture2d<float>` to `texture2d<half, access::read_write>`
}
