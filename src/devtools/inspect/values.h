// Values as numbers, and the difference between two of them. They come from a dump's debug buffer,
// a record's reference outputs, or a run of the reference.
// Prefix: sc_numbers_ is a value, sc_gap_ the difference between two.
#ifndef SC_INSPECT_VALUES_H
#define SC_INSPECT_VALUES_H

#include "devtools/inspect/etdump_read.h"
#include "format/json.h"

typedef struct sc_numbers {
    sc_dump_value_kind kind;  // not TENSOR_LIST: a list is several of these
    uint8_t dtype;            // TENSOR
    uint32_t rank;
    const int64_t *sizes;
    uint64_t count;
    const double *data;  // in row-major order; NULL: not available, or no elements
} sc_numbers;

typedef struct sc_numbers_list {
    const sc_numbers *items;
    uint32_t count;
} sc_numbers_list;

// Reads a logged value, or each tensor of a list. Elements are on `arena`.
sc_status sc_numbers_of(sc_ctx *ctx, sc_arena *arena, const sc_dump_value *value,
                        sc_numbers_list *out);
// Reads the values of an event one after the other.
sc_status sc_numbers_of_all(sc_ctx *ctx, sc_arena *arena, const sc_dump_value *const *values,
                            uint32_t count, sc_numbers_list *out);
// True if both have the same rank and sizes.
bool sc_numbers_same_shape(const sc_numbers *a, const sc_numbers *b);
// Writes it as the interface's LoggedValue. With `has_place` the place of its elements in memory is
// written, too ("at", "elements").
void sc_numbers_put(sc_json_writer *w, const sc_numbers *value, bool has_place);

typedef struct sc_gap {
    double snr, mse, l1, cosine, max;
} sc_gap;

// Measures the gap between `found` and `reference`. If one of the two has a NaN, then in that one
// NaN counts as 0, and an infinity as the largest number. Otherwise infinities stay. False if the
// two cannot be compared: other shapes, or elements that are not available.
bool sc_gap_of(const sc_numbers *reference, const sc_numbers *found, sc_gap *out);
// Writes an object with the five measures. A number that is not finite is written as text.
void sc_gap_put(sc_json_writer *w, const sc_gap *gap);

#endif
