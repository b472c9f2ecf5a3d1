"""Layouts that nobody chose: random nests, rows, block lists of 1 to 64 bytes, index lists in any order and sorted, transposes, prime strides and powers of two, small messages, items and structs, at bases off their alignment."""
from make_suites import ELEMS, List, Split, Suite, bytes_loop, lengths, loops, shuffle, starts, struct

PRIMES = (7, 11, 17, 23, 37, 53, 97, 131, 193, 257, 389, 521, 769, 1031, 1543, 2053, 3079, 4099, 6151, 8209, 12289, 24593)
EACH = 50    # problems of a family
MOST = 4e6   # packed bytes of a problem
ENTRIES = 1_000_000  # of a large list


def anywhere(rng):
    """About half of the bases are at an aligned place."""
    return rng.between(0, 63) * rng.between(0, 1)


def nests(s, rng):
    s.note("nests of 1 to 3 loops: permuted, backwards, with odd gaps")
    for i in range(EACH):
        width, run = (1, 2, 4, 8, 16)[rng.between(0, 4)], rng.between(1, 4) * rng.between(1, 6)
        dims, step, count = [], width * run, width * run
        for _ in range(rng.between(1, 3)):
            step += rng.between(0, 40) * (width if rng.between(0, 3) else 1) + (width if not dims else 0)
            n = rng.between(2, 70)
            if n * count > MOST:
                break
            dims.append((n, -step if not rng.between(0, 5) else step))
            step, count = step * n, count * n
        s.add(f"random_nest_{i}", *loops(width, run, dims, len(dims) > 1 and not rng.between(0, 2)), shift=anywhere(rng))


def rows(s, rng, name, about, stride_of):
    s.note(about)
    for i in range(EACH):
        block = rng.between(1, 64) if rng.between(0, 2) else rng.between(65, 3000)
        stride = stride_of(rng, block)
        n = min(rng.between(1, 16) ** rng.between(1, 4) + 1, int(MOST) // block, (64 << 20) // stride)
        s.add(f"{name}_{i}", f"hvector({n},{block},{stride},byte)", bytes_loop(block, [(n, stride)]), shift=anywhere(rng))


def prime(rng, block):
    return next(p for p in PRIMES[rng.between(0, len(PRIMES) - 1):] if p > block)


def power(rng, block):
    """256 bytes to 8 KiB, of which the larger ones are in few sets of a cache, and some a few bytes off."""
    least = max(block + 4, 128).bit_length()
    return (1 << rng.between(least, max(least, 13))) + (rng.between(-3, 3) if not rng.between(0, 3) else 0)


def transposes(s, rng):
    s.note("matrices by columns")
    for i in range(EACH):
        width, n, m, pad = 1 << rng.between(0, 5), rng.between(2, 40) ** rng.between(1, 2), rng.between(2, 300), rng.between(0, 8) * rng.between(0, 1)
        n = min(n, int(MOST) // (width * m))
        row = width * (m + pad)
        s.add(f"random_transpose_{i}", f"contiguous({m},resized(hvector({n},1,{row},{ELEMS[width]}),0,{width}))", bytes_loop(width, [(m, width), (n, row)]), shift=anywhere(rng))


def block_lists(s, rng):
    s.note("blocks of 1 to 64 bytes with gaps of random length")
    for i in range(EACH):
        n, hi, gap, seed = rng.between(2, 90) ** rng.between(1, 2), rng.between(2, 64), rng.between(1, 300), 1000 + rng.between(0, 1 << 30)
        at, lens = starts(n, 1, hi, seed, 1, gap), lengths(n, 1, hi, seed)
        s.add(f"random_blocks_{i}", f"hindexed([{lens}],[{at}],byte)", List(1, at, lens=lens), shift=anywhere(rng))


def index_lists(s, rng):
    s.note("blocks of one length, 1 to 64 bytes, in shuffled places")
    for i in range(EACH):
        n, block, seed = rng.between(2, 90) ** rng.between(1, 2), rng.between(1, 64), 1000 + rng.between(0, 1 << 30)
        width = next(w for w in (8, 4, 2, 1) if block % w == 0)
        of = n * rng.between(1, 8)
        at, elements = shuffle(n, of, seed, block), shuffle(n, of, seed, block // width)
        s.add(f"random_index_{i}", f"hindexed_block({block},[{at}],byte)", List(width, elements, run=block // width if block > width else 0), shift=anywhere(rng))


def sorted_lists(s, rng):
    s.note("elements in ascending places, of which half to a seventh touch the one before; and rows of some elements")
    for i in range(EACH):
        n, width, run, seed = rng.between(2, 60) ** rng.between(1, 2), 1 << rng.between(0, 4), rng.between(1, 3) if i % 3 == 0 else 1, 1000 + rng.between(0, 1 << 30)
        at = starts(n, run, run, seed, 0, rng.between(1, 6))
        s.add(f"sorted_index_{i}", f"indexed_block({run},[{at}],{ELEMS[width]})", List(width, at, run=run if run > 1 else 0), shift=anywhere(rng))


def small(s, rng):
    s.note("up to 512 bytes: rows, rows of rows, index lists")
    for i in range(EACH):
        width = 1 << rng.between(0, 3)
        block, gap = width * rng.between(1, 6), width * rng.between(1, 12)
        n, m, at = rng.between(2, 16), rng.between(2, 5), anywhere(rng)
        while n * block > 512:
            n -= 1
        if i % 3 == 0:
            s.add(f"small_rows_{i}", f"hvector({n},{block},{block + gap},byte)", bytes_loop(block, [(n, block + gap)]), shift=at)
        elif i % 3 == 1:
            n = max(1, n // m)
            far = n * (block + gap) + width * rng.between(0, 20)
            s.add(f"small_box_{i}", f"hvector({m},1,{far},hvector({n},{block},{block + gap},byte))", bytes_loop(block, [(m, far), (n, block + gap)]), shift=at)
        else:
            seed = rng.between(1000, 1 << 30)
            s.add(f"small_index_{i}", f"indexed_block(1,[{shuffle(n, 4 * n, seed)}],{ELEMS[width]})", List(width, shuffle(n, 4 * n, seed)), shift=at)


def items(s, rng):
    s.note("2 to 2744 items of rows, whose extent is some bytes more than they span, or much more, or what they span")
    for i in range(EACH):
        block, n, count = rng.between(1, 40), rng.between(2, 20), rng.between(2, 14) ** rng.between(1, 3)
        stride = block + rng.between(1, 40)
        extent = (n * stride + rng.between(0, 100), block * rng.between(1, 3) + n * stride * count, n * stride)[i % 3]
        s.add(f"items_{i}", f"resized(hvector({n},{block},{stride},byte),0,{extent})", bytes_loop(block, [(count, extent), (n, stride)]), count=count, shift=anywhere(rng))


def structs(s, rng):
    s.note("structs of 2 to 6 arrays: rows, or columns of a matrix, of each")
    for i in range(EACH):
        parts, fields, at = [], [], 0
        for _ in range(rng.between(2, 6)):
            block, n = rng.between(1, 24) * (1 << rng.between(0, 3)), rng.between(1, 40) * rng.between(1, 12)
            stride = block + rng.between(1, 600)
            parts.append(bytes_loop(block, [(n, stride)], at))
            fields.append((1, at, f"hvector({n},{block},{stride},byte)"))
            at += n * stride + rng.between(0, 5000)
        s.add(f"struct_{i}", struct(*fields), *parts, shift=anywhere(rng))


def few(s, rng):
    s.note("2 to 40 blocks, bytes to kilobytes apart, some of them powers of two; and as many listed ones")
    for i in range(EACH):
        block, n = rng.between(1, 300), rng.between(2, 40)
        stride = block + rng.between(1, 1 << rng.between(3, 15)) if i % 3 else max(1 << rng.between(5, 15), 512)
        if i % 2:
            s.add(f"few_rows_{i}", f"hvector({n},{block},{stride},byte)", bytes_loop(block, [(n, stride)]), shift=anywhere(rng))
        else:
            seed, hi = rng.between(1000, 1 << 30), rng.between(2, 300)
            at, lens = starts(n, 1, hi, seed, 1, stride), lengths(n, 1, hi, seed)
            s.add(f"few_blocks_{i}", f"hindexed([{lens}],[{at}],byte)", List(1, at, lens=lens), shift=anywhere(rng))


def large(s, rng):
    """20 to 60 MB, but less of lists of a million short blocks, and of rows that reach over a GB: most are more than a last cache holds, so stores may go past the caches."""
    for i in range(EACH):
        block, bytes_ = rng.between(1, 64) if i % 2 else rng.between(65, 3000), rng.between(20, 60) * 1_000_000
        stride_of = (lambda: block + rng.between(1, 64) ** rng.between(1, 2), lambda: prime(rng, block), lambda: power(rng, block), lambda: block + 64 - block % 64)[i % 4]
        stride, at = stride_of(), anywhere(rng)
        n = max(2, min(bytes_ // block, (1 << 30) // stride))
        s.add(f"large_rows_{i}", f"hvector({n},{block},{stride},byte)", bytes_loop(block, [(n, stride)]), shift=at)
        m = rng.between(2, 20)
        plane, n = m * stride + rng.between(0, 500), max(2, n // m)
        s.add(f"large_items_{i}", f"resized(hvector({m},{block},{stride},byte),0,{plane})", bytes_loop(block, [(n, plane), (m, stride)]), count=n, shift=at)
    for i in range(EACH // 2):
        width, n, m, pad = 1 << rng.between(0, 4), rng.between(20, 400), rng.between(2, 2000), rng.between(0, 8) * rng.between(0, 1)
        n = max(n, 30_000_000 // (width * m))
        row = width * (m + pad)
        s.add(f"large_transpose_{i}", f"contiguous({m},resized(hvector({n},1,{row},{ELEMS[width]}),0,{width}))", bytes_loop(width, [(m, width), (n, row)]), shift=anywhere(rng))
        width, block = 1 << rng.between(0, 3), rng.between(4, 12) * rng.between(1, 40)
        n, seed = min(ENTRIES, 24_000_000 // (width * block)), 1000 + rng.between(0, 1 << 30)
        of = n * rng.between(1, 3)
        s.add(f"large_index_{i}", f"indexed_block({block},[{shuffle(n, of, seed, block)}],{ELEMS[width]})", List(width, shuffle(n, of, seed, block), run=block if block > 1 else 0), shift=anywhere(rng))
        hi, gap, seed = rng.between(6, 40) ** rng.between(1, 2), rng.between(1, 300), 1000 + rng.between(0, 1 << 30)
        n = min(ENTRIES, 60_000_000 // hi)
        at, lens = starts(n, 1, hi, seed, 1, gap), lengths(n, 1, hi, seed)
        s.add(f"large_blocks_{i}", f"hindexed([{lens}],[{at}],byte)", List(1, at, lens=lens), shift=anywhere(rng))
        parts, fields, at = [], [], 0
        for _ in range(rng.between(2, 4)):
            block = rng.between(6, 24) * (1 << rng.between(2, 5))
            n, stride = min(ENTRIES // 4, 12_000_000 // block), block + rng.between(1, 100)
            parts.append(bytes_loop(block, [(n, stride)], at))
            fields.append((1, at, f"hvector({n},{block},{stride},byte)"))
            at += n * stride + rng.between(0, 5000)
        s.add(f"large_struct_{i}", struct(*fields), *parts, shift=anywhere(rng))


def columns(s, rng):
    """Of few sets of a first cache: pages and parts of a page apart, some a few bytes more or less; 17 to 1000 blocks, most of them few."""
    for i in range(8 * EACH):
        block = (rng.between(1, 16) * (4 if rng.between(0, 1) else 1), rng.between(17, 64), rng.between(65, 256))[min(rng.between(0, 3), 2)]
        stride = (1024, 2048, 4096, 4096, 8192, 12288)[rng.between(0, 5)] + (rng.between(-3, 3) if not rng.between(0, 3) else 0)
        n = rng.between(17, 127) if rng.between(0, 4) else rng.between(128, 1000)
        s.add(f"column_{i}", f"hvector({n},{block},{stride},byte)", bytes_loop(block, [(n, stride)]), shift=anywhere(rng))


def columns_suite(seed):
    s = Suite("columns", f"Blocks in few sets of a cache, by seed {seed}.")
    s.note("1 KiB to 12 KiB apart, or a few bytes off")
    columns(s, Split(seed))
    return s


def large_suite(seed):
    s = Suite("large", f"Large layouts that nobody chose, by seed {seed}.")
    s.note("rows and items of them, matrices by columns, lists of one length and of any, structs of arrays")
    large(s, Split(seed))
    return s


def suite(seed):
    s, rng = Suite("random", f"Layouts that nobody chose, by seed {seed}."), Split(seed)
    nests(s, rng)
    rows(s, rng, "random_rows", "rows with random gaps", lambda rng, block: block + rng.between(1, 64) ** rng.between(1, 2))
    rows(s, rng, "prime_rows", "rows with a prime number of bytes from one to the next", prime)
    rows(s, rng, "power_rows", "rows a power of two apart, or a few bytes off", power)
    transposes(s, rng)
    block_lists(s, rng)
    index_lists(s, rng)
    sorted_lists(s, rng)
    small(s, rng)
    items(s, rng)
    structs(s, rng)
    few(s, rng)
    return s
