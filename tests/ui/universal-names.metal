// Universal character names, and characters in identifiers.
kernel void names(device int* x [[buffer(0)]])
{
    int größe = 1, \u00e9t\u00e9 = 2;
    x[0] = größe + été \u0061; //~ universal-name: character `a` cannot be specified by a universal character name
    x[1] = 1 \ud800; //~ universal-name: universal character name refers to a surrogate
    x[2] = 2 \u0007; //~ universal-name: refers to a control character
    x[3] = été + a→b; //~ stray-character: U+2192 is not allowed in an identifier
}
