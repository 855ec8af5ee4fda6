// Attention as plain numbers: out = softmax(scale q k^T + mask) v, for each item of a batch. The
// scores are never written out. Tiles of queries pass over blocks of keys, and each query keeps the
// maximum and the sum of its scores so far.
//
// Blocks of keys that the mask excludes for all queries of a tile are not read, and neither are the
// keys behind the last one that counts. So of a cache only the used part is read, and infinities
// and NaN in the rest have no effect. Prefix: sc_attention_ reads the record of an attention.
#ifndef SC_ATTENTION_H
#define SC_ATTENTION_H

#include "base/base.h"

enum { SC_ATTENTION_FACTORS = 4 };

// The places of the items of a batch: their index in mixed radix, the last factor counting fastest.
// A step of 0 shares numbers, such as heads of keys among heads of queries. Steps count elements.
typedef struct sc_attention_items {
    uint32_t count;
    int64_t sizes[SC_ATTENTION_FACTORS], steps[SC_ATTENTION_FACTORS];
} sc_attention_items;

// A matrix for each item.
typedef struct sc_attention_matrix {
    const float *data;
    sc_attention_items items;
    int64_t row, column;
    // Numbers that are no floats are not in `data`. Reads `count` of them from `offset` on,
    // `column` apart. NULL: they are floats.
    void (*read)(const struct sc_attention_matrix *m, int64_t offset, int64_t count, float *to);
    const void *source;  // the reader's own
} sc_attention_matrix;

typedef struct sc_attention {
    int64_t items, queries, keys, depth, width;
    // [queries, depth], [keys, depth], [keys, width]; `mask` is added to scores, [queries, keys],
    // and without data it is absent.
    sc_attention_matrix q, k, v, mask;
    float *out;  // [queries, width], any strides; must not overlap an operand
    sc_attention_items out_items;
    int64_t out_row, out_column;
    // Results that are no floats are not in `out`. Writes `width` of them, `out_column` apart.
    void (*write)(const struct sc_attention *a, int64_t offset, const float *from);
    const void *sink;  // the writer's own
    // Rounds weights to the precision that values have; NULL: that of floats.
    void (*round)(float *weights, int64_t count);
    float scale;
    int64_t seen;  // keys that the first query sees, and each next query one more; 0: all
    // Results of queries without any key, whose scores are all -inf: zeros, else NaN.
    bool is_safe;
    // For sc_attention_weigh, [queries, keys] and contiguous along keys, at the places of `out`.
    // They may be the same memory, or that of the mask.
    float *scores, *weights;
} sc_attention;

// Bytes that a run may use, for each thread. Larger sizes never need less.
uint64_t sc_attention_scratch_bytes(const sc_attention *a);
// Shares tiles among threads; `scratch` is the caller's, 64-byte aligned. Results do not depend on
// threads.
void sc_attention_run(const sc_attention *a, void *scratch);
// Writes scores, with the mask, and weights, which are softmax(scores). Values and `out` are not
// used: `width` is 0, and the items of `v` are those of `k`. Keys that are not read have the score
// -inf. Weights of queries without any key are NaN.
void sc_attention_weigh(const sc_attention *a, void *scratch);

#endif
