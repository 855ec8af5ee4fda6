// Reconciles the metadata that we derive for a result with what the file recorded. Other sizes or
// another dtype are an error: the file is wrong, or we are. Strides cannot change a number, only
// which views, copies and memory formats later operators choose. So the file's strides are the
// truth for the calls that follow: PyTorch made its choices by them, and its releases differ. The
// file's sizes count, too, if two symbolic forms cannot be told apart. Tests are strict: every
// difference that matters fails.
//
// Complex numbers become pairs of reals, and their strides are always those of the file.
//
// A wrong record changes no number either: layouts are derived anew once views are copies.
//
// Strides take part in decomposition, because PyTorch's rules depend on them.
// In wasm: -Os
#include "trace/trace.h"

typedef enum verdict { SAME, OTHER_STRIDES, OTHER_FORM, OTHER } verdict;

// Equal, or so by the example sizes.
static bool dims_agree(sc_dim a, sc_dim b) {
    int64_t x, y;
    if (sc_dim_equal(a, b)) return true;
    return (a.expr || b.expr) && sc_dim_hint(a, &x) && sc_dim_hint(b, &y) && x == y;
}

// Nothing tells them apart: one depends on data, so there is no example of it.
static bool may_agree(sc_dim a, sc_dim b) {
    int64_t x, y;
    bool have_examples = sc_dim_hint(a, &x) && sc_dim_hint(b, &y);
    return !have_examples && sc_dim_known_equal(a, b) != SC_TRI_FALSE;
}

static verdict compare(const sc_spec *derived, const sc_spec *recorded) {
    bool empty = false, other_form = false;
    if (derived->sizes == recorded->sizes && derived->strides == recorded->strides &&
        derived->dtype == recorded->dtype && derived->rank == recorded->rank)
        return SAME;
    if (derived->dtype != recorded->dtype || derived->rank != recorded->rank) return OTHER;
    for (uint32_t i = 0; i < derived->rank; i++) {
        empty = empty || sc_dim_is(derived->sizes[i], 0);
        if (dims_agree(derived->sizes[i], recorded->sizes[i])) continue;
        if (!may_agree(derived->sizes[i], recorded->sizes[i])) return OTHER;
        other_form = true;
    }
    if (other_form) return OTHER_FORM;
    for (uint32_t i = 0; i < derived->rank && !empty; i++)
        if (!sc_dim_is(derived->sizes[i], 1) &&
            !dims_agree(derived->strides[i], recorded->strides[i]))
            return OTHER_STRIDES;
    return SAME;
}

// If the float dtype differs, torch.autocast was around torch.export, which the file does not
// record.
static const char *hint_of(const sc_spec *recorded, sc_x x) {
    const sc_dtype dtype = sc_x_dtype_of(x);
    const bool is_cast = x->kind == SC_X_TENSOR && dtype != recorded->dtype &&
                         sc_dtype_is_float(dtype) && sc_dtype_is_float((sc_dtype)recorded->dtype);
    return is_cast ? "Export again, with no torch.autocast open around torch.export." : NULL;
}

static sc_status mismatch(sc_trace *t, const sc_value *recorded, sc_x x, bool is_error) {
    sc_sb text;
    sc_sb_init(&text, t->ctx->scratch);
    sc_sb_add_char(&text, '\'');
    sc_sb_add_text(&text, recorded->name ? recorded->name->text : "?");
    sc_sb_add_text(&text, "' is ");
    sc_spec_print(&text, t->exprs, &recorded->spec);
    sc_sb_add_text(&text, " in the file, but ");
    if (x->kind == SC_X_TENSOR)
        sc_spec_print(&text, t->exprs, sc_x_spec(x));
    else
        sc_sb_add_text(&text, "not a tensor");
    sc_sb_add_text(&text, " by its expansion");
    if (is_error)
        return sc_fail(t->ctx, SC_ERR_MISMATCH, hint_of(&recorded->spec, x), "%s",
                       sc_sb_terminate(&text));
    sc_report(t->ctx, SC_NOTE, SC_ERR_MISMATCH,
              "Ignore this: the file counts, and the results are the same.", "%s",
              sc_sb_terminate(&text));
    return SC_OK;
}

// Gives a value that the source node's expansion made the recorded metadata. Older values belong to
// other nodes as well, and inputs to the caller.
static void adopt(sc_trace *t, sc_value *value, const sc_spec *recorded, verdict how) {
    sc_dim strides[SC_RANK_MAX];
    if (!value->node || value->node->mark <= t->begun) return;
    if (recorded->strides == value->spec.strides && recorded->sizes == value->spec.sizes) return;
    bool differs = false;
    for (uint32_t i = 0; i < recorded->rank; i++) {
        bool takes = how != SAME || sc_dim_is(recorded->sizes[i], 1);
        strides[i] = takes ? recorded->strides[i] : value->spec.strides[i];
        differs = differs || !sc_dim_equal(strides[i], value->spec.strides[i]);
    }
    if (differs) value->spec.strides = sc_dims_share(t->exprs, strides, recorded->rank);
    if (how != OTHER_FORM) return;
    value->spec.sizes = recorded->sizes;
    sc_trace_note_sizes(t, value);
}

sc_status sc_trace_reconcile(sc_trace *t, const sc_value *recorded, sc_x x) {
    if (t->unchecked || recorded->type != SC_VALUE_TENSOR || x->kind == SC_X_NONE) return SC_OK;
    if (x->kind != SC_X_TENSOR) return mismatch(t, recorded, x, true);
    verdict how = compare(sc_x_spec(x), &recorded->spec);
    if (how == OTHER) return mismatch(t, recorded, x, true);
    if (how < OTHER_FORM && t->strides_differ) return SC_OK;
    bool reported = how == SAME || t->has_pairs || (t->noted & 1u << how) != 0;
    if (!reported && t->ctx->strict) return mismatch(t, recorded, x, true);
    if (!reported) SC_TRY(mismatch(t, recorded, x, false));
    if (!reported) t->noted |= 1u << how;
    adopt(t, x->tensor->value, &recorded->spec, how);
    return SC_OK;
}

void sc_trace_take_size(sc_trace *t, sc_x x, uint32_t dim) {
    const sc_node *source = t->source;
    int64_t hint;
    if (t->status != SC_OK || x->kind != SC_X_TENSOR || !source || source->out_count == 0) return;
    const sc_value *recorded = source->outs[0];
    if (recorded->type != SC_VALUE_TENSOR || dim >= recorded->spec.rank) return;
    sc_dim size = recorded->spec.sizes[dim];
    if (!size.expr || sc_dim_hint(size, &hint)) return;
    sc_spec *spec = &x->tensor->value->spec;
    if (spec->rank == 0) return;
    sc_dim old = spec->sizes[0], sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    sc_trace_bound(source, size, old);
    for (uint32_t i = 0; i < spec->rank; i++) {
        sizes[i] = i == 0 ? size : spec->sizes[i];
        strides[i] = sc_dim_equal(spec->strides[i], old) ? size : spec->strides[i];
    }
    spec->sizes = sc_dims_share(t->exprs, sizes, spec->rank);
    spec->strides = sc_dims_share(t->exprs, strides, spec->rank);
    sc_trace_note_sizes(t, x->tensor->value);
}
