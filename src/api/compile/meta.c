// The tables as JSON, which hosts show and need not repeat.
#include "api/compile/backends.h"
#include "api/job/job.h"
#include "ops/library.h"
#include "passes/pass.h"
#include "trace/coverage.h"

static const char *const HOW[] = {[SC_COVERED_NOT] = "no",
                                  [SC_COVERED_KERNEL] = "kernel",
                                  [SC_COVERED_MENDED] = "mended",
                                  [SC_COVERED_EXPANDED] = "expanded"};

static void add_limits(sc_json_writer *w, uint32_t limits) {
    sc_json_put_array(w, "limits");
    for (int limit = 1; limit < SC_LIMIT_COUNT; limit++)
        if (limits >> limit & 1) sc_json_add_text(w, sc_limit_calls((sc_limit)limit));
    sc_json_end_array(w);
}

static void add_ops(sc_json_writer *w) {
    static const char *const FAMILIES[] = {
        [SC_FAMILY_OTHER] = "other", [SC_FAMILY_MATRIX] = "matrix",
        [SC_FAMILY_CONV] = "conv",   [SC_FAMILY_REDUCE] = "reduce",
        [SC_FAMILY_SHAPE] = "shape", [SC_FAMILY_POINTWISE] = "pointwise",
        [SC_FAMILY_INDEX] = "index", [SC_FAMILY_CREATE] = "create"};
    sc_json_put_array(w, "ops");
    for (int id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        sc_json_begin_object(w);
        sc_json_put_text(w, "name", op->name);
        sc_json_put_text(w, "out", op->out_name ? op->out_name : "");
        sc_json_put_text(w, "family", FAMILIES[op->family]);
        const sc_coverage covered = sc_op_coverage(op);
        sc_json_put_text(w, "here", HOW[covered.here]);
        sc_json_put_text(w, "official", HOW[covered.official]);
        sc_json_put_bool(w, "lowers", sc_coverage_lowers(&covered));
        sc_json_put_text(w, "lacks", covered.lacks ? covered.lacks->name : "");
        add_limits(w, covered.limits);
        sc_json_put_bool(w, "pytorch", sc_op_is_pytorch(op));
        sc_json_put_text(w, "library", sc_op_library(op) ? sc_op_library(op) : "");
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

typedef struct pytorch_counts {
    uint32_t lowers, here, official, limited;
} pytorch_counts;

static pytorch_counts count_pytorch(void) {
    pytorch_counts n = {0};
    for (int id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        const sc_coverage c = sc_op_coverage(op);
        if (!sc_op_is_pytorch(op)) continue;
        n.lowers += sc_coverage_lowers(&c);
        n.here += c.here != SC_COVERED_NOT;
        n.official += c.official != SC_COVERED_NOT;
        n.limited += c.limits != 0;
    }
    return n;
}

// The number of PyTorch's operators that are covered, and the list of those that are not in the
// table.
static void add_pytorch(sc_json_writer *w) {
    const pytorch_counts n = count_pytorch();
    sc_json_put_object(w, "pytorch");
    sc_json_put_text(w, "version", sc_pytorch_version());
    sc_json_put_i64(w, "operators", sc_pytorch_count());
    sc_json_put_i64(w, "lowers", n.lowers);
    sc_json_put_i64(w, "here", n.here);
    sc_json_put_i64(w, "official", n.official);
    sc_json_put_i64(w, "limited", n.limited);
    sc_json_put_array(w, "missing");
    for (uint32_t i = 0; i < sc_pytorch_count(); i++)
        if (!sc_op_find(sc_str_from(sc_pytorch_name(i)))) sc_json_add_text(w, sc_pytorch_name(i));
    sc_json_end_array(w);
    sc_json_end_object(w);
}

// Rows that are not operators count the operators that go through them.
static void add_features(sc_json_writer *w) {
    const sc_feature_counts n = sc_count_features();
    sc_json_put_object(w, "features");
    sc_json_put_i64(w, "vmap", n.vmap);
    sc_json_put_i64(w, "vmapSamples", n.vmap_samples);
    sc_json_put_i64(w, "jvp", n.jvp);
    sc_json_put_i64(w, "float8", n.float8);
    sc_json_end_object(w);
}

static void add_passes(sc_json_writer *w) {
    sc_json_put_array(w, "passes");
    for (uint32_t i = 0; i < sc_pass_count(); i++) {
        const sc_pass *pass = sc_pass_at(i);
        sc_json_begin_object(w);
        sc_json_put_text(w, "name", pass->name);
        sc_json_put_text(w, "summary", pass->summary);
        sc_json_put_text(w, "stage", pass->step == SC_STEP_to_executorch ? "executorch" : "edge");
        sc_json_put_bool(w, "named", sc_pass_is_offered(pass));
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static void add_backends(sc_json_writer *w) {
    static const char *const SUMMARIES[] = {
#define BACKEND(name, summary) summary,
#include "backends/backends.def"
#undef BACKEND
    };
    sc_json_put_array(w, "backends");
    for (uint32_t i = 0; i < SC_COUNT_OF(SUMMARIES); i++) {
        const sc_backend *backend = sc_all_backends.at(sc_all_backends.user, i);
        sc_json_begin_object(w);
        sc_json_put_text(w, "name", backend->name);
        sc_json_put_text(w, "id", backend->id);
        sc_json_put_text(w, "summary", SUMMARIES[i]);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

sc_str sc_meta_json(sc_job *job) {
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_job_put_tables(&w);
    if (sc_ops_init() == SC_OK) add_ops(&w);
    add_pytorch(&w);
    add_features(&w);
    add_passes(&w);
    add_backends(&w);
    sc_json_end_object(&w);
    return sc_sb_str(&sb);
}
