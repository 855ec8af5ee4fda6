// The dtypes that an operator's kernel takes and gives, parsed from the kernel column (takes.c).
// Prefix: sc_takes_, questions about those dtypes.
#ifndef SC_TAKES_H
#define SC_TAKES_H

#include "ops/op.h"

enum { SC_TAKES_MAX = 4 };  // words of a column: the last stands for the operands that follow

// How an operand's dtype is judged. takes.c has a word for each.
typedef enum sc_taking {
    SC_TAKES_THESE,
    SC_TAKES_SAME,
    SC_TAKES_CAST,
    SC_TAKES_TARGET,
    SC_TAKES_BIAS
} sc_taking;

typedef struct sc_taken {
    uint32_t dtypes;  // a bit for each sc_dtype
    uint8_t how;      // sc_taking
} sc_taken;

typedef struct sc_takes {
    sc_taken operands[SC_TAKES_MAX];
    uint32_t count;  // 0: of runtime primitives, which take numbers and no tensors
    uint32_t gives;  // dtypes of results; 0: no limit
} sc_takes;

// False when the text is not such a column.
bool sc_takes_parse(const char *text, sc_takes *out);

// Is there a kernel here that takes the dtype as its first tensor?
bool sc_op_takes(const sc_op *op, sc_dtype dtype);

#endif
