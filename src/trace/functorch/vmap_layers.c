// Batches of matrix products, convolutions, norms and images.
#include "trace/functorch/functorch.h"
#include "trace/words/arithmetic.h"

// The first two dims as one.
static sc_x merged(const sc_functorch_level *v, sc_x x) {
    sc_dim sizes[SC_RANK_MAX];
    const sc_spec *spec = sc_x_spec(x);
    if (spec->rank < 2) return x;
    sizes[0] = sc_trace_mul(v->t, spec->sizes[0], spec->sizes[1]);
    for (uint32_t d = 2; d < spec->rank; d++) sizes[d - 1] = spec->sizes[d];
    return sc_f_reshape(v->t, x, sizes, spec->rank - 1);
}

// Every result in the sizes of a batch of what the node gives.
static sc_x apart(const sc_functorch_level *v, sc_x x) {
    if (x->kind != SC_X_LIST) return sc_functorch_reshape(v, x, &v->node->outs[0]->spec);
    sc_x *items = sc_new_array(v->t->arena, sc_x, x->count + 1);
    for (uint32_t i = 0; i < x->count && i < v->node->out_count; i++)
        items[i] = sc_functorch_reshape(v, x->items[i], &v->node->outs[i]->spec);
    return sc_x_list_of(v->t, items, v->node->out_count);
}

// --- Products -----------------------------------------------------------------------------------

sc_x sc_vmap_matmul(const sc_functorch_level *v, const sc_lifted *a) {
    return sc_f_matmul(v->t, a[0].x, a[1].x);
}

// The batch becomes rows, if everything else is the same for all samples.
static bool adds_to_rows(const sc_lifted *a) {
    const uint32_t rank = sc_functorch_rank(&a[0]);
    return !a[0].batched && !a[2].batched &&
           (rank < 2 || (rank == 2 && sc_dim_is(sc_x_size(a[0].x, 0), 1)));
}

static sc_x times(const sc_functorch_level *v, sc_x x, sc_x factor) {
    if (sc_x_equals(factor, 1)) return x;
    return CALL(v->t, mul_Scalar, x, factor);
}

// (self, mat1, mat2, beta, alpha)
sc_x sc_vmap_addmm(const sc_functorch_level *v, const sc_lifted *a) {
    if (adds_to_rows(a))
        return apart(v, CALL(v->t, addmm, a[0].x, merged(v, a[1].x), a[2].x, a[3].x, a[4].x));
    sc_x product = times(v, sc_f_matmul(v->t, a[1].x, a[2].x), a[4].x);
    const sc_lifted alone = {.x = product, .batched = a[1].batched || a[2].batched};
    if (sc_x_equals(a[3].x, 0)) return sc_functorch_front(v, &alone);
    return sc_f_add(v->t, product, times(v, sc_functorch_ranked(v, &a[0], 2), a[3].x));
}

// --- Convolution --------------------------------------------------------------------------------

// Weights of their own for each sample: as many times the groups, each of one sample's channels.
static sc_x grouped(const sc_functorch_level *v, const sc_lifted *a) {
    sc_trace *t = v->t;
    sc_x *args = sc_functorch_args(v, a);
    const sc_spec *out = &v->node->outs[0]->spec;
    if (v->size.expr || a[8].x->kind != SC_X_INT || out->rank < 2) return NULL;
    sc_x input = sc_functorch_move(t, sc_functorch_front(v, &a[0]), 0, 1);
    sc_dim sizes[SC_RANK_MAX];
    const sc_spec *spec = sc_x_spec(input);
    sizes[0] = spec->sizes[0];
    sizes[1] = sc_trace_mul(t, spec->sizes[1], spec->sizes[2]);
    for (uint32_t d = 3; d < spec->rank; d++) sizes[d - 1] = spec->sizes[d];
    args[0] = sc_f_reshape(t, input, sizes, spec->rank - 1);
    args[1] = merged(v, sc_functorch_front(v, &a[1]));
    if (sc_x_is_tensor(a[2].x)) args[2] = merged(v, sc_functorch_front(v, &a[2]));
    args[8] = sc_x_dim(t, sc_trace_mul(t, a[8].x->dim, v->size));
    sc_x x = sc_functorch_call(v, args);
    sizes[0] = out->sizes[0];
    sizes[1] = v->size;
    for (uint32_t d = 1; d < out->rank; d++) sizes[d + 1] = out->sizes[d];
    return sc_functorch_move(t, sc_f_reshape(t, x, sizes, out->rank + 1), 1, 0);
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
sc_x sc_vmap_convolution(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    if (sc_functorch_others(v, a, 1)) return grouped(v, a);
    args[0] = merged(v, a[0].x);
    return apart(v, sc_functorch_call(v, args));
}

// --- Norms --------------------------------------------------------------------------------------

// x * weight + bias, of which each may be missing.
static sc_x affine(const sc_functorch_level *v, sc_x x, sc_x weight, sc_x bias) {
    if (sc_x_is_tensor(weight)) x = sc_f_mul(v->t, x, weight);
    return sc_x_is_tensor(bias) ? sc_f_add(v->t, x, bias) : x;
}

// (input, normalized_shape, weight, bias, eps)
sc_x sc_vmap_layer_norm(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    const uint32_t rank = sc_functorch_rank(&a[0]);
    if (!sc_functorch_others(v, a, 1)) return sc_functorch_call(v, args);
    args[0] = sc_functorch_front(v, &a[0]);
    args[2] = args[3] = X_NONE;
    sc_x x = sc_functorch_call(v, args);
    if (x->kind != SC_X_LIST) return x;
    sc_x weight = sc_functorch_ranked(v, &a[2], rank), bias = sc_functorch_ranked(v, &a[3], rank);
    return X_LIST(v->t, affine(v, x->items[0], weight, bias), x->items[1], x->items[2]);
}

// (input, weight, bias, N, C, HxW, group, eps)
sc_x sc_vmap_group_norm(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    if (sc_functorch_others(v, a, 1) || a[3].x->kind != SC_X_INT) return NULL;
    args[0] = merged(v, a[0].x);
    args[3] = sc_x_dim(v->t, sc_trace_mul(v->t, v->size, a[3].x->dim));
    return apart(v, sc_functorch_call(v, args));
}

// A parameter with one number per channel, broadcast to the channels of a batch of images.
static sc_x by_channel(const sc_functorch_level *v, const sc_lifted *a, uint32_t rank) {
    sc_dim sizes[SC_RANK_MAX + 1];
    const uint32_t from = a->batched ? 2 : 0;
    if (!sc_x_is_tensor(a->x)) return a->x;
    sizes[0] = v->size;
    sizes[1] = sc_dim_int(1);
    sizes[from] = sc_x_size(a->x, -1);
    for (uint32_t d = 2; d < rank; d++) sizes[from + d - 1] = sc_dim_int(1);
    return sc_f_reshape(v->t, a->x, sizes, from + rank - 1);
}

// (input, weight, bias, running_mean, running_var, momentum, eps); the other two results are empty.
sc_x sc_vmap_batch_norm(const sc_functorch_level *v, const sc_lifted *a) {
    sc_trace *t = v->t;
    sc_x *args = sc_functorch_args(v, a), x;
    const uint32_t rank = sc_functorch_rank(&a[0]);
    if (rank < 2 || rank + 1 >= SC_RANK_MAX) return NULL;
    if (!sc_functorch_others(v, a, 1)) {
        args[0] = merged(v, a[0].x);
        x = sc_functorch_call(v, args);
        if (x->kind != SC_X_LIST) return x;
        x = sc_functorch_reshape(v, x->items[0], &v->node->outs[0]->spec);
    } else {
        sc_x centred = sc_functorch_front(v, &a[0]);
        centred = sc_f_sub(t, centred, by_channel(v, &a[3], rank));
        sc_x spread = CALL(t, rsqrt, CALL(t, add_Scalar, by_channel(v, &a[4], rank), a[6].x));
        x = sc_f_mul(t, centred, spread);
        sc_x weight = by_channel(v, &a[1], rank), bias = by_channel(v, &a[2], rank);
        x = affine(v, x, weight, bias);
    }
    sc_x empty = sc_f_zeros(t, sc_x_dims(t, (sc_dim[]){v->size, sc_dim_int(0)}, 2),
                            (sc_dtype)v->node->outs[1]->spec.dtype);
    return X_LIST(t, x, empty, empty);
}

// --- Images -------------------------------------------------------------------------------------

// One image, or several, of channels: with the batch they are several.
sc_x sc_vmap_images(const sc_functorch_level *v, const sc_lifted *a) {
    sc_x *args = sc_functorch_args(v, a);
    if (sc_functorch_others(v, a, 1)) return NULL;
    if (sc_functorch_rank(&a[0]) == 3) return sc_functorch_call(v, args);
    args[0] = merged(v, a[0].x);
    return apart(v, sc_functorch_call(v, args));
}
