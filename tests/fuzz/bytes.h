// How the fuzzers that make things up read their input: a byte at a time, zeros once it is used up,
// and operators by place.
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include "base/hash.h"
#include "ops/op.h"

typedef struct byte_stream {
    const uint8_t *data;
    size_t size, at;
    uint32_t random;  // of next_noise: elements need not come from the input
} byte_stream;

static inline uint8_t next_byte(byte_stream *b) { return b->at < b->size ? b->data[b->at++] : 0; }

static inline uint32_t next_noise(byte_stream *b) {
    b->random = b->random * 1664525u + 1013904223u;
    return b->random >> 8;
}

// The operator whose name's hash comes next on a circle of 65,536 places. A new row takes over few
// inputs, so that what a corpus keeps because it once crashed goes on calling the operator that it
// crashed. `fits` NULL: any operator will do.
static inline const sc_op *next_op(byte_stream *b, bool (*fits)(const sc_op *op)) {
    static uint16_t places[SC_OP_COUNT];
    static bool are_known;
    const sc_op *best = NULL;
    uint16_t wanted = (uint16_t)(next_byte(b) << 8), least = UINT16_MAX;
    wanted |= next_byte(b);
    for (uint32_t id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        if (!are_known) places[id] = (uint16_t)sc_hash64(op->name, strlen(op->name));
        uint16_t away = (uint16_t)(places[id] - wanted);
        if ((fits && !fits(op)) || (best && away >= least)) continue;
        least = away;
        best = op;
    }
    are_known = true;
    return best;
}

#endif
