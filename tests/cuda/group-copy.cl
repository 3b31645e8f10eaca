// Copies of work-groups in and out, whole and with a stride; a structure that the kernel changes; a barrier of
// no memory; a tile that is used too early.
#define TILE 64

struct Offsets {
    int of[4];
};

void load(local int* tile, global const int* source, event_t* done) {
    *done = async_work_group_copy(tile, source + TILE * get_group_id(0), TILE, 0);
}

kernel void reversed(global const int* source, global int* target, struct Offsets offsets) {
    local int tile[TILE], out[TILE];
    event_t done;
    load(tile, source, &done);
    wait_group_events(1, &done);
    offsets.of[1] += 1;
    int i = get_local_id(0);
    out[i] = tile[TILE - 1 - i] + offsets.of[get_group_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    done = async_work_group_copy(target + TILE * get_group_id(0), out, TILE, 0);
    wait_group_events(1, &done);
    barrier(0);
}

kernel void even(global const int* source, global int* target) {
    local int tile[TILE];
    event_t done = async_work_group_strided_copy(tile, source + 2 * TILE * get_group_id(0), TILE, 2, 0);
    wait_group_events(1, &done);
    done = async_work_group_strided_copy(target + 3 * TILE * get_group_id(0), tile, TILE, 3, 0);
    wait_group_events(1, &done);
}

// A race: the tile is used before it is there.
kernel void hasty(global const int* source, global int* target) {
    local int tile[TILE];
    event_t done = async_work_group_copy(tile, source + TILE * get_group_id(0), TILE, 0);
    target[get_global_id(0)] = tile[get_local_id(0)];
    wait_group_events(1, &done);
}
