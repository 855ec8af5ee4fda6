// The weights of a program, for a host that chooses their files.
#include "ir/weights.h"

#include "api/compiling.h"
#include "backend/node_json.h"
#include "base/map.h"
#include "format/json.h"

typedef struct row {
    const sc_constant *weight;
    SC_VEC(const sc_method *) methods;
} row;

typedef struct listing {
    sc_arena *arena;
    sc_map by_name;  // -> row
    SC_VEC(row *) rows;
} listing;

static void note(const sc_method *method, const sc_constant *weight, void *user) {
    listing *l = user;
    row *known = sc_map_get(&l->by_name, weight->name);
    if (!known) {
        known = sc_new(l->arena, row);
        known->weight = weight;
        sc_map_add(&l->by_name, weight->name, known);
        sc_vec_push(l->arena, &l->rows, known);
    }
    if (known->methods.count == 0 || sc_vec_last(&known->methods) != method)
        sc_vec_push(l->arena, &known->methods, method);
}

static void put_row(sc_json_writer *w, const row *r) {
    const sc_spec *spec = &r->weight->spec;
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", r->weight->name);
    sc_json_put_text(w, "dtype", sc_dtype_name((sc_dtype)spec->dtype));
    sc_json_put_array(w, "shape");
    for (uint32_t d = 0; d < spec->rank; d++) sc_json_add_i64(w, spec->sizes[d].value);
    sc_json_end_array(w);
    sc_json_put_u64(w, "bytes", r->weight->data.size);
    sc_json_put_array(w, "methods");
    for (uint32_t i = 0; i < r->methods.count; i++)
        sc_json_add_str(w, sc_name_str(r->methods.data[i]->name));
    sc_json_end_array(w);
    sc_json_end_object(w);
}

sc_status sc_compile_weights(sc_job *job, uint32_t program, sc_str *json) {
    sc_version *version = NULL;
    sc_json_writer w;
    listing l = {.arena = sc_job_begin(job)->scratch};
    SC_TRY(sc_job_version(job, program, &version));
    sc_map_init(&l.by_name, l.arena);
    SC_TRY(sc_weights_visit(version->program, note, &l));
    sc_sb text = sc_job_text(job);
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    for (uint32_t i = 0; i < l.rows.count; i++) put_row(&w, l.rows.data[i]);
    sc_json_end_array(&w);
    *json = sc_sb_str(&text);
    return SC_OK;
}
