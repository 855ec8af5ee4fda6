// Writing rows into a cache of keys or values [batch, rows, heads, numbers].
// Prefix: sc_cache_ is one step of such a write.
#ifndef SC_KERNELS_CACHE_H
#define SC_KERNELS_CACHE_H

#include "kernels/kernel.h"

// Writes all rows of the value, from row `start` of the cache on. Sizes have been checked, rows
// have not.
sc_status sc_cache_write(const sc_kernel_call *call, const sc_tensor *value, const sc_tensor *cache,
                         int64_t start);

#endif
