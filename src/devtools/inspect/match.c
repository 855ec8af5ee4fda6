// Finds the method of each block, which a dump does not contain. It is the method of the record
// that fits best. Kernels must be those of the nodes at their instructions. Delegates must be
// called at the instructions of the maps, and report the events that these list. A run without
// jumps must reach all instructions of the method.
#include "devtools/inspect/internal.h"

// --- How well a block fits -----------------------------------------------------------------------

typedef struct fit {
    uint32_t agreeing;        // kernels and calls that agree with the method
    uint32_t contrary;        // kernels and calls that differ from the method, or are at an
                              // instruction that it does not have
    uint32_t swapped;         // kernels where the method calls a delegate, or the other way round
    uint32_t known, unknown;  // events of delegates that have maps: listed there, or not
    uint32_t unreached;       // instructions of the method that are not in the block
    bool jumps;               // so some instructions may not be reached
} fit;

// Nodes that exporters add after nodes have their handles: write-backs of state, copies into
// another layout, and nodes that split the inputs of a loop.
static bool is_added(sc_str kernel) {
    static const char *ADDED[] = {"copy_",
                                  "_to_dim_order_copy",
                                  "_clone_dim_order",
                                  "sym_size",
                                  "select_copy",
                                  "scalar_tensor",
                                  "copy",
                                  "clone"};
    for (size_t i = 0; i < SC_COUNT_OF(ADDED); i++)
        if (sc_str_is(kernel, ADDED[i])) return true;
    return false;
}

static bool names_kernel(sc_inspect_correlating *c, const sc_inspect_method *method,
                         const sc_inspect_instruction *at, sc_str kernel) {
    for (uint32_t h = 0; h < at->handles.count && sc_inspect_may_work(c, 1); h++) {
        const sc_inspect_node *n = NULL;
        while ((n = sc_inspect_node_of(method, at->handles.data[h], n)) &&
               sc_inspect_may_work(c, 1))
            if (sc_str_equal(sc_inspect_base_of(n->op), kernel)) return true;
    }
    return false;
}

static void add_kernel(sc_inspect_correlating *c, fit *f, const sc_inspect_method *method,
                       const sc_inspect_instruction *at, sc_str kernel) {
    const bool agrees = at && !at->is_delegate && names_kernel(c, method, at, kernel);
    f->agreeing += agrees;
    f->swapped += at && at->is_delegate;
    f->contrary += !agrees && !is_added(kernel);
}

static void add_event(sc_inspect_correlating *c, fit *f, const sc_inspect_method *method,
                      const sc_inspect_event *e) {
    const sc_inspect_instruction *at = sc_inspect_instruction_at(method, e->instruction);
    const sc_str kernel = sc_inspect_kernel_of(e);
    if (sc_str_is(e->name, "JF_CALL")) f->jumps = true;
    if (e->is_delegated && at && at->has_ids && at->id_count) {
        const bool is_known = sc_inspect_find_id(c, at, e->name) != NULL;
        f->known += is_known;
        f->unknown += !is_known;
    }
    if (e->is_delegated) return;
    if (kernel.size) add_kernel(c, f, method, at, kernel);
    if (!sc_str_is(e->name, "DELEGATE_CALL")) return;
    f->agreeing += at && at->is_delegate;
    f->swapped += at && !at->is_delegate;
    f->contrary += !at || !at->is_delegate;
}

static fit fit_of(sc_inspect_correlating *c, const sc_inspect_method *method,
                  const sc_inspect_block *block) {
    const sc_inspection *in = c->in;
    fit f = {0};
    if (!sc_inspect_may_work(c, (uint64_t)block->event_count + method->instruction_count)) return f;
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    sc_imap reached;
    sc_imap_init(&reached, in->ctx->scratch);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        if (e->chain != 0) continue;
        sc_imap_set(&reached, (uint64_t)e->instruction, 1);
        add_event(c, &f, method, e);
    }
    for (uint32_t i = 0; i < method->instruction_count; i++)
        f.unreached += !sc_imap_find(&reached, (uint64_t)method->instructions[i].index);
    sc_arena_rewind(in->ctx->scratch, mark);
    return f;
}

static bool has_instructions(const sc_inspect_block *block) {
    for (uint32_t i = 0; i < block->event_count; i++)
        if (block->events[i].chain >= 0) return true;
    return false;
}

// A block may differ from its method in some places: passes of a later stage may change kernels,
// and maps may lack nodes. If more than a quarter differs, the block is of another method. Maps of
// delegates have gaps, too, but not everywhere.
static bool contradicts(const fit *f) {
    if (f->swapped || (f->unknown > 1 && f->known == 0)) return true;
    return UINT64_C(4) * f->contrary > (uint64_t)f->agreeing + f->contrary;
}

static bool falls_short(const fit *f, const sc_inspect_method *method) {
    return !f->jumps && UINT64_C(4) * f->unreached > method->instruction_count;
}

// A smaller number fits better.
#define NO_FIT UINT64_MAX

static uint64_t misfit(sc_inspect_correlating *c, const sc_inspect_method *method,
                       const sc_inspect_block *block) {
    const fit f = fit_of(c, method, block);
    if (contradicts(&f) || falls_short(&f, method)) return NO_FIT;
    return (((uint64_t)f.contrary + f.unknown) << 32) + f.unreached;
}

// The event that an instruction would be in a dump.
static sc_inspect_event event_of(sc_arena *arena, sc_str op, uint32_t instruction) {
    const ptrdiff_t colons = sc_str_find(op, ':');
    sc_inspect_event e = {.name = op, .instruction = (int32_t)instruction};
    if (colons >= 0)
        e.name = sc_str_format(arena, "native_call_" SC_STR_FMT,
                               SC_STR_ARG(sc_str_slice(op, (size_t)colons + 2, op.size)));
    else if (op.size)
        e.name = SC_STR("DELEGATE_CALL");
    return e;
}

bool sc_inspect_is_program(sc_ctx *ctx, const sc_inspect_method *method, const sc_str *ops,
                           uint32_t count, uint64_t *work) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_inspection in = {.ctx = ctx};
    sc_inspect_correlating c = {.in = &in, .work = *work};
    sc_inspect_block whole = {.events =
                                  sc_new_array(ctx->scratch, sc_inspect_event, (size_t)count + 1),
                              .event_count = count};
    for (uint32_t i = 0; i < count; i++) whole.events[i] = event_of(ctx->scratch, ops[i], i);
    const bool is_it = misfit(&c, method, &whole) != NO_FIT && sc_inspect_may_work(&c, 0);
    *work = c.work;
    sc_arena_rewind(ctx->scratch, mark);
    return is_it;
}

// --- Which one it is -----------------------------------------------------------------------------

// The method that fits better than all others. NULL if no method fits, or several fit equally well.
static const sc_inspect_method *best_method(sc_inspect_correlating *c,
                                            const sc_inspect_block *block, uint64_t *least) {
    const sc_inspection *in = c->in;
    const sc_inspect_method *best = NULL;
    *least = NO_FIT;
    for (uint32_t i = 0; i < in->method_count; i++) {
        const uint64_t found = misfit(c, &in->methods[i], block);
        if (found == NO_FIT || found > *least) continue;
        best = found < *least ? &in->methods[i] : NULL;
        *least = found;
    }
    return best;
}

// A user who names a method knows of runs that ended early.
static bool may_be(sc_inspect_correlating *c, const sc_inspect_method *method,
                   const sc_inspect_block *block) {
    const fit f = fit_of(c, method, block);
    return !contradicts(&f);
}

static void choose_asked(sc_inspect_correlating *c, sc_inspect_block *block,
                         const sc_inspect_method *asked) {
    uint64_t least;
    const sc_inspect_method *best = best_method(c, block, &least);
    const bool is_anothers = best && best != asked && misfit(c, asked, block) > least;
    if (!is_anothers && !may_be(c, asked, block)) return;
    block->method = is_anothers ? best : asked;
    block->choice = is_anothers ? SC_CHOICE_MATCHED : SC_CHOICE_ASKED;
}

static void choose_fitting(sc_inspect_correlating *c, sc_inspect_block *block, bool *fits_several) {
    const sc_inspection *in = c->in;
    uint64_t least;
    block->method = best_method(c, block, &least);
    *fits_several = !block->method && least != NO_FIT;
    if (block->method) block->choice = in->method_count == 1 ? SC_CHOICE_ONLY : SC_CHOICE_MATCHED;
}

// Runs that only loaded do not show their method.
static void choose_timeless(const sc_inspection *in, sc_inspect_block *block,
                            const sc_inspect_method *asked) {
    block->method = asked ? asked : in->method_count == 1 ? in->methods : NULL;
    if (block->method) block->choice = asked ? SC_CHOICE_ASKED : SC_CHOICE_ONLY;
}

static void warn_unknown(sc_inspection *in, const sc_inspect_block *block, bool fits_several) {
    const char *why =
        fits_several ? "fits several of the record's methods: name the one that ran"
                     : "has other instructions than the record: pass the record that was written "
                       "with the program that ran, or name the method if its run broke off";
    sc_inspect_warn(in, sc_str_format(in->ctx->arena, "block '" SC_STR_FMT "' %s",
                                      SC_STR_ARG(block->name), why));
}

static void choose(sc_inspect_correlating *c, sc_inspect_block *block,
                   const sc_inspect_method *asked) {
    sc_inspection *in = c->in;
    bool fits_several = false;
    if (in->method_count == 0) return;
    if (!has_instructions(block)) {
        choose_timeless(in, block, asked);
        return;
    }
    if (asked)
        choose_asked(c, block, asked);
    else
        choose_fitting(c, block, &fits_several);
    if (!block->method) warn_unknown(in, block, fits_several);
}

static sc_status find_asked(sc_inspection *in, sc_str name, const sc_inspect_method **out) {
    *out = NULL;
    if (!name.size) return SC_OK;
    for (uint32_t i = 0; i < in->method_count && !*out; i++)
        if (sc_str_equal(in->methods[i].name, name)) *out = &in->methods[i];
    if (*out) return SC_OK;
    return sc_fail(in->ctx, SC_ERR_NOT_FOUND, "Name a method of the record, or pass a record.",
                   "there is no method '" SC_STR_FMT "' in a record of this inspector",
                   SC_STR_ARG(name));
}

sc_status sc_inspect_match(sc_inspect_correlating *c, sc_str asked) {
    sc_inspection *in = c->in;
    SC_TRY(find_asked(in, asked, &in->asked));
    for (uint32_t i = 0; i < in->block_count; i++) choose(c, &in->blocks[i], in->asked);
    return SC_OK;
}
