// Embedding bags: the facts on which kernels and expansions agree. Prefix: sc_bag_, rules of
// embedding bags.
#ifndef SC_BAG_H
#define SC_BAG_H

#include "core/dtype.h"

// How the rows of a bag become one: PyTorch's numbers.
enum { SC_BAG_SUM, SC_BAG_MEAN, SC_BAG_MAX };

// Does PyTorch sum this bag in its quick way? If offsets give the end of the last bag, PyTorch also
// counts the indices behind that end. Its quick way does not sum them, but divides by all of them.
static inline bool sc_bag_stops_at_end(int64_t mode, sc_dtype weight, int64_t padding) {
    return mode != SC_BAG_MAX && weight != SC_DTYPE_F64 && padding < 0;
}

#endif
