// Operators that only move elements.
#include <math.h>

#include "backends/xnnpack/aot/rule.h"

// --- Copies --------------------------------------------------------------------------------------

static bool check_copy(sc_xa *x, const sc_node *node) {
    (void)x;
    (void)node;
    return true;
}

static sc_status make_copy(sc_xa_maker *m, const sc_node *node) {
    const sc_value *input = node->args[0].value, *output = node->outs[0];
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    sc_xa_constant constant;
    uint32_t id;
    if (sc_xa_constant_of(output, &constant)) return SC_OK;  // made on demand
    SC_TRY(sc_xa_want(m, input, layout, &id));
    if (input->spec.dtype == output->spec.dtype)
        sc_xa_alias(m, output, input);
    else
        sc_xa_add(m, SC_XNN_CONVERT, id, sc_xa_define(m, output, layout));
    return SC_OK;
}

// --- Views ---------------------------------------------------------------------------------------

// An expansion repeats elements along a dim. One such dim, with few repetitions, becomes a
// concatenation of that many copies. NOTHING: all elements come once, in their order.
enum { NOTHING = -1, TOO_MUCH = -2 };

static int32_t repeated_dim(const sc_node *node) {
    const sc_spec *in = &node->args[0].value->spec, *out = &node->outs[0]->spec;
    const uint32_t more = out->rank - in->rank;
    int32_t found = NOTHING;
    if (sc_op_param_index(node->op, "implicit") < 0) return NOTHING;
    for (uint32_t d = 0; d < out->rank; d++) {
        const sc_dim from = d < more ? sc_dim_int(1) : in->sizes[d - more], to = out->sizes[d];
        if (sc_dim_equal(from, to)) continue;
        if (found != NOTHING || !sc_dim_is(from, 1) || !sc_dim_is_int(to) ||
            to.value > SC_XNN_INPUTS_MAX)
            return TOO_MUCH;
        found = (int32_t)d;
    }
    return found;
}

static bool check_reshape(sc_xa *x, const sc_node *node) {
    sc_xa_tail tail;
    if (repeated_dim(node) == TOO_MUCH)
        return sc_xa_refuse(x, "Leave out the expansion if the next operator broadcasts.",
                            "it repeats elements more than %d times or along several dimensions",
                            SC_XNN_INPUTS_MAX);
    if (sc_xa_dynamic_dims(node->outs[0]) > 1 &&
        !sc_xa_shape_equal(node->args[0].value, node->outs[0]))
        return sc_xa_refuse(
            x, "Fix all sizes but one.",
            "more than one size of its result is dynamic, and XNNPACK can derive only one");
    if (repeated_dim(node) == NOTHING) sc_xa_is_quantized(x, node, SC_XA_ALIKE, &tail);
    return true;
}

// Works with 8-bit integers if possible, for operands and results.
typedef struct ends {
    const sc_value *in, *out;
} ends;

static ends ends_of(sc_xa_maker *m, const sc_node *node) {
    sc_xa_tail tail;
    if (node->out_count != 1 || !sc_xa_is_quantized(&m->x, node, SC_XA_ALIKE, &tail))
        return (ends){node->args[0].value, node->outs[0]};
    sc_xa_absorb(m, tail.quantize);
    return (ends){node->args[0].value->node->args[0].value, tail.quantize->outs[0]};
}

static const uint8_t joining[] = {SC_XNN_CONCATENATE2, SC_XNN_CONCATENATE3, SC_XNN_CONCATENATE4,
                                  SC_XNN_CONCATENATE5};

static sc_status make_repeat(sc_xa_maker *m, const sc_node *node, uint32_t dim) {
    const sc_value *in = node->args[0].value, *out = node->outs[0];
    const uint32_t times = sc_xa_size(out, dim);
    bool dynamic[SC_XNN_RANK_MAX];
    uint32_t id;
    SC_TRY(sc_xa_want(m, in, SC_XA_PLAIN, &id));
    if (in->spec.rank != out->spec.rank) {
        sc_xnn_shape shape;
        sc_xa_shape(out, SC_XA_PLAIN, &shape);
        shape.dims[dim] = 1;
        const uint32_t once = sc_xa_between(m, id, &shape);
        sc_xa_dynamic_of(out, SC_XA_PLAIN, dynamic);
        SC_TRY(sc_xa_add_reshape(m, id, once, dynamic));
        id = once;
    }
    const uint32_t joined = sc_xa_define(m, out, SC_XA_PLAIN);
    sc_xnn_node *made = sc_xa_add(m, (sc_xnn_kind)joining[times - 2], id, joined);
    for (uint32_t i = 1; i < times; i++) made->inputs[i] = id;
    made->axis = dim;
    return SC_OK;
}

// --- Larger images -------------------------------------------------------------------------------

// Nearest neighbours by whole factors: each pixel, then each row, is joined with itself.
static bool factors_of(const sc_node *node, uint32_t *factors) {
    const sc_spec *in = &node->args[0].value->spec, *out = &node->outs[0]->spec;
    const sc_arg *given = sc_xa_arg(node, "scale_factors");
    if (!sc_dim_is_int(in->sizes[1])) return false;
    if (given->kind == SC_ARG_LIST && given->count != 2) return false;
    for (uint32_t i = 0; i < 2; i++) {
        const sc_dim from = in->sizes[2 + i], to = out->sizes[2 + i];
        if (!sc_dim_is_int(from) || !sc_dim_is_int(to) || to.value % from.value != 0 ||
            to.value / from.value > SC_XNN_INPUTS_MAX)
            return false;
        factors[i] = (uint32_t)(to.value / from.value);
        if (given->kind != SC_ARG_LIST) continue;
        const sc_arg *factor = &given->items[i];
        const double scale = factor->kind == SC_ARG_FLOAT ? factor->f : (double)factor->i;
        if (scale != (double)factors[i]) return false;
    }
    return true;
}

static bool check_nearest(sc_xa *x, const sc_node *node) {
    uint32_t factors[2];
    sc_xa_tail tail;
    if (!factors_of(node, factors))
        return sc_xa_refuse(x, "Resize fixed sizes by 2 to 5, or bilinearly.",
                            "it does not enlarge an image of known size by whole factors up to %d",
                            SC_XNN_INPUTS_MAX);
    sc_xa_is_quantized(x, node, SC_XA_ALIKE, &tail);
    return true;
}

// Reads `id` as items of that many elements, and repeats each item `times` in a row.
static sc_status repeat_items(sc_xa_maker *m, const sc_xnn_shape *image, bool is_dynamic,
                              uint32_t elements, uint32_t times, uint32_t *id) {
    const bool dynamic[SC_XNN_RANK_MAX] = {is_dynamic};
    sc_xnn_shape shape = {3, {1, 1, elements}};
    uint64_t total;
    if (times == 1) return SC_OK;
    sc_xnn_numel(image, &total);
    shape.dims[0] = (uint32_t)(total / elements);
    const uint32_t items = sc_xa_between(m, *id, &shape);
    SC_TRY(sc_xa_add_reshape(m, *id, items, dynamic));
    shape.dims[1] = times;
    *id = sc_xa_between(m, items, &shape);
    sc_xnn_node *made = sc_xa_add(m, (sc_xnn_kind)joining[times - 2], items, *id);
    for (uint32_t i = 1; i < times; i++) made->inputs[i] = items;
    made->axis = 1;
    return SC_OK;
}

static sc_status make_nearest(sc_xa_maker *m, const sc_node *node) {
    uint32_t factors[2], id;
    bool dynamic[SC_XNN_RANK_MAX];
    const ends e = ends_of(m, node);
    SC_TRY(sc_xa_want(m, e.in, SC_XA_CHANNELS_LAST, &id));
    if (!factors_of(node, factors))
        return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL, "the factors are not whole after all");
    sc_xnn_shape image = m->graph->values.data[id].shape;
    sc_xa_dynamic_of(e.out, SC_XA_CHANNELS_LAST, dynamic);
    const uint32_t pixel = image.dims[3];
    SC_TRY(repeat_items(m, &image, dynamic[0], pixel, factors[1], &id));
    image.dims[2] *= factors[1];
    SC_TRY(repeat_items(m, &image, dynamic[0], image.dims[2] * pixel, factors[0], &id));
    return sc_xa_add_reshape(m, id, sc_xa_define(m, e.out, SC_XA_CHANNELS_LAST), dynamic);
}

// --- Reshaping -----------------------------------------------------------------------------------

static sc_status make_reshape(sc_xa_maker *m, const sc_node *node) {
    const int32_t repeated = repeated_dim(node);
    if (repeated >= 0) return make_repeat(m, node, (uint32_t)repeated);
    const ends e = ends_of(m, node);
    bool dynamic[SC_XNN_RANK_MAX];
    uint32_t id;
    if (sc_xa_shape_equal(e.in, e.out)) {
        SC_TRY(sc_xa_want(m, e.in, SC_XA_PLAIN, &id));
        sc_xa_alias(m, e.out, e.in);
        return SC_OK;
    }
    SC_TRY(sc_xa_want_flat(m, e.in, &id));
    sc_xa_dynamic_of(e.out, SC_XA_PLAIN, dynamic);
    return sc_xa_add_reshape(m, id, sc_xa_define(m, e.out, SC_XA_PLAIN), dynamic);
}

// --- Permutations --------------------------------------------------------------------------------

static bool check_permute(sc_xa *x, const sc_node *node) {
    sc_xa_tail tail;
    if (sc_xa_is_widened(node->args[0].value))
        return sc_xa_refuse(x, NULL, "it moves integers of few bits that kernels use in place");
    sc_xa_is_quantized(x, node, SC_XA_ALIKE, &tail);
    return true;
}

// Goes from a layout in which the source exists to the requested one. Often no element has to move.
static sc_status make_permute(sc_xa_maker *m, const sc_node *node) {
    sc_xa_constant constant;
    uint32_t order[SC_RANK_MAX], perm[SC_XNN_RANK_MAX], id;
    if (sc_xa_constant_of(node->outs[0], &constant)) return SC_OK;  // made on demand
    const ends e = ends_of(m, node);
    const uint32_t rank = e.in->spec.rank;
    const sc_xa_layout to = sc_xa_layout_of(m, node);
    const bool is_last = rank == 4 && !sc_xa_is_there(m, e.in, SC_XA_PLAIN) &&
                         sc_xa_is_there(m, e.in, SC_XA_CHANNELS_LAST);
    const sc_xa_layout from = is_last ? SC_XA_CHANNELS_LAST : SC_XA_PLAIN;
    bool same = true;
    if (!sc_node_permutation(node, order))
        return sc_fail(m->x.ctx, SC_ERR_DELEGATE, NULL, "the order of dimensions is not known");
    for (uint32_t d = 0; d < rank; d++) {
        const uint32_t place = sc_xa_place(rank, to, d);
        perm[place] = sc_xa_place(rank, from, order[d]);
    }
    for (uint32_t d = 0; d < rank; d++) same = same && perm[d] == d;
    SC_TRY(sc_xa_want(m, e.in, from, &id));
    if (same) return sc_xa_stand_for(m, e.out, to, id);
    sc_xnn_node *made = sc_xa_add(m, SC_XNN_TRANSPOSE, id, sc_xa_define(m, e.out, to));
    made->lists[0] = sc_xa_list(m, perm, rank);
    return SC_OK;
}

// --- Slices --------------------------------------------------------------------------------------

static bool check_slice(sc_xa *x, const sc_node *node) {
    sc_xa_tail tail;
    const sc_value *input = node->args[0].value;
    const uint32_t rank = input->spec.rank;
    const int64_t dim = sc_xa_dim(sc_xa_int(node, "dim"), rank);
    if (dim < 0 || dim >= rank) return sc_xa_refuse(x, NULL, "its dimension is not known");
    if (!sc_dim_is_int(input->spec.sizes[dim]))
        return sc_xa_refuse(
            x, "Export it with fixed sizes.",
            "it slices a dimension of dynamic size, and XNNPACK's slices are fixed");
    if (!sc_xa_is_static(input) && x->runtime < SC_XNN_RUNTIME_1_5)
        return sc_xa_refuse(x, "Set the target runtime to 1.5 or later.",
                            "it slices a tensor of dynamic sizes, and the target runtime's slices "
                            "are fixed");
    if (node->outs[0]->spec.rank < rank && sc_xa_dynamic_dims(node->outs[0]) > 1)
        return sc_xa_refuse(
            x, "Fix all sizes but one.",
            "more than one size of its result is dynamic, and XNNPACK can derive only one");
    if (sc_op_param_index(node->op, "step") >= 0 && sc_xa_int(node, "step") != 1)
        return sc_xa_refuse(x, NULL, "its step is %lld, and XNNPACK slices only in steps of 1",
                            (long long)sc_xa_int(node, "step"));
    if (node->out_count == 1) sc_xa_is_quantized(x, node, SC_XA_ALIKE, &tail);
    return true;
}

// The start of the first result.
static int64_t slice_start(const sc_node *node, int64_t size) {
    const bool selects = sc_op_param_index(node->op, "index") >= 0;
    int64_t start = sc_xa_int(node, selects ? "index" : "start");
    if (start < 0) start += size;
    return start < 0 ? 0 : start;
}

static sc_status make_slice(sc_xa_maker *m, const sc_node *node) {
    const ends e = ends_of(m, node);
    const uint32_t rank = e.in->spec.rank;
    const uint32_t dim = (uint32_t)sc_xa_dim(sc_xa_int(node, "dim"), rank);
    const bool keeps_rank = e.out->spec.rank == rank;
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    const uint32_t place = sc_xa_place(rank, layout, dim);
    int64_t start = slice_start(node, sc_xa_size(e.in, dim));
    uint32_t id;
    SC_TRY(sc_xa_want(m, e.in, layout, &id));
    for (uint32_t i = 0; i < node->out_count; i++) {
        const sc_value *out = node->out_count == 1 ? e.out : node->outs[i];
        const uint32_t size = keeps_rank ? sc_xa_size(out, dim) : 1;
        uint32_t offsets[SC_XNN_RANK_MAX] = {0}, sizes[SC_XNN_RANK_MAX];
        bool dynamic[SC_XNN_RANK_MAX];
        sc_xnn_shape shape;
        offsets[place] = (uint32_t)start;
        start += size;
        if (out->use_count == 0) continue;
        sc_xa_shape(e.in, layout, &shape);
        shape.dims[place] = size;
        const uint32_t piece =
            keeps_rank ? sc_xa_define(m, out, layout) : sc_xa_between(m, id, &shape);
        sc_xnn_node *made = sc_xa_add(m, SC_XNN_SLICE, id, piece);
        made->lists[0] = sc_xa_list(m, offsets, shape.rank);
        sc_xa_dynamic_of(e.in, layout, dynamic);
        for (uint32_t d = 0; d < shape.rank; d++) sizes[d] = dynamic[d] ? 0 : shape.dims[d];
        made->lists[1] = sc_xa_list(m, sizes, shape.rank);
        if (!keeps_rank) {
            sc_xa_dynamic_of(out, SC_XA_PLAIN, dynamic);
            SC_TRY(sc_xa_add_reshape(m, piece, sc_xa_define(m, out, SC_XA_PLAIN), dynamic));
        }
    }
    return SC_OK;
}

// --- Concatenation -------------------------------------------------------------------------------

static bool check_cat(sc_xa *x, const sc_node *node) {
    sc_xa_tail tail;
    const sc_arg *list = &node->args[0];
    const uint32_t rank = node->outs[0]->spec.rank;
    if (list->kind != SC_ARG_LIST || list->count == 0)
        return sc_xa_refuse(x, NULL, "it joins no tensors");
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].kind != SC_ARG_VALUE || list->items[i].value->spec.rank != rank)
            return sc_xa_refuse(x, NULL, "its tensors differ in their number of dimensions");
    sc_xa_is_quantized(x, node, SC_XA_ALIKE, &tail);
    return true;
}

static sc_status make_cat(sc_xa_maker *m, const sc_node *node) {
    sc_xa_tail tail;
    const sc_arg *list = &node->args[0];
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    const uint32_t rank = node->outs[0]->spec.rank;
    const uint32_t axis =
        sc_xa_place(rank, layout, (uint32_t)sc_xa_dim(sc_xa_int(node, "dim"), rank));
    const bool quantized = sc_xa_is_quantized(&m->x, node, SC_XA_ALIKE, &tail);
    const sc_value *output = quantized ? tail.quantize->outs[0] : node->outs[0];
    uint32_t *ids = sc_new_array(m->x.ctx->scratch, uint32_t, list->count);
    if (quantized) sc_xa_absorb(m, tail.quantize);
    for (uint32_t i = 0; i < list->count; i++) {
        const sc_value *input = list->items[i].value;
        if (quantized) input = input->node->args[0].value;
        SC_TRY(sc_xa_want(m, input, layout, &ids[i]));
    }
    if (list->count == 1) return sc_xa_stand_for(m, output, layout, ids[0]);
    // Joins five at a time: the result so far, and the next ones.
    uint32_t done = 0, joined = SC_XNN_NONE;
    while (done < list->count) {
        uint32_t inputs[SC_XNN_INPUTS_MAX], count = 0;
        sc_xnn_shape shape;
        sc_xa_shape(output, layout, &shape);
        if (joined != SC_XNN_NONE) inputs[count++] = joined;
        while (count < SC_XNN_INPUTS_MAX && done < list->count) inputs[count++] = ids[done++];
        shape.dims[axis] = 0;
        for (uint32_t i = 0; i < count; i++)
            shape.dims[axis] += m->graph->values.data[inputs[i]].shape.dims[axis];
        joined = done == list->count ? sc_xa_define(m, output, layout)
                                     : sc_xa_between(m, inputs[0], &shape);
        sc_xnn_node *made = sc_xa_add(m, (sc_xnn_kind)joining[count - 2], inputs[0], joined);
        for (uint32_t i = 1; i < count; i++) made->inputs[i] = inputs[i];
        made->axis = axis;
    }
    return SC_OK;
}

// --- Padding -------------------------------------------------------------------------------------

static int32_t paddings_of(const sc_node *node, int64_t *out) {
    return sc_xa_ints(node, "pad", out, 2 * SC_XNN_RANK_MAX, 0);
}

static bool check_pad(sc_xa *x, const sc_node *node) {
    sc_xa_tail tail;
    int64_t pads[2 * SC_XNN_RANK_MAX];
    double value = 0;
    const int32_t count = paddings_of(node, pads);
    if (count < 0)
        return sc_xa_refuse(x, "Export it with fixed sizes.",
                            "its paddings are computed when the program runs");
    for (int32_t i = 0; i < count; i++)
        if (pads[i] < 0 || pads[i] > INT32_MAX)
            return sc_xa_refuse(x, "Slice instead.",
                                "a padding is negative, and XNNPACK's paddings cannot be");
    sc_xa_number(node, "value", &value);
    if (isnan(value)) return sc_xa_refuse(x, NULL, "it pads with NaN");
    sc_xa_is_quantized(x, node, SC_XA_ALIKE, &tail);
    return true;
}

bool sc_xa_pad_of(const sc_value *value, sc_xa_pad_sides *out) {
    int64_t pads[2 * SC_XNN_RANK_MAX] = {0};
    double filler = 0;
    if (!value->node || !sc_xa_is(value->node, &sc_xa_pad) || value->use_count != 1) return false;
    sc_xa_number(value->node, "value", &filler);
    const int32_t count = paddings_of(value->node, pads);
    const bool is_image = value->spec.rank == 4;
    if (filler != 0 || count < 0 || count > (is_image ? 4 : 2) || value->spec.rank < 3)
        return false;
    for (int32_t i = 0; i < count; i++)
        if (pads[i] < 0 || pads[i] > INT32_MAX) return false;
    *out = (sc_xa_pad_sides){.node = value->node,
                             .left = (uint32_t)pads[0],
                             .right = (uint32_t)pads[1],
                             .top = (uint32_t)pads[2],
                             .bottom = (uint32_t)pads[3]};
    return true;
}

static sc_status make_pad(sc_xa_maker *m, const sc_node *node) {
    int64_t pads[2 * SC_XNN_RANK_MAX];
    sc_xa_pad_sides sides;
    double value = 0;
    uint32_t before[SC_XNN_RANK_MAX] = {0}, after[SC_XNN_RANK_MAX] = {0}, id;
    const sc_node *user = sc_xa_only_user(node->outs[0]);
    if (user && sc_xa_takes_padding(user) && sc_xa_pad_of(node->outs[0], &sides)) return SC_OK;
    const ends e = ends_of(m, node);
    const sc_xa_layout layout = sc_xa_layout_of(m, node);
    const uint32_t rank = e.in->spec.rank;
    const int32_t count = paddings_of(node, pads);
    for (int32_t i = 0; i < count / 2; i++) {
        const uint32_t place = sc_xa_place(rank, layout, rank - 1 - (uint32_t)i);
        before[place] = (uint32_t)pads[2 * i];
        after[place] = (uint32_t)pads[2 * i + 1];
    }
    SC_TRY(sc_xa_want(m, e.in, layout, &id));
    sc_xa_number(node, "value", &value);
    sc_xnn_node *made = sc_xa_add(m, SC_XNN_PAD, id, sc_xa_define(m, e.out, layout));
    const uint32_t count_of_sizes = m->graph->values.data[id].shape.rank;
    made->lists[0] = sc_xa_list(m, before, count_of_sizes);
    made->lists[1] = sc_xa_list(m, after, count_of_sizes);
    made->value = (float)value;
    return SC_OK;
}

const sc_xa_family sc_xa_copy = {check_copy, make_copy, SC_XA_CASTS, true, 0};
const sc_xa_family sc_xa_reshape = {check_reshape, make_reshape, SC_XA_REALS, false, SC_XA_PLAIN};
const sc_xa_family sc_xa_nearest = {check_nearest, make_nearest, SC_XA_REALS, false,
                                    SC_XA_CHANNELS_LAST};
const sc_xa_family sc_xa_permute = {check_permute, make_permute, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_slice = {check_slice, make_slice, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_cat = {check_cat, make_cat, SC_XA_REALS, true, 0};
const sc_xa_family sc_xa_pad = {check_pad, make_pad, SC_XA_REALS, true, 0};
