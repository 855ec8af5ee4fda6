#include "rt/replay.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/source.h"
#include "format/json.h"
#include "rt/setup.h"

typedef struct run {
    replay *r;
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_rt_program *program;
    sc_rt_method *method;
    const sc_json *tolerances;
    const char *bin;
    size_t bin_bytes;
    uint32_t next;  // input or output that the walk has come to
} run;

static bool fail(replay *r, const char *format, ...) SC_PRINTF(2, 3);
static bool fail(replay *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(r->message, sizeof r->message, format, args);
    va_end(args);
    return false;
}

static bool fail_status(run *u, const char *what) {
    const sc_diag *diag = u->ctx.diags.count ? &sc_vec_last(&u->ctx.diags) : NULL;
    if (!diag) return fail(u->r, "%s", what);
    return fail(u->r, "%s: %s: " SC_STR_FMT " [%d " SC_STR_FMT "]", what,
                sc_status_slug(diag->code), SC_STR_ARG(diag->message), (int)diag->where.instruction,
                SC_STR_ARG(diag->where.op));
}

static char *read_file(run *u, const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fseek(file, 0, SEEK_SET);
    char *data = sc_arena_alloc(&u->arena, (size_t)size + 1);
    *bytes = fread(data, 1, (size_t)size, file);
    fclose(file);
    return data;
}

static bool find_program(run *u, sc_source **out) {
    size_t bytes;
    *out = u->r->program;
    if (*out) return true;
    char *pte = read_file(u, u->r->pte, &bytes);
    if (!pte) return fail(u->r, "cannot read %s", u->r->pte);
    *out = u->r->is_read ? setup_read(&u->arena, pte, bytes)
                         : sc_source_from_memory(&u->arena, pte, bytes);
    return true;
}

// The bytes that are read when the packed file is opened are a copy.
static bool reopen_packed(run *u, sc_rt_options *options) {
    const uint8_t *bytes;
    sc_rt_packed_file *packed;
    sc_cord cord;
    sc_cord_init(&cord, &u->arena);
    if (sc_rt_program_save(&u->ctx, u->program, &cord) != SC_OK ||
        sc_cord_flatten(&u->ctx, &cord, &u->arena, UINT64_MAX, &bytes) != SC_OK)
        return false;
    sc_rt_program_close(u->program);
    u->program = NULL;
    sc_source *file = setup_read(&u->arena, bytes, (size_t)cord.size);
    if (sc_rt_packed_file_open(&u->ctx, &u->arena, file, &packed) != SC_OK) return false;
    options->data_files = packed->files + 1;
    options->data_file_count = packed->file_count - 1;
    options->packed = packed;
    return sc_rt_program_open(&u->ctx, packed->files[0], options, &u->program) == SC_OK;
}

static bool open_program(run *u) {
    size_t ptd_bytes;
    sc_source *source = NULL;
    if (!find_program(u, &source)) return false;
    sc_rt_options options;
    sc_rt_options_default(&options);
    options.backends = u->r->backends;
    options.optimize = u->r->optimize;
    options.channels_last = u->r->channels_last;
    sc_source *ptd = u->r->data;
    if (u->r->ptd) {
        char *data = read_file(u, u->r->ptd, &ptd_bytes);
        if (!data) return fail(u->r, "cannot read %s", u->r->ptd);
        ptd = sc_source_from_memory(&u->arena, data, ptd_bytes);
    }
    options.data_files = &ptd;
    options.data_file_count = ptd != NULL;
    if (u->r->is_packed) u->ctx.limits.deferred_bytes_min = 256;
    if (sc_rt_program_open(&u->ctx, source, &options, &u->program) != SC_OK)
        return fail_status(u, "open");
    if (u->r->is_packed && !reopen_packed(u, &options)) return fail_status(u, "save");
    if (sc_rt_method_load(&u->ctx, u->program, sc_str_from(u->r->method), &u->method) != SC_OK)
        return fail_status(u, "load");
    return true;
}

// --- Walking the recorded arguments --------------------------------------------------------------

typedef struct recorded {
    bool is_tensor;
    sc_dtype dtype;
    uint8_t rank;
    int64_t sizes[SC_RANK_MAX];
    const char *data;
    uint64_t bytes;
    const sc_json *py;  // a Python value
} recorded;

static bool read_recorded(run *u, const sc_json *object, recorded *out) {
    memset(out, 0, sizeof *out);
    out->py = sc_json_get(object, "py");
    if (out->py) return true;
    int64_t offset, bytes;
    const sc_json *shape = sc_json_get(object, "shape");
    if (!shape || !sc_json_i64(sc_json_get(object, "offset"), &offset) ||
        !sc_json_i64(sc_json_get(object, "nbytes"), &bytes))
        return fail(u->r, "the reference has an entry of an unknown form");
    out->is_tensor = true;
    out->dtype = sc_dtype_from_short(sc_json_str(&u->arena, sc_json_get(object, "dtype")));
    out->rank = (uint8_t)shape->size;
    const sc_json *size = sc_json_first(shape);
    for (uint32_t d = 0; d < shape->size; d++, size = sc_json_next(size))
        out->sizes[d] = size->integer;
    out->data = u->bin + offset;
    out->bytes = (uint64_t)bytes;
    return (size_t)offset + (size_t)bytes <= u->bin_bytes || fail(u->r, "the .bin is too short");
}

// Calls `visit` for every leaf of nested lists and dictionaries, in order.
static bool walk(run *u, const sc_json *value, bool (*visit)(run *, const recorded *)) {
    recorded leaf;
    if (value->kind == SC_JSON_ARRAY) {
        const sc_json *item = sc_json_first(value);
        for (uint32_t i = 0; i < value->size; i++, item = sc_json_next(item)) {
            if (!walk(u, item, visit)) return false;
        }
        return true;
    }
    if (value->kind == SC_JSON_OBJECT && !sc_json_get(value, "py") &&
        !sc_json_get(value, "shape")) {
        const sc_json *key = sc_json_first(value);
        for (uint32_t i = 0; i < value->size; i++, key = sc_json_next(key + 1)) {
            if (!walk(u, key + 1, visit)) return false;
        }
        return true;
    }
    return read_recorded(u, value, &leaf) && visit(u, &leaf);
}

// --- Inputs and outputs --------------------------------------------------------------------------

static bool set_input(run *u, const recorded *leaf) {
    sc_rt_input in = {0};
    uint32_t index = u->next++;
    if (leaf->is_tensor) {
        in = (sc_rt_input){.tag = SC_EVALUE_TENSOR,
                           .dtype = (uint8_t)leaf->dtype,
                           .rank = leaf->rank,
                           .sizes = leaf->sizes,
                           .data = leaf->data,
                           .bytes = leaf->bytes};
    } else {
        const sc_json *py = leaf->py;
        if (py->kind == SC_JSON_BOOL)
            in.tag = SC_EVALUE_BOOL, in.b = py->boolean;
        else if (py->kind == SC_JSON_INT)
            in.tag = SC_EVALUE_INT, in.i = py->integer;
        else if (py->kind == SC_JSON_FLOAT && sc_json_f64(py, &in.d))
            in.tag = SC_EVALUE_DOUBLE;
    }
    if (sc_rt_method_set_input(&u->ctx, u->method, index, &in) != SC_OK)
        return fail_status(u, "input");
    return true;
}

static double element(sc_dtype dtype, const char *data, int64_t i) {
    uint16_t half;
    float f;
    double d;
    int32_t i32;
    int16_t i16;
    int64_t i64;
    switch (dtype) {
    case SC_DTYPE_F32: memcpy(&f, data + 4 * i, 4); return f;
    case SC_DTYPE_F64: memcpy(&d, data + 8 * i, 8); return d;
    case SC_DTYPE_F16: memcpy(&half, data + 2 * i, 2); return sc_f16_to_f32(half);
    case SC_DTYPE_BF16: memcpy(&half, data + 2 * i, 2); return sc_bf16_to_f32(half);
    case SC_DTYPE_I64: memcpy(&i64, data + 8 * i, 8); return (double)i64;
    case SC_DTYPE_I32: memcpy(&i32, data + 4 * i, 4); return i32;
    case SC_DTYPE_I16: memcpy(&i16, data + 2 * i, 2); return i16;
    case SC_DTYPE_I8: return (int8_t)data[i];
    default: return (uint8_t)data[i];
    }
}

static bool compare_tensor(run *u, uint32_t index, const recorded *want, const sc_tensor *got) {
    if (got->dtype != want->dtype || got->rank != want->rank ||
        memcmp(got->sizes, want->sizes, want->rank * sizeof(int64_t)) != 0)
        return fail(u->r, "output %u has dtype %s rank %u size0 %d, wanted %s rank %u size0 %d",
                    index, sc_dtype_name((sc_dtype)got->dtype), got->rank,
                    got->rank ? (int)got->sizes[0] : -1, sc_dtype_name(want->dtype), want->rank,
                    want->rank ? (int)want->sizes[0] : -1);
    double tolerance = 0;
    sc_json_f64(sc_json_get(u->tolerances, sc_dtype_name(want->dtype)), &tolerance);
    char *data = sc_arena_alloc(&u->scratch, (size_t)want->bytes + 1);
    sc_rt_tensor_read(got, data, (size_t)want->bytes);
    for (int64_t i = 0; i < got->numel; i++) {
        double a = element(want->dtype, data, i), b = element(want->dtype, want->data, i);
        if (a == b || (a != a && b != b)) continue;
        if (!(fabs(a - b) <= tolerance * fmax(1, fabs(b))))
            return fail(u->r, "output %u [%d] is %.9g, wanted %.9g", index, (int)i, a, b);
    }
    return true;
}

static bool check_output(run *u, const recorded *want) {
    uint32_t index = u->next++;
    if (index >= sc_rt_method_output_count(u->method))
        return fail(u->r, "there is no output %u", index);
    const sc_evalue *got = sc_rt_method_output(u->method, index);
    if (want->is_tensor)
        return got->tag == SC_EVALUE_TENSOR ? compare_tensor(u, index, want, got->tensor)
                                            : fail(u->r, "output %u is not a tensor", index);
    double d = 0;
    switch (want->py->kind) {
    case SC_JSON_NULL:
        return got->tag == SC_EVALUE_NONE || fail(u->r, "output %u is not None", index);
    case SC_JSON_BOOL:
        return (got->tag == SC_EVALUE_BOOL && got->b == want->py->boolean) ||
               fail(u->r, "output %u is another bool", index);
    case SC_JSON_INT:
        return (got->tag == SC_EVALUE_INT && got->i == want->py->integer) ||
               fail(u->r, "output %u is another int", index);
    default:
        sc_json_f64(want->py, &d);
        return (got->tag == SC_EVALUE_DOUBLE && got->d == d) ||
               fail(u->r, "output %u is another float", index);
    }
}

static uint32_t count_leaves(const sc_json *value) {
    if (value->kind != SC_JSON_ARRAY) return 1;
    uint32_t count = 0;
    const sc_json *item = sc_json_first(value);
    for (uint32_t i = 0; i < value->size; i++, item = sc_json_next(item))
        count += count_leaves(item);
    return count;
}

static const sc_json *read_json(run *u, const char *path) {
    size_t bytes;
    const sc_json *root = NULL;
    char *json = read_file(u, path, &bytes);
    if (!json)
        fail(u->r, "cannot read %s", path);
    else if (sc_json_parse(&u->ctx, &u->arena, (sc_str){json, bytes}, &root) != SC_OK)
        fail_status(u, path);
    return root;
}

static bool run_cases(run *u) {
    char path[1024];
    snprintf(path, sizeof path, "%s.ref.json", u->r->reference);
    const sc_json *root = read_json(u, path);
    u->tolerances = read_json(u, u->r->tolerances);
    if (!root || !u->tolerances) return false;
    snprintf(path, sizeof path, "%s.ref.bin", u->r->reference);
    u->bin = read_file(u, path, &u->bin_bytes);
    if (!u->bin) return fail(u->r, "cannot read %s", path);
    const sc_json *cases = sc_json_get(root, "cases"), *item = sc_json_first(cases);
    for (uint32_t i = 0; i < cases->size; i++, item = sc_json_next(item)) {
        u->next = 0;
        if (!walk(u, sc_json_get(item, "args"), set_input) ||
            !walk(u, sc_json_get(item, "kwargs"), set_input))
            return false;
        if (sc_rt_method_run(&u->ctx, u->method) != SC_OK) return fail_status(u, "run");
        // Inputs that the program mutates come out before what it returns.
        const sc_json *outputs = sc_json_get(item, "outputs");
        uint32_t count = count_leaves(outputs), all = sc_rt_method_output_count(u->method);
        u->next = all > count ? all - count : 0;
        if (!walk(u, outputs, check_output)) return false;
    }
    return true;
}

bool replay_run(replay *r) {
    run u = {.r = r};
    sc_arena_init(&u.arena);
    sc_arena_init(&u.scratch);
    sc_ctx_init(&u.ctx, &u.arena, &u.scratch);
    bool ok = open_program(&u) && run_cases(&u);
    if (u.program) sc_rt_program_close(u.program);
    sc_arena_deinit(&u.scratch);
    sc_arena_deinit(&u.arena);
    return ok;
}
