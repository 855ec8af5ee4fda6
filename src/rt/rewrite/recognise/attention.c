// Attention, as lowering writes scaled_dot_product_attention out: scaled queries and keys, a
// product, a mask that is added, softmax, a choice of zeros for rows that are masked altogether,
// and a product with values. The choice, the mask and the scales may be missing. One call never
// writes the scores out.
//
// It also carries out no change of shape: heads that are permuted, or repeated for groups of
// queries, are read where they lie. So operands are followed back as far as their memory stays
// intact without the parts. If some of these stay after all, the operands of the products serve.
// Sizes may change from run to run.
#include "kernels/attention.h"

#include <math.h>

#include "rt/rewrite/recognise/recognise.h"

// --- Changes of shape ----------------------------------------------------------------------------

// The operand behind a value, how it becomes the value, and the factor that the value has in
// addition. `from` NULL: there is none.
typedef struct origin {
    sc_evalue *from;
    sc_attention_step step;
    bool is_same;  // nothing to do
    double scale;
} origin;

static bool is_f32(const sc_evalue *value) {
    return value->tag == SC_EVALUE_TENSOR && value->tensor->dtype == SC_DTYPE_F32;
}

static void set_sizes(const sc_tensor *t, sc_attention_step *step) {
    step->rank = t->rank;
    memcpy(step->most, t->sizes, t->rank * sizeof *t->sizes);
}

// The sizes of a result. Lists of them must be complete before the call that reads them.
static bool read_sizes(const sc_rt_search *s, const sc_evalue *result, const sc_evalue *list,
                       sc_attention_step *step) {
    const uint32_t at = s->o->uses[sc_rt_value_index(s->o->m, result)].first_write;
    set_sizes(result->tensor, step);
    if (!result->tensor->is_dynamic) return true;
    if (list->tag != SC_EVALUE_INT_LIST || list->count != step->rank) return false;
    for (uint32_t d = 0; d < list->count; d++) {
        const sc_rt_use *use = &s->o->uses[sc_rt_value_index(s->o->m, list->ints[d])];
        if (use->writes > 1 || (use->writes && use->last_write >= at)) return false;
    }
    step->sizes = list;
    return true;
}

// The value is another view of memory.
static bool show(sc_rt_search *s, const sc_evalue *value, origin *o) {
    int64_t offset = 0;
    o->from = sc_rt_shown_by(s, value, &offset);
    if (!o->from || offset != 0 || o->from->tensor->numel != value->tensor->numel) return false;
    o->step.change = SC_ATTENTION_VIEW;
    set_sizes(value->tensor, &o->step);
    return true;
}

static bool view(sc_rt_search *s, const sc_evalue *value, origin *o) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, SC_OP_view_copy);
    if (!call) return false;
    o->from = call->args[0];
    o->step.change = SC_ATTENTION_VIEW;
    return read_sizes(s, value, call->args[1], &o->step);
}

static bool lift(sc_rt_search *s, const sc_evalue *value, origin *o) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, SC_OP_unsqueeze_copy);
    if (!call || call->args[1]->tag != SC_EVALUE_INT || !sc_rt_is_fixed(s, call->args[1]))
        return false;
    o->from = call->args[0];
    o->step.change = SC_ATTENTION_LIFT;
    o->step.rank = value->tensor->rank;
    o->step.dims[0] = (uint8_t)sc_wrap_dim(call->args[1]->i, value->tensor->rank);
    return true;
}

static bool expand(sc_rt_search *s, const sc_evalue *value, origin *o) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, SC_OP_expand_copy);
    if (!call) return false;
    o->from = call->args[0];
    o->step.change = SC_ATTENTION_EXPAND;
    return read_sizes(s, value, call->args[1], &o->step);
}

static bool read_order(const sc_rt_search *s, const sc_kernel_call *permute,
                       sc_attention_step *step) {
    const sc_evalue *dims = permute->args[1];
    if (permute->args[0]->tag != SC_EVALUE_TENSOR || dims->tag != SC_EVALUE_INT_LIST ||
        dims->count != permute->args[0]->tensor->rank)
        return false;
    step->change = SC_ATTENTION_PERMUTE;
    step->rank = (uint8_t)dims->count;
    for (uint32_t d = 0; d < dims->count; d++) {
        if (dims->ints[d]->tag != SC_EVALUE_INT || !sc_rt_is_fixed(s, dims->ints[d])) return false;
        step->dims[d] = (uint8_t)sc_wrap_dim(dims->ints[d]->i, dims->count);
    }
    return true;
}

static bool permute(sc_rt_search *s, const sc_evalue *value, origin *o) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, SC_OP_permute_copy);
    if (!call) return false;
    o->from = call->args[0];
    return read_order(s, call, &o->step);
}

// A copy without another shape.
static bool copy(sc_rt_search *s, const sc_evalue *value, origin *o) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, SC_OP_dim_order_ops__clone_dim_order);
    if (!call) return false;
    o->from = call->args[0];
    o->is_same = true;
    return true;
}

// --- Factors -------------------------------------------------------------------------------------

// A number of the file, or a constant tensor of one element.
static bool read_factor(const sc_rt_search *s, const sc_evalue *value, double *factor) {
    if (!sc_rt_is_fixed(s, value)) return false;
    if (value->tag == SC_EVALUE_DOUBLE) *factor = value->d;
    if (value->tag == SC_EVALUE_INT) *factor = (double)value->i;
    if (value->tag != SC_EVALUE_TENSOR)
        return value->tag == SC_EVALUE_DOUBLE || value->tag == SC_EVALUE_INT;
    if (!value->tensor->is_constant || value->tensor->numel != 1 || !is_f32(value)) return false;
    *factor = sc_tensor_real(value->tensor, 0);
    return true;
}

static bool scale(sc_rt_search *s, const sc_evalue *value, origin *o) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, SC_OP_mul_Scalar);
    double factor;
    bool divides = false;
    if (!call) call = sc_rt_made_by(s, value, SC_OP_mul_Tensor);
    if (!call) divides = (call = sc_rt_made_by(s, value, SC_OP_div_Tensor)) != NULL;
    if (!call || !read_factor(s, call->args[1], &factor)) return false;
    o->from = call->args[0];
    o->is_same = true;
    o->scale = divides ? 1 / factor : factor;
    // A constant of more dims would broadcast.
    return is_f32(o->from) && o->from->tensor->rank == value->tensor->rank && isfinite(o->scale);
}

// --- The way back of an operand ------------------------------------------------------------------

typedef struct trail {
    // From the operand of a product on: the values behind it, what reads each, and the steps and
    // factors by which they become the operand.
    sc_evalue *values[SC_ATTENTION_STEPS + 1];
    uint32_t readers[SC_ATTENTION_STEPS + 1];
    sc_attention_step steps[SC_ATTENTION_STEPS + 1];
    bool is_same[SC_ATTENTION_STEPS + 1];
    double scales[SC_ATTENTION_STEPS + 1];
    uint32_t parts[SC_ATTENTION_STEPS + 1];  // how many the search has by then
    uint32_t count, chosen;
} trail;

static bool find_origin(sc_rt_search *s, const sc_evalue *value, bool takes_scales, origin *o) {
    static bool (*const changes[])(sc_rt_search *, const sc_evalue *,
                                   origin *) = {show, view, lift, expand, permute, copy, scale};
    const uint32_t parts = s->parts.count;
    if (!is_f32(value)) return false;
    for (size_t i = 0; i < SC_COUNT_OF(changes) - !takes_scales; i++) {
        *o = (origin){.scale = 1};
        if (changes[i](s, value, o) && is_f32(o->from)) return true;
        s->parts.count = parts;
    }
    return false;
}

static void follow(sc_rt_search *s, sc_evalue *value, uint32_t reader, bool takes_scales,
                   trail *t) {
    origin o;
    *t = (trail){.values = {value}, .readers = {reader}, .scales = {1}, .parts = {s->parts.count}};
    while (t->count < SC_ATTENTION_STEPS && find_origin(s, t->values[t->count], takes_scales, &o)) {
        const sc_rt_use *use = &s->o->uses[sc_rt_value_index(s->o->m, t->values[t->count])];
        t->steps[t->count] = o.step;
        t->is_same[t->count] = o.is_same;
        t->scales[t->count + 1] = t->scales[t->count] * o.scale;
        t->readers[t->count + 1] = use->writes ? use->first_write : t->readers[t->count];
        t->values[++t->count] = o.from;
        t->parts[t->count] = s->parts.count;
    }
}

// Will the value still be there, once the parts are gone?
static bool is_kept(const sc_rt_search *s, const sc_evalue *value, uint32_t reader) {
    const sc_tensor *t = value->tensor;
    return t->is_constant || sc_rt_is_quiet(s->o, t->data, t->capacity_bytes, reader, s->root - 1);
}

static void choose(const sc_rt_search *s, trail *t) {
    for (uint32_t i = 0; i <= t->count; i++)
        if (is_kept(s, t->values[i], t->readers[i])) t->chosen = i;
}

// Removes the parts behind the values that were chosen.
static void forget_parts(sc_rt_search *s, trail *const *trails, uint32_t count) {
    uint32_t kept = trails[0]->parts[0];
    for (uint32_t i = 0; i < count; i++) {
        const trail *t = trails[i];
        for (uint32_t at = t->parts[0]; at < t->parts[t->chosen]; at++)
            s->parts.data[kept++] = s->parts.data[at];
    }
    s->parts.count = kept;
}

// Without the parts, which write no more.
static void choose_all(sc_rt_search *s, trail *const *trails, uint32_t count) {
    sc_rt_instruction *code = s->o->m->code;
    uint8_t *was = sc_new_array(s->o->ctx->scratch, uint8_t, s->parts.count + 1);
    for (uint32_t i = 0; i < s->parts.count; i++) {
        was[i] = code[s->parts.data[i]].kind;
        code[s->parts.data[i]].kind = SC_RT_SKIP;
    }
    for (uint32_t i = 0; i < count; i++) choose(s, trails[i]);
    for (uint32_t i = s->parts.count; i-- > 0;) code[s->parts.data[i]].kind = was[i];
}

static void write_path(const trail *t, sc_attention_path *path) {
    path->count = 0;
    for (uint32_t i = t->chosen; i-- > 0;)
        if (!t->is_same[i]) path->steps[path->count++] = t->steps[i];
}

// --- Softmax -------------------------------------------------------------------------------------

typedef struct attention {
    const sc_kernel_call *scores, *result;  // the products
    sc_evalue *softened;                    // what softmax takes
    sc_evalue *mask;                        // or NULL
    double scale;                           // of scores before the mask is added
    sc_attention_step shape;                // of scores when the mask is added; rank 0: unchanged
    bool is_safe;
    trail query, key, value;
} attention;

static bool is_last_dim(const sc_rt_search *s, const sc_evalue *dim, const sc_evalue *of) {
    return dim->tag == SC_EVALUE_INT && sc_rt_is_fixed(s, dim) && of->tensor->rank > 0 &&
           sc_wrap_dim(dim->i, of->tensor->rank) == of->tensor->rank - 1u;
}

// softmax(scores, -1)
static bool read_softmax(sc_rt_search *s, const sc_evalue *value, attention *a) {
    const sc_kernel_call *call = sc_rt_made_by(s, value, SC_OP__softmax);
    if (!call || !is_f32(call->args[0]) || !is_f32(value) ||
        !is_last_dim(s, call->args[1], call->args[0]))
        return false;
    a->softened = call->args[0];
    return true;
}

static bool is_zeros(sc_rt_search *s, const sc_evalue *value) {
    if (!is_f32(value)) return false;
    if (value->tensor->is_constant)
        return value->tensor->numel == 1 && sc_tensor_real(value->tensor, 0) == 0;
    const sc_kernel_call *full = sc_rt_made_by(s, value, SC_OP_full_like);
    return full && sc_rt_is_number(s, full->args[1], 0);
}

// The scores of which a value says what rows are masked: not any(not (scores == -inf), -1, keepdim)
static sc_evalue *scores_of(sc_rt_search *s, const sc_evalue *value) {
    const sc_kernel_call *masked = sc_rt_made_by(s, value, SC_OP_logical_not);
    const sc_kernel_call *any = masked ? sc_rt_made_by(s, masked->args[0], SC_OP_any_dim) : NULL;
    const sc_kernel_call *open = any ? sc_rt_made_by(s, any->args[0], SC_OP_logical_not) : NULL;
    const sc_kernel_call *equal = open ? sc_rt_made_by(s, open->args[0], SC_OP_eq_Scalar) : NULL;
    const bool is_whole = equal && sc_rt_is_number(s, equal->args[1], -INFINITY) &&
                          is_last_dim(s, any->args[1], any->args[0]) &&
                          sc_rt_is_number(s, any->args[2], 1);
    return is_whole ? equal->args[0] : NULL;
}

// where(masked row, zeros, softmax), or softmax alone.
static bool read_weights(sc_rt_search *s, const sc_evalue *value, attention *a) {
    const sc_kernel_call *where = sc_rt_made_by(s, value, SC_OP_where_self);
    a->is_safe = where != NULL;
    if (!where) return read_softmax(s, value, a);
    return read_softmax(s, where->args[2], a) && is_zeros(s, where->args[1]) &&
           scores_of(s, where->args[0]) == a->softened;
}

// Behind views and copies.
static sc_evalue *behind_views(sc_rt_search *s, sc_evalue *value) {
    origin o;
    for (uint32_t i = 0; i < SC_ATTENTION_STEPS && find_origin(s, value, false, &o); i++) {
        if (!o.is_same && o.step.change != SC_ATTENTION_VIEW &&
            o.step.change != SC_ATTENTION_LIFT && o.step.change != SC_ATTENTION_EXPAND)
            return NULL;
        if (o.from->tensor->numel != value->tensor->numel) return NULL;
        value = o.from;
    }
    return value;
}

// --- Scores --------------------------------------------------------------------------------------

// scale * view(q k)
static bool read_product(sc_rt_search *s, sc_evalue *value, attention *a) {
    origin o;
    a->scale = 1;
    a->shape.rank = 0;
    for (uint32_t i = 0; i < SC_ATTENTION_STEPS; i++) {
        a->scores = sc_rt_made_by(s, value, SC_OP_bmm);
        if (a->scores) return true;
        if (!find_origin(s, value, true, &o)) return false;
        if (!o.is_same && (o.step.change != SC_ATTENTION_VIEW || a->shape.rank)) return false;
        if (!o.is_same) a->shape = o.step;
        a->scale *= o.scale;
        value = o.from;
    }
    return false;
}

// With or without a mask, which may be either operand.
static bool read_scores(sc_rt_search *s, attention *a) {
    const uint32_t parts = s->parts.count;
    a->mask = NULL;
    if (read_product(s, a->softened, a)) return true;
    s->parts.count = parts;
    const sc_kernel_call *add = sc_rt_made_by(s, a->softened, SC_OP_add_Tensor);
    if (!add || !sc_rt_is_number(s, add->args[2], 1)) return false;
    const uint32_t added = s->parts.count;
    for (uint32_t i = 0; i < 2; i++) {
        a->mask = add->args[1 - i];
        s->parts.count = added;
        if (is_f32(a->mask) && is_f32(add->args[i]) && read_product(s, add->args[i], a) &&
            add->args[i]->tensor->rank == a->softened->tensor->rank)
            return true;
    }
    return false;
}

// --- The operator --------------------------------------------------------------------------------

static uint32_t at_of(const sc_rt_search *s, const sc_evalue *result) {
    return s->o->uses[sc_rt_value_index(s->o->m, result)].first_write;
}

static sc_evalue *result_of(const sc_kernel_call *call) { return call->args[call->arg_count - 1]; }

// Does its memory stay the same during a run?
static bool is_steady(const sc_rt_search *s, const sc_evalue *value) {
    return value->tensor->data && !s->o->m->places[sc_rt_value_index(s->o->m, value)].is_loose;
}

static bool fits(const sc_rt_search *s, const sc_rt_found *found, sc_evalue *out) {
    sc_evalue *args[SC_RT_FOUND_ARGS + 1];
    const sc_diag_mark diags = sc_diags_mark(s->o->ctx);
    const sc_kernel_call call = sc_rt_found_call(s, found, out, args);
    for (uint32_t i = 0; i < call.arg_count; i++)
        if (!is_steady(s, args[i])) return false;
    const bool ok =
        found->kernel == &sc_k_attention ? sc_attention_fits(&call) : sc_masked_rows_fit(&call);
    sc_diags_rewind(s->o->ctx, diags);
    return ok;
}

static void describe(const attention *a, sc_attention_form *form, sc_rt_found *found) {
    const double scale = a->query.scales[a->query.chosen] * a->key.scales[a->key.chosen];
    form->scale = (float)(a->scale * scale);
    form->shape = a->shape;
    form->has_mask = a->mask != NULL;
    form->is_safe = a->is_safe;
    write_path(&a->query, &form->query);
    write_path(&a->key, &form->key);
    write_path(&a->value, &form->value);
    *found = (sc_rt_found){.op = SC_OP_scaled_dot_product_attention,
                           .kernel = &sc_k_attention,
                           .args = {a->query.values[a->query.chosen], a->key.values[a->key.chosen],
                                    a->value.values[a->value.chosen], a->mask},
                           .arg_count = a->mask ? 4 : 3,
                           .is_checked = true,
                           .form = form,
                           .goes = result_of(a->scores)};
}

// The product with values: of the root, or behind the permutation that the root is.
static const sc_kernel_call *last_product(sc_rt_search *s, const sc_kernel_call *root,
                                          sc_attention_form *form) {
    origin o;
    if (root->op->id == SC_OP_bmm) return root;
    if (!is_f32(root->args[0]) || !read_order(s, root, &form->order)) return NULL;
    const sc_kernel_call *bmm = sc_rt_made_by(s, root->args[0], SC_OP_bmm);
    if (bmm) return bmm;
    if (!find_origin(s, root->args[0], false, &o) || o.step.change != SC_ATTENTION_VIEW)
        return NULL;
    form->view = o.step;
    return sc_rt_made_by(s, o.from, SC_OP_bmm);
}

static bool read_attention(sc_rt_search *s, attention *a) {
    sc_evalue *weights = behind_views(s, a->result->args[0]);
    if (!weights || !read_weights(s, weights, a) || !read_scores(s, a)) return false;
    follow(s, a->scores->args[0], at_of(s, result_of(a->scores)), true, &a->query);
    follow(s, a->scores->args[1], at_of(s, result_of(a->scores)), true, &a->key);
    follow(s, a->result->args[1], at_of(s, result_of(a->result)), false, &a->value);
    return true;
}

bool sc_rt_is_attention(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    sc_evalue *out = result_of(root);
    attention a = {.scale = 1};
    sc_attention_form form = {.scale = 1};
    if (!is_f32(out)) return false;
    a.result = last_product(s, root, &form);
    if (!a.result || !read_attention(s, &a)) return false;
    trail *const trails[] = {&a.query, &a.key, &a.value};
    if (!s->is_second) choose_all(s, trails, SC_COUNT_OF(trails));
    sc_attention_form *kept = sc_new(&s->o->m->program->arena, sc_attention_form);
    *kept = form;
    describe(&a, kept, found);
    bool ok = fits(s, found, out);
    if (!ok && !s->is_second) {
        for (size_t i = 0; i < SC_COUNT_OF(trails); i++) trails[i]->chosen = 0;
        describe(&a, kept, found);
        ok = fits(s, found, out);
    }
    found->is_one_of_two = !s->is_second;
    forget_parts(s, trails, SC_COUNT_OF(trails));
    return ok;
}

// --- Masked rows alone ---------------------------------------------------------------------------

static bool is_alike(const sc_evalue *a, const sc_evalue *b) {
    return is_f32(a) && a->tensor->rank == b->tensor->rank && a->tensor->rank > 0 &&
           memcmp(a->tensor->sizes, b->tensor->sizes, a->tensor->rank * sizeof *a->tensor->sizes) ==
               0;
}

// where(masked row, zeros, weights), of scores and weights that a delegate has computed.
bool sc_rt_is_masked_rows(sc_rt_search *s, const sc_kernel_call *root, sc_rt_found *found) {
    static const bool form = true;
    sc_evalue *weights = root->args[2], *out = result_of(root);
    sc_evalue *scores =
        is_f32(out) && is_zeros(s, root->args[1]) ? scores_of(s, root->args[0]) : NULL;
    if (!scores || !is_alike(scores, out) || !is_alike(weights, out)) return false;
    *found = (sc_rt_found){.op = (sc_op_id)root->op->id,
                           .kernel = &sc_k_masked_rows,
                           .args = {scores, weights},
                           .arg_count = 2,
                           .is_checked = true,
                           .form = &form};
    return fits(s, found, out);
}
