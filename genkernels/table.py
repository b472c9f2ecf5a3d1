"""The kernel table: one row per way to move a block. Data only; gen.py turns it into C, block.inc says what a row does.

A row (name, lo, hi, head, tail) moves blocks of lo..hi bytes: `head` bytes from the front, then `tail` bytes that end
where the block ends (they overlap the head when the block is shorter than head + tail). Tails are as narrow as they can be:
a store that crosses a cache line costs twice, and one that meets another one waits for it. lo == hi makes the block length a
constant of the kernel. 256 is a row of its own since all of it is loaded before it is stored. Words instead of a head say how long blocks move: as_is, 128 bytes after the other, as they come; loop, to aligned places; by_16, the
same by loads of 16 bytes; call, by memcpy; stream, past the caches. No length has one of these alone.
"""

BLOCKS = [
    ("w1", 1, 1, 1, 0),
    ("w2", 2, 2, 2, 0),
    ("w3", 3, 3, 2, 1),
    ("w4", 4, 4, 4, 0),
    ("w5", 5, 7, 4, 4),
    ("w8", 8, 8, 8, 0),
    ("w9", 9, 9, 8, 1),
    ("w10", 10, 10, 8, 2),
    ("w11", 11, 11, 8, 4),
    ("w12", 12, 12, 8, 4),
    ("w13", 13, 15, 8, 8),
    ("w16", 16, 16, 16, 0),
    ("w17", 17, 17, 16, 1),
    ("w18", 18, 18, 16, 2),
    ("w20", 19, 20, 16, 4),
    ("w21", 21, 23, 16, 8),
    ("w24", 24, 24, 16, 8),
    ("w25", 25, 31, 16, 16),
    ("w32", 32, 32, 32, 0),
    ("w36", 33, 36, 32, 4),
    ("w40", 37, 40, 32, 8),
    ("w41", 41, 47, 32, 16),
    ("w48", 48, 48, 32, 16),
    ("w56", 49, 56, 32, 32),
    ("w57", 57, 63, 32, 32),
    ("w64", 64, 64, 64, 0),
    ("w72", 65, 72, 64, 8),
    ("w80", 73, 80, 64, 16),
    ("w88", 81, 88, 64, 24),
    ("w96", 89, 96, 64, 32),
    ("w100", 97, 100, 96, 4),
    ("w104", 101, 104, 96, 8),
    ("w112", 105, 112, 96, 16),
    ("w120", 113, 120, 96, 24),
    ("w121", 121, 127, 96, 32),
    ("w128", 128, 128, 128, 0),
    ("w136", 129, 136, 128, 8),
    ("w144", 137, 144, 128, 16),
    ("w152", 145, 152, 128, 24),
    ("w160", 153, 160, 128, 32),
    ("w168", 161, 168, 160, 8),
    ("w176", 169, 176, 160, 16),
    ("w184", 177, 184, 160, 24),
    ("w192", 185, 192, 160, 32),
    ("w200", 193, 200, 192, 8),
    ("w208", 201, 208, 192, 16),
    ("w216", 209, 216, 192, 24),
    ("w224", 217, 224, 192, 32),
    ("w232", 225, 232, 224, 8),
    ("w240", 233, 240, 224, 16),
    ("w248", 241, 248, 224, 24),
    ("w255", 249, 255, 224, 32),
    ("w256", 256, 256, 256, 0),
    ("as_is", 257, "INT64_MAX", "LDG_HEAD_AS_IS", 0),
    ("loop", 257, "INT64_MAX", "LDG_HEAD_LOOP", 0),
    ("by_16", 257, "INT64_MAX", "LDG_HEAD_BY_16", 0),
    ("call", 257, "INT64_MAX", "LDG_HEAD_CALL", 0),
    ("stream", 257, "INT64_MAX", "LDG_HEAD_STREAM", 0),
]

WIDE = 32  # bytes; beyond, a row has no kernels of its own for dense sides
PACED = 64  # bytes; beyond, it has none that moves a few blocks at a time: LDG_PACED_MAX; all rows, and as_is, have one that keeps blocks apart

# Blocks that are put together in registers of 16 bytes where the destination is dense, and what a lane is.
LANES = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}
# And wider ones, of the greatest length of a row: whole words that are no whole registers of 32 bytes, by such registers; 12 bytes also by those of 16.
JOINED = [12, 16] + [hi for _, _, hi, _, _ in BLOCKS if not isinstance(hi, str) and hi > 16 and hi % 8 == 0 and hi % 32]
JOINS = {"v2": [12], "v3": JOINED, "v4": JOINED}

# Levels that have most rows of blocks of another one, where that is built, too: by registers of 16 bytes both move them with the same instructions.
SHARED = {"v2": "base"}

# Rows that between them have most of what block.inc and kernels.h tell apart (in lanes, in pairs, joined, by steps, of more than a register, of lines, of 256 bytes), for builds of few (meson_options.txt);
# each moves what those left out before it would: a head and a tail fit into all of their lengths, which WIDE and PACED do not part.
FEW_BLOCKS = ["w1", "w2", "w3", "w4", "w5", "w8", "w12", "w13", "w16", "w25", "w32", "w40", "w48", "w57", "w64", "w88", "w96", "w121", "w160", "w192", "w224", "w255", "w256"]

# Element widths that have a transpose kernel; the tile of each is one cache line of elements on the source side.
TRANSPOSES = [1, 2, 4, 8, 12, 16, 24, 32]

# Levels that shuffle 64 bytes at once: first by lanes of 4 bytes, then by single bytes, which not all of their machines have.
SHUFFLES = {
    "v4": [
        {"NAME": "shuffle4", "LANE": 4, "TARGET": "", "MASK": "__mmask16", "LOAD": "_mm512_maskz_loadu_epi32",
         "MOVE": "_mm512_permutexvar_epi32", "STORE": "_mm512_mask_storeu_epi32"},
        {"NAME": "shuffle1", "LANE": 1, "TARGET": "__attribute__((target(\"avx512vbmi\")))", "MASK": "__mmask64",
         "LOAD": "_mm512_maskz_loadu_epi8", "MOVE": "_mm512_permutexvar_epi8", "STORE": "_mm512_mask_storeu_epi8"},
    ],
}

# Levels that load and store single bytes under masks (pieces.inc); the others have words (words.inc).
MASKS = ["v4"]

# Levels that shuffle single bytes without masks, and how many at once: what window.h has for them.
WINDOWS = {"v2": 16, "v3": 32, "v4": 32, "neon": 32}

# Words of fields, in bytes; how many of an item have a kernel, at no level in particular; and up to how many have one in any order, of more the longest come first.
FIELD_WORDS, FIELD_MOST, FIELD_ORDERED = [16, 8, 4, 2, 1], 6, 4
FEW_ORDERED = 3

# The build compiles one file per level (flags in meson.build), src/base_cpu.c picks one.
ISAS = ["base", "v2", "v3", "v4", "neon"]

# ---- reductions ----

# How an element is held in registers: name, C type, packed bytes, how it is read and written (a K_GET_ and a K_PUT_ of op.inc).
CARRIERS = {
    "i8": ("int8_t", "1", "PLAIN"), "i16": ("int16_t", "2", "PLAIN"), "i32": ("int32_t", "4", "PLAIN"), "i64": ("int64_t", "8", "PLAIN"),
    "u8": ("uint8_t", "1", "PLAIN"), "u16": ("uint16_t", "2", "PLAIN"), "u32": ("uint32_t", "4", "PLAIN"), "u64": ("uint64_t", "8", "PLAIN"),
    "f16": ("float", "2", "F16"), "bf16": ("float", "2", "BF16"),
    "f": ("float", "4", "PLAIN"), "d": ("double", "8", "PLAIN"), "l": ("long double", "sizeof(long double)", "LONG"),
    "cf": ("float _Complex", "8", "PLAIN"), "cd": ("double _Complex", "16", "PLAIN"),
    "cl": ("long double _Complex", "2 * sizeof(long double)", "LONG2"),
    "fi": ("ldg_fi", "8", "PAIR"), "di": ("ldg_di", "12", "PAIR"), "li": ("ldg_li", "4 + sizeof(long)", "PAIR"), "ii": ("ldg_ii", "8", "PAIR"),
    "si": ("ldg_si", "6", "PAIR"), "ldi": ("ldg_ldi", "4 + sizeof(long double)", "LONGPAIR"),
}

SIGNED = [("INT8", "i8"), ("INT16", "i16"), ("INT32", "i32"), ("INT64", "i64")]
UNSIGNED = [("UINT8", "u8"), ("UINT16", "u16"), ("UINT32", "u32"), ("UINT64", "u64")]
BITS = [("INT8", "u8"), ("INT16", "u16"), ("INT32", "u32"), ("INT64", "u64")] + UNSIGNED  # where the sign makes no difference
BOOL, BYTE = [("BOOL", "u8")], [("BYTE", "u8")]
HALVES = [("FLOAT16", "f16"), ("BFLOAT16", "bf16")]
FLOATS = HALVES + [("FLOAT", "f"), ("DOUBLE", "d"), ("LONG_DOUBLE", "l")]
COMPLEX = [("C_FLOAT", "cf"), ("C_DOUBLE", "cd"), ("C_LONG_DOUBLE", "cl")]
PAIRS = [("FLOAT_INT", "fi"), ("DOUBLE_INT", "di"), ("LONG_INT", "li"), ("2INT", "ii"), ("SHORT_INT", "si"), ("LONG_DOUBLE_INT", "ldi")]

# (op, b = what it makes of a, from the source, and b, which is there; elements and their carriers): what MPI-4.1 sections 6.9.2 and
# 6.9.4 define, and nothing else. Integers wrap: they are unsigned, and never narrower than unsigned int in a product. Of
# floats that do not compare, b stays.
OPS = [
    ("SUM", "a + b", BITS + FLOATS + COMPLEX),
    ("PROD", "1u * a * b", BITS),
    ("PROD", "a * b", FLOATS + COMPLEX),
    ("MIN", "a < b ? a : b", SIGNED + UNSIGNED + FLOATS),
    ("MAX", "a > b ? a : b", SIGNED + UNSIGNED + FLOATS),
    ("LAND", "a && b", BOOL + BITS),
    ("LOR", "a || b", BOOL + BITS),
    ("LXOR", "!a != !b", BOOL + BITS),
    ("BAND", "a & b", BYTE + BITS),
    ("BOR", "a | b", BYTE + BITS),
    ("BXOR", "a ^ b", BYTE + BITS),
    ("MINLOC", "a.v < b.v || (a.v == b.v && a.i < b.i) ? a : b", PAIRS),
    ("MAXLOC", "a.v > b.v || (a.v == b.v && a.i < b.i) ? a : b", PAIRS),
]

# Those whose short rows go one by one: what no register does at once, and what is rare, would be long code, which sanitizers take minutes for.
OP_SINGLY = ["LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", *(("PROD", c) for c in ("cf", "cd", "u8", "u16", "u32", "u64"))]

# Those of builds of few that go several at once.
FEW_OPS = [("SUM", "f"), ("SUM", "d"), ("SUM", "cd"), ("MIN", "i8"), ("MIN", "i32"), ("MAX", "u16")]

# Reductions are made for fewer levels: more registers than v3 has do not make up for the code. Where none of these is built, for
# all that are.
OP_ISAS = ["base", "v3", "neon"]

# ---- devices ----

# The compiler's options: PTX for the oldest architecture, which drivers compile for all that are not named, and code, of that PTX where that of its own gives the same instructions.
# Of all architectures those that the compiler knows are built.
CUDA_ARCHES = [("compute_75", "compute_75"), ("compute_75", "sm_80"), ("compute_75", "sm_90"), ("compute_100", "sm_100")]
HIP_ARCHES = ["gfx906", "gfx90a", "gfx942"]

# How an element is held on a device, where no long double is: C type, packed bytes, how it is read and written (cargo_reduce.h).
DEVICE_CARRIERS = {
    **{name: (kind, int(size), "PLAIN") for name, (kind, size, how) in CARRIERS.items() if how == "PLAIN" and size.isdigit() and name[0] != "c"},
    "f16": ("float", 2, "F16"), "bf16": ("float", 2, "BF16"), "cf": ("ldg_cf", 8, "PLAIN"), "cd": ("ldg_cd", 16, "PLAIN"),
    "fi": ("ldg_fi", 8, "PAIR"), "di": ("ldg_di", 12, "PAIR"), "li": ("ldg_li", 12, "PAIR"), "ii": ("ldg_ii", 8, "PAIR"), "si": ("ldg_si", 6, "PAIR"),
}
# Complex numbers are structs there.
DEVICE_COMPLEX = {"a * b": "{}_product(a, b)"}
