// What kernels and expansions of embedding bags have to agree on.
#ifndef SC_BAG_H
#define SC_BAG_H

#include "core/dtype.h"

// How the rows of a bag become one: PyTorch's numbers.
enum { SC_BAG_SUM, SC_BAG_MEAN, SC_BAG_MAX };

// Where the offsets say where the last bag ends, indices behind that are of it nevertheless, says
// PyTorch; but not to its quick way of adding up, which stops there, and divides by all of them.
// Does it go that way?
static inline bool sc_bag_stops_at_end(int64_t mode, sc_dtype weight, int64_t padding) {
    return mode != SC_BAG_MAX && weight != SC_DTYPE_F64 && padding < 0;
}

#endif
