/* often: calls enough that every way of a trial has had its turn. */
#ifndef TEST_OFTEN_H
#define TEST_OFTEN_H

#include <stdint.h>

enum { OFTEN = 4 * 32 + 2 }; /* calls: all ways have their first ones */

static inline uint64_t even_clock(void) { /* all take as long, so that none is tried seldom */
  static uint64_t now = 1;
  return now += 1000;
}

#endif
