/* Karp-Rabin words over 64-bit letters, and ids made of them. */
#define XXH_INLINE_ALL
#include "base_hash.h"

#include <xxhash.h>

static const uint64_t base[2] = { 0x13198a2e03707344, 0x0a4093822299f31d };
static const uint64_t high[2] = { 0x082efa98ec4e6c89, 0x1528e638d01377be }; /* what the high half of a letter counts */

const ldg_word ldg_word_empty = { { 0, 0 }, { 1, 1 } };

ldg_word ldg_word_letter(uint64_t letter) {
  ldg_word w;
  for (int k = 0; k < 2; k++) {
    w.h[k] = ldg_word_fold((letter & UINT32_MAX) + ldg_word_times(letter >> 32, high[k]));
    w.power[k] = base[k];
  }
  return w;
}

lading_id ldg_word_id(uint64_t version, int64_t length, int64_t more, const uint64_t h[2]) {
  const uint64_t field[5] = { version, (uint64_t)length, (uint64_t)more, h[0], h[1] };
  unsigned char key[40];
  for (int i = 0; i < 40; i++) key[i] = (unsigned char)(field[i / 8] >> (i % 8 * 8));
  const XXH128_hash_t id = XXH3_128bits(key, sizeof key);
  return (lading_id){ { id.low64, id.high64 } };
}
