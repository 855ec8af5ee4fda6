// Weights in the order of kernels, as packed files keep them (load/packed_file.c). Loading and
// backends read them instead of packing. Prefix: sc_rt_saved_ finds and reads the weights of one
// call.
#ifndef SC_RT_SAVED_H
#define SC_RT_SAVED_H

#include "base/source.h"

typedef struct sc_rt_packed_file sc_rt_packed_file;

// The call that weights were packed for.
typedef struct sc_rt_saved_key {
    uint32_t method;
    uint32_t delegate;  // its number in the method plus 1; 0: an instruction of the method itself
    uint32_t call;      // number of the instruction, or the delegate's own number
} sc_rt_saved_key;

typedef struct sc_rt_saved {
    sc_rt_saved_key key;
    sc_str variant;   // how they were packed
    uint64_t offset;  // in the file, at least 64; equal for calls that share their weights
    uint64_t size, sum;
} sc_rt_saved;

// The order of the keys in a file: below 0, 0 or above it.
int sc_rt_saved_compare(const sc_rt_saved_key *a, const sc_rt_saved_key *b);
// NULL if the file has none for the call; `file` may be NULL.
const sc_rt_saved *sc_rt_saved_find(const sc_rt_packed_file *file, sc_rt_saved_key key);
// SC_ERR_VERSION if they were packed in another way than this build packs them.
sc_status sc_rt_saved_check(sc_ctx *ctx, const sc_rt_saved *saved, const char *variant,
                            uint64_t size);
// Reads `size` bytes. SC_ERR_CORRUPT if their sum is wrong.
sc_status sc_rt_saved_read(sc_ctx *ctx, const sc_rt_packed_file *file, const sc_rt_saved *saved,
                           void *out);

#endif
