// Functions that are called with pointers to device, constant and threadgroup memory: at addresses that lanes share or
// not, of one buffer or of several, of elements of all sizes, passed on to further functions.
//! math: safe
//! threads: 40
//! group: 40
//! arg 0: u32 0*80
//! arg 1: u32 1..65
//! arg 2: u32 100..116
//! arg 3: u8 0..80
//! arg 4: f16 0..40
//! arg 5: u64 0..120
//! arg 6: u32 0*120
//! kernel: reads
//! expect 0: u32 1965911726 1696021219 3621335435 2910034715 4247327624 3229596871 2623145374 420081267 2746219718 932319833 4036497370 3958102191 888420342 1255586245 413641794 3439598463 549306238 4146284971 1435810596 4066317323 2078345826 221648641 3016995060 2272001059 3743311658 1993860957 1802187676 3933331119 1766429408 2192556037 559701817 453010233 3174198910 846587763 1017205762 1645942837 990291842 4270784399 2193552404 2965523069 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: writes
//! expect 0: u32 1514418126 1841059086 2657651961 922391433 2647798251 3156393957 593058201 3056931810 503738985 1256110236 1840292067 1667152794 2247198969 2183170344 3459434049 1870837584 1514418126 1841059086 2657651961 922391433 2647798251 3156393957 593058201 3056931810 503738985 1256110236 1840292067 1667152794 2247198969 2183170344 3459434049 1870837584 1514418126 1841059086 2657651961 922391433 2647798251 3156393957 593058201 3056931810 26092353 49270860 28060152 49100397 29957501 49444204 31312273 50225957 28813352 50374757 25614546 53770559 28242643 53399606 26744908 54311930 27013457 49684956 28058040 50103581 30399229 49337820 30631953 51980805 27930104 50508501 27033762 55044527 28121331 52539510 27630236 53800282 25938785 51072364 27244920 51680973 30498429 48983884 29375889 51484645
//! expect 3: u8 178 184 219 94 95 140 213 230 161 119 39 174 188 90 95 234 194 200 235 110 111 156 229 246 177 135 55 190 204 106 111 250 210 216 251 126 127 172 245 6 134 161 79 222 227 197 54 139 48 93 205 112 179 206 229 154 214 241 159 46 51 21 134 219 128 173 29 192 3 30 53 234 38 65 239 126 131 101 214 43
//! expect 4: f16 12 2.0234375 30 28 6 10 12 22 0.0064086914 26 26 0.12768555 6 28 10 20 12 2.0234375 30 28 6 10 12 22 0.0064086914 26 26 0.12768555 6 28 10 20 12 2.0234375 30 28 6 10 12 22
//! expect 6: u32 3251599020 3261432960 1779825993 3539599071 1918177479 1047630495 520673859 2655605427 2793321675 1699781226 3688208835 2989786404 2607758601 4160674992 1161882816 1604774634 3251599020 3261432960 1779825993 3539599071 1918177479 1047630495 520673859 2655605427 2793321675 1699781226 3688208835 2989786404 2607758601 4160674992 1161882816 1604774634 3251599020 3261432960 1779825993 3539599071 1918177479 1047630495 520673859 2655605427 28183472 6360897 30588346 6549471 31347028 5373264 28066858 8946376 27153811 7835922 29904650 6522118 27145671 7835893 27980580 6849397 28174416 6563937 31361114 7005983 32577636 5733168 29070618 8464184 27879411 7582514 30652714 6635526 27006423 7769813 28453828 6553813 28507376 6190465 32073466 7039071 31669620 5234704 28371210 9216424 77 194 106 248 2231 140 85 106 263 94 44 238 140 145 84 89 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! kernel: copies
//! expect 0: u32 1087100160 0 1096155188 0 1092648958 0 1096280982 0 1081316336 0 17111 0 15964 0 19366 0 19153 0 18691 0 93 0 312 0 85 0 414 0 22 0 1124148529 0 1119977432 0 1111684686 0 1118891626 0 1113503982 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
//! expect 5: u64 1879047578266772816 4669059634686067067 4835168161685122999 4773238620198251009 3836808781820697058 4707950683820851528 4786730431062398220 4726990094544011316 11604895105508864212 4692891540629356835 4840721674636744406 4790499110226558972 13880149798565888054 4708490964948812378 4860867931715474038 4778749303769257772 15349110182951112824 4644218299761426651 4839225359596994606 4721842790977475568 7535424976826193728 4694807306491986782 4818389944965866801 4759934014113881278 10306284604670852818 4720173323226972998 4793216385725595608 4712850572580149570 1015345800449065812 4722311791740518452 4817939995589539406 4672585971439635228 18015228832836689398 4690159726696989501 4839998316268809834 4729497054067136216 13157042726119341992 4650396386868986744 4756209152200456430 4752966245719574240

#include <metal_stdlib>
using namespace metal;

#define TWICE(x) x x
#define TIMES_16(x) TWICE(TWICE(TWICE(TWICE(x))))

uint walk(const device uint* values, constant uint* table, const threadgroup uint* group, uint at, uint last, uint acc) {
    for (uint i = 0; i < last; ++i) {
        TIMES_16({
            acc = acc * 3 + values[(at + i * 5) % 16] + table[i] * table[(acc ^ at) % 16];
            if (acc % 7 < 3) {
                acc ^= group[(acc + i) % 40] << 3;
                acc = rotate(acc, 5u) + values[i] * 9;
            }
        })
        if (acc % 11 == 2) {
            acc += table[at % 16];
            continue;
        }
        acc = acc * 17 + values[acc % 16];
    }
    return acc;
}

uint walk_twice(const device uint* values, constant uint* table, const threadgroup uint* group, uint at, uint acc) {
    uint last = 1 + at % 3;
    acc = walk(values, table, group, at, last, acc);
    acc = walk(values + 1, table, group, at + 1, last, acc + 1);
    return acc + at * 7 + last;
}

kernel void reads(device uint* results [[buffer(0)]], const device uint* values [[buffer(1)]],
                  constant uint* table [[buffer(2)]], uint t [[thread_position_in_grid]]) {
    threadgroup uint group[40];
    group[t] = t * t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint acc = t;
    uint round = 0;
    TIMES_16({
        acc = walk_twice(values + t % 4 * 8, table, group, t + round, acc);
        acc = walk_twice(values + 2, table, group, round, acc);
        acc = walk_twice(acc % 3 == 0 ? results + 40 : values + t, table, group, 4, acc);
        ++round;
    })
    results[t] = acc;
}

void change(device uint* words, device uchar* bytes, device half* halves, threadgroup ushort* group,
            device uint* single, uint t, uint k) {
    for (uint i = 0; i < 4; ++i) {
        TIMES_16({
            bytes[t + i % 2 * 40] = bytes[t] * 5 + i + k + words[t] % 7;
            halves[t] = halves[t] * 0.5h + half(bytes[t + 40] % 16);
            group[2 * t + i % 2] += bytes[t] * 257;
            if (words[t] % 3 == i % 3) {
                words[t + 40] += group[2 * t];
            } else {
                words[t] = words[t] * 1664525 + 1013904223 + as_type<ushort>(halves[t]);
            }
        })
    }
    if (t == k % 40) {
        single[k % 40] += bytes[t] + k;
    }
}

kernel void writes(device uint* words [[buffer(0)]], device uchar* bytes [[buffer(3)]],
                   device half* halves [[buffer(4)]], device uint* more [[buffer(6)]],
                   uint t [[thread_position_in_grid]]) {
    threadgroup ushort group[80];
    group[2 * t] = group[2 * t + 1] = t;
    uint round = 0;
    TIMES_16({
        change(words, bytes, halves, group, more + 80, t, round);
        change(round % 5 == 0 || t % 2 == 0 ? more : words, bytes, halves, group, more + 80, t, 4);
        ++round;
    })
}

struct Record {
    ulong wide;
    ushort mid;
    uchar small;
    bool flag;
    float part;
    float4 many;
};

void turn(device Record* records, thread Record& own, constant uint* table, uint from, uint to) {
    Record record = records[from];
    for (uint i = 0; i < 3; ++i) {
        TIMES_16({
            record.wide = record.wide * 6364136223846793005ul + own.mid + table[i];
            record.small += uchar(record.wide >> 56);
            record.mid ^= record.small * 3;
            record.flag = record.mid % 5 < 2 != own.flag;
            record.many = record.many.yzwx * 0.5f + float4(record.flag, record.small, own.part, 1.0f);
            own.part = record.many.z * 0.25f + float(own.mid % 8);
        })
    }
    own.mid += record.mid;
    own.flag = record.flag;
    records[to] = record;
    records[to].part = own.part;
}

kernel void copies(device uint* words [[buffer(0)]], device ulong* wides [[buffer(5)]],
                   constant uint* table [[buffer(2)]], uint t [[thread_position_in_grid]]) {
    device Record* records = reinterpret_cast<device Record*>(wides) + (t % 10) / 2;
    Record own = Record{t, ushort(t), uchar(t), t % 2 == 0, 0.0f, float4(0.0f)};
    if (t < 10 && t % 2 == 0) {
        records[0] = own;
        records[5] = own;
        TIMES_16({
            turn(records, own, table, 0, 5);
            turn(records, own, table, 5, 0);
        })
        words[t] = as_type<uint>(own.part);
        words[t + 10] = own.mid;
        words[t + 20] = records[5].small + records[0].flag * 256;
        words[t + 30] = as_type<uint>(records[5].many.x);
    }
}
