// Products of activations that run together with steps around them. Language models have each
// product of attention between others: keys and values are repeated for groups of queries, keys are
// permuted and scaled, scores get a mask and become weights. A cache of keys has far more elements
// than the step adds, so each of these copies costs more than the product.
//
// Here the right operand is read where it lies, and of scores and weights only the keys count that
// the mask leaves. If a listener watches values, all steps run one after the other instead. Which
// steps belong together is found once, and whether their sizes fit when sizes are known.
#include <math.h>

#include "backends/xnnpack/run/fuse.h"
#include "compute/attention.h"

enum { BEFORE_MAX = 8, AFTER_MAX = 6, FACTORS_MAX = 16 };

struct sc_xnn_fusion {
    // Steps that lead to the right operand, in order, and the value that they begin with.
    sc_xnn_step *before[BEFORE_MAX];
    uint32_t before_count;
    sc_xnn_operand *source;
    // Steps that follow, in order; the last one is a softmax.
    sc_xnn_step *after[AFTER_MAX];
    uint32_t after_count;
    sc_xnn_operand *scores, *mask, *weights;  // no `scores`: no step follows; `mask` may be NULL
    float factor;                             // of constants among these steps
    bool fits;                                // these sizes
    union {
        sc_attention attention;  // with scores
        struct {
            sc_matmul matmul;
            const sc_variant *variant;
        };
    };
};

// --- Steps that belong together ------------------------------------------------------------------

typedef struct finder {
    sc_xnn_delegate *d;
    sc_xnn_step **makers;  // by value, NULL for arguments and constants
    sc_xnn_step **users;   // by value: the last step that reads it
} finder;

static uint32_t index_of(const finder *f, const sc_xnn_operand *o) {
    return (uint32_t)(o - f->d->operands);
}

static bool is_float(const sc_xnn_operand *o) { return o && sc_xnn_is(o, SC_XNN_FP32); }

// The number by which a step multiplies its other operand. The delegate's constants are found.
static bool read_factor(const sc_xnn_step *s, float *factor) {
    const unsigned kind = s->node->kind;
    if ((kind != SC_XNN_MULTIPLY && kind != SC_XNN_DIVIDE) || s->node->has_range) return false;
    const sc_xnn_operand *constant = s->in[1];
    if (!constant->value->constant || constant->tensor.numel != 1 || !constant->tensor.data ||
        !is_float(constant) || !is_float(s->in[0]))
        return false;
    memcpy(factor, constant->tensor.data, sizeof *factor);
    if (kind == SC_XNN_DIVIDE) *factor = 1 / *factor;
    return isfinite(*factor);
}

// Does the step join copies of one value?
static bool is_repeat(const sc_xnn_step *s) {
    if (s->runner != &sc_xnn_run_concatenate) return false;
    for (uint32_t i = 1; i < SC_XNN_INPUTS_MAX && s->in[i]; i++)
        if (s->in[i] != s->in[0]) return false;
    return true;
}

static uint32_t inputs_of(const sc_xnn_step *s) {
    uint32_t count = 0;
    while (count < SC_XNN_INPUTS_MAX && s->in[count]) count++;
    return count;
}

// Is the step's result another form of its first operand? Then counts its factor.
static bool changes_form(const sc_xnn_step *s, float *factor) {
    float own = 1;
    if (!s->runner->renames && s->runner != &sc_xnn_run_transpose && !is_repeat(s) &&
        !read_factor(s, &own))
        return false;
    *factor *= own;
    return true;
}

// Does only that step read the value, and nothing outside?
static bool is_private(const sc_xnn_operand *o, const sc_xnn_step *reader) {
    const uint32_t reads = is_repeat(reader) ? inputs_of(reader) : 1;
    return !o->value->flags && !o->value->constant && o->users == reads;
}

static void follow_back(const finder *f, const sc_xnn_step *s, sc_xnn_fusion *fusion) {
    const sc_xnn_step *reader = s;
    sc_xnn_step *found[BEFORE_MAX];
    uint32_t count = 0;
    fusion->source = s->in[1];
    while (count < BEFORE_MAX && is_private(fusion->source, reader)) {
        sc_xnn_step *maker = f->makers[index_of(f, fusion->source)];
        if (!maker || !is_float(maker->in[0]) || !changes_form(maker, &fusion->factor)) break;
        found[count++] = maker;
        fusion->source = maker->in[0];
        reader = maker;
    }
    for (uint32_t i = 0; i < count; i++) fusion->before[i] = found[count - 1 - i];
    fusion->before_count = count;
}

// Is the value there before the product runs?
static bool is_early(const finder *f, const sc_xnn_operand *o, const sc_xnn_step *s) {
    const sc_xnn_step *maker = f->makers[index_of(f, o)];
    return !maker || maker->index < s->index;
}

static bool takes_mask(const finder *f, const sc_xnn_step *s, const sc_xnn_step *next,
                       const sc_xnn_operand *from, sc_xnn_fusion *fusion) {
    if (next->node->kind != SC_XNN_ADD || next->node->has_range) return false;
    sc_xnn_operand *mask = next->in[next->in[0] == from];
    if (mask == from || !is_float(mask) || !is_early(f, mask, s)) return false;
    fusion->mask = mask;
    return true;
}

// Is the step on the way from a product to softmax? Then notes its mask or factor.
static bool leads_on(const finder *f, const sc_xnn_step *s, const sc_xnn_step *next,
                     const sc_xnn_operand *from, sc_xnn_fusion *fusion) {
    float factor;
    if (from->value->flags || !is_float(next->out[0])) return false;
    if (next->runner->renames) return true;
    if (fusion->mask) return false;
    if (next->in[0] == from && read_factor(next, &factor)) {
        fusion->factor *= factor;
        return true;
    }
    return takes_mask(f, s, next, from, fusion);
}

// Softmax, behind factors, a mask and other names of the product.
static void follow_on(const finder *f, const sc_xnn_step *s, sc_xnn_fusion *fusion) {
    const float factor = fusion->factor;
    sc_xnn_operand *at = s->out[0];
    for (uint32_t count = 0; count < AFTER_MAX && at->users == 1; count++) {
        sc_xnn_step *next = f->users[index_of(f, at)];
        fusion->after[count] = next;
        if (next->node->kind == SC_XNN_SOFTMAX && is_float(next->out[0])) {
            fusion->scores = at;
            fusion->weights = next->out[0];
            fusion->after_count = count + 1;
            return;
        }
        if (!leads_on(f, s, next, at, fusion)) break;
        at = next->out[0];
    }
    fusion->mask = NULL;
    fusion->factor = factor;
}

void sc_xnn_find_fusions(sc_xnn_delegate *d) {
    const uint32_t values = d->graph->values.count, count = d->graph->nodes.count;
    const sc_mark start = sc_arena_mark(d->ctx->scratch);
    finder f = {.d = d,
                .makers = sc_new_array(d->ctx->scratch, sc_xnn_step *, (size_t)values + 1),
                .users = sc_new_array(d->ctx->scratch, sc_xnn_step *, (size_t)values + 1)};
    for (uint32_t i = 0; i < count; i++) {
        sc_xnn_step *s = &d->steps[i];
        for (uint32_t k = 0; k < SC_XNN_INPUTS_MAX; k++)
            if (s->in[k]) f.users[s->node->inputs[k]] = s;
        for (uint32_t k = 0; k < SC_XNN_OUTPUTS_MAX; k++)
            if (s->out[k]) f.makers[s->node->outputs[k]] = s;
    }
    for (uint32_t i = 0; i < count; i++) {
        sc_xnn_step *s = &d->steps[i];
        if (s->node->kind != SC_XNN_BATCH_MATMUL || !is_float(s->in[0]) || !is_float(s->in[1]) ||
            !is_float(s->out[0]))
            continue;
        s->fusion = sc_new(&d->arena, sc_xnn_fusion);
        *s->fusion = (sc_xnn_fusion){.factor = 1};
        follow_back(&f, s, s->fusion);
        follow_on(&f, s, s->fusion);
    }
    sc_arena_rewind(d->ctx->scratch, start);
}

// --- Places of elements --------------------------------------------------------------------------

// A tensor that shows memory: factors of its dims, outermost first, with the step of each.
typedef struct factor {
    int64_t size, step;
} factor;

typedef struct view {
    factor factors[FACTORS_MAX];
    uint32_t count;
    uint32_t ends[SC_XNN_RANK_MAX];  // by dim: the index behind its last factor
    uint32_t rank;
} view;

static view view_of(const sc_xnn_operand *o) {
    view v = {.count = o->tensor.rank, .rank = o->tensor.rank};
    for (uint32_t i = 0; i < v.rank; i++) {
        v.factors[i] = (factor){o->sizes[i], o->strides[i]};
        v.ends[i] = i + 1;
    }
    return v;
}

static bool push(view *v, factor f) {
    if (v->count == FACTORS_MAX) return false;
    v->factors[v->count++] = f;
    return true;
}

// Takes factors off the front until they make up the size of a dim; splits the last one if need be.
static bool take_dim(view *from, uint32_t *at, int64_t size, view *to) {
    while (size > 1) {
        if (*at == from->count) return false;
        factor *f = &from->factors[*at];
        if (f->size == 1) {
            ++*at;
            continue;
        }
        if (size % f->size == 0) {
            if (!push(to, *f)) return false;
            size /= f->size;
            ++*at;
            continue;
        }
        if (f->size % size != 0) return false;
        f->size /= size;
        // The part that counts slower comes first.
        if (!push(to, (factor){size, f->step * f->size})) return false;
        size = 1;
    }
    return true;
}

static bool reshape(view *v, const sc_xnn_operand *to) {
    view made = {.rank = to->tensor.rank};
    uint32_t at = 0;
    for (uint32_t i = 0; i < made.rank; i++) {
        if (to->sizes[i] == 0 || !take_dim(v, &at, to->sizes[i], &made)) return false;
        made.ends[i] = made.count;
    }
    for (; at < v->count; at++)
        if (v->factors[at].size != 1) return false;
    *v = made;
    return true;
}

static uint32_t begin_of(const view *v, uint32_t dim) { return dim ? v->ends[dim - 1] : 0; }

static bool transpose(view *v, const uint32_t *order) {
    view made = {.rank = v->rank};
    for (uint32_t i = 0; i < v->rank; i++) {
        for (uint32_t k = begin_of(v, order[i]); k < v->ends[order[i]]; k++)
            if (!push(&made, v->factors[k])) return false;
        made.ends[i] = made.count;
    }
    *v = made;
    return true;
}

// Copies along a dim of one element are a factor that stays at its place.
static bool repeat(view *v, uint32_t axis, int64_t copies) {
    view made = {.rank = v->rank};
    for (uint32_t i = 0; i < v->rank; i++) {
        for (uint32_t k = begin_of(v, i); k < v->ends[i]; k++) {
            if (i == axis && v->factors[k].size != 1) return false;
            if (i != axis && !push(&made, v->factors[k])) return false;
        }
        if (i == axis && !push(&made, (factor){copies, 0})) return false;
        made.ends[i] = made.count;
    }
    *v = made;
    return true;
}

static bool apply(view *v, const sc_xnn_step *s) {
    if (s->runner->renames) return reshape(v, s->out[0]);
    if (s->runner == &sc_xnn_run_transpose) return transpose(v, s->node->lists[0].items);
    if (is_repeat(s)) return repeat(v, s->node->axis, inputs_of(s));
    return s->out[0]->tensor.numel == s->in[0]->tensor.numel;
}

// Joins neighbours, and drops factors of one element. False: more are left than `most`.
static bool join_factors(const view *v, uint32_t from, uint32_t to, factor *out, uint32_t most,
                         uint32_t *count) {
    *count = 0;
    for (uint32_t k = from; k < to; k++) {
        const factor f = v->factors[k];
        factor *last = *count ? &out[*count - 1] : NULL;
        if (f.size == 1) continue;
        if (last && last->step == f.step * f.size) {
            *last = (factor){last->size * f.size, f.step};
            continue;
        }
        if (*count == most) return false;
        out[(*count)++] = f;
    }
    return true;
}

// The right operand of the product: its items, rows and columns.
typedef struct right {
    factor items[SC_ATTENTION_FACTORS], row, column;
    uint32_t count;
} right;

static bool join_dim(const view *v, uint32_t dim, factor *out) {
    uint32_t count;
    *out = (factor){1, 0};
    return join_factors(v, begin_of(v, dim), v->ends[dim], out, 1, &count);
}

static bool read_right(const sc_xnn_step *s, right *r) {
    const sc_xnn_fusion *f = s->fusion;
    view v = view_of(f->source);
    for (uint32_t i = 0; i < f->before_count; i++)
        if (!apply(&v, f->before[i])) return false;
    if (v.rank < 2) return false;
    return join_dim(&v, v.rank - 2, &r->row) && join_dim(&v, v.rank - 1, &r->column) &&
           join_factors(&v, 0, begin_of(&v, v.rank - 2), r->items, SC_ATTENTION_FACTORS, &r->count);
}

// --- Scores and weights --------------------------------------------------------------------------

static sc_attention_items items_of(const factor *factors, uint32_t count) {
    sc_attention_items items = {.count = count};
    for (uint32_t i = 0; i < count; i++) {
        items.sizes[i] = factors[i].size;
        items.steps[i] = factors[i].step;
    }
    return items;
}

static sc_attention_items dense_items(int64_t count, int64_t step) {
    const factor all = {count, step};
    return items_of(&all, 1);
}

// Does each item of the product have a left operand of its own?
static bool has_own_left(const sc_matmul *mm) {
    return mm->batch == 1 || mm->a.batch == mm->m * mm->k;
}

// The mask repeats along dims of one element, or that it lacks.
static bool set_mask(const sc_xnn_fusion *f, sc_attention *a) {
    const sc_tensor *scores = &f->scores->tensor;
    const uint32_t rank = scores->rank;
    if (!f->mask) return true;
    const uint32_t lacks = rank - sc_min_u32(rank, f->mask->tensor.rank);
    int64_t steps[SC_XNN_RANK_MAX] = {0};
    if (f->mask->tensor.rank > rank) return false;
    for (uint32_t i = lacks; i < rank; i++)
        if (f->mask->sizes[i - lacks] != 1) steps[i] = f->mask->strides[i - lacks];
    view v = {.rank = rank};
    for (uint32_t i = 0; i < rank - 2; i++)
        v.factors[v.count++] = (factor){f->scores->sizes[i], steps[i]};
    factor items[SC_ATTENTION_FACTORS];
    uint32_t count;
    if (!join_factors(&v, 0, v.count, items, SC_ATTENTION_FACTORS, &count)) return false;
    a->mask.items = items_of(items, count);
    a->mask.row = steps[rank - 2];
    a->mask.column = steps[rank - 1];
    return true;
}

// Scores have the product's rows and columns, and the mask must not be larger than they are.
static bool fit_scores(sc_xnn_step *s, const right *r) {
    sc_xnn_fusion *f = s->fusion;
    const sc_xnn_operand *q = s->in[0], *scores = f->scores;
    const uint32_t rank = q->tensor.rank, last = scores->tensor.rank;
    const bool is_transposed = s->node->flags & SC_XNN_TRANSPOSE_WEIGHTS;
    const factor key = is_transposed ? r->row : r->column,
                 deep = is_transposed ? r->column : r->row;
    const int64_t queries = q->sizes[rank - 2], depth = q->sizes[rank - 1], keys = s->matmul.n;
    const int64_t items = s->matmul.batch;
    if (last < 2 || scores->sizes[last - 1] != keys || scores->sizes[last - 2] != queries ||
        scores->tensor.numel != s->out[0]->tensor.numel || !has_own_left(&s->matmul))
        return false;
    f->attention = (sc_attention){
        .items = items,
        .queries = queries,
        .keys = keys,
        .depth = depth,
        .q = {.items = dense_items(items, queries * depth), .row = depth, .column = 1},
        .k = {.items = items_of(r->items, r->count), .row = key.step, .column = deep.step},
        .v = {.items = items_of(r->items, r->count)},
        .out_items = dense_items(items, queries * keys),
        .out_row = keys,
        .out_column = 1,
        .scale = f->factor};
    if (!set_mask(f, &f->attention)) return false;
    s->scratch_bytes =
        sc_max_u64(s->scratch_bytes, sc_align_up(sc_attention_scratch_bytes(&f->attention), 64));
    return true;
}

static void run_scores(sc_xnn_delegate *d, const sc_xnn_step *s) {
    sc_xnn_fusion *f = s->fusion;
    f->attention.q.data = s->in[0]->tensor.data;
    f->attention.k.data = f->source->tensor.data;
    f->attention.mask.data = f->mask ? f->mask->tensor.data : NULL;
    f->attention.scores = f->scores->tensor.data;
    f->attention.weights = f->weights->tensor.data;
    sc_attention_weigh(&f->attention, d->scratch);
}

// --- The product alone ---------------------------------------------------------------------------

// Items that share the right operand become rows of one product.
static bool fit_product(sc_xnn_step *s, const right *r) {
    sc_xnn_fusion *f = s->fusion;
    const bool is_transposed = s->node->flags & SC_XNN_TRANSPOSE_WEIGHTS;
    const bool shares = r->count > 0 && r->items[r->count - 1].step == 0;
    const uint32_t others = r->count - shares;
    if (others > 1 || !has_own_left(&s->matmul)) return false;
    const int64_t sharing = s->matmul.batch / (others ? r->items[0].size : 1);
    f->matmul = s->matmul;
    f->matmul.batch /= sharing;
    f->matmul.m *= sharing;
    f->matmul.a.batch = f->matmul.m * f->matmul.k;
    f->matmul.c_batch = f->matmul.m * f->matmul.n;
    f->matmul.b.batch = others ? r->items[0].step : 0;
    f->matmul.b.row = is_transposed ? r->column.step : r->row.step;
    f->matmul.b.column = is_transposed ? r->row.step : r->column.step;
    f->matmul.alpha = (double)f->factor;
    f->variant = sc_variant_pick(&f->matmul.record, NULL, UINT64_MAX);
    if (!f->variant) return false;
    s->scratch_bytes = sc_max_u64(
        s->scratch_bytes, sc_align_up(sc_variant_scratch_bytes(f->variant, &f->matmul.record), 64));
    return true;
}

// The columns of a row up to its last one that is not 0, if these are more than `least`.
static int64_t used_columns(const float *row, int64_t columns, int64_t least) {
    static const float zeros[16];
    while (columns - least >= 16 && memcmp(row + columns - 16, zeros, sizeof zeros) == 0)
        columns -= 16;
    while (columns > least && row[columns - 1] == 0) columns--;
    return columns;
}

// Steps of the sum that count. Weights of a softmax add up to 1, and then those that are 0 take
// nothing from a value, whatever it is: often that is memory that no step has used yet. Other left
// operands count as a whole, because 0 times infinity is NaN.
static int64_t used_steps(const sc_matmul *mm) {
    const int64_t rows = mm->batch * mm->m, k = mm->k;
    const float *a = mm->a.data;
    int64_t used = 0;
    for (int64_t i = 0; i < rows && used < k; i++) used = used_columns(a + i * k, k, used);
    for (int64_t i = 0; i < rows && used < k; i++) {
        float sum = 0;
        for (int64_t j = 0; j < used; j++) sum += a[i * k + j];
        if (!(fabsf(sum - 1) < 1e-3f) && sum != 0) used = k;
    }
    return sc_max_i64(used, sc_min_i64(k, 1));
}

static void run_product(sc_xnn_delegate *d, const sc_xnn_step *s) {
    sc_xnn_fusion *f = s->fusion;
    sc_matmul mm = f->matmul;
    mm.a.data = s->in[0]->tensor.data;
    mm.b.data = f->source->tensor.data;
    mm.c = s->out[0]->tensor.data;
    mm.k = used_steps(&mm);
    sc_variant_run(f->variant, &mm.record, NULL, d->scratch);
}

// --- Sizes and runs ------------------------------------------------------------------------------

void sc_xnn_fit(sc_xnn_step *s) {
    sc_xnn_fusion *f = s->fusion;
    right r;
    f->fits = s->out[0]->tensor.numel > 0 && s->matmul.k > 0 && read_right(s, &r) &&
              (f->scores ? fit_scores(s, &r) : fit_product(s, &r));
    if (!f->fits) return;
    for (uint32_t i = 0; i < f->before_count; i++) f->before[i]->is_fused = true;
    for (uint32_t i = 0; i < f->after_count; i++) f->after[i]->is_fused = true;
}

bool sc_xnn_is_fused(const sc_xnn_step *s) { return s->fusion && s->fusion->fits; }

sc_xnn_operand *sc_xnn_fusion_source(const sc_xnn_step *s) { return s->fusion->source; }

uint32_t sc_xnn_fusion_results(const sc_xnn_step *s, sc_xnn_operand *results[2]) {
    if (!s->fusion->scores) return 0;
    results[0] = s->fusion->scores;
    results[1] = s->fusion->weights;
    return 2;
}

void sc_xnn_run_fusion(sc_xnn_delegate *d, const sc_xnn_step *s) {
    if (s->fusion->scores)
        run_scores(d, s);
    else
        run_product(d, s);
}
