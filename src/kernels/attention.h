// The kernel of attention that loading puts in the place of its parts: products, a softmax, and
// changes of shape, which it never carries out. It takes (query, key, value, mask, out), or no
// mask. Prefix: sc_attention_ describes how the operands of a call become matrices.
#ifndef SC_KERNELS_ATTENTION_H
#define SC_KERNELS_ATTENTION_H

#include "kernels/kernel.h"

typedef enum sc_attention_change {
    SC_ATTENTION_VIEW,  // other sizes, the same order
    SC_ATTENTION_LIFT,  // a dim of size 1 at `dims[0]`
    SC_ATTENTION_PERMUTE,
    SC_ATTENTION_EXPAND  // leading dims, and dims of size 1, are repeated
} sc_attention_change;

// One change of shape. Sizes may be computed in each run.
typedef struct sc_attention_step {
    uint8_t change;  // sc_attention_change
    uint8_t rank;    // of the result
    uint8_t dims[SC_RANK_MAX];
    const sc_evalue *sizes;     // a list that runs compute; NULL: they are `most`. -1: the rest of
                                // the elements, or the size as it was
    int64_t most[SC_RANK_MAX];  // the largest that sizes may be
} sc_attention_step;

enum { SC_ATTENTION_STEPS = 10 };

typedef struct sc_attention_path {
    uint32_t count;
    sc_attention_step steps[SC_ATTENTION_STEPS];
} sc_attention_path;

// The operands become [items, queries, depth], [items, depth, keys] and [items, keys, width] by
// their paths.
typedef struct sc_attention_form {
    sc_attention_path query, key, value;
    // The view of scores [items, queries, keys] to which the mask is broadcast, and of whose last
    // dim softmax is taken; rank 0: themselves.
    sc_attention_step shape;
    // The result is this permutation of this view of [items, queries, width]; ranks of 0: it is
    // not changed.
    sc_attention_step view, order;
    float scale;
    bool has_mask;
    bool is_safe;  // rows of scores that are all -inf give zeros
} sc_attention_form;

extern const sc_kernel sc_k_attention;
// Takes (scores, weights, out): weights, but zeros in rows whose scores are all -inf. The result
// may lie where one of them is.
extern const sc_kernel sc_k_masked_rows;
bool sc_masked_rows_fit(const sc_kernel_call *call);
// Can the kernel compute the call with the largest sizes, which its operands have at load?
bool sc_attention_fits(const sc_kernel_call *call);

#endif
