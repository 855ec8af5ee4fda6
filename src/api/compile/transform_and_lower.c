// to_edge and to_backend in one call, so that backends can take operators whole: their partitioners
// are asked before decomposition. An operator that was kept whole but is not in a part is not
// executable. Lowering then begins again without keeping it, until there is no such operator.
// Backends compile their parts only after that.
//
// Passes that partitioners request run first. A draft shows which operators remain outside of all
// parts.
#include "api/compile/backends.h"
#include "api/compile/named_passes.h"
#include "api/compile/preserved.h"
#include "api/compile/steps.h"
#include "api/job/options.h"
#include "api/record/records.h"

enum { ATTEMPTS_MAX = 8 };

typedef struct keeping {
    sc_job *job;
    sc_ctx *ctx;
    const sc_options *options;
    sc_partitioners partitioners;
    const sc_options *edge_options;  // what they preserve stays whole outside of parts, too
    sc_constant_methods constants;   // that each attempt adds
    sc_call_memory *memory;          // of all attempts: reasons of one are known after the last
    sc_map given_up;                 // "method/node" of the source program
    sc_map refused;                  // the same -> why it is not kept whole, a `refusal`
    bool gives_all_up;
    bool keeps_edge;  // of each attempt, as a version of its own
} keeping;

// The reason why an operator does not stay whole, for the nodes of its expansion.
typedef struct refusal {
    const sc_op *op;
    sc_str backend, reason, hint;
} refusal;

// --- Kept operators ------------------------------------------------------------------------------

// Keyed by the node of the source program.
static sc_str key_of(sc_arena *arena, const sc_node *node) {
    return sc_str_format(arena, "%s/%s", node->graph->method->name->text,
                         sc_node_origin(node)->text);
}

static bool is_given_up(keeping *k, const sc_node *node) {
    sc_mark mark = sc_arena_mark(k->ctx->scratch);
    bool found = sc_map_find(&k->given_up, key_of(k->ctx->scratch, node)) != NULL;
    sc_arena_rewind(k->ctx->scratch, mark);
    return found;
}

static void note(keeping *k, sc_str key, const refusal *why) {
    if (sc_map_find(&k->refused, key)) return;
    refusal *kept = sc_new(k->ctx->arena, refusal);
    *kept = *why;
    sc_map_set(&k->refused, key, kept);
}

static bool is_kept(const sc_partitioner *p, const sc_op *op) {
    for (uint32_t i = 0; i < p->kept_count; i++)
        if (p->kept[i] == op) return true;
    return false;
}

// At least one partitioner of the method must request it.
static bool wants(void *user, const sc_node *node) {
    keeping *k = user;
    refusal why = {.op = node->op};
    if (k->gives_all_up || is_given_up(k, node)) return false;
    for (uint32_t m = 0; m < k->partitioners.count; m++) {
        const sc_method_partitioners *method = &k->partitioners.methods[m];
        if (!sc_str_equal(method->method, sc_name_str(node->graph->method->name))) continue;
        for (uint32_t i = 0; i < method->count; i++) {
            const sc_backend *backend = method->items[i].backend;
            sc_claim claim = {0};
            if (is_kept(&method->items[i], node->op)) return true;
            if (!backend) continue;
            if (backend->keeps && backend->keeps(backend, k->options, node, &claim)) return true;
            if (why.reason.size) continue;
            why.backend = sc_str_from(backend->id);
            why.reason = claim.reason;
            why.hint = claim.hint;
        }
    }
    if (why.reason.size) note(k, key_of(k->ctx->arena, node), &why);
    return false;
}

// --- Nodes outside of parts ----------------------------------------------------------------------

typedef struct leftover {
    keeping *k;
    uint32_t kept, added;
} leftover;

static sc_status find_kept(sc_ctx *ctx, sc_graph *graph, void *user) {
    leftover *l = user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        if (!node->is_kept || sc_preserved_has(l->k->edge_options, node)) continue;
        l->kept++;
        l->added += sc_map_add(&l->k->given_up, key_of(ctx->arena, node), l);
    }
    return SC_OK;
}

static sc_status count_kept(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        *(uint32_t *)user += node->is_kept;
    return SC_OK;
}

static sc_status visit_all(sc_ctx *ctx, sc_program *program,
                           sc_status (*visit)(sc_ctx *, sc_graph *, void *), void *user) {
    for (uint32_t i = 0; i < program->methods.count; i++)
        SC_TRY(sc_graphs_visit(ctx, program->methods.data[i]->graph, visit, user));
    return SC_OK;
}

static sc_str key_of_row(sc_arena *arena, const sc_delegation_row *row) {
    const sc_name *origin = row->meta.origin ? row->meta.origin : row->node;
    return sc_str_format(arena, "%s/%s", row->method->text, origin->text);
}

// The reason why the draft left the node outside.
static void note_given_up(keeping *k, const sc_delegation *draft) {
    for (uint32_t i = 0; i < draft->rows.count; i++) {
        const sc_delegation_row *row = &draft->rows.data[i];
        sc_str key = key_of_row(k->ctx->arena, row);
        if (row->part || !row->reason.size || !sc_map_find(&k->given_up, key)) continue;
        note(k, key,
             &(refusal){
                 .op = row->op, .backend = row->backend, .reason = row->reason, .hint = row->hint});
    }
}

// A node of a refused operator's expansion gives the reason of that refusal. Its own reason would
// name operators that are not in the model.
static void explain(keeping *k, sc_delegation *delegation) {
    sc_arena *scratch = k->ctx->scratch;
    for (uint32_t i = 0; i < delegation->rows.count; i++) {
        sc_delegation_row *row = &delegation->rows.data[i];
        sc_mark mark = sc_arena_mark(scratch);
        const refusal *why = sc_map_get(&k->refused, key_of_row(scratch, row));
        sc_arena_rewind(scratch, mark);
        if (!why || row->part || row->op == why->op || !sc_str_equal(row->backend, why->backend))
            continue;
        row->reason = sc_str_format(k->ctx->arena, "%s was not kept whole: " SC_STR_FMT,
                                    why->op->name, SC_STR_ARG(why->reason));
        row->hint = why->hint;
    }
}

// Stops keeping operators that are whole in the edge program but outside of parts. Counts them; 0
// if all are in parts.
static sc_status give_up(keeping *k, sc_program *edge, uint32_t *left) {
    sc_program *draft = NULL;
    sc_delegation nobody = {0};
    uint32_t kept = 0;
    leftover l = {.k = k};
    *left = 0;
    SC_TRY(visit_all(k->ctx, edge, count_kept, &kept));
    if (!kept) return SC_OK;
    SC_TRY(sc_program_clone(edge, &draft));
    SC_TRY(sc_delegate_parts(k->ctx, draft, &k->partitioners, k->options, true, &nobody));
    SC_TRY(visit_all(k->ctx, draft, find_kept, &l));
    note_given_up(k, &nobody);
    if (!l.added) k->gives_all_up = true;
    *left = l.kept;
    return SC_OK;
}

// --- All of it -----------------------------------------------------------------------------------

// Has a list of passes, or have the lists by method, a function of the host?
static bool has_functions(const sc_json *passes) {
    const sc_json *item = passes ? sc_json_first(passes) : NULL;
    for (uint32_t n = passes ? passes->size : 0; n--;) {
        const sc_json *value = passes->kind == SC_JSON_OBJECT ? item + 1 : item;
        uint32_t number;
        if (value->kind == SC_JSON_ARRAY ? has_functions(value)
                                         : sc_pass_entry_number(value, &number))
            return true;
        item = sc_json_next(value);
    }
    return false;
}

static bool partitioners_have_functions(const sc_partitioners *partitioners) {
    for (uint32_t m = 0; m < partitioners->count; m++)
        for (uint32_t i = 0; i < partitioners->methods[m].count; i++)
            if (has_functions(partitioners->methods[m].items[i].passes)) return true;
    return false;
}

// A draft leaves out passes that have functions of the host, because these run only once.
static sc_status make_edge(keeping *k, const sc_json *passes, bool is_draft, uint32_t from,
                           uint32_t *edge) {
    static const sc_phase STEPS[] = {SC_STEP_decompose, SC_STEP_to_edge, SC_STEP_transform};
    const sc_keep keep = {wants, k};
    const bool runs_early = !is_draft || !partitioners_have_functions(&k->partitioners);
    const bool runs_passes = passes->size && !(is_draft && has_functions(passes));
    sc_work work = {.job = k->job,
                    .memory = k->memory,
                    .options = *k->edge_options,
                    .passes = passes,
                    .constants = k->constants,
                    .keep = &keep,
                    .keeps_edge = k->keeps_edge && !is_draft,
                    .early = runs_early ? &k->partitioners : NULL};
    return sc_steps_run(&work, STEPS, runs_passes ? 3 : 2, from, edge);
}

// Removes the versions of an attempt.
static void forget_versions(sc_job *job, uint32_t count) {
    while (sc_job_compiling(job)->versions.count > count) {
        const uint32_t number = --sc_job_compiling(job)->versions.count;
        const sc_version *version = &sc_job_compiling(job)->versions.data[number];
        if (version->from != number) sc_job_compiling(job)->versions.data[version->from].users--;
        sc_call_memory_drop(job, version->memory);
    }
}

// Removes versions and warnings of every attempt but the last. With functions of the host there is
// one more at the end, after attempts without them have found out what stays whole.
static sc_status lower_until_complete(keeping *k, const sc_json *passes, uint32_t from,
                                      uint32_t *edge) {
    sc_job *job = k->job;
    const uint32_t versions = sc_job_compiling(job)->versions.count;
    const sc_diag_mark mark = sc_diags_mark(&job->ctx);
    const bool are_drafts = has_functions(passes) || partitioners_have_functions(&k->partitioners);
    for (uint32_t attempt = 1;; attempt++) {
        uint32_t left = 0;
        SC_TRY(make_edge(k, passes, are_drafts, from, edge));
        if (!k->gives_all_up)
            SC_TRY(give_up(k, sc_job_compiling(job)->versions.data[*edge].program, &left));
        if (!left && !are_drafts) return SC_OK;
        k->gives_all_up |= attempt + 1 >= ATTEMPTS_MAX;
        forget_versions(job, versions);
        sc_diags_rewind(&job->ctx, mark);
        job->taken_diags = sc_min_u32(job->taken_diags, mark.count);
        if (!left) return make_edge(k, passes, false, from, edge);
    }
}

// Lowers version `from`, and fills the record, if there is one.
static sc_status lower(keeping *k, sc_work *work, const sc_json *passes, uint32_t record,
                       uint32_t from, uint32_t *delegated) {
    static const sc_phase STEPS[] = {SC_STEP_to_backend};
    sc_job *job = work->job;
    uint32_t edge = 0;
    SC_TRY(lower_until_complete(k, passes, from, &edge));
    SC_TRY(sc_job_fill_record(job, record, passes->size ? edge - 1 : edge, edge));
    work->early = &k->partitioners;
    SC_TRY(sc_steps_run(work, STEPS, SC_COUNT_OF(STEPS), edge, delegated));
    sc_job_drop_version(job, edge);  // the host does not learn its number
    explain(k, &sc_job_compiling(job)->versions.data[*delegated].delegation);
    return SC_OK;
}

static sc_status parse(sc_ctx *ctx, sc_str json, const sc_json **out) {
    return sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, json), out);
}

sc_status sc_compile_to_edge_transform_and_lower(sc_job *job, uint32_t from, sc_str passes_json,
                                                 sc_str partitioners_json, sc_str edge_options_json,
                                                 sc_str backend_options_json, uint32_t *delegated) {
    sc_ctx *ctx = sc_job_begin(job);
    const uint32_t record = sc_job_take_generating(job);
    const sc_json *passes = NULL;
    sc_program *source = NULL;
    sc_options options;
    sc_work work = {.job = job};
    keeping k = {.job = job,
                 .ctx = ctx,
                 .options = &work.options,
                 .edge_options = &options,
                 .constants = sc_take_constant_methods(job),
                 .keeps_edge = record != 0};
    SC_TRY(sc_options_read(ctx, SC_OPTIONS_TO_EDGE, edge_options_json, &options));
    SC_TRY(sc_options_read(ctx, SC_OPTIONS_TO_BACKEND, backend_options_json, &work.options));
    SC_TRY(parse(ctx, passes_json, &passes));
    SC_TRY(parse(ctx, partitioners_json, &work.partitioners));
    SC_TRY(sc_compile_source(job, from, &source));
    SC_TRY(sc_partitioners_read(ctx, job, source, work.partitioners, &sc_all_backends,
                                &k.partitioners));
    sc_map_init(&k.given_up, ctx->arena);
    sc_map_init(&k.refused, ctx->arena);
    k.memory = work.memory = sc_call_memory_new();
    const sc_status status = lower(&k, &work, passes, record, from, delegated);
    sc_call_memory_drop(job, k.memory);  // the versions have it now
    return status;
}
