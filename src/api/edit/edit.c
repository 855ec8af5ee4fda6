// A pass of the host. It is called in the middle of a step, and changes the method by further
// calls.
#include "api/edit/edit.h"

// --- Numbers -------------------------------------------------------------------------------------

// Addresses are not used again, because erased nodes stay on the graph's arena.
#define NUMBER_OF(name, type, table)                                                \
    uint32_t sc_edit_##name##_number(sc_edit *edit, type *address) {                \
        uint64_t *number = sc_imap_find(&edit->numbers, SC_PTR_KEY(address));       \
        if (number) return (uint32_t)*number;                                       \
        sc_imap_add(&edit->numbers, SC_PTR_KEY(address), edit->table.count);        \
        sc_vec_push(&edit->arena, &edit->table, address);                           \
        return edit->table.count - 1;                                               \
    }                                                                               \
    sc_status sc_edit_##name(sc_edit *edit, const sc_json *number, type **out) {    \
        int64_t at = -1;                                                            \
        const bool is_there =                                                       \
            sc_json_i64(number, &at) && at >= 0 && at < (int64_t)edit->table.count; \
        *out = is_there ? edit->table.data[at] : NULL;                              \
        if (*out) return SC_OK;                                                     \
        return sc_fail(&edit->job->ctx, SC_ERR_STATE,                               \
                       "Use a " #name " that is in the graph: this one may be "     \
                       "erased, or belong to another method.",                      \
                       "there is no such " #name " in the graph");                  \
    }
NUMBER_OF(graph, sc_graph, graphs)
NUMBER_OF(node, sc_node, nodes)
NUMBER_OF(value, sc_value, values)

// --- Order ---------------------------------------------------------------------------------------

// Gaps between neighbours leave room for new nodes, so that an insertion rarely renumbers a graph.
enum { PLACE_BITS = 24 };

static void place_all(sc_edit *edit, const sc_graph *graph) {
    uint64_t place = 0;
    for (const sc_node *node = graph->first; node; node = node->next)
        sc_imap_set(&edit->places, SC_PTR_KEY(node), place += UINT64_C(1) << PLACE_BITS);
}

// 0 for a node without a position.
static uint64_t known_place(const sc_edit *edit, const sc_node *node) {
    const uint64_t *place = sc_imap_find(&edit->places, SC_PTR_KEY(node));
    return place ? *place : 0;
}

static uint64_t place_of(sc_edit *edit, const sc_node *node) {
    const uint64_t place = known_place(edit, node);
    if (place) return place;
    const uint64_t before = node->prev ? known_place(edit, node->prev) : 0;
    const uint64_t after = node->next ? known_place(edit, node->next) : 0;
    const uint64_t between = before + (after > before ? (after - before) / 2 : 0);
    if (between > before && (before || !node->prev))
        sc_imap_set(&edit->places, SC_PTR_KEY(node), between);
    else
        place_all(edit, node->graph);
    return known_place(edit, node);
}

bool sc_edit_precedes(sc_edit *edit, const sc_node *a, const sc_node *b) {
    // Finding the second place may give all nodes new ones.
    (void)place_of(edit, a);
    (void)place_of(edit, b);
    return known_place(edit, a) < known_place(edit, b);
}

bool sc_edit_is_defined_before(sc_edit *edit, const sc_value *value, const sc_node *node) {
    if (value->graph != node->graph) return false;
    if (!value->node || !node->op) return true;
    return sc_edit_precedes(edit, value->node, node);
}

void sc_edit_forget(sc_edit *edit, const sc_node *node) {
    const uint64_t *number = sc_imap_find(&edit->numbers, SC_PTR_KEY(node));
    if (number) edit->nodes.data[*number] = NULL;
    for (uint32_t i = 0; i < node->out_count; i++) {
        number = sc_imap_find(&edit->numbers, SC_PTR_KEY(node->outs[i]));
        if (number) edit->values.data[*number] = NULL;
    }
}

// --- A pass of the host --------------------------------------------------------------------------

sc_status sc_edit_require(sc_job *job, sc_edit **out) {
    sc_ctx *ctx = &job->ctx;
    *out = sc_job_compiling(job)->edit;
    if (!*out)
        return sc_fail(ctx, SC_ERR_STATE, "Change a program while its pass runs.",
                       "no program is being changed");
    ctx->where = (sc_where){.instruction = -1};
    sc_diags_rewind(ctx, (*out)->mark);
    return SC_OK;
}

sc_status sc_edit_begin_change(sc_edit *edit) {
    if (!edit->is_only_read) {
        // A change may leave a node without a use, and a new node may have no debug handle. The
        // check after the pass finds out.
        edit->unknown |= edit->method->facts & (SC_FACT_NO_DEAD | SC_FACT_HANDLES);
        edit->method->facts &= ~edit->unknown;
        edit->is_changed = true;
        return SC_OK;
    }
    return sc_fail(&edit->job->ctx, SC_ERR_STATE, "Change the program in a pass.",
                   "a function that reads the program cannot change it");
}

static sc_status call_host(sc_edit *edit, uint32_t number) {
    sc_job *job = edit->job;
    const sc_host_functions *host = &job->functions;
    if (host->run(host->user, number, sc_name_str(edit->method->name))) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_CANCELLED, "Check the code of the function.",
                   "function %u of the host failed on method '%s'", number,
                   edit->method->name->text);
}

// Calls function `number` of the host. Calls that the host makes meanwhile work on `edit`.
static sc_status run(sc_edit *edit, uint32_t number) {
    sc_job *job = edit->job;
    sc_ctx *ctx = &job->ctx;
    const sc_where where = ctx->where;
    if (!job->functions.run)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give names of passes.",
                       "%u is the number of a function of the host, but this host has none",
                       number);
    edit->mark = sc_diags_mark(ctx);
    sc_arena_init(&edit->arena);
    sc_imap_init(&edit->numbers, &edit->arena);
    sc_imap_init(&edit->places, &edit->arena);
    sc_imap_init(&edit->shown, &edit->arena);
    sc_edit *outer = sc_job_compiling(job)->edit;
    const sc_diag_mark *kept = job->kept_diags;
    sc_job_compiling(job)->edit = edit;
    job->kept_diags = &edit->mark;
    sc_status status = call_host(edit, number);
    if (status == SC_OK) status = sc_edit_check(edit);
    sc_job_compiling(job)->edit = outer;
    job->kept_diags = kept;
    sc_arena_deinit(&edit->arena);
    ctx->where = where;
    return status;
}

sc_status sc_edit_run(sc_job *job, sc_pipeline *pipeline, sc_method *method, uint32_t number,
                      bool is_edge) {
    const double start = sc_now_ms(&job->ctx);
    sc_edit edit = {.job = job, .program = method->program, .method = method, .is_edge = is_edge};
    SC_TRY(run(&edit, number));
    const sc_pass_timing timing = {.pass = edit.name,
                                   .method = method->name,
                                   .ms = sc_now_ms(&job->ctx) - start,
                                   .node_count = method->graph->node_count};
    sc_vec_push(pipeline->arena, &pipeline->timings, timing);
    return SC_OK;
}

sc_status sc_edit_ask(sc_job *job, sc_method *method, uint32_t number, sc_str *answer) {
    sc_edit edit = {.job = job,
                    .program = method->program,
                    .method = method,
                    .is_edge = true,
                    .is_only_read = true,
                    .answer = SC_STR("[]")};
    const sc_status status = run(&edit, number);
    *answer = edit.answer;
    return status;
}

sc_status sc_edit_read(sc_job *job, uint32_t program, sc_str method, uint32_t function) {
    sc_ctx *ctx = sc_job_begin(job);
    sc_version *version;
    sc_str answer;
    SC_TRY(sc_job_version(job, program, &version));
    sc_method *found = sc_program_method(version->program, method);
    if (!found)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "there is no method '" SC_STR_FMT "'",
                       SC_STR_ARG(method));
    return sc_edit_ask(job, found, function, &answer);
}

sc_status sc_edit_partition(sc_job *job, sc_str partitioners_json) {
    sc_edit *edit;
    SC_TRY(sc_edit_require(job, &edit));
    if (!edit->is_only_read)
        return sc_fail(&job->ctx, SC_ERR_STATE, "Give the function as a partitioner.",
                       "a pass cannot hand nodes to a backend");
    edit->answer = sc_str_copy(job->ctx.arena, partitioners_json);
    return SC_OK;
}

sc_status sc_edit_method_json(sc_job *job, sc_str *json) {
    sc_edit *edit;
    SC_TRY(sc_edit_require(job, &edit));
    sc_sb text = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    SC_TRY(sc_edit_put_method(edit, &w));
    *json = sc_sb_str(&text);
    return SC_OK;
}

sc_status sc_edit_text(sc_job *job, sc_str *text) {
    sc_edit *edit;
    SC_TRY(sc_edit_require(job, &edit));
    sc_sb sb = sc_job_text(job);
    sc_graph_print(&sb, edit->method->graph, (sc_print_options){.signature = true});
    *text = sc_sb_str(&sb);
    return SC_OK;
}

sc_status sc_edit_end_pass(sc_job *job, sc_str pass) {
    sc_edit *edit;
    SC_TRY(sc_edit_require(job, &edit));
    job->ctx.where.pass = edit->name = sc_str_copy(job->ctx.arena, pass);
    return sc_edit_check(edit);
}
