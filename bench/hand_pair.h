/* Both directions of the loops for one element type: set ELEM, TAG and CELL, then include this. */
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

#undef JOIN3
#undef JOIN3_
#undef ELEM
#undef TAG
#undef CELL
