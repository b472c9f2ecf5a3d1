"""Our own suites: small calls, transposes, and layouts that are in nobody's suite (so nothing is tuned to them alone)."""
from make_suites import (C16, ELEMS, List, Nest, Record, Split, Suite, arena, bytes_loop, grid, iota, lengths, loops, shuffle, starts, struct, sub)


def small():
    s = Suite("small", "Calls of 8 to 512 bytes, where the cost of a call is what counts.")
    for n in (1, 2, 8, 64):
        s.add(f"contiguous_{8 * n}", f"contiguous({n},double)", Nest(8, run=n))
    for n in (2, 4, 8, 16, 32, 64):
        s.add(f"vec{n}of64", f"vector({n},1,8,double)", Nest(8, [(n, 64)]))
    for n in (8, 32, 128):
        s.add(f"evens_{n}_floats", f"vector({n},1,2,float)", Nest(4, [(n, 8)]))
    for n, b, step in ((4, 3, 5), (8, 4, 16), (3, 20, 33), (16, 7, 9)):
        s.add(f"rows_{n}x{b}_floats", f"vector({n},{b},{step},float)", Nest(4, [(n, 4 * step)], run=b))
    for b in (2, 4):
        kind = sub([16] * 3, [b] * 3, [1] * 3, "double")
        s.add(f"box_{b}_of_16", kind, Nest(8, [(b, 2048), (b, 128)], 8 * (256 + 16 + 1), run=b))
    s.add("column_8_of_64x64", sub([64, 64], [8, 1], [3, 5], "double"), Nest(8, [(8, 512)], 8 * (3 * 64 + 5)))
    for n in (2, 8, 32, 64):
        d = shuffle(n, 8 * n, 42)
        s.add(f"index_{n}_doubles", f"indexed_block(1,[{d}],double)", List(8, d))
    d = shuffle(16, 100, 42, 3)
    s.add("index_16_vectors", f"indexed_block(3,[{d}],double)", List(8, d, cell=3))
    idc = "struct([1,1,1],[0,8,16],[int,double,char])"
    for n in (1, 8, 32):
        s.add(f"int_double_char_x{n}", idc, Record("int_double_char", n, 24, IDC), count=n)
    s.add("particle", PARTICLE, Record("particle", 1, 56, PARTICLE_FIELDS))
    s.add("transpose_8_doubles", "contiguous(8,resized(vector(8,1,8,double),0,8))", Nest(8, [(8, 8), (8, 64)]))
    s.add("transpose_4_complex", f"contiguous(4,resized(vector(4,1,4,{C16}),0,16))", Nest(16, [(4, 16), (4, 64)]))
    s.add("pair_double_int_x8", "double_int", count=8)
    return s


IDC = [(0, 4), (8, 8), (16, 1)]
PARTICLE = "struct([3,3,1,1,1,1],[0,24,36,40,42,48],[double,float,int,short,char,double])"
PARTICLE_FIELDS = [(0, 24), (24, 12), (36, 4), (40, 2), (42, 1), (48, 8)]


def transpose():
    s = Suite("transpose", "An n x n matrix of w-byte elements in the order of its columns; unpacking is the transpose on the receiving side.")
    for n in (64, 256, 1024):
        for w, elem in ELEMS.items():
            loop = Nest(8, [(n, 32), (n, 32 * n)], cell=4) if w == 32 else Nest(w, [(n, w), (n, w * n)])
            s.add(f"transpose_{n}_w{w}", f"contiguous({n},resized(vector({n},1,{n},{elem}),0,{w}))", loop)
    s.note("not square, rows padded; and a 3D array read z first")
    for w, rows, cols, pitch in ((8, 1000, 300, 1003), (4, 300, 1000, 1001), (16, 37, 511, 600), (2, 1000, 1000, 1000)):
        s.add(f"transpose_{rows}x{cols}_w{w}", f"contiguous({cols},resized(vector({rows},1,{pitch},{ELEMS[w]}),0,{w}))", Nest(w, [(cols, w), (rows, w * pitch)]))
    zyx = "contiguous(64,resized(contiguous(64,resized(vector(64,1,4096,double),0,512)),0,8))"
    s.add("zyx_64", zyx, Nest(8, [(64, 8), (64, 512), (64, 32768)]))
    s.add("xzy_64", "contiguous(64,resized(vector(64,64,4096,double),0,512))", Nest(8, [(64, 512), (64, 32768)], run=64))
    return s


def random_nests(s):
    s.note("random nests of 2 to 4 loops: some permuted, some backwards, some with odd strides")
    rng = Split(2025)
    for i in range(30):
        width = (1, 2, 4, 8, 16)[rng.between(0, 4)]
        run = rng.between(1, 3) * rng.between(1, 6)
        dims, step = [], width * run
        for _ in range(rng.between(1, 3)):
            step += rng.between(0, 3) * (width if rng.between(0, 3) else 1) + (width if not dims else 0)
            n = rng.between(2, 40)
            dims.append((n, -step if not rng.between(0, 5) else step))
            step *= n
        s.add(f"nest_{i}", *loops(width, run, dims, len(dims) > 1 and not rng.between(0, 1)))


def index_lists(s):
    s.note("random index lists, by block length in bytes")
    for b in (1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32, 48, 64, 100):
        if b in (4, 8, 16):
            d = shuffle(4096, 16384, b)
            s.add(f"index_b{b}", f"indexed_block(1,[{d}],{ELEMS[b]})", List(b, d))
        else:
            d = shuffle(4096, 16384, b, b)
            width = next(w for w in (8, 4, 1) if b % w == 0)
            e = shuffle(4096, 16384, b, b // width)
            s.add(f"index_b{b}", f"hindexed_block({b},[{d}],byte)", List(width, e, run=b // width) if b > width else List(width, e))
    d = shuffle(1 << 20, 1 << 21, 42)
    s.add("index_1M_doubles", f"indexed_block(1,[{d}],double)", List(8, d))
    s.add("vector_1M_doubles", "vector(1048576,1,2,double)", Nest(8, [(1 << 20, 16)]))
    s.note("blocks of random length with random gaps")
    for n, hi, gap in ((64, 64, 8), (4096, 64, 64), (4096, 16, 16), (65536, 64, 32), (4096, 1000, 100)):
        at, lens = starts(n, 1, hi, n, 1, gap), lengths(n, 1, hi, n)
        s.add(f"blocks_{n}_to{hi}", f"hindexed([{lens}],[{at}],byte)", List(1, at, lens=lens))
    n = 256
    s.add("lower_triangle_256", f"indexed([iota({n},1,1)],[iota({n},0,{n})],double)", List(8, iota(n, 0, n), lens=iota(n, 1, 1)))
    s.add("upper_triangle_256", f"indexed([iota({n},{n},-1)],[iota({n},0,{n + 1})],double)", List(8, iota(n, 0, n + 1), lens=iota(n, n, -1)))
    s.add("index_rows_of_box", f"hindexed_block(24,[{grid(40, 9000, 30, 250)}],byte)", Nest(8, [(40, 9000), (30, 250)], cell=3))


def strides(s):
    s.note("prime strides, 4096-byte strides (one cache set), and bases off their alignment")
    for p in (13, 61, 509, 4099):
        s.add(f"doubles_stride{p}", f"hvector(8192,1,{p},double)", Nest(8, [(8192, p)]))
        s.add(f"floats_stride{p}", f"hvector(8192,1,{p},float)", Nest(4, [(8192, p)]))
    s.add("one_byte_a_page", "hvector(4096,1,4096,byte)", Nest(1, [(4096, 4096)]))
    s.add("doubles_one_set", "hvector(1024,1,4096,double)", Nest(8, [(1024, 4096)]))
    for shift in (1, 3, 4, 12):
        s.add(f"shifted{shift}_doubles", "vector(8192,1,3,double)", Nest(8, [(8192, 24)]), shift=shift)
        s.add(f"shifted{shift}_rows", "vector(512,50,64,float)", Nest(4, [(512, 256)], run=50), shift=shift)
    s.add("reversed_doubles", "vector(65536,1,-1,double)", Nest(8, [(65536, -8)]))
    s.add("reversed_rows", "vector(256,256,-256,float)", Nest(4, [(256, -1024)], run=256))
    s.add("windows", "hvector(4096,4,8,double)", Nest(8, [(4096, 8)], cell=4))
    s.add("same_double_1000", "hvector(1000,1,0,double)", Nest(8, [(1000, 0)]))


def structs(s):
    s.note("arrays of structs, and structs of arrays")
    idc = "struct([1,1,1],[0,8,16],[int,double,char])"
    for n in (256, 4096):
        s.add(f"int_double_char_{n}", f"contiguous({n},{idc})", Record("int_double_char", n, 24, IDC))
        s.add(f"particles_{n}", f"contiguous({n},{PARTICLE})", Record("particle", n, 56, PARTICLE_FIELDS))
    s.add("shorts8_4096", "contiguous(4096,resized(vector(8,1,2,short),0,32))", Record("shorts8", 4096, 32, [(4 * i, 2) for i in range(8)]))
    swapped = "resized(struct([1,1,1],[8,0,20],[long,int,int]),0,24)"
    s.add("fields_swapped_4096", f"contiguous(4096,{swapped})", Record("swapped", 4096, 24, [(8, 8), (0, 4), (20, 4)]))
    s.add("rgb_of_rgba", "contiguous(65536,resized(contiguous(3,byte),0,4))", Nest(1, [(65536, 4)], cell=3))
    s.add("alpha_of_rgba", "contiguous(65536,resized(contiguous(1,byte),0,4))", Nest(1, [(65536, 4)]))
    s.add("field_of_particles", "hvector(4096,1,56,contiguous(3,double))", Nest(8, [(4096, 56)], cell=3))
    s.add("double_int_4096", "contiguous(4096,double_int)", Nest(4, [(4096, 16)], cell=3))
    at, size = arena([8 * 10000] * 6)
    s.add("six_columns", struct(*[(1, a, "vector(5000,1,2,double)") for a in at]), *[Nest(8, [(5000, 16)], a) for a in at], array=size)
    d = shuffle(700, 10000, 5)
    mixed = struct((1, 0, "vector(50,3,7,double)"), (1, at[1], f"indexed_block(1,[{d}],double)"), (1, at[2], "contiguous(100,double)"))
    s.add("mixed_columns", mixed, Nest(8, [(50, 56)], run=3), List(8, d, at[1]), Nest(8, off=at[2], run=100), array=size)
    part = "struct([1,1],[0,1000],[vector(8,2,5,float),vector(4,3,9,short)])"
    s.add("struct_of_vectors_64", f"contiguous(64,resized({part},0,1200))")


def arrays(s):
    s.note("distributed arrays, deeper boxes")
    s.add("darray_block", "darray(4,1,[512,512],[block,block],[-1,-1],[2,2],C,double)", Nest(8, [(256, 4096)], 2048, run=256))
    s.add("darray_cyclic", "darray(4,2,[512,512],[cyclic,cyclic],[-1,-1],[2,2],C,double)", Nest(8, [(256, 8192), (256, 16)], 4096))
    s.add("darray_cyclic4", "darray(4,3,[512,512],[cyclic,cyclic],[4,4],[2,2],F,double)", Nest(8, [(64, 32768), (4, 4096), (64, 64)], 4 * 4096 + 32, run=4))
    sizes, part, begin = [6, 9, 10, 11, 12], [4, 5, 6, 7, 8], [1, 2, 2, 3, 3]
    s.add("box_5d", sub(sizes, part, begin, "float"),
          Nest(4, [(4, 4 * 11880), (5, 4 * 1320), (6, 4 * 132), (7, 48)], 4 * (11880 + 2 * 1320 + 2 * 132 + 3 * 12 + 3), run=8))
    s.add("box_6d", sub([7] * 6, [3] * 6, [2] * 6, "double"))
    s.add("big_rows", "vector(16,65536,70000,double)", Nest(8, [(16, 560000)], run=65536))
    s.add("big_copy", "contiguous(4194304,double)", Nest(8, run=4194304))


def other():
    s = Suite("other", "Layouts that are in nobody's suite.")
    random_nests(s)
    index_lists(s)
    strides(s)
    structs(s)
    arrays(s)
    return s


# Fields that a struct has at (place, bytes), and its extent; loops of bench/hand.c.
FIELDS = {
    "s24_4_in_64": (64, [(0, 24), (40, 4)]),
    "s8_8_in_200": (200, [(0, 8), (136, 8)]),
    "s1_8_4_in_24": (24, [(0, 1), (8, 8), (16, 4)]),
    "s4_8_2_in_48": (48, [(0, 4), (16, 8), (40, 2)]),
    "s8_4_8_16_in_256": (256, [(8, 8), (72, 4), (128, 8), (200, 16)]),
    "s24_24_8_in_160": (160, [(0, 24), (64, 24), (128, 8)]),
    "s4_8_in_120": (120, [(0, 4), (100, 8)]),
    "s8_4_1_12_in_96": (96, [(0, 8), (12, 4), (20, 1), (80, 12)]),
    "s6_in_440": (440, [(0, 8), (80, 4), (160, 4), (240, 2), (320, 8), (400, 24)]),
}


def wide_structs():
    s = Suite("structs", "Arrays of structs some of whose fields are moved, as particles and cells have them.")
    for name, (extent, fields) in FIELDS.items():
        kind = f"resized({struct(*((n, at, 'byte') for at, n in fields))},0,{extent})"
        for n in (5, 40, 320, 2560, 20480):
            s.add(f"{name}_x{n}", kind, Record(name, n, extent, fields), count=n)
    return s


def all_suites():
    return [small(), transpose(), other(), wide_structs()]
