"""The field's own workloads: DDTBench, Open MPI's datatype tests, TEMPI and Comb (workloads.md sections 1, 2)."""
from make_suites import (C16, List, Nest, Record, Suite, arena, bytes_loop, grid, shuffle, struct, sub, wrap)


def wrf(s, axis, grid_name, ims, ime, jms, jme, i0, i1, j0, j1, blocks):
    """1.1: nine arrays; x fastest, then vertical (k = 1..65), then y, then species. Species 1 of 2 is sent."""
    d1, d2, d3, L, p = ime - ims + 1, 65, jme - jms + 1, 2, 1
    s1, s2, s3 = i1 - i0 + 1, 65, j1 - j0 + 1
    o1, o2, o3 = i0 - ims, 0, j0 - jms
    at, size = arena([4 * d1 * d3] * 4 + [4 * d1 * d2 * d3] * 3 + [4 * d1 * d2 * d3 * L] * 2)
    v2 = f"vector({s3},{s1},{d1},float)"
    v3 = f"hvector({s3},1,{4 * d1 * d2},vector({s2},{s1},{d1},float))"
    v4 = f"hvector({L - p},1,{4 * d1 * d2 * d3},{v3})"
    off2, off3 = 4 * (o1 + d1 * o3), 4 * (o1 + d1 * (o2 + d2 * o3))
    off4 = 4 * (o1 + d1 * (o2 + d2 * (o3 + d3 * p)))
    vec = struct(*[(1, at[m] + off2, v2) for m in range(4)], *[(1, at[m] + off3, v3) for m in range(4, 7)],
                 *[(1, at[m] + off4, v4) for m in range(7, 9)])
    a2 = sub([d3, d1], [s3, s1], [o3, o1], "float")
    a3 = sub([d3, d2, d1], [s3, s2, s1], [o3, o2, o1], "float")
    a4 = sub([L, d3, d2, d1], [L - p, s3, s2, s1], [p, o3, o2, o1], "float")
    sa = struct(*[(1, at[m], (a2 if m < 4 else a3 if m < 7 else a4)) for m in range(9)])
    plane, row = 4 * d1 * d2, 4 * d1
    parts = [Nest(4, [(s3, row)], at[m] + off2, run=s1) for m in range(4)]
    parts += [Nest(4, [(s3, plane), (s2, row)], at[m] + off3, run=s1) for m in range(4, 7)]
    parts += [Nest(4, [(L - p, plane * d3), (s3, plane), (s2, row)], at[m] + off4, run=s1) for m in range(7, 9)]
    for spelling, kind in (("vec", vec), ("sa", sa)):
        s.add(f"WRF_{axis}_{spelling}_{grid_name}", kind, *parts, array=size, table=(4 * s1 * blocks, blocks))


def wrf_all(s):
    for row in (("2x2", -4, 27, 34, 85, 1, 23, 41, 43), ("3x3", 8, 34, 21, 61, 12, 30, 28, 30), ("4x4", 4, 27, 14, 47, 8, 23, 21, 23),
                ("5x5", 10, 31, 10, 39, 14, 27, 17, 19), ("8x8", 4, 22, 4, 27, 8, 18, 11, 13)):
        wrf(s, "y", *row, 987)
    for row in (("2x2", -4, 27, 34, 85, 18, 20, 38, 81, 14476), ("4x4", 4, 27, 14, 47, 18, 20, 18, 43, 8554), ("8x8", 4, 22, 4, 27, 13, 15, 8, 23, 5264)):
        wrf(s, "x", *row)


def milc(s):
    for x, y, z, t in ((16, 16, 16, 16), (8, 16, 16, 16), (8, 8, 8, 16), (8, 8, 8, 8)):
        w = f"vector({t},{x * y // 2},{x * y * z // 2},contiguous(6,float))"
        half = 12 * x * y * z * t
        s.add(f"MILC_su3_zdown_{x}_{y}_{z}_{t}", f"hvector(2,1,{half},{w})", Nest(4, [(2, half), (t, 12 * x * y * z)], run=3 * x * y),
              array=24 * x * y * z * t, table=(24 * x * y * t, 2 * t))


def nas(s):
    for n in (12, 33, 64, 102, 162, 408, 1020):
        row, size = 40 * (n + 2), 40 * (n + 2) * (n + 2)
        s.add(f"NAS_LU_x_{n}", f"contiguous({5 * n},double)", Nest(8, run=5 * n), origin=40 + row * n, array=size, table=(40 * n, 1))
    for n in (12, 33, 64, 102, 162, 408, 1020):
        row, size = 40 * (n + 2), 40 * (n + 2) * (n + 2)
        s.add(f"NAS_LU_y_{n}", f"vector({n},1,{n + 2},contiguous(5,double))", Nest(8, [(n, row)], cell=5), origin=40 * n + row, array=size,
              table=(40 * n, n))
    for n1, n2, n3 in ((34, 18, 18), (130, 66, 66), (258, 130, 130), (514, 258, 258)):
        row, plane = 8 * n1, 8 * n1 * n2
        def origin(i, j, k):
            return 8 * i + row * j + plane * k
        s.add(f"NAS_MG_x_{n1}", f"hvector({n3 - 2},1,{plane},vector({n2 - 2},1,{n1},double))", Nest(8, [(n3 - 2, plane), (n2 - 2, row)]),
              origin=origin(n1 - 2, 1, 1), array=plane * n3, table=(8 * (n2 - 2) * (n3 - 2), (n2 - 2) * (n3 - 2)))
        s.add(f"NAS_MG_y_{n1}", f"vector({n3 - 2},{n1 - 2},{n1 * n2},double)", Nest(8, [(n3 - 2, plane)], run=n1 - 2),
              origin=origin(1, n2 - 2, 1), array=plane * n3, table=(8 * (n1 - 2) * (n3 - 2), n3 - 2))
        s.add(f"NAS_MG_z_{n1}", f"vector({n2 - 2},{n1 - 2},{n1},double)", Nest(8, [(n2 - 2, row)], run=n1 - 2), origin=origin(1, 1, 1),
              array=plane * n3, table=(8 * (n1 - 2) * (n2 - 2), n2 - 2))


def fft(s):
    P = 2
    for d in (256, 512, 768, 1024, 1536):
        q = d // P
        gather = f"resized(vector({q},{q},{d},{C16}),0,{16 * q})"
        scatter = f"contiguous({q},resized(vector({q},1,{d},{C16}),0,16))"
        s.add(f"FFT2_gather_{d}", gather, Nest(16, [(q, 16 * d)], run=q), array=16 * d * q, table=(16 * q * q, q))
        s.add(f"FFT2_scatter_{d}", scatter, Nest(16, [(q, 16), (q, 16 * d)]), array=16 * d * q, table=(16 * q * q, q * q))
        if d in (256, 1024):
            s.add(f"FFT2_gather_{d}_peers", gather, Nest(16, [(P, 16 * q), (q, 16 * d)], run=q), count=P, array=16 * d * q)
            s.add(f"FFT2_scatter_{d}_peers", scatter, Nest(16, [(P, 16 * q), (q, 16), (q, 16 * d)]), count=P, array=16 * d * q)


def specfem(s):
    for c, n, size in ((4, 3225, 88881), (3, 1897, 38585), (2, 877, 12857), (1, 493, 3697)):
        d = shuffle(n, size, 42)
        s.add(f"SPECFEM3D_oc_c{c}", f"indexed_block(1,[{d}],float)", List(4, d), array=4 * size)
    for c, n, m, big, small in ((4, 11797, 3009, 834917, 51153), (3, 7125, 1729, 396849, 22477), (2, 3801, 801, 152001, 7209), (1, 1957, 245, 39929, 1225)):
        at, size = arena([12 * big, 12 * small])
        d, e = shuffle(n, big, 42, 3), shuffle(m, small, 43, 3)
        kind = struct((1, 0, f"indexed_block(3,[{d}],float)"), (1, at[1], f"indexed_block(3,[{e}],float)"))
        s.add(f"SPECFEM3D_cm_c{c}", kind, List(4, d, cell=3), List(4, e, at[1], cell=3), array=size)
    for c, n in ((1, 7600), (2, 6400), (3, 5600), (4, 6200)):
        s.add(f"SPECFEM3D_mt_send_c{c}", f"vector({n},1,2,contiguous(3,float))", Nest(4, [(n, 24)], cell=3), array=24 * n, table=(12 * n, n))
        s.add(f"SPECFEM3D_mt_recv_c{c}", f"contiguous({3 * n},float)", Nest(4, run=3 * n), array=12 * n)


def lammps(s, name, fields, rows):
    for procs, n, size in rows:
        at, total = arena([24 * (size + n)] + [8 * (size + n)] * fields)
        d, d3 = shuffle(n, size, 42), shuffle(n, size, 42, 3)
        send = struct((1, 0, f"indexed_block(3,[{d3}],double)"), *[(1, a, f"indexed_block(1,[{d}],double)") for a in at[1:]])
        s.add(f"LAMMPS_{name}_send_P{procs}", send, List(8, d3, cell=3), *[List(8, d, a) for a in at[1:]], array=total)
        where = [24 * size] + [a + 8 * size for a in at[1:]]
        recv = struct((1, where[0], f"contiguous({3 * n},double)"), *[(1, a, f"contiguous({n},double)") for a in where[1:]])
        s.add(f"LAMMPS_{name}_recv_P{procs}", recv, Nest(8, off=where[0], run=3 * n), *[Nest(8, off=a, run=n) for a in where[1:]], array=total)


def ddtbench():
    s = Suite("ddtbench", "DDTBench (Schneider, Gerstenberger, Hoefler; EuroMPI 2012): every application and parameter set.\n"
              "Random index lists come from the stated generator with seed 42 (43 for the second list of SPECFEM3D_cm); neighbours\n"
              "that happen to touch are one block, so blocks can be a few less than entries.")
    wrf_all(s)
    milc(s)
    nas(s)
    fft(s)
    specfem(s)
    lammps(s, "full", 5, ((2, 3062, 3534), (4, 2243, 2597), (8, 1662, 1907)))
    lammps(s, "atomic", 3, ((2, 243, 4084), (4, 145, 2157), (8, 114, 1217)))
    return s


GAP400 = [(0, 4)] + [(8 + 44 * i, 40) for i in range(9)] + [(404, 36)]


def ompi():
    s = Suite("ompi", "Open MPI's test/datatype: micro types, 8 bytes of a cache line, gaps, adversarial extents (workloads.md 2.1).")
    line = "vector(8,1,8,double)"
    s.add("vec8of64", line, Nest(8, [(8, 64)]), table=(64, 8))
    for n in (8192, 131072):
        s.add(f"vec8of64_x{n}", f"resized({line},0,512)", Nest(8, [(n, 512), (8, 64)]), count=n)
    gap = "resized(struct([1,9,9],[0,8,404],[float,resized(contiguous(10,float),0,44),float]),0,440)"
    raw = "contiguous(10,struct([1,1],[0,8],[int,contiguous(3,struct([2,1],[0,8],[int,float]))]))"
    s.add("gap400", gap, Record("gap400", 1, 440, GAP400), table=(400, 11))
    s.add("gap400_raw", raw, Record("gap400", 1, 440, GAP400), table=(400, 11))
    for n in (16, 163, 2621):
        s.add(f"gap400_x{n}", gap, Record("gap400", n, 440, GAP400), count=n)
    s.add("gap400_raw_x2621", raw, Record("gap400", 2621, 440, GAP400), count=2621)
    rows = Nest(8, [(80, 808)], run=100)
    s.add("constant_gap_vector", "vector(80,100,101,double)", rows, table=(64000, 80))
    s.add("constant_gap_struct", "struct([times(80,100)],[iota(80,0,808)],[times(80,double)])", rows, table=(64000, 80))
    s.add("constant_gap_structs", "struct([times(80,1)],[iota(80,0,808)],[times(80,struct([100],[0],[double]))])", rows, table=(64000, 80))
    both = "struct([1,1,1],[0,8,16],[double,long,char])"
    s.add("merged_with_gap", both, Record("merged17", 1, 24, [(0, 17)]))
    s.add("merged_with_gap_x4096", both, Record("merged17", 4096, 24, [(0, 17)]), count=4096)
    tail = "resized(struct([1,1],[8,16],[double,long]),0,24)"
    s.add("resized_gap_x4096", tail, Nest(8, [(4096, 24)], 8, cell=2), count=4096)
    s.add("complex_hvector", "hvector(2048,3,28,contiguous(2,float))", Nest(4, [(2048, 28)], run=6), table=(49152, 2048))
    s.add("three_ints_in_24", "resized(contiguous(3,int),0,24)", Nest(4, [(4096, 24)], cell=3), count=4096)
    s.add("extent_zero", "resized(contiguous(2,int),0,0)", Nest(4, [(4096, 0)], run=2), count=4096)
    s.add("extent_negative", "resized(contiguous(2,int),0,-8)", Nest(4, [(4096, -8)], run=2), count=4096)
    s.add("mixed_dense", "contiguous(4,resized(struct([1,1],[0,4],[int,float]),0,8))", Nest(4, run=8), table=(32, 1))
    for n in (16384, 524288):
        s.add(f"mixed_dense_{n}", f"contiguous({n},resized(struct([1,1],[0,4],[int,float]),0,8))", Nest(4, run=2 * n))
    for n, size in ((1024, 4096), (4096, 10007), (65536, 65536)):
        d = wrap(n, 37, size)
        s.add(f"index37_{n}", f"indexed_block(1,[{d}],double)", List(8, d))
    return s


BLOCKS = (1, 2, 4, 8, 12, 16, 20, 24, 32, 64, 128, 256, 512)


def tempi_2d(s):
    s.note("2D: b of every 512 bytes, by message size; three spellings, and two items")
    for size in (1 << 10, 1 << 20, 1 << 22):
        for b in BLOCKS:
            n = size // b
            loop = bytes_loop(b, [(n, 512)]) if b < 512 else Nest(8, run=64 * n)
            s.add(f"2d_{size}_b{b}", f"vector({n},{b},512,byte)", loop)
    for size in (64, 256, 4096, 16384, 65536, 262144):
        s.add(f"2d_{size}_b8", f"vector({size // 8},8,512,byte)", Nest(8, [(size // 8, 512)]))
    for b in (1, 8, 64):
        n = (1 << 20) // b
        one = bytes_loop(b, [(n, 512)])
        s.add(f"2d_hvector_b{b}", f"hvector({n},{b},512,byte)", one)
        s.add(f"2d_subarray_b{b}", sub([n, 512], [n, b], [0, 0], "byte"), one)
        s.add(f"2d_vector_x2_b{b}", f"vector({n},{b},512,byte)", bytes_loop(b, [(2, 512 * (n - 1) + b), (n, 512)]), count=2)
        if b > 1:
            s.add(f"2d_subarray_x2_b{b}", sub([n, 512], [n, b], [0, 0], "byte"), bytes_loop(b, [(2, 512 * n), (n, 512)]), count=2)


def tempi_3d(s):
    s.note("3D: a 100 x 13 x 47 box of 256 x 512 x 1024 bytes, in every spelling of the equivalence test")
    row, plane = 256, 131072
    loop = Nest(4, [(47, plane), (13, row)], run=25)
    d = grid(47, plane, 13, row)
    spellings = {
        "subarray": sub([1024, 512, 256], [47, 13, 100], [0, 0, 0], "byte"),
        "vector_hvector": f"hvector(47,1,{plane},vector(13,100,256,byte))",
        "row_hvectors": f"hvector(47,1,{plane},hvector(13,1,256,vector(1,100,256,byte)))",
        "bytes_hvectors": f"hvector(47,1,{plane},hvector(13,1,256,vector(100,1,1,byte)))",
        "planes": f"vector(47,1,1,{sub([512, 256], [13, 100], [0, 0], 'byte')})",
        "hindexed": f"hindexed([times(611,100)],[{d}],byte)",
        "hindexed_block": f"hindexed_block(100,[{d}],byte)",
    }
    for name, kind in spellings.items():
        s.add(f"3d_{name}", kind, loop, table=(61100, 611))
    s.note("3D sweep: boxes x, y, z of 1024^3 bytes")
    boxes = [(2**k, 1024, 1024 // 2**k) for k in range(11)] + [(2**k, 1024, 1) for k in range(10)] + [(12, 512, 512), (512, 3, 512), (512, 512, 3)]
    for x, y, z in boxes:
        s.add(f"box_{x}_{y}_{z}", sub([1024] * 3, [z, y, x], [0, 0, 0], "byte"), bytes_loop(x, [(z, 1 << 20), (y, 1024)]))


def directions():
    """The 26 neighbours, as (name, dx, dy, dz): m00 is the one at -x."""
    sign = {-1: "m", 0: "0", 1: "p"}
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dx or dy or dz:
                    yield sign[dx] + sign[dy] + sign[dz], (dx, dy, dz)


def tempi_halo(s):
    s.note("3D stencil halo, 256^3 values of 8 bytes, radius 3, one quantity: what goes to each neighbour (m00 is -x), and all at once")
    lx, r, pitch, height = 256, 3, 2560, 262
    plane, size = pitch * height, pitch * height * height
    fields, loops = [], []
    for name, d in directions():
        e = [lx if a == 0 else r for a in d]
        for side in ("send", "recv"):
            start = [(lx if a > 0 else r) if side == "send" else (0, r, lx + r)[a + 1] for a in d]
            kind = sub([start[2] + e[2], height, pitch], [e[2], e[1], 8 * e[0]], [start[2], start[1], 8 * start[0]], "byte")
            loop = Nest(8, [(e[2], plane), (e[1], pitch)], 8 * start[0] + pitch * start[1] + plane * start[2], run=e[0])
            s_or_r = side == "send" or name in ("m00", "0m0", "00p", "ppp")
            if s_or_r:
                s.add(f"halo256_{side}_{name}", kind, loop, array=size)
            if side == "send":
                fields.append((1, 0, kind))
                loops.append(loop)
    s.add("halo256_send_all26", struct(*fields), *loops, array=size)


def tempi():
    s = Suite("tempi", "TEMPI: strided bytes, 3D boxes and the halo of a stencil (workloads.md 2.2). Hand loops move the widest element\n"
              "that the block holds.")
    tempi_2d(s)
    tempi_3d(s)
    tempi_halo(s)
    return s


def comb():
    s = Suite("comb", "LLNL Comb: 100^3 zones, ghost width 1, doubles; one subarray per neighbour (m00 is -x) and variable (workloads.md 2.3).")
    n, g, w = 100, 1, 102
    size, fields, loops = 8 * w**3, [], []
    for name, d in directions():
        e = [n if a == 0 else g for a in d]
        start = [n if a > 0 else g for a in d]
        kind = sub([w] * 3, e, start, "double", "F")
        off = 8 * (start[0] + w * (start[1] + w * start[2]))
        loop = Nest(8, [(e[2], 8 * w * w), (e[1], 8 * w)], off, run=e[0] if e[0] > 1 else 0)
        s.add(f"comb100_{name}", kind, loop, array=size)
        fields.append((1, 0, kind))
        loops.append(loop)
    s.add("comb100_all26", struct(*fields), *loops, array=size)
    at, total = arena([size] * 3)
    for name, i in (("m00", 12), ("0m0", 10), ("00m", 4)):
        kind, loop = fields[i][2], loops[i]
        assert [x for x, _ in directions()][i] == name
        s.add(f"comb100_{name}_3vars", struct(*[(1, a, kind) for a in at]), *[Nest(8, loop.dims, loop.off + a, run=loop.run) for a in at], array=total)
    s.note("the same faces through an explicit index list, as Comb's own loops gather them")
    for name, rows, off in (("m00", grid(100, w * w, 100, w), 1 + w + w * w), ("0m0", grid(100, w * w, 100, 1), 1 + w + w * w)):
        s.add(f"comb100_{name}_index", f"hindexed([1],[{8 * off}],indexed_block(1,[{rows}],double))", List(8, rows, 8 * off), array=size)
    return s


def all_suites():
    return [ddtbench(), ompi(), tempi(), comb()]
