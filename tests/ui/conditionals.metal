// Conditional directives that are wrong, the last of which never ends.
#if 1 + //~ invalid-condition
#endif

#if HEIGHT(1) //~ invalid-condition
#endif

#ifdef //~ invalid-condition: a macro name is missing
#endif

#if defined(1) //~ invalid-condition
#endif

#else //~ unmatched-conditional: `#else` without `#if`
#endif //~ unmatched-conditional: `#endif` without `#if`

#if 1
#else
#else //~ unmatched-conditional: `#else` after `#else`
#endif

#if 1 //~ unterminated-conditional
kernel void fine(device float* x [[buffer(0)]]) { x[0] = 1.0f; }
