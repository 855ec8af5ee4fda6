// A planner of the host: it is called while memory is planned, looks at the request and answers it
// by further calls.
#include "api/compile/host_planner.h"

static sc_status fail_answer(sc_job *job, const char *problem) {
    return sc_fail(&job->ctx, SC_ERR_ARGUMENT,
                   "Give an array of numbers: the offset of each item, in bytes, in their order.",
                   "the answer of a planner %s", problem);
}

// The request that the host's planner works on.
static sc_status require(sc_job *job, sc_plan_request **out) {
    *out = sc_job_compiling(job)->planning.request;
    if (*out) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_STATE, "Plan memory while the planner runs.",
                   "no memory is being planned");
}

static const char *kind_of(const sc_storage *storage) {
    if (storage->kind == SC_STORAGE_MUTABLE) return "state";
    return storage->value->node ? "value" : "input";
}

sc_status sc_plan_request_json(sc_job *job, sc_str *json) {
    sc_plan_request *request;
    SC_TRY(require(job, &request));
    sc_sb text = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_str(&w, "method", sc_name_str(request->table->method->name));
    sc_json_put_u64(&w, "alignment", request->align);
    sc_json_put_u64(&w, "momentCount", request->moment_count);
    sc_json_put_array(&w, "items");
    for (uint32_t i = 0; i < request->count; i++) {
        const sc_storage *storage = &request->table->items.data[request->roots[i]];
        const sc_plan_item *item = &request->items[i];
        sc_json_begin_object(&w);
        sc_json_put_str(&w, "name", sc_name_str(storage->value->name));
        sc_json_put_text(&w, "kind", kind_of(storage));
        sc_json_put_u64(&w, "bytes", item->bytes);
        sc_json_put_u64(&w, "first", item->first);
        sc_json_put_u64(&w, "last", item->last);
        sc_json_end_object(&w);
    }
    sc_json_end_array(&w);
    sc_json_end_object(&w);
    *json = sc_sb_str(&text);
    return SC_OK;
}

sc_status sc_plan_request_answer(sc_job *job, sc_str offsets_json) {
    sc_plan_request *request;
    const sc_json *offsets = NULL;
    SC_TRY(require(job, &request));
    SC_TRY(sc_json_parse(&job->ctx, job->ctx.scratch, offsets_json, &offsets));
    if (offsets->kind != SC_JSON_ARRAY) return fail_answer(job, "is no array");
    if (offsets->size != request->count)
        return fail_answer(job, offsets->size < request->count ? "has too few offsets"
                                                               : "has too many offsets");
    const sc_json *offset = sc_json_first(offsets);
    for (uint32_t i = 0; i < request->count; i++, offset = sc_json_next(offset)) {
        int64_t number = -1;
        if (!sc_json_i64(offset, &number) || number < 0)
            return fail_answer(job, "has an offset that is no whole number, 0 or more");
        request->items[i].offset = (uint64_t)number;
    }
    sc_job_compiling(job)->planning.is_answered = true;
    return SC_OK;
}

static sc_status plan(void *user, uint32_t number, sc_plan_request *request) {
    sc_job *job = user;
    sc_ctx *ctx = &job->ctx;
    const sc_where where = ctx->where;
    const sc_host_functions *host = &job->functions;
    const sc_str method = sc_name_str(request->table->method->name);
    if (!host->run)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give the name of a planner.",
                       "%u is the number of a planner of the host, but this host has none", number);
    const sc_diag_mark mark = sc_diags_mark(ctx), *kept = job->kept_diags;
    sc_job_compiling(job)->planning = (sc_planning){.request = request};
    job->kept_diags = &mark;
    const bool is_done = host->run(host->user, number, method);
    const bool is_answered = sc_job_compiling(job)->planning.is_answered;
    sc_job_compiling(job)->planning = (sc_planning){0};
    job->kept_diags = kept;
    ctx->where = where;
    if (!is_done)
        return sc_fail(ctx, SC_ERR_CANCELLED, "Check the code of the planner.",
                       "planner %u of the host failed on method '" SC_STR_FMT "'", number,
                       SC_STR_ARG(method));
    return is_answered ? SC_OK : fail_answer(job, "is missing");
}

const sc_host_planners *sc_planners_of_host(sc_job *job) {
    sc_host_planners *planners = sc_new(job->ctx.arena, sc_host_planners);
    *planners = (sc_host_planners){plan, job};
    return planners;
}
