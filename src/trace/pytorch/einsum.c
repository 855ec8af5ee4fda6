// einsum: labels to dims, operands permuted into one common order, then multiplied pair by pair
// with the dims that end there summed on the way. Ends with squeezing the summed dims away.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

#define LABELS       52
#define ELLIPSIS     LABELS
#define OPERANDS_MAX 16
#define DIMS_MAX     64

typedef struct einsum {
    sc_trace *t;
    sc_x operands[OPERANDS_MAX];
    int8_t labels[OPERANDS_MAX][SC_RANK_MAX + 1];  // label or ELLIPSIS
    uint32_t label_counts[OPERANDS_MAX];
    uint32_t count;
    uint32_t ellipsis_rank;
    int8_t out[SC_RANK_MAX + 1];
    uint32_t out_count;
    bool has_arrow;
    int32_t place[LABELS];  // where a label's dim is in the common order
    uint32_t ellipsis_place;
    uint32_t rank, out_rank;
} einsum;

static int8_t label_of(char c) {
    if (c >= 'A' && c <= 'Z') return (int8_t)(c - 'A');
    return c >= 'a' && c <= 'z' ? (int8_t)(c - 'a' + 26) : -1;
}

// One term of the equation up to ',' or the arrow.
static bool parse_term(sc_str text, size_t *at, int8_t *labels, uint32_t *count) {
    *count = 0;
    while (*at < text.size && text.data[*at] != ',' && text.data[*at] != '-') {
        char c = text.data[*at];
        int8_t label = label_of(c);
        if (c == '.' && *at + 2 < text.size) {
            label = ELLIPSIS;
            *at += 2;
        }
        (*at)++;
        if (c == ' ') continue;
        if (label < 0 || *count > SC_RANK_MAX - 1) return false;
        labels[(*count)++] = label;
    }
    return true;
}

static bool parse_equation(einsum *e, sc_str text, uint32_t operand_count) {
    size_t at = 0;
    for (e->count = 0; e->count < operand_count; e->count++) {
        if (!parse_term(text, &at, e->labels[e->count], &e->label_counts[e->count])) return false;
        if (e->count + 1 < operand_count && (at >= text.size || text.data[at++] != ','))
            return false;
    }
    e->has_arrow = at + 1 < text.size && text.data[at] == '-' && text.data[at + 1] == '>';
    if (!e->has_arrow) return at == text.size;
    at += 2;
    return parse_term(text, &at, e->out, &e->out_count) && at == text.size;
}

static bool count_ellipsis(einsum *e) {
    for (uint32_t i = 0; i < e->count; i++) {
        uint32_t named = 0, dots = 0, rank = sc_x_rank(e->operands[i]);
        for (uint32_t k = 0; k < e->label_counts[i]; k++)
            e->labels[i][k] == ELLIPSIS ? dots++ : named++;
        if (dots > 1 || named > rank || (dots == 0 && named != rank)) return false;
        if (dots && rank - named > e->ellipsis_rank) e->ellipsis_rank = rank - named;
    }
    return true;
}

// Output labels in their order, the ellipsis where it stands, then the summed labels A-Z, a-z.
static bool place_labels(einsum *e) {
    uint32_t uses[LABELS] = {0}, next = 0;
    bool placed_ellipsis = false;
    for (uint32_t i = 0; i < LABELS; i++) e->place[i] = -1;
    for (uint32_t i = 0; i < e->count; i++)
        for (uint32_t k = 0; k < e->label_counts[i]; k++)
            if (e->labels[i][k] != ELLIPSIS) uses[e->labels[i][k]]++;
    for (uint32_t k = 0; e->has_arrow && k < e->out_count; k++) {
        if (e->out[k] == ELLIPSIS) {
            e->ellipsis_place = next;
            next += e->ellipsis_rank;
            placed_ellipsis = true;
        } else if (e->place[e->out[k]] >= 0 || uses[e->out[k]] == 0) {
            return false;
        } else {
            e->place[e->out[k]] = (int32_t)next++;
        }
    }
    if (!e->has_arrow) {
        next = e->ellipsis_rank;
        placed_ellipsis = true;
        for (uint32_t i = 0; i < LABELS; i++)
            if (uses[i] == 1) e->place[i] = (int32_t)next++;
    }
    e->out_rank = next;
    if (!placed_ellipsis) {
        e->ellipsis_place = next;
        next += e->ellipsis_rank;
    }
    for (uint32_t i = 0; i < LABELS; i++)
        if (uses[i] > 0 && e->place[i] < 0) e->place[i] = (int32_t)next++;
    e->rank = next;
    return next <= SC_RANK_MAX;
}

// A label that an operand has twice means its diagonal.
static sc_x take_diagonals(einsum *e, uint32_t index, int64_t *dim_at) {
    sc_trace *t = e->t;
    sc_x x = e->operands[index];
    for (uint32_t i = 0; i < DIMS_MAX; i++) dim_at[i] = -1;
    uint32_t dim = 0;
    for (uint32_t k = 0; k < e->label_counts[index]; k++) {
        int8_t label = e->labels[index][k];
        if (label == ELLIPSIS) {
            uint32_t named = 0;
            for (uint32_t n = 0; n < e->label_counts[index]; n++)
                named += e->labels[index][n] != ELLIPSIS;
            uint32_t has = sc_x_rank(e->operands[index]) - named;
            for (uint32_t d = 0; d < has; d++)
                dim_at[e->ellipsis_place + e->ellipsis_rank - has + d] = dim++;
        } else if (dim_at[e->place[label]] >= 0) {
            int64_t first = dim_at[e->place[label]];
            x = CALL(t, diagonal, x, sc_x_int(t, 0), sc_x_int(t, first), sc_x_int(t, dim));
            x = CALL(t, movedim_int, x, sc_x_int(t, -1), sc_x_int(t, first));
        } else {
            dim_at[e->place[label]] = dim++;
        }
    }
    return x;
}

static sc_x arrange(einsum *e, uint32_t index) {
    sc_trace *t = e->t;
    int64_t dim_at[DIMS_MAX], order[SC_RANK_MAX];
    sc_x x = take_diagonals(e, index, dim_at);
    uint32_t dim = sc_x_rank(x);
    for (uint32_t i = 0; i < e->rank; i++) {
        if (dim_at[i] < 0) {
            x = sc_f_unsqueeze(t, x, dim);
            dim_at[i] = dim++;
        }
        order[i] = dim_at[i];
    }
    return sc_f_permute(t, x, order);
}

typedef struct dim_set {
    uint32_t dims[SC_RANK_MAX], count;
    sc_dim product;
} dim_set;

static void put(einsum *e, dim_set *set, uint32_t dim, sc_dim size) {
    set->dims[set->count++] = dim;
    set->product = set->count == 1 ? size : sc_trace_mul(e->t, set->product, size);
}

static void append(int64_t *order, uint32_t *count, const dim_set *set) {
    for (uint32_t i = 0; i < set->count; i++) order[(*count)++] = set->dims[i];
}

// The product of two operands with the dims in `ends` summed: one bmm over what both keep (batch),
// what only one has (left, right) and what ends here.
static sc_x pair_product(einsum *e, sc_x a, sc_x b, const dim_set *ends) {
    sc_trace *t = e->t;
    sc_dim one = sc_dim_int(1), out[SC_RANK_MAX];
    dim_set batch = {.product = one}, left = batch, right = batch, sum = batch;
    int64_t la[SC_RANK_MAX], lb[SC_RANK_MAX], lo[SC_RANK_MAX], back[SC_RANK_MAX];
    uint32_t na = 0, nb = 0, no = 0, n = 0;
    bool ending[SC_RANK_MAX] = {false};
    if (ends->count == 0) return sc_f_mul(t, a, b);
    for (uint32_t i = 0; i < ends->count; i++) {
        ending[ends->dims[i]] = true;
        put(e, &sum, ends->dims[i], sc_x_size(a, ends->dims[i]));
    }
    for (uint32_t d = 0; d < e->rank; d++) {
        sc_dim x = sc_x_size(a, d), y = sc_x_size(b, d);
        if (!ending[d])
            put(e,
                sc_dim_is(x, 1)   ? &right
                : sc_dim_is(y, 1) ? &left
                                  : &batch,
                d, sc_dim_is(x, 1) ? y : x);
    }
    // The other way round where the product then has its dims in the order that is wanted.
    if (left.count && right.count && left.dims[0] > right.dims[right.count - 1]) {
        const sc_x other = a;
        const dim_set set = left;
        a = b, b = other;
        left = right, right = set;
    }
    for (uint32_t i = 0; i < batch.count; i++) out[n++] = sc_x_size(a, batch.dims[i]);
    for (uint32_t i = 0; i < left.count; i++) out[n++] = sc_x_size(a, left.dims[i]);
    for (uint32_t i = 0; i < sum.count; i++) out[n++] = one;
    for (uint32_t i = 0; i < right.count; i++) out[n++] = sc_x_size(b, right.dims[i]);
    append(la, &na, &batch);
    append(la, &na, &left);
    append(la, &na, &sum);
    append(la, &na, &right);
    append(lb, &nb, &batch);
    append(lb, &nb, &sum);
    append(lb, &nb, &right);
    append(lb, &nb, &left);
    append(lo, &no, &batch);
    append(lo, &no, &left);
    append(lo, &no, &sum);
    append(lo, &no, &right);
    for (uint32_t i = 0; i < no; i++) back[lo[i]] = i;
    sc_dim x_shape[3] = {batch.product, left.product, sum.product};
    sc_dim y_shape[3] = {batch.product, sum.product, right.product};
    sc_x x = sc_f_reshape(t, sc_f_permute(t, a, la), x_shape, 3);
    sc_x y = sc_f_reshape(t, sc_f_permute(t, b, lb), y_shape, 3);
    sc_x product = sc_f_view(t, CALL(t, bmm, x, y), out, n);
    return sc_f_permute(t, product, back);
}

// Multiplies two operands; dims that no other operand has any more are summed first or meanwhile.
static sc_x join(einsum *e, sc_x a, sc_x b, uint32_t *uses) {
    sc_trace *t = e->t;
    dim_set both = {.count = 0};
    int64_t only_a[SC_RANK_MAX], only_b[SC_RANK_MAX];
    uint32_t na = 0, nb = 0;
    for (uint32_t d = e->out_rank; d < e->rank; d++) {
        bool in_a = !sc_dim_is(sc_x_size(a, d), 1), in_b = !sc_dim_is(sc_x_size(b, d), 1);
        if (in_a && in_b) {
            if (--uses[d] == 1) {
                both.dims[both.count++] = d;
                uses[d] = 0;
            }
        } else if (uses[d] == 1 && (in_a || in_b)) {
            if (in_a)
                only_a[na++] = d;
            else
                only_b[nb++] = d;
            uses[d] = 0;
        }
    }
    if (na) a = sc_f_sum(t, a, sc_x_ints(t, only_a, na), true);
    if (nb) b = sc_f_sum(t, b, sc_x_ints(t, only_b, nb), true);
    return pair_product(e, a, b, &both);
}

static void remove_at(sc_x *items, uint32_t *count, uint32_t index) {
    memmove(items + index, items + index + 1, (*count - index - 1) * sizeof *items);
    (*count)--;
}

static sc_x contract(einsum *e, sc_x path) {
    sc_trace *t = e->t;
    sc_x items[OPERANDS_MAX];
    uint32_t uses[SC_RANK_MAX] = {0}, count = e->count, step = 0;
    for (uint32_t i = 0; i < count; i++) {
        items[i] = arrange(e, i);
        for (uint32_t d = 0; d < e->rank; d++) uses[d] += !sc_dim_is(sc_x_size(items[i], d), 1);
    }
    while (count > 1 && t->status == SC_OK) {
        bool given = path->kind == SC_X_LIST;
        uint32_t i = given ? (uint32_t)sc_x_number(sc_x_at(t, path, 2 * step), 0) : 0;
        uint32_t j = given ? (uint32_t)sc_x_number(sc_x_at(t, path, 2 * step + 1), 0) : 1;
        step++;
        if (i >= count || j >= count || i == j)
            return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "the path of einsum is malformed");
        if (j < i) {
            uint32_t swap = i;
            i = j;
            j = swap;
        }
        sc_x a = items[i], b = items[j];
        remove_at(items, &count, j);
        remove_at(items, &count, i);
        sc_x product = join(e, a, b, uses);
        if (!given) memmove(items + 1, items, count * sizeof *items);
        items[given ? count : 0] = product;
        count++;
    }
    if (e->rank == e->out_rank) return items[0];
    if (e->count > 1)
        return sc_f_view(t, items[0], sc_x_spec(items[0])->sizes,
                         sc_x_rank(items[0]) < e->out_rank ? 0 : e->out_rank);
    int64_t sums[SC_RANK_MAX];
    for (uint32_t d = e->out_rank; d < e->rank; d++) sums[d - e->out_rank] = d;
    return sc_f_sum(t, items[0], sc_x_ints(t, sums, e->rank - e->out_rank), false);
}

sc_x sc_expand_einsum(sc_trace *t, const sc_x *a) {
    einsum *e = sc_new(t->arena, einsum);
    uint32_t count = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    e->t = t;
    if (count == 0 || count > OPERANDS_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, NULL, "einsum does not take %u operands", count);
    for (uint32_t i = 0; i < count; i++) e->operands[i] = a[1]->items[i];
    if (!parse_equation(e, a[0]->str, count) || !count_ellipsis(e) || !place_labels(e))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "einsum('" SC_STR_FMT "') does not fit its operands",
                             SC_STR_ARG(a[0]->str));
    return contract(e, a[2]);
}
