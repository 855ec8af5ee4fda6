// The contents of a .pte, as JSON.
#include "api/run/running.h"
#include "rt/look/look.h"

static const char *kind_name(sc_evalue_tag tag) {
    switch (tag) {
    case SC_EVALUE_TENSOR: return "tensor";
    case SC_EVALUE_INT: return "int";
    case SC_EVALUE_DOUBLE: return "double";
    case SC_EVALUE_BOOL: return "bool";
    case SC_EVALUE_STRING: return "string";
    case SC_EVALUE_NONE: return "none";
    default: return "list";
    }
}

static void add_tensor(sc_json_writer *w, const sc_rt_value_info *info) {
    sc_json_put_text(w, "dtype", sc_dtype_name((sc_dtype)info->dtype));
    sc_json_put_array(w, "shape");
    for (uint32_t d = 0; d < info->rank; d++) sc_json_add_i64(w, info->sizes[d]);
    sc_json_end_array(w);
    sc_json_put_array(w, "dim_order");
    for (uint32_t d = 0; d < info->rank; d++) sc_json_add_i64(w, info->dim_order[d]);
    sc_json_end_array(w);
    sc_json_put_bool(w, "dynamic", info->is_dynamic);
    sc_json_put_u64(w, "bytes", info->bytes);
}

static void add_value(sc_json_writer *w, const sc_rt_value_info *info, bool is_input) {
    sc_json_begin_object(w);
    sc_json_put_text(w, "kind", kind_name(info->tag));
    if (info->tag == SC_EVALUE_TENSOR) {
        add_tensor(w, info);
    } else if (is_input) {  // the value of a computed output is not known yet
        sc_json_key(w, "value");
        if (info->tag == SC_EVALUE_INT)
            sc_json_add_i64(w, info->i);
        else if (info->tag == SC_EVALUE_BOOL)
            sc_json_add_bool(w, info->i != 0);
        else if (info->tag == SC_EVALUE_DOUBLE)
            sc_json_add_f64(w, info->d);
        else if (info->tag == SC_EVALUE_STRING)
            sc_json_add_str(w, info->str);
        else
            sc_json_add_null(w);
    }
    if (!is_input && info->of_input >= 0) sc_json_put_u64(w, "of_input", (uint64_t)info->of_input);
    sc_json_end_object(w);
}

static void add_values(sc_json_writer *w, const char *key, const sc_rt_value_info *infos,
                       uint32_t count, bool are_inputs) {
    sc_json_put_array(w, key);
    for (uint32_t i = 0; i < count; i++) add_value(w, &infos[i], are_inputs);
    sc_json_end_array(w);
}

static void add_ops(sc_json_writer *w, sc_arena *arena, const sc_rt_method_info *info) {
    sc_json_put_object(w, "ops");
    for (uint32_t i = 0; i < info->op_count; i++) {
        const sc_rt_op_info *op = &info->ops[i];
        sc_str name = op->name;
        if (op->overload.size)
            name = sc_str_format(arena, SC_STR_FMT "." SC_STR_FMT, SC_STR_ARG(op->name),
                                 SC_STR_ARG(op->overload));
        sc_json_key_str(w, name);
        sc_json_add_u64(w, op->calls);
    }
    sc_json_end_object(w);
}

// The number of the data file in which each key was found, or null.
static void add_externals(sc_json_writer *w, const sc_rt_method_info *info) {
    sc_json_put_array(w, "external_data");
    for (uint32_t i = 0; i < info->external_count; i++) {
        sc_json_begin_object(w);
        sc_json_put_str(w, "key", info->externals[i].key);
        if (info->externals[i].is_found)
            sc_json_put_u64(w, "data_file", info->externals[i].file);
        else
            sc_json_put_null(w, "data_file");
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static void add_parts(sc_json_writer *w, const sc_rt_method_info *info) {
    sc_json_put_array(w, "parts");
    for (uint32_t i = 0; i < info->part_count; i++) {
        sc_json_begin_object(w);
        sc_json_put_str(w, "backend", info->parts[i].backend);
        sc_json_put_u64(w, "bytes", info->parts[i].bytes);
        sc_json_put_bool(w, "is_known", info->parts[i].is_known);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static void add_named(sc_json_writer *w, const sc_rt_program_info *info) {
    sc_json_put_array(w, "named");
    for (uint32_t i = 0; i < info->named_count; i++) {
        sc_json_begin_object(w);
        sc_json_put_str(w, "key", info->named[i].key);
        sc_json_put_u64(w, "bytes", info->named[i].bytes);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

// The limit for all methods together. A hostile file can name one text in many methods, and
// JavaScript reads each of them. The trees of real programs have some kilobytes.
#define TREE_BYTES_MAX ((uint64_t)4 << 20)

static void add_tree(sc_json_writer *w, const char *key, sc_str tree, uint64_t *left) {
    if (tree.size > *left) tree = (sc_str){0};
    *left -= tree.size;
    sc_json_put_str(w, key, tree);
}

static void add_method(sc_json_writer *w, sc_arena *arena, const sc_rt_method_info *info,
                       uint64_t *tree_bytes_left) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", info->name);
    add_tree(w, "input_tree", info->input_container, tree_bytes_left);
    add_tree(w, "output_tree", info->output_container, tree_bytes_left);
    add_values(w, "inputs", info->inputs, info->input_count, true);
    add_values(w, "outputs", info->outputs, info->output_count, false);
    sc_json_put_array(w, "planned_bytes");
    for (uint32_t i = 0; i < info->planned_count; i++) sc_json_add_u64(w, info->planned_bytes[i]);
    sc_json_end_array(w);
    sc_json_put_u64(w, "instructions", info->instruction_count);
    add_ops(w, arena, info);
    sc_json_put_array(w, "delegates");
    for (uint32_t i = 0; i < info->backend_count; i++) sc_json_add_str(w, info->backends[i]);
    sc_json_end_array(w);
    add_parts(w, info);
    add_externals(w, info);
    sc_json_end_object(w);
}

static bool find_method(const sc_rt_program *program, sc_str name, uint32_t *index) {
    for (*index = 0; *index < sc_rt_program_method_count(program); (*index)++)
        if (sc_str_equal(sc_rt_program_method_name(program, *index), name)) return true;
    return false;
}

sc_status sc_run_part_text(sc_job *job, sc_str method, uint32_t part, sc_str *text) {
    sc_ctx *ctx = sc_job_begin(job);
    uint32_t index;
    SC_TRY(sc_job_require_program(job));
    if (!find_method(sc_job_running(job)->program, method, &index))
        return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "there is no method '" SC_STR_FMT "'",
                       SC_STR_ARG(method));
    const uint32_t count = sc_rt_part_count(sc_job_running(job)->program, index);
    if (part >= count)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL,
                       "method '" SC_STR_FMT "' has %u part%s, but no part with the number %u",
                       SC_STR_ARG(method), count, count == 1 ? "" : "s", part);
    sc_sb sb = sc_job_text(job);
    SC_TRY(sc_rt_part_print(ctx, sc_job_running(job)->program, index, part, &sb));
    *text = sc_sb_str(&sb);
    return SC_OK;
}

sc_status sc_run_inspect(sc_job *job, sc_str *json) {
    sc_ctx *ctx = &job->ctx;
    SC_TRY(sc_job_require_program(job));
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_array(&w, "methods");
    uint64_t tree_bytes_left = TREE_BYTES_MAX;
    for (uint32_t i = 0; i < sc_rt_program_method_count(sc_job_running(job)->program); i++) {
        sc_rt_method_info info;
        SC_TRY(sc_rt_method_info_get(ctx, sc_job_running(job)->program, i, ctx->scratch, &info));
        add_method(&w, ctx->scratch, &info, &tree_bytes_left);
    }
    sc_json_end_array(&w);
    sc_rt_program_info program;
    sc_rt_program_info_get(sc_job_running(job)->program, ctx->scratch, &program);
    sc_json_put_u64(&w, "program_bytes", program.program_bytes);
    sc_json_put_u64(&w, "constant_bytes", program.constant_bytes);
    sc_json_put_u64(&w, "mutable_bytes", program.mutable_bytes);
    sc_json_put_u64(&w, "delegate_bytes", program.delegate_bytes);
    sc_json_put_u64(&w, "named_bytes", program.named_bytes);
    add_named(&w, &program);
    sc_json_put_u64(&w, "other_bytes", program.other_bytes);
    sc_json_put_u64(&w, "file_bytes", program.file_bytes);
    sc_json_put_u64(&w, "heap_bytes", job->arena.held_bytes);
    sc_json_end_object(&w);
    *json = sc_sb_str(&sb);
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
