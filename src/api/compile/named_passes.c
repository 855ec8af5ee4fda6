// Passes that callers name: which passes may run at which time, and which ones partitioners request
// before decomposition.
#include "api/compile/named_passes.h"

#include "api/edit/edit.h"

static const char *passes_hint(sc_arena *arena, const char *words,
                               bool (*is_meant)(const sc_pass *pass)) {
    const char *before = " ";
    sc_sb hint;
    sc_sb_init(&hint, arena);
    sc_sb_add_text(&hint, words);
    for (uint32_t i = 0; i < sc_pass_count(); i++) {
        if (!is_meant(sc_pass_at(i))) continue;
        sc_sb_addf(&hint, "%s%s", before, sc_pass_at(i)->name);
        before = ", ";
    }
    sc_sb_add_text(&hint, ".");
    return sc_sb_terminate(&hint);
}

// The reason why a pass cannot be named.
static const char *why_not(const sc_pass *pass) {
    if (pass->step == SC_STEP_to_executorch)
        return "is a pass of to_executorch, which runs it itself";
    if (pass->step == SC_STEP_decompose)
        return "cannot run on an edge program, which is decomposed already";
    return "cannot run alone: it changes views only in part, and to_edge needs later passes to "
           "finish them";
}

sc_status sc_edge_pass(sc_ctx *ctx, sc_str name, const sc_pass **out) {
    *out = sc_pass_find(name);
    if (*out && sc_pass_is_offered(*out)) return SC_OK;
    const char *hint = passes_hint(ctx->arena, "Use passes of to_edge:", sc_pass_is_offered);
    if (!*out)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, hint, "there is no pass '" SC_STR_FMT "'",
                       SC_STR_ARG(name));
    return sc_fail(ctx, SC_ERR_ARGUMENT, hint, "%s %s", (*out)->name, why_not(*out));
}

// --- Before decomposition ------------------------------------------------------------------------

// The facts that a program lacks before decomposition.
enum { DECOMPOSED = SC_FACT_CORE | SC_FACT_EDGE | SC_FACT_NO_DEAD };

static bool is_early(const sc_pass *pass) {
    return pass->step == SC_STEP_to_edge && !(pass->needs & DECOMPOSED);
}

static sc_status early_pass(sc_ctx *ctx, sc_str name, const sc_pass **out) {
    *out = sc_pass_find(name);
    if (*out && is_early(*out)) return SC_OK;
    const char *hint =
        passes_hint(ctx->arena, "Use passes that run before decomposition:", is_early);
    if (!*out)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, hint, "there is no pass '" SC_STR_FMT "'",
                       SC_STR_ARG(name));
    return sc_fail(ctx, SC_ERR_ARGUMENT, hint,
                   "%s works on a decomposed program, so it cannot run before decomposition",
                   (*out)->name);
}

static sc_status find_write(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (sc_op_has(node->op, SC_MUTATES)) *(const sc_node **)user = node;
    return SC_OK;
}

// Passes assume that a value does not change after its node, but a write changes it.
static sc_status check_functional(sc_ctx *ctx, const sc_pass *pass, const sc_method *method) {
    const sc_node *node = NULL;
    SC_TRY(sc_graphs_visit(ctx, method->graph, find_write, &node));
    if (!node) return SC_OK;
    return sc_fail(
        ctx, SC_ERR_ARGUMENT, "Run it after decomposition, in transformPasses.",
        "%s cannot run before decomposition on method '%s', because %s (%s) writes in place",
        pass->name, method->name->text, node->name->text, node->op->name);
}

static sc_status run_early(sc_job *job, sc_pipeline *pipeline, const sc_pass *pass,
                           sc_method *method) {
    const uint32_t facts = method->facts;
    SC_TRY(check_functional(&job->ctx, pass, method));
    SC_TRY(sc_pipeline_pass(&job->ctx, pipeline, pass, method));
    method->facts = facts;  // the operators that decomposition keeps
    return SC_OK;
}

static sc_status bad_entry(sc_ctx *ctx) {
    return sc_fail(ctx, SC_ERR_ARGUMENT, NULL,
                   "passes must be a JSON array of names, or of numbers for passes of the host");
}

bool sc_pass_entry_number(const sc_json *entry, uint32_t *number) {
    int64_t i = -1;
    if (entry->kind != SC_JSON_INT || !sc_json_i64(entry, &i) || i < 0 || i > INT32_MAX)
        return false;
    *number = (uint32_t)i;
    return true;
}

sc_status sc_early_passes_check(sc_ctx *ctx, const sc_json *list) {
    if (list->kind != SC_JSON_ARRAY) return bad_entry(ctx);
    const sc_json *entry = sc_json_first(list);
    for (uint32_t n = list->size; n--; entry = sc_json_next(entry)) {
        uint32_t number;
        const sc_pass *pass;
        if (sc_pass_entry_number(entry, &number)) continue;
        if (entry->kind != SC_JSON_STRING) return bad_entry(ctx);
        SC_TRY(early_pass(ctx, sc_json_str(ctx->arena, entry), &pass));
    }
    return SC_OK;
}

sc_status sc_early_passes_run(sc_job *job, sc_pipeline *pipeline, sc_method *method,
                              const sc_json *list) {
    SC_TRY(sc_early_passes_check(&job->ctx, list));
    const sc_json *entry = sc_json_first(list);
    for (uint32_t n = list->size; n--; entry = sc_json_next(entry)) {
        uint32_t number;
        const sc_pass *pass = NULL;
        if (sc_pass_entry_number(entry, &number)) {
            SC_TRY(sc_edit_run(job, pipeline, method, number, false));
            continue;
        }
        SC_TRY(early_pass(&job->ctx, sc_json_str(job->ctx.arena, entry), &pass));
        SC_TRY(run_early(job, pipeline, pass, method));
    }
    return SC_OK;
}

sc_status sc_partitioner_passes_run(sc_job *job, sc_pipeline *pipeline, sc_program *program,
                                    const sc_partitioners *partitioners) {
    for (uint32_t i = 0; i < partitioners->count; i++) {
        const sc_method_partitioners *rounds = &partitioners->methods[i];
        sc_method *method = sc_program_method(program, rounds->method);
        if (!method) continue;  // delegation reports it
        for (uint32_t r = 0; r < rounds->count; r++)
            if (rounds->items[r].passes)
                SC_TRY(sc_early_passes_run(job, pipeline, method, rounds->items[r].passes));
    }
    return SC_OK;
}
