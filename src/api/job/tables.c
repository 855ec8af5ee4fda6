// Status codes and dtypes as JSON, so that hosts need not repeat them.
#include "api/job/job.h"

static void add_statuses(sc_json_writer *w) {
    sc_json_put_array(w, "statuses");
    for (int s = 0; s < SC_STATUS_COUNT; s++) sc_json_add_text(w, sc_status_slug((sc_status)s));
    sc_json_end_array(w);
}

static void add_dtype(sc_json_writer *w, int code, const char *name, const char *short_name,
                      int item_bytes) {
    sc_json_begin_object(w);
    sc_json_put_i64(w, "code", code);
    sc_json_put_text(w, "name", name);
    sc_json_put_text(w, "short", short_name);
    sc_json_put_i64(w, "bytes", item_bytes);
    sc_json_end_object(w);
}

static void add_dtypes(sc_json_writer *w) {
    static const struct {
        int code, item_bytes;
        const char *name, *short_name;
    } rows[] = {
#define DTYPE(id, pte, pt2, serde, dtype_name, short_name, item_bytes, ...) \
    {pte, item_bytes, dtype_name, short_name},
#include "core/dtype.def"
#undef DTYPE
    };
    sc_json_put_array(w, "dtypes");
    for (uint32_t i = 0; i < SC_COUNT_OF(rows); i++)
        add_dtype(w, rows[i].code, rows[i].name, rows[i].short_name, rows[i].item_bytes);
    sc_json_end_array(w);
}

void sc_job_put_tables(sc_json_writer *w) {
    add_statuses(w);
    add_dtypes(w);
}

sc_str sc_tables_json(sc_job *job) {
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_job_put_tables(&w);
    sc_json_end_object(&w);
    return sc_sb_str(&sb);
}
