//! arg p=u32:7,8,9,10,11,12,13,14
//! arg out=zeros:u32:9
//! expect out: 7 8 9 10 11 8 14 9 9
// Members whose names look like components: the object's type decides.
typedef struct { uint a, seed; } P;
typedef struct node { uint s0, sad; struct { uint lo, hi; } sea; } Node;
struct all { P first[2]; Node sea; };
#define SEED(x) ((x).seed)
#define FIRST(v) ((v).s0)
__kernel void k(__global P* p, __global uint* out) {
    out[0] = p[0].a;
    out[1] = p[0].seed;
    __global Node* node = (__global Node*)(p + 1);
    out[2] = node->s0;
    out[3] = (*node).sad;
    out[4] = node->sea.lo;
    out[5] = SEED(*p);
    P copies[2] = {{1, 2}, {13, 14}};
    out[6] = (copies + 1)->seed;
    Node made = *node;
    out[7] = FIRST(made);
    uint4 v = (uint4)(9, 8, 7, 6);
    out[8] = FIRST(v);
}
