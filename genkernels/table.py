"""The kernel table: one row per way to move a block. Data only; gen.py turns it into C, block.inc says what a row does.

A row (name, lo, hi, head, tail) moves blocks of lo..hi bytes: `head` bytes from the front, then `tail` bytes that end
where the block ends (they overlap the head when the block is shorter than head + tail). Tails are as narrow as they can be:
a store that crosses a cache line costs twice. lo == hi makes the block length a constant of the kernel. Words instead of a head
say how long blocks move: loop, to aligned places; call, by memcpy; stream, past the caches. No length has one of these alone.
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
    ("w12", 11, 12, 8, 4),
    ("w13", 13, 15, 8, 8),
    ("w16", 16, 16, 16, 0),
    ("w17", 17, 17, 16, 1),
    ("w18", 18, 18, 16, 2),
    ("w20", 19, 20, 16, 4),
    ("w24", 21, 24, 16, 8),
    ("w25", 25, 31, 16, 16),
    ("w32", 32, 32, 32, 0),
    ("w36", 33, 36, 32, 4),
    ("w40", 37, 40, 32, 8),
    ("w48", 41, 48, 32, 16),
    ("w49", 49, 63, 32, 32),
    ("w64", 64, 64, 64, 0),
    ("w72", 65, 72, 64, 8),
    ("w80", 73, 80, 64, 16),
    ("w96", 81, 96, 64, 32),
    ("w112", 97, 112, 96, 16),
    ("w128", 113, 128, 96, 32),
    ("w144", 129, 144, 128, 16),
    ("w160", 145, 160, 128, 32),
    ("w192", 161, 192, 160, 32),
    ("w224", 193, 224, 192, 32),
    ("w256", 225, 256, 224, 32),
    ("loop", 257, "INT64_MAX", "LDG_HEAD_LOOP", 0),
    ("call", 257, "INT64_MAX", "LDG_HEAD_CALL", 0),
    ("stream", 257, "INT64_MAX", "LDG_HEAD_STREAM", 0),
]

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

# The build compiles one file per level (flags in meson.build), src/base_cpu.c picks one.
ISAS = ["base", "v2", "v3", "v4", "neon"]
