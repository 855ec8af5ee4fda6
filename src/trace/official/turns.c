// The same step for one row or column after the other. Few steps are written out. Many steps are a
// loop, whose size does not depend on their number, which may be open.
#include "trace/official/factor.h"

// The loop carries the number of the turn after the state. The number of turns comes after the
// fixed tensors. Both are [1].
static const sc_x *fixed_of(const sc_official_turns *s, const sc_x *x) { return x + s->count + 1; }

static sc_x goes_on(sc_trace *t, const sc_x *x, const void *user) {
    const sc_official_turns *s = user;
    sc_x end = fixed_of(s, x)[s->fixed_count];
    return CALL(t, any, CALL(t, lt_Tensor, x[s->count], end));
}

static sc_x turn(sc_trace *t, const sc_x *x, const void *user) {
    sc_official_turns s = *(const sc_official_turns *)user;
    sc_x number = x[s.count], k = number, one = sc_x_int(t, 1), items[SC_OFFICIAL_STATE_MAX + 1];
    const sc_x *fixed = fixed_of(&s, x);
    if (s.falls) {
        sc_x last = sc_f_sub(t, fixed[s.fixed_count], one);
        k = sc_f_sub(t, last, number);
    }
    memcpy(s.state, x, s.count * sizeof *x);
    memcpy(s.fixed, fixed, s.fixed_count * sizeof *x);
    s.step(t, &s, k);
    memcpy(items, s.state, s.count * sizeof *x);
    items[s.count] = sc_f_add(t, number, one);
    return sc_x_list(t, items, s.count + 1);
}

static void take_in_a_loop(sc_trace *t, sc_official_turns *s) {
    sc_x carried[SC_OFFICIAL_STATE_MAX + 1], fixed[SC_OFFICIAL_STATE_MAX + 1], one = X_INTS(t, 1);
    memcpy(carried, s->state, s->count * sizeof *carried);
    memcpy(fixed, s->fixed, s->fixed_count * sizeof *fixed);
    carried[s->count] = sc_f_zeros(t, one, SC_DTYPE_I64);
    fixed[s->fixed_count] = sc_f_full(t, one, sc_x_dim(t, s->turns), SC_DTYPE_I64);
    const sc_f_loop loop = {.carried = carried,
                            .count = s->count + 1,
                            .fixed = fixed,
                            .fixed_count = s->fixed_count + 1,
                            .goes_on = goes_on,
                            .turn = turn,
                            .user = s};
    sc_x made = sc_f_while(t, &loop);
    for (uint32_t i = 0; i < s->count; i++) s->state[i] = sc_x_at(t, made, i);
}

void sc_official_take_turns(sc_trace *t, sc_official_turns *s) {
    const int64_t n = s->turns.value;
    if (!sc_dim_is_int(s->turns) || n > SC_OFFICIAL_MATRIX_MAX) {
        take_in_a_loop(t, s);
        return;
    }
    for (int64_t i = 0; i < n && t->status == SC_OK; i++)
        s->step(t, s, sc_x_int(t, s->falls ? n - 1 - i : i));
}

// --- The row or column of a turn -----------------------------------------------------------------

static bool is_known(sc_x k) { return k->kind == SC_X_INT; }

static sc_x at(sc_trace *t, sc_x x, uint32_t dim, sc_x k) {
    if (is_known(k)) return sc_f_slice_steps(t, x, dim, sc_x_number(k, 0), 1, 1);
    return CALL(t, index_select, x, sc_x_int(t, dim), k);
}

sc_x sc_official_row_at(sc_trace *t, sc_x x, sc_x k) { return at(t, x, 1, k); }
sc_x sc_official_column_at(sc_trace *t, sc_x x, sc_x k) { return at(t, x, 2, k); }

sc_x sc_official_is_at(sc_trace *t, sc_x numbers, sc_x k) {
    return is_known(k) ? CALL(t, eq_Scalar, numbers, k) : CALL(t, eq_Tensor, numbers, k);
}

sc_x sc_official_is_behind(sc_trace *t, sc_x numbers, sc_x k) {
    return is_known(k) ? CALL(t, gt_Scalar, numbers, k) : CALL(t, gt_Tensor, numbers, k);
}

sc_x sc_official_is_before(sc_trace *t, sc_x numbers, sc_x k) {
    return is_known(k) ? CALL(t, lt_Scalar, numbers, k) : CALL(t, lt_Tensor, numbers, k);
}

sc_x sc_official_where_at(sc_trace *t, sc_x condition, sc_x k, sc_x x) {
    if (is_known(k)) return sc_f_where_else(t, sc_f_not(t, condition), x, k);
    return sc_f_where(t, condition, k, x);
}
