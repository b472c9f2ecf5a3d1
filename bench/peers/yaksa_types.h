/* yaksa_types: builds types for Yaksa, or for what offers its interface. */
#ifndef LBENCH_YAKSA_TYPES_H
#define LBENCH_YAKSA_TYPES_H

#include "type_text.h"

extern const type_maker yaksa_maker; /* knows no darray */

#endif
