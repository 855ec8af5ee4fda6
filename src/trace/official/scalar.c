// Tensors without dims. Kernels of the official runtime read the size of the dim that the call
// names, but a scalar has no dim. In PyTorch it counts as a dim with one element.
#include "trace/official/official.h"

bool sc_official_is_scalar(const sc_node *node) {
    const sc_arg *self = sc_node_arg(node, "self");
    return self->kind == SC_ARG_VALUE && self->value->spec.rank == 0;
}

bool sc_official_is_scalar_or_half(const sc_node *node) {
    return sc_official_is_scalar(node) || sc_official_is_half(node);
}

sc_x sc_official_only_element(sc_trace *t, sc_x x) {
    return sc_f_clone(t, sc_f_to(t, x, sc_official_result_dtype(t)));
}

// (self, dim, dtype)
sc_x sc_official_cumsum(sc_trace *t, const sc_x *a) {
    return sc_x_rank(a[0]) == 0 ? sc_official_only_element(t, a[0]) : sc_official_in_float(t, a);
}

// (self, dimension, size, step): windows of one element, or empty ones
sc_x sc_official_unfold(sc_trace *t, const sc_x *a) {
    const sc_spec *out = &t->source->outs[0]->spec;
    return sc_f_reshape(t, a[0], out->sizes, out->rank);
}
