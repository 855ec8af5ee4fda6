// Expands vmap and jvp. torch.vmap and torch.func.jvp leave calls in a graph that open and close
// levels, and that name the tensors with a batch or a tangent. The calls of the function itself are
// between them, with the shapes of one sample. After decomposition few operators remain, and each
// level is written out, the innermost one first, so that an outer level never sees an inner one. A
// value with a batch has the batch as its first dim (vmap.def). A value with a tangent stays, and
// the tangent is computed next to it (jvp.def). Other values stay as they are.
//
// Prefixes: sc_functorch_ for levels, sc_vmap_ for the rules of batches, sc_jvp_ for those of
// tangents.
//
// The files stand on each other in this order: book.c; batch.c, vmap_*.c and jvp_rules.c (rules),
// vmap.c and jvp.c (tables), levels_*.c (levels), functorch.c (whole methods).
#ifndef SC_FUNCTORCH_H
#define SC_FUNCTORCH_H

#include "trace/trace.h"
#include "trace/words/calls.h"

// Given by the caller that decomposes: `dispatch` answers the calls that rules make.
typedef struct sc_functorch_env {
    sc_ctx *ctx;
    sc_dispatch_fn dispatch;
} sc_functorch_env;

// Writes out every level of the decomposed method. A refusal (sc_status_is_refusal) leaves the
// graph half written.
sc_status sc_functorch(const sc_functorch_env *env, sc_method *method);

#define SC_FUNCTORCH_HINT                                                                        \
    "Save exported.run_decompositions() instead, in which PyTorch has decomposed vmap and jvp. " \
    "If that fails, write this line without them."

// --- While a graph is decomposed (book.c) -------------------------------------------------------

// A result that PyTorch would make a view of another tensor.
typedef struct sc_shown {
    const sc_alias *from, *to;
    uint32_t generation;  // of `from`, then
    bool is_inner;        // nobody outside of the levels sees `from`
    const sc_node *node;
} sc_shown;

// Which levels are open. A zeroed struct plus `shows.arena` knows no level.
typedef struct sc_book {
    uint32_t open, jvps;
    uint64_t begun;  // how many nodes there were when the outermost level was opened
    SC_VEC(sc_shown) shown;
    sc_imap shows;  // sc_alias -> how often it is shown
} sc_book;

typedef enum sc_functorch_level_kind {
    SC_LEVEL_VMAP,
    SC_LEVEL_JVP,
    SC_LEVEL_NONE
} sc_functorch_level_kind;
// Which level a call opens, or closes.
sc_functorch_level_kind sc_functorch_level_opens(const sc_op *op);
sc_functorch_level_kind sc_functorch_level_closes(const sc_op *op);
// Is a call of it for sc_functorch_book, which records it?
bool sc_functorch_is_book(const sc_book *book, const sc_op *op);
sc_x sc_functorch_book(sc_book *book, sc_trace *t, const sc_op *op, const sc_x *args,
                       uint32_t count);
// Once everything is traced: was something written that others should have seen?
sc_status sc_functorch_check(sc_ctx *ctx, const sc_book *book);

// --- Levels -------------------------------------------------------------------------------------

// An argument at the level that is being written out. Arguments that are neither tensors nor lists
// of them are `x` alone.
typedef struct sc_lifted {
    sc_x x;                         // with the batch as its first dim, if there is one
    sc_x tangent;                   // NULL: absent, which means zero
    const struct sc_lifted *items;  // of a list, x->count of them
    bool batched;
} sc_lifted;

// A call at a level.
typedef struct sc_functorch_level {
    sc_trace *t;
    const sc_node *node;
    sc_dim size;         // vmap: of the batch
    uint32_t *repeated;  // calls of the graph that were made for a sample, so far
} sc_functorch_level;

// --- Batches (batch.c) --------------------------------------------------------------------------

// The rank of one sample.
uint32_t sc_functorch_rank(const sc_lifted *a);
// The tensor with a batch, repeated if it has no batch.
sc_x sc_functorch_front(const sc_functorch_level *v, const sc_lifted *a);
// The tensor with dims of size 1 in front of each sample, up to `rank`, so that batches broadcast.
// A tensor without a batch stays as it is.
sc_x sc_functorch_ranked(const sc_functorch_level *v, const sc_lifted *a, uint32_t rank);
// The tensor in the sizes of a batch of `like`s.
sc_x sc_functorch_reshape(const sc_functorch_level *v, sc_x x, const sc_spec *like);
sc_x sc_functorch_move(sc_trace *t, sc_x x, uint32_t from, uint32_t to);
// Do any but the arguments of `mask`, by bit, have a batch?
bool sc_functorch_others(const sc_functorch_level *v, const sc_lifted *a, uint32_t mask);
sc_x *sc_functorch_args(const sc_functorch_level *v, const sc_lifted *a);  // all `x`
sc_x sc_functorch_call(const sc_functorch_level *v, const sc_x *args);     // of the node's operator

// --- Rules (vmap_*.c) and their table (vmap.c) --------------------------------------------------

// The call for a whole batch at once, every result with its batch in front. NULL: it cannot be said
// so, and is made for each sample.
typedef sc_x (*sc_vmap_rule)(const sc_functorch_level *v, const sc_lifted *a);
sc_x sc_vmap_call(const sc_functorch_level *v, const sc_lifted *a);
bool sc_vmap_has_rule(const sc_op *op);
// A call without a rule is made once for each sample. These are the most samples for that, and the
// most calls that it may make in a graph, because nested levels multiply them.
enum { SC_VMAP_SAMPLES_MAX = 32, SC_VMAP_REPEATED_MAX = 1 << 15 };

#define VMAP(rule, op) sc_x sc_vmap_##rule(const sc_functorch_level *v, const sc_lifted *a);
#include "trace/functorch/vmap.def"
#undef VMAP
sc_x sc_vmap_pointwise(const sc_functorch_level *v, const sc_lifted *a);

// --- Tangents (jvp.c) ---------------------------------------------------------------------------

// The tangents of the node's results, which are there already: one, or a list of them, NULL where
// there is none.
sc_x sc_jvp_call(const sc_functorch_level *v, const sc_lifted *a);
bool sc_jvp_has_row(const sc_op *op);
// In a jvp, calls with an expansion wait for their tangents if a row says what these are: their
// parts would say otherwise at zeros, ties and bounds. `apart` is what the expansion gave; of it
// stays only of which sizes and dtype the result is, and once no level is left, it is made again.
bool sc_jvp_waits(const sc_trace *t, const sc_op *op);
sc_x sc_jvp_wait(sc_trace *t, const sc_op *op, const sc_x *args, sc_x apart);

#define TEXT(op, param, text)
#define RULE(rule, op, param) \
    sc_x sc_jvp_##rule(const sc_functorch_level *v, const sc_lifted *a, sc_x d);
#include "trace/functorch/jvp.def"
#undef TEXT
#undef RULE

#endif
