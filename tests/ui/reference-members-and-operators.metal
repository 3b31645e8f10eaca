// References that outlive what they are bound to, and operators that need a class among their operands.
// checked
struct View
{
    const thread int& n;
    const thread int& m;
    View(const thread int& from) : n(1), m(from) {} //~ dangling-member: reference member `n` binds to a temporary object
    View() : n(m),
             m(float(2)) {} //~ dangling-member: reference member `m`
};

enum Level { low, high };
Level operator+(Level a, int b) { return Level(int(a) + b); }
float operator+(float a, float b) { return a; } //~ operator-operands: must have at least one parameter of class
