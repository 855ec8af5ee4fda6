// Nodes that move elements without reading their values.
#include "backends/xnnpack/run/delegate.h"
#include "kernels/move.h"

static sc_strided view_of(const sc_xnn_operand *o) {
    sc_strided view;
    sc_strided_of(&view, &o->tensor);
    return view;
}

static sc_status move(const sc_xnn_delegate *d, const sc_strided *to, const sc_strided *from) {
    sc_kernel_call call = {.ctx = d->ctx};
    return sc_move(&call, to, from);
}

static sc_status run_transpose(sc_xnn_delegate *d, sc_xnn_step *s) {
    sc_strided to = view_of(s->out[0]), from = view_of(s->in[0]);
    sc_strided_permute(&from, s->node->lists[0].items);
    return move(d, &to, &from);
}

// A copy is needed only if result and operand both have memory of other owners.
static sc_status run_rename(sc_xnn_delegate *d, sc_xnn_step *s) {
    const sc_tensor *to = &s->out[0]->tensor, *from = &s->in[0]->tensor;
    (void)d;
    sc_move_bytes(to->data, from->data, (uint64_t)to->numel * sc_dtype_bytes((sc_dtype)to->dtype));
    return SC_OK;
}

static sc_status run_slice(sc_xnn_delegate *d, sc_xnn_step *s) {
    sc_strided to = view_of(s->out[0]), from = view_of(s->in[0]);
    for (uint32_t i = 0; i < from.rank; i++)
        sc_strided_narrow(&from, i, s->node->lists[0].items[i], to.sizes[i], 1);
    return move(d, &to, &from);
}

static sc_status run_concatenate(sc_xnn_delegate *d, sc_xnn_step *s) {
    int64_t at = 0;
    for (uint32_t i = 0; i < SC_XNN_INPUTS_MAX && s->in[i]; i++) {
        sc_strided to = view_of(s->out[0]), from = view_of(s->in[i]);
        if (!s->in[i]->tensor.numel) continue;
        sc_strided_narrow(&to, s->node->axis, at, from.sizes[s->node->axis], 1);
        SC_TRY(move(d, &to, &from));
        at += from.sizes[s->node->axis];
    }
    return SC_OK;
}

// The padding value, as one element.
static void padding_of(const sc_xnn_step *s, void *element) {
    const sc_xnn_operand *out = s->out[0];
    memset(element, 0, 16);
    if (sc_xnn_is_byte(out)) {
        sc_grid grid = sc_xnn_grid(out);
        *(uint8_t *)element = sc_xnn_byte_of(&grid, s->node->value);
        return;
    }
    sc_put_number(element, out->tensor.dtype, (double)s->node->value, 0, true);
}

static sc_status run_pad(sc_xnn_delegate *d, sc_xnn_step *s) {
    sc_strided to = view_of(s->out[0]), from = view_of(s->in[0]);
    uint8_t element[16];
    padding_of(s, element);
    // Fills all of it first: margins are narrow, and there are many corners.
    if (s->in[0]->tensor.numel != s->out[0]->tensor.numel) sc_fill(&to, element);
    if (!s->in[0]->tensor.numel) return SC_OK;
    for (uint32_t i = 0; i < to.rank; i++)
        sc_strided_narrow(&to, i, s->node->lists[0].items[i], from.sizes[i], 1);
    return move(d, &to, &from);
}

const sc_xnn_runner sc_xnn_run_transpose = {.run = run_transpose};
const sc_xnn_runner sc_xnn_run_rename = {.run = run_rename, .renames = true};
const sc_xnn_runner sc_xnn_run_slice = {.run = run_slice};
const sc_xnn_runner sc_xnn_run_concatenate = {.run = run_concatenate};
const sc_xnn_runner sc_xnn_run_pad = {.run = run_pad};
