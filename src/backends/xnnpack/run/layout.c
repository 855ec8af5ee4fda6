// Finds the values that are images with their channels last, so that a listener sees N, C, H, W as
// the program has them. The file does not say it. Operands and results of convolutions, pools and
// resizes are images. Element-wise nodes, joins, slices and padding turn images into images.
#include "backends/xnnpack/run/delegate.h"
#include "base/sets.h"

static bool is_value(const sc_xnn_operand *o) {
    return o && o->value->shape.rank == 4 && !o->value->constant;
}

static bool makes_images(const sc_xnn_step *s) {
    if (s->runner == &sc_xnn_run_product) return s->node->kind != SC_XNN_FULLY_CONNECTED;
    return s->runner == &sc_xnn_run_pool || s->runner == &sc_xnn_run_argmax_pool ||
           s->runner == &sc_xnn_run_resize || s->node->kind == SC_XNN_GLOBAL_AVERAGE;
}

static bool keeps_places(const sc_xnn_step *s) {
    return s->runner == &sc_xnn_run_elements || s->runner == &sc_xnn_run_convert ||
           s->runner == &sc_xnn_run_softmax || s->runner == &sc_xnn_run_slice ||
           s->runner == &sc_xnn_run_pad || s->runner == &sc_xnn_run_concatenate ||
           s->node->kind == SC_XNN_COPY;
}

// All of a node's operands are of one kind.
static void join(const sc_xnn_step *s, uint32_t *sets) {
    for (uint32_t i = 0; i < SC_XNN_INPUTS_MAX && is_value(s->out[0]); i++)
        if (is_value(s->in[i])) sc_sets_join(sets, s->node->inputs[i], s->node->outputs[0]);
}

static void mark(sc_xnn_delegate *d, const sc_xnn_step *s, uint32_t *sets) {
    // A product's filter and bias are no images, even if they are computed.
    if (is_value(s->in[0])) d->images[sc_sets_root(sets, s->node->inputs[0])] = true;
    for (uint32_t k = 0; k < SC_XNN_OUTPUTS_MAX; k++)
        if (is_value(s->out[k])) d->images[sc_sets_root(sets, s->node->outputs[k])] = true;
}

static void find_images(sc_xnn_delegate *d) {
    const uint32_t values = d->graph->values.count, count = d->graph->nodes.count;
    sc_mark start = sc_arena_mark(d->ctx->scratch);
    uint32_t *sets = sc_sets_new(d->ctx->scratch, values);
    d->images = sc_new_array(&d->arena, bool, (size_t)values + 1);
    for (uint32_t i = 0; i < count; i++)
        if (keeps_places(&d->steps[i])) join(&d->steps[i], sets);
    for (uint32_t i = 0; i < count; i++)
        if (makes_images(&d->steps[i])) mark(d, &d->steps[i], sets);
    for (uint32_t v = 0; v < values; v++) d->images[v] = d->images[sc_sets_root(sets, v)];
    sc_arena_rewind(d->ctx->scratch, start);
}

sc_xnn_shown sc_xnn_show(sc_xnn_delegate *d, uint32_t value) {
    static const uint8_t channels_last[4] = {0, 2, 3, 1};
    const sc_xnn_operand *o = &d->operands[value];
    sc_xnn_shown shown = {.tensor = o->tensor};
    if (!d->images) find_images(d);
    const bool is_image = d->images[value] && o->tensor.rank == 4;
    for (uint8_t i = 0; i < o->tensor.rank; i++) {
        const uint8_t to = is_image ? channels_last[i] : i;
        shown.sizes[to] = o->sizes[i];
        shown.strides[to] = o->strides[i];
        shown.dim_order[i] = o->is_planar ? i : to;
    }
    return shown;
}
