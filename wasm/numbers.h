// Values as numbers, which is how they cross the border.
#ifndef NUMBERS_H
#define NUMBERS_H

#include "core/spec.h"
#include "sconce.h"

enum { NUMBERS_SIZES = 8, NUMBERS_DIM_ORDER = NUMBERS_SIZES + SC_RANK_MAX };

// Writes the 40 numbers of run_output.
static inline void put_io(const sc_io *io, double *numbers) {
    bool is_text = io->kind == SC_KIND_STRING;
    numbers[0] = io->kind;
    numbers[1] = (double)(uint32_t)io->i;
    numbers[2] = (double)(int32_t)(io->i >> 32);
    numbers[3] = io->d;
    numbers[4] = io->dtype;
    numbers[5] = io->rank;
    numbers[6] = (double)(uintptr_t)(is_text ? (const void *)io->str.data : io->data);
    numbers[7] = (double)(is_text ? io->str.size : io->bytes);
    for (uint32_t d = 0; d < io->rank; d++) {
        numbers[NUMBERS_SIZES + d] = (double)io->sizes[d];
        numbers[NUMBERS_DIM_ORDER + d] = io->dim_order[d];
    }
}

#endif
