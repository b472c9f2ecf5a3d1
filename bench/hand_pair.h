/* Both directions of the loops for one element type, and the same as sums: set ELEM, TAG and CELL, and SUMMED, the type as what it is added, then include this. */
#define JOIN3_(a, b, c) a##_##b##_##c
#define JOIN3(a, b, c) JOIN3_(a, b, c)

#define LOOP(name) JOIN3(name, TAG, pack)
#define MOVE(place) (*s++ = (place))
#include "hand_loops.h"
#undef LOOP
#undef MOVE

#define LOOP(name) JOIN3(name, TAG, unpack)
#define MOVE(place) ((place) = *s++)
#include "hand_loops.h"
#undef LOOP
#undef MOVE

#undef ELEM

#define ELEM SUMMED
#define LOOP(name) JOIN3(name, TAG, sum_pack)
#define MOVE(place) (*s++ += (place))
#include "hand_loops.h"
#undef LOOP
#undef MOVE

#define LOOP(name) JOIN3(name, TAG, sum_unpack)
#define MOVE(place) ((place) += *s++)
#include "hand_loops.h"
#undef LOOP
#undef MOVE

#undef JOIN3
#undef JOIN3_
#undef ELEM
#undef SUMMED
#undef TAG
#undef CELL
