// Values as numbers, whatever they come from: the dump's debug buffer, a record's reference
// outputs, a run of the reference; and how far two of them are apart.
// Prefix: sc_numbers_ is a value, sc_gap_ the difference between two.
#ifndef SC_INSPECT_VALUES_H
#define SC_INSPECT_VALUES_H

#include "devtools/inspect/etdump_read.h"
#include "format/json.h"

typedef struct sc_numbers {
    sc_dump_value_kind kind;  // no TENSOR_LIST: a list is several of these
    uint8_t dtype;            // TENSOR
    uint32_t rank;
    const int64_t *sizes;
    uint64_t count;
    const double *data;  // in row-major order; NULL: not at hand, or none
} sc_numbers;

typedef struct sc_numbers_list {
    const sc_numbers *items;
    uint32_t count;
} sc_numbers_list;

// A logged value, one for each tensor of a list. Elements are on `arena`.
sc_status sc_numbers_of(sc_ctx *ctx, sc_arena *arena, const sc_dump_value *value,
                        sc_numbers_list *out);
// The values of an event one after the other.
sc_status sc_numbers_of_all(sc_ctx *ctx, sc_arena *arena, const sc_dump_value *const *values,
                            uint32_t count, sc_numbers_list *out);
// Whether both are of one rank and one size in each dimension.
bool sc_numbers_same_shape(const sc_numbers *a, const sc_numbers *b);
// As the interface's LoggedValue; with `has_place` also where its elements are in memory ("at",
// "elements").
void sc_numbers_put(sc_json_writer *w, const sc_numbers *value, bool has_place);

typedef struct sc_gap {
    double snr, mse, l1, cosine, max;
} sc_gap;

// The gap between `found` and `reference`. If one of the two holds a NaN, it counts as 0 and
// infinities as the largest number, in that one; else infinities stay what they are. False when the
// two cannot be compared: other shapes, or no elements at hand.
bool sc_gap_of(const sc_numbers *reference, const sc_numbers *found, sc_gap *out);
// As an object of the five; what is no finite number stands as text.
void sc_gap_put(sc_json_writer *w, const sc_gap *gap);

#endif
