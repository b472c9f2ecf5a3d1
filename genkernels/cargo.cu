/* The kernels that move cargos: all of a launch are of one form. A grid may have fewer blocks than there are tiles. */
#include "cargo_move.h"

#define LDG_TILES(name, tile)                                 \
  LDG_KERNEL(name, ldg_cargo_args) {                          \
    for (int64_t t = LDG_BID; t < a->tiles; t += LDG_GRID_DIM) { \
      const ldg_cargo *c = ldg_dev_cargo(a, t);               \
      tile(c, t - c->first);                                  \
    }                                                         \
  }

LDG_TILES(narrow, ldg_dev_tile_narrow)
LDG_TILES(wide, ldg_dev_tile_wide)
LDG_TILES(trees, ldg_dev_tile_trees)
