#include "backend/lower.h"

#include "backend/cut.h"
#include "backend/named_data.h"
#include "backend/rows.h"
#include "backend/sizes.h"
#include "backend/tags.h"
#include "backend/trained.h"

typedef struct made_part {
    sc_cut_part cut;
    const sc_backend *backend;
    const sc_name *method;
} made_part;

typedef struct lowering {
    sc_ctx *ctx;
    sc_program *program;
    sc_backend_env *env;      // its own
    sc_rows rows;             // of the report
    SC_VEC(made_part) parts;  // partitioners of the round, in order
    sc_map written;           // names of buffers that a method writes
} lowering;

// One graph, while it is partitioned.
typedef struct surveying {
    lowering *l;
    const sc_partitioner *p;
    sc_graph *graph;
    sc_survey survey;
    sc_partition partition;
    const sc_tagged **tagged;  // of the partition's parts, by number less one; NULL: the parts were
                               // found by capability
} surveying;

// --- The report ----------------------------------------------------------------------------------

static void report(surveying *s) {
    sc_str path = sc_graph_path(s->l->ctx->scratch, s->graph);
    for (const sc_node *node = s->graph->first; node; node = node->next) {
        if (sc_node_part(node)) continue;
        const sc_claim *claim = sc_claim_of(&s->survey, node);
        sc_delegation_row *row = sc_rows_of(&s->l->rows, node, path);
        bool is_outside = !s->partition.of[node->mark];
        if (!is_outside) row->macs += sc_rows_work_of_bodies(&s->l->rows, node);
        row->backend = sc_str_from(s->p->backend->id);
        row->hint = is_outside ? claim->hint : (sc_str){0};
        row->reason = is_outside ? claim->reason : (sc_str){0};
        if (is_outside && claim->is_taken) row->reason = SC_STR("no part includes it");
    }
}

static void report_parts(surveying *s, const sc_cut_parts *cut) {
    sc_str path = sc_graph_path(s->l->ctx->scratch, s->graph);
    for (uint32_t i = 0; i < cut->count; i++) {
        const sc_part *part = cut->data[i].part;
        for (const sc_node *node = part->method->graph->first; node; node = node->next) {
            sc_delegation_row *row =
                sc_rows_find(&s->l->rows, s->graph->method->name, path, node->name);
            if (row) row->part = part->method->name;
        }
    }
}

// --- Claims of a backend -------------------------------------------------------------------------

// An earlier call belongs to the backend that took it, and no backend takes an operator that no
// table knows.
static void refuse_calls(surveying *s) {
    for (const sc_node *node = s->graph->first; node; node = node->next) {
        sc_claim *claim = sc_claim_of(&s->survey, node);
        if (sc_node_part(node))
            *claim = (sc_claim){.reason = SC_STR("another backend has taken it already")};
        else if (!claim->is_taken && !claim->reason.size)
            claim->reason =
                sc_str_format(s->l->ctx->arena, "%s does not take it", s->p->backend->name);
    }
}

static bool is_written(const lowering *l, const sc_input_sig *sig) {
    return sig->target.size && sc_map_find(&l->written, sig->target);
}

static sc_status choose_precisions(surveying *s) {
    s->survey.precisions = s->p->precisions;
    if (s->p->precisions) return SC_OK;
    return sc_precisions_read(s->l->ctx, &s->l->env->options->config_precisions,
                              &s->survey.precisions);
}

static sc_status ask(surveying *s) {
    sc_ctx *ctx = s->l->ctx;
    const sc_method *method = s->graph->method;
    const uint32_t count = sc_graph_number(s->graph), inputs = s->graph->inputs.count;
    s->survey = (sc_survey){.ctx = ctx,
                            .graph = s->graph,
                            .specs = s->p->specs,
                            .spec_count = s->p->spec_count,
                            .options = s->l->env->options};
    if (s->p->backend->has_precisions) SC_TRY(choose_precisions(s));
    s->survey.claims = sc_new_array(ctx->scratch, sc_claim, (size_t)count + 1);
    s->survey.takes_input = sc_new_array(ctx->scratch, bool, (size_t)inputs + 1);
    for (uint32_t i = 0; i < inputs && !s->graph->parent; i++)
        s->survey.takes_input[i] =
            method->inputs.data[i].constant != NULL && !is_written(s->l, &method->inputs.data[i]);
    sc_survey_keep_trained(&s->survey);
    SC_TRY(s->p->backend->survey(s->p->backend, &s->survey));
    sc_survey_keep_trained(&s->survey);
    refuse_calls(s);
    return SC_OK;
}

// --- Whole methods -----------------------------------------------------------------

enum { NAMED_MAX = 20 };

// Each refused node that the error names has a note of its own with the reason. Other nodes get no
// note: thousands of notes would leave no room for the error.
static void note_refused(surveying *s, const sc_node *node, uint32_t before, sc_sb *names) {
    if (before >= NAMED_MAX) return;
    const sc_claim *claim = sc_claim_of(&s->survey, node);
    sc_ctx *ctx = s->l->ctx;
    sc_where_set_node(ctx, node);
    sc_report(ctx, SC_NOTE, SC_ERR_DELEGATE,
              claim->hint.size ? sc_str_dup(ctx->scratch, claim->hint)
                               : "Leave it out, and let the backend choose the nodes.",
              "%s does not take %%%s (%s): " SC_STR_FMT, s->p->backend->name, node->name->text,
              node->op->name, SC_STR_ARG(claim->reason));
    sc_sb_addf(names, "%s%%%s (%s)", before ? ", " : "", node->name->text, node->op->name);
}

static sc_status take_whole(surveying *s) {
    sc_ctx *ctx = s->l->ctx;
    uint32_t refused = 0;
    sc_sb names;
    sc_sb_init(&names, ctx->scratch);
    for (const sc_node *node = s->graph->first; node; node = node->next)
        if (!sc_claim_of(&s->survey, node)->is_taken) note_refused(s, node, refused++, &names);
    sc_where_set_method(ctx, s->graph->method);
    if (refused > NAMED_MAX) sc_sb_addf(&names, " and %u more", refused - NAMED_MAX);
    if (refused)
        return sc_fail(ctx, SC_ERR_DELEGATE,
                       "Leave out `whole`, and let the backend choose the nodes.",
                       "method '%s' cannot go to %s as a whole: it does not take %s",
                       s->graph->method->name->text, s->p->backend->name, sc_sb_terminate(&names));
    s->partition.of = sc_new_array(ctx->scratch, uint32_t, (size_t)s->graph->node_count + 1);
    for (uint32_t i = 0; i < s->graph->node_count; i++) s->partition.of[i] = 1;
    s->partition.count = s->graph->node_count ? 1 : 0;
    return SC_OK;
}

// --- One graph -----------------------------------------------------------------------------------

// Names of the partition's parts, by number less one.
static const sc_str *part_names(const surveying *s) {
    sc_arena *scratch = s->l->ctx->scratch;
    sc_str *names = sc_new_array(scratch, sc_str, (size_t)s->partition.count + 1);
    for (uint32_t i = 0; i < s->partition.count; i++)
        names[i] = s->tagged ? s->tagged[i]->tag : sc_str_format(scratch, "tag%u", i);
    return names;
}

static void copy_specs(sc_ctx *ctx, sc_part *part, const sc_compile_spec *specs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        sc_compile_spec spec = {sc_str_copy(ctx->arena, specs[i].key),
                                sc_str_copy(ctx->arena, specs[i].value)};
        sc_vec_push(ctx->arena, &part->specs, spec);
    }
}

static void keep_part(surveying *s, const sc_cut_part *cut) {
    sc_ctx *ctx = s->l->ctx;
    const sc_tagged *t = s->tagged ? s->tagged[cut->number - 1] : NULL;
    cut->part->backend = sc_str_copy(ctx->arena, sc_str_from(s->p->backend->id));
    cut->part->processed = NULL;  // valid until the backend has been asked
    copy_specs(ctx, cut->part, t && t->specs ? t->specs : s->p->specs,
               t && t->specs ? t->spec_count : s->p->spec_count);
    made_part made = {*cut, s->p->backend, s->graph->method->name};
    sc_vec_push(ctx->arena, &s->l->parts, made);
}

// Only XNNPACK has precisions and this mode.
static bool is_per_op(const surveying *s) {
    if (!s->p->backend->has_precisions) return false;
    return s->p->has_mode ? s->p->is_per_op : s->l->env->options->per_op_mode;
}

static sc_status partition_graph(lowering *l, const sc_partitioner *p, sc_graph *graph) {
    sc_ctx *ctx = l->ctx;
    surveying s = {.l = l, .p = p, .graph = graph};
    sc_cut_parts cut = {0};
    SC_TRY(sc_progress(ctx, SC_STEP_to_backend, 0, 0));
    SC_TRY(ask(&s));
    if (p->has_tags)
        SC_TRY(sc_tags_apply(&s.survey, p, &s.partition, &s.tagged));
    else if (p->is_whole && !graph->parent)
        SC_TRY(take_whole(&s));
    else
        sc_partition_make(ctx, graph, s.survey.claims, is_per_op(&s), &s.partition);
    if (p->backend->leaves_moves && !p->has_tags && !p->is_whole)
        sc_partition_leave_moves(ctx, graph, s.survey.claims, &s.partition);
    report(&s);
    SC_TRY(sc_partition_order(ctx, graph, &s.partition, part_names(&s)));
    SC_TRY(sc_partition_cut(ctx, graph, &s.partition, s.survey.takes_input, &cut));
    report_parts(&s, &cut);
    for (uint32_t i = 0; i < cut.count; i++) keep_part(&s, &cut.data[i]);
    return SC_OK;
}

// Bodies come after the graph around them. Their nesting is bounded by the importer.
static sc_status partition_graphs(lowering *l, const sc_partitioner *p, sc_graph *graph) {
    sc_mark mark = sc_arena_mark(l->ctx->scratch);
    sc_status status = partition_graph(l, p, graph);
    sc_arena_rewind(l->ctx->scratch, mark);
    for (sc_node *node = graph->first; node && status == SC_OK; node = node->next)
        for (uint32_t i = 0; i < node->arg_count && status == SC_OK; i++)
            if (node->args[i].kind == SC_ARG_GRAPH)
                status = partition_graphs(l, p, node->args[i].graph);
    return status;
}

// --- Debug handles -------------------------------------------------------------------------------

// A call gets a handle that no other node of the method has, inside parts or outside.
static void number_calls(lowering *l, const sc_method *method) {
    uint32_t free = sc_method_free_handle(method);
    for (uint32_t i = 0; i < l->parts.count; i++)
        if (l->parts.data[i].method == method->name)
            l->parts.data[i].cut.call->meta.debug_handle = free++;
}

static sc_status find_handles(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        sc_imap_set(user, node->meta.debug_handle, 1);
    return SC_OK;
}

// Checks that the backend's events name nodes of the part alone.
static sc_status check_events(sc_ctx *ctx, const sc_backend *backend, const sc_name *method,
                              const sc_part *part) {
    sc_imap handles;
    if (part->events.count == 0) return SC_OK;
    sc_imap_init(&handles, ctx->scratch);
    SC_TRY(sc_graphs_visit(ctx, part->method->graph, find_handles, &handles));
    for (uint32_t i = 0; i < part->events.count; i++) {
        const sc_part_event *event = &part->events.data[i];
        for (uint32_t k = 0; k < event->handle_count; k++)
            if (!sc_imap_find(&handles, event->handles[k]))
                return sc_fail(ctx, SC_ERR_DELEGATE, "Give debug handles of the part's own nodes.",
                               "backend '%s' maps to debug handle %u, which no node of %s of "
                               "method '%s' has",
                               backend->name, event->handles[k], part->method->name->text,
                               method->text);
    }
    return SC_OK;
}

// --- Bytes of parts ------------------------------------------------------------------------------

static sc_status check_made(lowering *l, const made_part *made) {
    sc_ctx *ctx = l->ctx;
    sc_where_set_method(ctx, sc_program_method(l->program, sc_name_str(made->method)));
    if (made->cut.part->processed)
        return check_events(ctx, made->backend, made->method, made->cut.part);
    return sc_fail(ctx, SC_ERR_DELEGATE, "Report this to the author of the backend.",
                   "backend '%s' returned no bytes for %s of method '%s'", made->backend->name,
                   made->cut.part->method->name->text, made->method->text);
}

// The backend's parts by method, methods in program order.
static uint32_t gather(lowering *l, const sc_backend *backend, sc_method_parts *out) {
    uint32_t count = 0;
    for (uint32_t m = 0; m < l->program->methods.count; m++) {
        sc_method_parts list = {.method = l->program->methods.data[m]->name};
        list.parts = sc_new_array(l->ctx->scratch, sc_part *, (size_t)l->parts.count + 1);
        list.paths = sc_new_array(l->ctx->scratch, sc_str, (size_t)l->parts.count + 1);
        for (uint32_t i = 0; i < l->parts.count; i++) {
            const made_part *made = &l->parts.data[i];
            if (made->backend != backend || made->method != list.method) continue;
            list.parts[list.count] = made->cut.part;
            list.paths[list.count++] = sc_graph_path(l->ctx->scratch, made->cut.call->graph);
        }
        if (list.count) out[count++] = list;
    }
    return count;
}

static sc_status tell(const lowering *l) {
    return sc_progress(l->ctx, SC_STEP_to_backend, l->env->parts_done, l->env->parts_total);
}

static sc_status preprocess_each(lowering *l, const sc_backend *backend,
                                 const sc_method_parts *methods, uint32_t count) {
    for (uint32_t m = 0; m < count; m++)
        for (uint32_t i = 0; i < methods[m].count; i++) {
            sc_where_set_method(l->ctx,
                                sc_program_method(l->program, sc_name_str(methods[m].method)));
            SC_TRY(tell(l));
            SC_TRY(backend->preprocess(backend, l->ctx, l->env, methods[m].parts[i]));
            l->env->parts_done++;
        }
    return SC_OK;
}

static sc_status preprocess_at_once(lowering *l, const sc_backend *backend,
                                    const sc_method_parts *methods, uint32_t count) {
    SC_TRY(backend->preprocess_multimethod(backend, l->ctx, l->env, methods, count));
    for (uint32_t m = 0; m < count; m++) l->env->parts_done += methods[m].count;
    return SC_OK;
}

static sc_status preprocess(lowering *l, const sc_backend *backend) {
    sc_ctx *ctx = l->ctx;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_method_parts *methods =
        sc_new_array(ctx->scratch, sc_method_parts, (size_t)l->program->methods.count + 1);
    const uint32_t count = gather(l, backend, methods);
    sc_where_set_method(ctx, NULL);
    sc_status status = backend->preprocess_multimethod
                           ? preprocess_at_once(l, backend, methods, count)
                           : preprocess_each(l, backend, methods, count);
    for (uint32_t i = 0; i < l->parts.count && status == SC_OK; i++)
        if (l->parts.data[i].backend == backend) status = check_made(l, &l->parts.data[i]);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// Lists backends in the order of their first parts.
static sc_status preprocess_all(lowering *l) {
    l->env->parts_done = 0;
    l->env->parts_total = l->parts.count;
    for (uint32_t i = 0; i < l->parts.count; i++) {
        const sc_backend *backend = l->parts.data[i].backend;
        uint32_t first = 0;
        while (l->parts.data[first].backend != backend) first++;
        if (first == i) SC_TRY(preprocess(l, backend));
    }
    return tell(l);
}

// --- All methods ---------------------------------------------------------------------------------

static void find_written(lowering *l) {
    sc_map_init(&l->written, l->ctx->arena);
    for (uint32_t m = 0; m < l->program->methods.count; m++) {
        const sc_method *method = l->program->methods.data[m];
        for (uint32_t i = 0; i < method->outputs.count; i++)
            if (sc_output_is_mutation(method->outputs.data[i].kind))
                sc_map_set(&l->written, method->outputs.data[i].target, l);
    }
}

static sc_status unknown_method(lowering *l, sc_str name) {
    sc_sb known;
    sc_sb_init(&known, l->ctx->scratch);
    for (uint32_t m = 0; m < l->program->methods.count; m++)
        sc_sb_addf(&known, "%s%s", m ? ", " : "", l->program->methods.data[m]->name->text);
    return sc_fail(l->ctx, SC_ERR_NOT_FOUND, NULL,
                   "there is no method '" SC_STR_FMT "' to lower to a backend; there are: %s",
                   SC_STR_ARG(name), sc_sb_terminate(&known));
}

static sc_status check_methods(lowering *l, const sc_method_partitioners *methods, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!sc_program_method(l->program, methods[i].method))
            return unknown_method(l, methods[i].method);
    return SC_OK;
}

// Is a backend asked about the method's nodes? A partitioner of the host may do without a backend.
static bool is_asked(const lowering *l, const sc_method_partitioners *partitioners,
                     const sc_name *method) {
    if (!sc_str_equal(partitioners->method, sc_name_str(method))) return false;
    for (uint32_t i = 0; i < partitioners->count; i++)
        if (partitioners->items[i].backend) return true;
    return partitioners->count && sc_rows_have_method(&l->rows, method);
}

static sc_status report_others(lowering *l, const sc_method_partitioners *methods, uint32_t count) {
    for (uint32_t m = 0; m < l->program->methods.count; m++) {
        const sc_method *method = l->program->methods.data[m];
        bool asked = false;
        for (uint32_t i = 0; i < count; i++) asked |= is_asked(l, &methods[i], method->name);
        if (!asked) SC_TRY(sc_rows_report_unasked(&l->rows, method));
    }
    return SC_OK;
}

static sc_status run_partitioner(lowering *l, const sc_partitioner *p, sc_method *method) {
    sc_mark mark = sc_arena_mark(l->ctx->scratch);
    sc_status status = sc_tags_check_paths(l->ctx, p, method);
    sc_arena_rewind(l->ctx->scratch, mark);
    SC_TRY(status);
    return partition_graphs(l, p, method->graph);
}

static sc_status partition_method(lowering *l, const sc_partitioner *p, sc_method *method) {
    const sc_partitioner *items = p;
    uint32_t count = 1;
    if (!p->backend) {
        const sc_where where = l->ctx->where;
        SC_TRY(l->env->partition(l->env->user, l->ctx, method, p->number, &items, &count));
        l->ctx->where = where;
    }
    for (uint32_t i = 0; i < count; i++) SC_TRY(run_partitioner(l, &items[i], method));
    number_calls(l, method);
    return SC_OK;
}

static sc_status run_round(lowering *l, const sc_method_partitioners *methods, uint32_t count,
                           uint32_t round) {
    l->parts.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (round >= methods[i].count) continue;
        sc_method *method = sc_program_method(l->program, methods[i].method);
        sc_where_set_method(l->ctx, method);
        SC_TRY(sc_sizes_derive(l->ctx, method));
        SC_TRY(partition_method(l, &methods[i].items[round], method));
    }
    return l->env->is_draft ? SC_OK : preprocess_all(l);
}

sc_status sc_lower_to_backends(sc_ctx *ctx, sc_program *program,
                               const sc_method_partitioners *methods, uint32_t method_count,
                               const sc_backend_env *env, sc_delegation *delegation) {
    sc_backend_env own = *env;
    lowering l = {.ctx = ctx, .program = program, .env = &own};
    uint32_t rounds = 0;
    SC_TRY(check_methods(&l, methods, method_count));
    sc_rows_begin(&l.rows, ctx, delegation);
    find_written(&l);
    for (uint32_t i = 0; i < method_count; i++) rounds = sc_max_u32(rounds, methods[i].count);
    for (uint32_t round = 0; round < rounds; round++)
        SC_TRY(run_round(&l, methods, method_count, round));
    if (!env->is_draft) {
        SC_TRY(sc_named_data_check(ctx, program));
        SC_TRY(report_others(&l, methods, method_count));
    }
    sc_where_set_method(ctx, NULL);
    return sc_verify(ctx, program);
}
