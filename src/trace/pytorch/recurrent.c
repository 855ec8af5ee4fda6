// Recurrent layers written out step by step. The input's projection is done for the whole sequence
// at once; then one slice and one squeeze per step, and the cell.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

typedef enum cell_kind { CELL_LSTM, CELL_GRU, CELL_TANH, CELL_RELU } cell_kind;

typedef struct layer {
    sc_x w_ih, w_hh, b_ih, b_hh, w_hr;  // the last only with LSTM projections
} layer;

typedef struct state {
    sc_x h, c;  // c: LSTM only
} state;

typedef struct recurrence {
    cell_kind kind;
    sc_x params;
    bool biases, projected, bidirectional, batch_first;
    int64_t layers;
} recurrence;

static layer layer_at(sc_trace *t, const recurrence *r, uint32_t index) {
    uint32_t size = 2 + (r->biases ? 2 : 0) + (r->projected ? 1 : 0), at = index * size;
    layer l = {.b_ih = X_NONE, .b_hh = X_NONE, .w_hr = X_NONE};
    l.w_ih = sc_x_at(t, r->params, at);
    l.w_hh = sc_x_at(t, r->params, at + 1);
    if (r->biases) {
        l.b_ih = sc_x_at(t, r->params, at + 2);
        l.b_hh = sc_x_at(t, r->params, at + 3);
    }
    if (r->projected) l.w_hr = sc_x_at(t, r->params, at + size - 1);
    return l;
}

// --- Cells --------------------------------------------------------------------------------------

static state lstm_gates(sc_trace *t, sc_x gates, sc_x cell, int64_t dim) {
    sc_x parts = CALL(t, chunk, gates, sc_x_int(t, 4), sc_x_int(t, dim));
    sc_x in = CALL(t, sigmoid, sc_x_at(t, parts, 0));
    sc_x forget = CALL(t, sigmoid, sc_x_at(t, parts, 1));
    sc_x fresh = CALL(t, tanh, sc_x_at(t, parts, 2));
    sc_x out = CALL(t, sigmoid, sc_x_at(t, parts, 3));
    sc_x kept = sc_f_mul(t, forget, cell);
    sc_x added = sc_f_mul(t, in, fresh);
    sc_x c = sc_f_add(t, kept, added);
    return (state){.h = sc_f_mul(t, out, CALL(t, tanh, c)), .c = c};
}

static sc_x gru_gates(sc_trace *t, sc_x in, sc_x hidden, sc_x h) {
    sc_x reset = CALL(t, sigmoid, sc_f_add(t, sc_x_at(t, hidden, 0), sc_x_at(t, in, 0)));
    sc_x keep = CALL(t, sigmoid, sc_f_add(t, sc_x_at(t, hidden, 1), sc_x_at(t, in, 1)));
    sc_x fresh = sc_f_mul(t, sc_x_at(t, hidden, 2), reset);
    fresh = CALL(t, tanh, sc_f_add(t, sc_x_at(t, in, 2), fresh));
    sc_x change = sc_f_mul(t, sc_f_sub(t, h, fresh), keep);
    return sc_f_add(t, change, fresh);
}

static state step(sc_trace *t, const recurrence *r, const layer *l, sc_x in, state s) {
    if (r->kind == CELL_GRU) {
        sc_x parts = CALL(t, chunk, in, sc_x_int(t, 3), sc_x_int(t, 1));
        sc_x hidden =
            CALL(t, chunk, sc_f_linear(t, s.h, l->w_hh, l->b_hh), sc_x_int(t, 3), sc_x_int(t, 2));
        return (state){.h = gru_gates(t, parts, hidden, s.h)};
    }
    sc_x sum = sc_f_add(t, sc_f_linear(t, s.h, l->w_hh, l->b_hh), in);
    if (r->kind != CELL_LSTM)
        return (state){.h = r->kind == CELL_TANH ? CALL(t, tanh, sum) : CALL(t, relu, sum)};
    state next = lstm_gates(t, sum, s.c, 2);
    if (r->projected) next.h = sc_f_linear(t, next.h, l->w_hr, X_NONE);
    return next;
}

// --- Layers -------------------------------------------------------------------------------------

static sc_x run_layer(sc_trace *t, const recurrence *r, const layer *l, sc_x input, state *s,
                      bool reverse) {
    bool lstm = r->kind == CELL_LSTM;
    sc_x projected = X_NONE;
    if (!lstm) {
        projected = sc_f_linear(t, input, l->w_ih, l->b_ih);
        projected = reverse ? CALL(t, flip, projected, X_INTS(t, 0)) : projected;
    }
    s->h = sc_f_unsqueeze(t, s->h, 0);
    if (lstm) {
        s->c = sc_f_unsqueeze(t, s->c, 0);
        projected = sc_f_linear(t, input, l->w_ih, l->b_ih);
        projected = reverse ? CALL(t, flip, projected, X_INTS(t, 0)) : projected;
    }
    sc_x steps = CALL(t, unbind_int, projected, sc_x_int(t, 0));
    uint32_t count = steps->kind == SC_X_LIST ? steps->count : 0;
    sc_x *outs = sc_new_array(t->arena, sc_x, count + 1);
    for (uint32_t i = 0; i < count && t->status == SC_OK; i++) {
        *s = step(t, r, l, steps->items[i], *s);
        outs[reverse ? count - 1 - i : i] = s->h;
    }
    if (count == 0)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL,
                             "a recurrent layer needs a sequence that is not empty");
    sc_x out = sc_f_cat(t, outs, count, 0);
    s->h = sc_f_squeeze(t, s->h, 0);
    if (lstm) s->c = sc_f_squeeze(t, s->c, 0);
    return out;
}

static sc_x run_layers(sc_trace *t, const recurrence *r, sc_x input, state *states) {
    uint32_t directions = r->bidirectional ? 2 : 1;
    if (r->batch_first) input = sc_f_transpose(t, input, 0, 1);
    for (uint32_t i = 0; i < r->layers && t->status == SC_OK; i++) {
        sc_x outs[2] = {X_NONE, X_NONE};
        for (uint32_t d = 0; d < directions; d++) {
            layer l = layer_at(t, r, i * directions + d);
            outs[d] = run_layer(t, r, &l, input, &states[i * directions + d], d == 1);
        }
        input = r->bidirectional ? sc_f_cat(t, outs, 2, (int64_t)sc_x_rank(outs[0]) - 1) : outs[0];
    }
    return r->batch_first ? sc_f_transpose(t, input, 0, 1) : input;
}

static sc_x stack_states(sc_trace *t, const state *states, uint32_t count, bool cells) {
    sc_x *items = sc_new_array(t->arena, sc_x, count);
    for (uint32_t i = 0; i < count; i++) items[i] = cells ? states[i].c : states[i].h;
    return CALL(t, stack, sc_x_list(t, items, count), sc_x_int(t, 0));
}

static sc_x run(sc_trace *t, recurrence *r, const sc_x *a, sc_x h, sc_x c) {
    t->unchecked = true;  // PyTorch 2.6 records final states with a dimension too many
    r->params = a[2];
    r->biases = sc_x_truth(a[3]);
    r->layers = sc_x_small(t, a[4], 0);
    r->bidirectional = sc_x_truth(a[7]);
    r->batch_first = sc_x_truth(a[8]);
    if (sc_x_truth(a[6]) && sc_x_known(t, a[5], 0) > 0)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Call model.eval() before torch.export.",
                             "a recurrent layer with dropout in training mode is not supported");
    sc_x hs = CALL(t, unbind_int, h, sc_x_int(t, 0)), cs = X_NONE;
    if (r->kind == CELL_LSTM) cs = CALL(t, unbind_int, c, sc_x_int(t, 0));
    uint64_t count = (uint64_t)r->layers * (r->bidirectional ? 2 : 1);
    if (t->status != SC_OK || r->layers < 1 || hs->count != count ||
        (r->kind == CELL_LSTM && cs->count != count))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "a recurrent layer needs one initial state per layer and direction");
    state *states = sc_new_array(t->arena, state, (size_t)count);
    for (uint32_t i = 0; i < count; i++)
        states[i] = (state){hs->items[i], r->kind == CELL_LSTM ? cs->items[i] : X_NONE};
    sc_x out = run_layers(t, r, a[0], states);
    sc_x last_h = stack_states(t, states, (uint32_t)count, false);
    if (r->kind != CELL_LSTM) return X_LIST(t, out, last_h);
    sc_x last_c = stack_states(t, states, (uint32_t)count, true);
    return X_LIST(t, out, last_h, last_c);
}

sc_x sc_expand_lstm(sc_trace *t, const sc_x *a) {
    recurrence r = {.kind = CELL_LSTM};
    sc_x h = sc_x_at(t, a[1], 0), c = sc_x_at(t, a[1], 1);
    r.projected = !sc_dim_equal(sc_x_size(h, 2), sc_x_size(c, 2));
    return run(t, &r, a, h, c);
}

sc_x sc_expand_gru(sc_trace *t, const sc_x *a) {
    recurrence r = {.kind = CELL_GRU};
    return run(t, &r, a, a[1], X_NONE);
}

sc_x sc_expand_rnn_tanh(sc_trace *t, const sc_x *a) {
    recurrence r = {.kind = CELL_TANH};
    return run(t, &r, a, a[1], X_NONE);
}

sc_x sc_expand_rnn_relu(sc_trace *t, const sc_x *a) {
    recurrence r = {.kind = CELL_RELU};
    return run(t, &r, a, a[1], X_NONE);
}

// --- Single cells -------------------------------------------------------------------------------

sc_x sc_expand_lstm_cell(sc_trace *t, const sc_x *a) {
    sc_x h = sc_x_at(t, a[1], 0), c = sc_x_at(t, a[1], 1);
    sc_x hidden = sc_f_linear(t, h, a[3], a[5]);
    sc_x gates = sc_f_add(t, hidden, sc_f_linear(t, a[0], a[2], a[4]));
    state s = lstm_gates(t, gates, c, 1);
    return X_LIST(t, s.h, s.c);
}

sc_x sc_expand_gru_cell(sc_trace *t, const sc_x *a) {
    sc_x in = CALL(t, chunk, sc_f_linear(t, a[0], a[2], a[4]), sc_x_int(t, 3), sc_x_int(t, 1));
    sc_x hidden = CALL(t, chunk, sc_f_linear(t, a[1], a[3], a[5]), sc_x_int(t, 3), sc_x_int(t, 1));
    return gru_gates(t, in, hidden, a[1]);
}
