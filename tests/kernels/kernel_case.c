#include "kernels/kernel_case.h"

#include <math.h>
#include <stdlib.h>

#include "harness.h"

static uint8_t *decode_base64(const char *text, size_t bytes) {
    uint8_t *out = test_alloc(bytes + 1);
    uint32_t bits = 0, held = 0;
    size_t at = 0;
    for (; *text && *text != '=' && at < bytes; text++) {
        char c = *text;
        int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                    : c >= 'a' && c <= 'z' ? c - 'a' + 26
                    : c >= '0' && c <= '9' ? c - '0' + 52
                    : c == '+'             ? 62
                                           : 63;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[at++] = (uint8_t)(bits >> held);
        }
    }
    return out;
}

static sc_evalue *new_value(uint8_t tag) {
    sc_evalue *value = test_alloc(sizeof *value);
    memset(value, 0, sizeof *value);
    value->tag = tag;
    return value;
}

// A NaN by its sign: libraries differ in the bits that they read "nan" as.
static float read_float(const char *text, char **end) {
    const bool is_negative = text[0] == '-';
    if (strncmp(text + is_negative, "nan", 3) != 0) return strtof(text, end);
    const uint32_t bits = is_negative ? UINT32_C(0xffc00000) : UINT32_C(0x7fc00000);
    float value;
    memcpy(&value, &bits, sizeof value);
    *end = (char *)(uintptr_t)text + is_negative + 3;
    return value;
}

static double read_double(const char *text, char **end) {
    const bool is_negative = text[0] == '-';
    if (strncmp(text + is_negative, "nan", 3) != 0) return strtod(text, end);
    const uint64_t bits = (uint64_t)(is_negative ? 0xfff8 : 0x7ff8) << 48;
    double value;
    memcpy(&value, &bits, sizeof value);
    *end = (char *)(uintptr_t)text + is_negative + 3;
    return value;
}

// One number as little-endian bytes; the end of its text.
static char *read_number(char *text, sc_dtype dtype, uint8_t *out) {
    char *end = text;
    uint64_t bits = 0;
    if (dtype == SC_DTYPE_F64) {
        double value = read_double(text, &end);
        memcpy(&bits, &value, sizeof value);
    } else if (dtype == SC_DTYPE_F32) {
        float value = read_float(text, &end);
        memcpy(&bits, &value, sizeof value);
    } else if (dtype == SC_DTYPE_F16) {
        bits = sc_f32_to_f16(read_float(text, &end));
    } else if (dtype == SC_DTYPE_BF16) {
        bits = sc_f32_to_bf16(read_float(text, &end));
    } else if (text[0] == '-') {
        bits = (uint64_t)strtoll(text, &end, 10);
    } else {
        bits = strtoull(text, &end, 10);
    }
    memcpy(out, &bits, sc_dtype_bytes(dtype));
    return end;
}

// "1 -0 nan]": a number for each element, two where it is complex.
static uint8_t *read_numbers(char *text, sc_dtype dtype, size_t elements) {
    const sc_dtype part = sc_dtype_to_real(dtype);
    const size_t bytes = sc_dtype_bytes(part), count = elements * sc_dtype_bytes(dtype) / bytes;
    uint8_t *out = test_alloc(count * bytes + 1);
    for (size_t i = 0; i < count; i++) {
        char *end = read_number(text, part, out + i * bytes);
        CHECK(end != text);
        text = end + (*end == ' ');
    }
    CHECK(*text == ']');
    return out;
}

// "f32 2x3 - [1 2 ...]": sizes, strides by dim order, elements. Results get their own, poisoned
// memory.
static uint8_t *read_tensor(char *text, sc_tensor *t, bool is_result) {
    char *dtype = strtok(text, " "), *sizes = strtok(NULL, " ");
    char *order = strtok(NULL, " "), *data = strtok(NULL, "");
    memset(t, 0, sizeof *t);
    t->dtype = (uint8_t)sc_dtype_from_short((sc_str){dtype, strlen(dtype)});
    t->sizes = test_alloc(SC_RANK_MAX * sizeof *t->sizes);
    t->strides = test_alloc(SC_RANK_MAX * sizeof *t->strides);
    t->dim_order = test_alloc(SC_RANK_MAX);
    t->numel = 1;
    t->is_dynamic = is_result;
    for (char *p = sizes; *p && *p != '-';) {
        t->sizes[t->rank] = strtoll(p, &p, 10);
        t->numel *= t->sizes[t->rank++];
        p += *p == 'x';
    }
    int64_t stride = 1;
    for (uint32_t k = t->rank; k-- > 0;) {
        t->dim_order[k] = order[0] == '-' ? (uint8_t)k : (uint8_t)(order[k] - '0');
        t->strides[t->dim_order[k]] = stride;
        stride *= t->sizes[t->dim_order[k]] ? t->sizes[t->dim_order[k]] : 1;
    }
    size_t bytes = (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
    t->capacity_bytes = bytes;
    t->data = test_alloc(bytes ? bytes : 1);
    uint8_t *decoded = data && data[0] == '['
                           ? read_numbers(data + 1, (sc_dtype)t->dtype, (size_t)t->numel)
                           : decode_base64(!data || data[0] == '-' ? "" : data, bytes);
    if (is_result)
        memset(t->data, 0xab, bytes);
    else
        memcpy(t->data, decoded, bytes);
    return decoded;
}

static sc_evalue *read_list(char kind, char *text) {
    sc_evalue *value = new_value(kind == 'I'   ? SC_EVALUE_INT_LIST
                                 : kind == 'D' ? SC_EVALUE_DOUBLE_LIST
                                               : SC_EVALUE_BOOL_LIST);
    sc_evalue **ints = test_alloc(KERNEL_CASE_ITEMS_MAX * sizeof *ints);
    double *doubles = test_alloc(KERNEL_CASE_ITEMS_MAX * sizeof *doubles);
    uint8_t *bools = test_alloc(KERNEL_CASE_ITEMS_MAX);
    for (char *p = strtok(text, " "); p && value->count < KERNEL_CASE_ITEMS_MAX;
         p = strtok(NULL, " ")) {
        uint32_t i = value->count++;
        ints[i] = new_value(SC_EVALUE_INT);
        ints[i]->i = strtoll(p, NULL, 10);
        doubles[i] = strtod(p, NULL);
        bools[i] = p[0] == '1';
    }
    if (kind == 'I')
        value->ints = ints;
    else if (kind == 'D')
        value->doubles = doubles;
    else
        value->bools = bools;
    return value;
}

static void open_list(kernel_case *t, sc_evalue *value, uint32_t count, bool is_out) {
    t->list = value;
    t->list_left = count;
    t->list_is_out = is_out;
    value->tensors = test_alloc((count + 1) * sizeof *value->tensors);
}

static void add_item(kernel_case *t, sc_evalue *item) {
    sc_evalue **items = (sc_evalue **)(uintptr_t)t->list->tensors;
    items[t->list->count++] = item;
    if (!item) t->list->tag = SC_EVALUE_OPTIONAL_TENSOR_LIST;
    if (--t->list_left == 0) t->list = NULL;
}

static void add_value(kernel_case *t, sc_evalue *value) {
    if (t->list)
        add_item(t, value->tag == SC_EVALUE_NONE ? NULL : value);
    else if (t->input_count < KERNEL_CASE_ITEMS_MAX)
        t->inputs[t->input_count++] = value;
}

static void add_result(kernel_case *t, char *text, char keyword) {
    const bool is_written = keyword == 'm';
    kernel_case_expected *e =
        is_written ? &t->written[t->written_count++] : &t->expected[t->expected_count++];
    sc_evalue *value = new_value(SC_EVALUE_TENSOR);
    value->tensor = test_alloc(sizeof *value->tensor);
    e->bytes = read_tensor(text, value->tensor, true);
    e->tensor = *value->tensor;
    if (keyword == 'u') e->bytes = NULL;
    if (is_written) return;
    if (t->list)
        add_item(t, value);
    else
        t->outs[t->out_count++] = value;
}

// One line of a case; `text` is what follows the keyword.
static void read_line(kernel_case *t, const char *keyword, char *text) {
    sc_evalue *value;
    if (strcmp(keyword, "tol") == 0) {
        t->has_tolerance = true;
        t->relative = strtod(text, &text);
        t->absolute = strtod(text, NULL);
    } else if (strcmp(keyword, "only") == 0) {
        t->compared = (uint32_t)strtoul(text, NULL, 10);
    } else if (strcmp(keyword, "fails") == 0) {
        t->fails = text;
    } else if (strcmp(keyword, "shape") == 0) {
        t->shape_only = true;
    } else if (strchr("omu", keyword[0])) {
        add_result(t, text, keyword[0]);
    } else if (strchr("TO", keyword[0])) {
        value = new_value(SC_EVALUE_TENSOR_LIST);
        if (keyword[0] == 'O')
            t->outs[t->out_count++] = value;
        else
            t->inputs[t->input_count++] = value;
        open_list(t, value, (uint32_t)strtoul(text, NULL, 10), keyword[0] == 'O');
        if (t->list_left == 0) t->list = NULL;
    } else if (strchr("IDB", keyword[0])) {
        add_value(t, read_list(keyword[0], text));
    } else if (keyword[0] == 't') {
        value = new_value(SC_EVALUE_TENSOR);
        value->tensor = test_alloc(sizeof *value->tensor);
        read_tensor(text, value->tensor, false);
        add_value(t, value);
    } else if (keyword[0] == 's') {
        value = new_value(SC_EVALUE_STRING);
        value->str = (sc_str){text, strlen(text)};
        add_value(t, value);
    } else {
        value = new_value(keyword[0] == 'i'   ? SC_EVALUE_INT
                          : keyword[0] == 'd' ? SC_EVALUE_DOUBLE
                          : keyword[0] == 'b' ? SC_EVALUE_BOOL
                                              : SC_EVALUE_NONE);
        if (keyword[0] == 'i')
            value->i = strtoll(text, NULL, 10);
        else if (keyword[0] == 'd')
            value->d = strtod(text, NULL);
        else
            value->b = text[0] == '1';
        add_value(t, value);
    }
}

uint32_t kernel_case_arguments(const kernel_case *t, sc_evalue **args) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->input_count && count < KERNEL_CASE_ITEMS_MAX; i++) {
        if (sc_op_out_keeps(t->op, i)) args[count++] = t->inputs[i];
    }
    for (uint32_t i = 0; i < t->out_count && count < KERNEL_CASE_ITEMS_MAX; i++)
        args[count++] = t->outs[i];
    return count;
}

static void visit_file(const char *path, kernel_case_fn visit, void *user) {
    char *text = test_read(path, NULL);
    kernel_case t;
    memset(&t, 0, sizeof t);
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (strncmp(line, "case ", 5) != 0) {
            char *rest = strchr(line, ' ');
            if (rest) *rest++ = 0;
            if (t.path && line[0] && line[0] != '#')
                read_line(&t, line, rest ? rest : line + strlen(line));
            continue;
        }
        if (t.path) visit(user, &t);
        char *name = line + 5, *op = strchr(name, ' ');
        *op++ = 0;
        memset(&t, 0, sizeof t);
        t.path = path;
        t.name = test_format("%s %s", op, name);
        t.op = sc_op_find((sc_str){op, strlen(op)});
    }
    if (t.path) visit(user, &t);
}

void kernel_cases_visit(kernel_case_fn visit, void *user) {
    kernel_cases_visit_in("kernels", visit, user);
}

void kernel_cases_visit_in(const char *folder, kernel_case_fn visit, void *user) {
    size_t count = 0;
    const char **files = test_list(folder, ".case", &count);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) visit_file(files[i], visit, user);
}

// --- Keeping -------------------------------------------------------------------------------------

static void *copy_of(const void *data, size_t bytes) {
    void *copy = test_alloc(bytes ? bytes : 1);
    if (bytes) memcpy(copy, data, bytes);
    return copy;
}

static void keep_tensor(kernel_case_memory *m, sc_tensor *t) {
    const uint32_t i = m->count;
    if (!CHECK(i < SC_COUNT_OF(m->tensors))) return;
    m->tensors[i] = t;
    m->data[i] = copy_of(t->data, (size_t)t->capacity_bytes);
    m->sizes[i] = copy_of(t->sizes, t->rank * sizeof *t->sizes);
    m->strides[i] = copy_of(t->strides, t->rank * sizeof *t->strides);
    m->numel[i] = t->numel;
    m->count++;
}

static void keep_value(kernel_case_memory *m, const sc_evalue *value) {
    if (value->tag == SC_EVALUE_TENSOR) keep_tensor(m, value->tensor);
    if (value->tag != SC_EVALUE_TENSOR_LIST && value->tag != SC_EVALUE_OPTIONAL_TENSOR_LIST) return;
    for (uint32_t i = 0; i < value->count; i++)
        if (value->tensors[i]) keep_value(m, value->tensors[i]);
}

kernel_case_memory kernel_case_keep(const kernel_case *t) {
    kernel_case_memory m = {.count = 0};
    for (uint32_t i = 0; i < t->input_count; i++) keep_value(&m, t->inputs[i]);
    for (uint32_t i = 0; i < t->out_count; i++) keep_value(&m, t->outs[i]);
    return m;
}

void kernel_case_put_back(const kernel_case_memory *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        sc_tensor *t = m->tensors[i];
        memcpy(t->data, m->data[i], (size_t)t->capacity_bytes);
        memcpy(t->sizes, m->sizes[i], t->rank * sizeof *t->sizes);
        memcpy(t->strides, m->strides[i], t->rank * sizeof *t->strides);
        t->numel = m->numel[i];
    }
}

bool kernel_case_is(const kernel_case_memory *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        const sc_tensor *t = m->tensors[i];
        const size_t bytes = (size_t)t->numel * sc_dtype_bytes((sc_dtype)t->dtype);
        if (memcmp(t->sizes, m->sizes[i], t->rank * sizeof *t->sizes) != 0 ||
            memcmp(t->data, m->data[i], bytes) != 0)
            return false;
    }
    return true;
}

// --- Comparing -----------------------------------------------------------------------------------

static double number_of(sc_dtype dtype, const uint8_t *bytes, int64_t i) {
    const uint8_t *at = bytes + (size_t)i * sc_dtype_bytes(dtype);
    uint16_t half;
    float single;
    double real;
    switch (dtype) {
    case SC_DTYPE_F16: memcpy(&half, at, 2); return (double)sc_f16_to_f32(half);
    case SC_DTYPE_BF16: memcpy(&half, at, 2); return (double)sc_bf16_to_f32(half);
    case SC_DTYPE_F32: memcpy(&single, at, 4); return (double)single;
    default: memcpy(&real, at, 8); return real;
    }
}

static void tolerance_of(const kernel_case *t, unsigned dtype, double *relative, double *absolute) {
    bool is_half = dtype == SC_DTYPE_F16, is_brain = dtype == SC_DTYPE_BF16;
    *relative = is_brain ? 1.6e-2 : is_half ? 2e-3 : dtype == SC_DTYPE_F64 ? 1e-9 : 1e-5;
    *absolute = is_brain ? 1e-2 : is_half ? 1e-3 : dtype == SC_DTYPE_F64 ? 1e-10 : 1e-6;
    if (t->has_tolerance) {
        *relative = t->relative;
        *absolute = t->absolute;
    }
}

static bool is_close(double actual, double wanted, double relative, double absolute) {
    if (wanted != wanted || actual != actual) return (wanted != wanted) == (actual != actual);
    if (isinf(wanted) || isinf(actual)) return wanted == actual;
    if (wanted == 0 && actual == 0 && relative == 0 && absolute == 0)
        return signbit(wanted) == signbit(actual);
    return fabs(actual - wanted) <= absolute + relative * fabs(wanted);
}

void kernel_case_compare(const kernel_case *t, uint32_t k, const sc_tensor *actual,
                         const kernel_case_expected *e) {
    const sc_tensor *wanted = &e->tensor;
    bool same = actual->rank == wanted->rank;
    for (uint32_t d = 0; same && d < wanted->rank; d++) same = actual->sizes[d] == wanted->sizes[d];
    if (!same) {
        FAIL("%s: result %u has another shape", t->name, k);
        return;
    }
    if (t->shape_only || (t->compared && k >= t->compared)) return;
    const sc_dtype part = sc_dtype_to_real((sc_dtype)wanted->dtype);
    if (!sc_dtype_is_float(part)) {
        if (memcmp(actual->data, e->bytes,
                   (size_t)wanted->numel * sc_dtype_bytes((sc_dtype)wanted->dtype)) != 0)
            FAIL("%s: result %u (%s) differs", t->name, k, sc_dtype_name((sc_dtype)wanted->dtype));
        return;
    }
    double relative, absolute;
    tolerance_of(t, part, &relative, &absolute);
    const int64_t parts = wanted->numel * (part == wanted->dtype ? 1 : 2);
    for (int64_t i = 0; i < parts; i++) {
        double a = number_of(part, actual->data, i), b = number_of(part, e->bytes, i);
        if (!is_close(a, b, relative, absolute)) {
            FAIL("%s: result %u, element %lld is %.9g, not %.9g", t->name, k, (long long)i, a, b);
            return;
        }
    }
}
