/* entries: the loop over the blocks of a list, of entries at[0 .. n): one side is at s or d + at[k], the other one goes on by `step`. Where there are fours (K_FOURS) what they
 * leave goes as by K_FN(_by_fours). Ends the function. K_FN, K_FOURS, K_ONE_MOVE are block.inc's, as are both places that have it: lists, and those that are put together in
 * registers, where a call of the former for the rest took 3 to 4 ns (8 doubles 10.0, so 13.5; Zen 3). */
#ifndef LDG_ENTRIES_H
#define LDG_ENTRIES_H

#define K_ENTRY(k, listed_src) K_FN(_move)(s + (listed_src ? at[k] : (k) * step), d + (listed_src ? (k) * step : at[k]), b)
#define K_ENTRIES_FOUR(listed_src) K_ENTRY(0, listed_src), K_ENTRY(1, listed_src), K_ENTRY(2, listed_src), K_ENTRY(3, listed_src)
#define K_ENTRIES_FEW(listed_src)                                                                       \
  if (n & 2) {                                                                                          \
    K_ENTRY(0, listed_src), K_ENTRY(1, listed_src), at += 2;                                            \
    if (listed_src) d += 2 * step; else s += 2 * step;                                                  \
  }                                                                                                     \
  if (n & 1) K_ENTRY(0, listed_src);
#define K_ENTRIES(listed_src)                                                                           \
  if (K_ONE_MOVE && n < 4) {                                                                            \
    K_ENTRIES_FEW(listed_src)                                                                           \
    return LADING_OK;                                                                                   \
  }                                                                                                     \
  for (; n >= 4 && K_FOURS; n -= 4, at += 4) {                                                          \
    K_ENTRIES_FOUR(listed_src);                                                                         \
    if (listed_src) d += 4 * step; else s += 4 * step;                                                  \
  }                                                                                                     \
  if (n == 0) return LADING_OK;                                                                         \
  if (K_ONE_MOVE) {                                                                                     \
    at += n - 4;                                                                                        \
    if (listed_src) d += (n - 4) * step; else s += (n - 4) * step;                                      \
    K_ENTRIES_FOUR(listed_src);                                                                         \
    return LADING_OK;                                                                                   \
  }                                                                                                     \
  if (K_FOURS) {                                                                                        \
    K_ENTRIES_FEW(listed_src)                                                                           \
    return LADING_OK;                                                                                   \
  }                                                                                                     \
  for (; n > 0; n--, at++) {                                                                            \
    K_ENTRY(0, listed_src);                                                                             \
    if (listed_src) d += step; else s += step;                                                          \
  }                                                                                                     \
  return LADING_OK;

#endif
