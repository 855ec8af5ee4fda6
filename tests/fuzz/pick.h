// Which operator two bytes of an input stand for: the one whose name's hash comes next on a circle
// of 65,536 places. A new row takes over few inputs, so that what a corpus keeps because it once
// crashed goes on calling the operator that it crashed.
#ifndef FUZZ_PICK_H
#define FUZZ_PICK_H

#include "base/hash.h"
#include "ops/op.h"

// `fits` NULL: any operator will do.
static inline const sc_op *pick_op(uint8_t high, uint8_t low, bool (*fits)(const sc_op *op)) {
    static uint16_t places[SC_OP_COUNT];
    static bool are_known;
    const sc_op *best = NULL;
    uint16_t wanted = (uint16_t)(high << 8 | low), least = UINT16_MAX;
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
