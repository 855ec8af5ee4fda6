// Runs the opcodes: a stack with marks, and a memo. No function recurses, and the number of input
// bytes bounds every allocation. Opcodes: CPython's Lib/pickletools.py.
#include "format/pickle_machine.h"

enum { LONG_BYTES_MAX = 1024, LINE_BYTES_MAX = 1024, TEXT_BYTES_MAX = 64 << 20, PROTOCOL_MAX = 5 };

typedef sc_pickle_machine machine;
typedef sc_pickle_value value;

sc_status sc_pickle_fail(machine *m, const char *what) {
    return sc_fail(m->ctx, SC_ERR_CORRUPT, NULL, "pickle, byte %llu: %s",
                   (unsigned long long)(m->at - m->begin), what);
}

sc_status sc_pickle_spend(machine *m, uint64_t work) {
    m->work += work;
    if (m->work > m->ctx->limits.pickle_opcode_max)
        return sc_fail(m->ctx, SC_ERR_LIMIT, NULL, "the pickle exceeds pickle_opcode_max");
    return SC_OK;
}

value *sc_pickle_new(machine *m, sc_pickle_kind kind) {
    value *v = sc_new(m->arena, value);
    v->kind = (uint8_t)kind;
    return v;
}

static bool is_full(uint32_t count) {
    return count == 0 || (count >= 4 && (count & (count - 1)) == 0);
}

static void reserve(machine *m, value *container, uint32_t width) {
    uint32_t count = container->count;
    if (is_full(count))
        container->items =
            sc_arena_grow(m->arena, container->items, (size_t)count * width * sizeof(value *),
                          (size_t)(count ? count * 2 : 4) * width * sizeof(value *));
}

void sc_pickle_append(machine *m, value *list, value *item) {
    reserve(m, list, 1);
    list->items[list->count++] = item;
}

void sc_pickle_append_pair(machine *m, value *dict, value *key, value *item) {
    reserve(m, dict, 2);
    dict->items[2 * dict->count] = key;
    dict->items[2 * dict->count++ + 1] = item;
}

// --- Stack and input -----------------------------------------------------------------------------

static sc_status push(machine *m, value *v) {
    if (m->stack.count >= m->ctx->limits.pickle_stack_max)
        return sc_fail(m->ctx, SC_ERR_LIMIT, NULL, "the pickle stack exceeds pickle_stack_max");
    sc_vec_push(m->ctx->scratch, &m->stack, v);
    return SC_OK;
}

static sc_status push_new(machine *m, sc_pickle_kind kind) {
    return push(m, sc_pickle_new(m, kind));
}

// The number of values above the innermost mark.
static uint32_t available(const machine *m) {
    return m->stack.count - (m->marks.count ? sc_vec_last(&m->marks) : 0);
}

static sc_status pop(machine *m, value **out) {
    if (available(m) == 0) return sc_pickle_fail(m, "the stack is empty");
    *out = m->stack.data[--m->stack.count];
    return SC_OK;
}

// Gives the value on top of the stack, which stays there.
static sc_status peek(machine *m, value **out) {
    SC_TRY(pop(m, out));
    m->stack.count++;
    return SC_OK;
}

// Removes the innermost mark. The values above it are stack.data[*first ...] until the next push.
static sc_status pop_mark(machine *m, uint32_t *first, uint32_t *count) {
    if (m->marks.count == 0) return sc_pickle_fail(m, "no mark on the stack");
    *first = m->marks.data[--m->marks.count];
    *count = m->stack.count - *first;
    m->stack.count = *first;
    return SC_OK;
}

static sc_status take(machine *m, uint64_t bytes, const uint8_t **out) {
    if (bytes > (uint64_t)(m->end - m->at))
        return sc_fail(m->ctx, SC_ERR_TRUNCATED, NULL, "the pickle ends inside an opcode");
    *out = m->at;
    m->at += bytes;
    return SC_OK;
}

static sc_status take_number(machine *m, int bytes, uint64_t *out) {
    const uint8_t *at;
    SC_TRY(take(m, (uint64_t)bytes, &at));
    *out = 0;
    for (int i = bytes; i-- > 0;) *out = *out << 8 | at[i];
    return SC_OK;
}

static sc_status take_line(machine *m, sc_str *out) {
    const uint8_t *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!end || end - m->at > LINE_BYTES_MAX) return sc_pickle_fail(m, "a line does not end");
    *out = (sc_str){(const char *)m->at, (size_t)(end - m->at)};
    m->at = end + 1;
    return SC_OK;
}

// --- Scalars -----------------------------------------------------------------------------------

static sc_status push_int(machine *m, int64_t integer) {
    value *v = sc_pickle_new(m, SC_PICKLE_INT);
    v->integer = integer;
    return push(m, v);
}

static sc_status push_bool(machine *m, bool boolean) {
    value *v = sc_pickle_new(m, SC_PICKLE_BOOL);
    v->boolean = boolean;
    return push(m, v);
}

static sc_status push_view(machine *m, sc_pickle_kind kind, sc_str text) {
    value *v = sc_pickle_new(m, kind);
    v->text.data = text.data;
    v->text.size = text.size;
    return push(m, v);
}

static sc_status push_text(machine *m, sc_pickle_kind kind, uint64_t bytes) {
    const uint8_t *text;
    if (bytes > TEXT_BYTES_MAX)
        return sc_fail(m->ctx, SC_ERR_LIMIT, NULL, "a pickled string is larger than 64 MB");
    SC_TRY(take(m, bytes, &text));
    return push_view(m, kind, (sc_str){(const char *)text, (size_t)bytes});
}

static sc_status op_none(machine *m, uint8_t op) {
    (void)op;
    return push_new(m, SC_PICKLE_NONE);
}

static sc_status op_bool(machine *m, uint8_t op) { return push_bool(m, op == 0x88); }

// BININT (4 bytes, signed), BININT1, BININT2
static sc_status op_binint(machine *m, uint8_t op) {
    uint64_t number;
    SC_TRY(take_number(m, op == 'J' ? 4 : op == 'M' ? 2 : 1, &number));
    return push_int(m, op == 'J' ? (int32_t)(uint32_t)number : (int64_t)number);
}

// LONG1, LONG4: little-endian two's complement of any length
static sc_status op_long(machine *m, uint8_t op) {
    uint64_t bytes, bits = 0;
    const uint8_t *at;
    SC_TRY(take_number(m, op == 0x8a ? 1 : 4, &bytes));
    if (bytes > LONG_BYTES_MAX)
        return sc_fail(m->ctx, SC_ERR_LIMIT, NULL, "a pickled integer has more than 1024 bytes");
    if (bytes > 8) return push_text(m, SC_PICKLE_BYTES, bytes);
    SC_TRY(take(m, bytes, &at));
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t sign = bytes && at[bytes - 1] & 0x80 ? 0xff : 0;
        bits |= (i < bytes ? at[i] : sign) << (8 * i);
    }
    return push_int(m, (int64_t)bits);
}

// INT ("01" and "00" are booleans), LONG (an L at the end)
static sc_status op_int_line(machine *m, uint8_t op) {
    sc_str line;
    int64_t integer;
    SC_TRY(take_line(m, &line));
    if (op == 'I' && (sc_str_is(line, "01") || sc_str_is(line, "00")))
        return push_bool(m, line.data[1] == '1');
    if (op == 'L' && sc_str_ends_with(line, "L")) line.size--;
    if (!sc_parse_i64(line, &integer)) {
        double any;
        if (line.size == 0 || !sc_parse_f64(line, &any) || sc_str_find(line, '.') >= 0)
            return sc_pickle_fail(m, "malformed integer");
        return push_view(m, SC_PICKLE_BYTES, line);
    }
    return push_int(m, integer);
}

static sc_status push_float(machine *m, double real) {
    value *v = sc_pickle_new(m, SC_PICKLE_FLOAT);
    v->real = real;
    return push(m, v);
}

static sc_status op_float_line(machine *m, uint8_t op) {
    sc_str line;
    double real;
    (void)op;
    SC_TRY(take_line(m, &line));
    if (!sc_parse_f64(line, &real)) return sc_pickle_fail(m, "malformed number");
    return push_float(m, real);
}

static sc_status op_binfloat(machine *m, uint8_t op) {
    uint64_t bits;
    double real;
    (void)op;
    SC_TRY(take_number(m, 8, &bits));
    bits = __builtin_bswap64(bits);
    memcpy(&real, &bits, 8);
    return push_float(m, real);
}

static sc_status op_text8(machine *m, uint8_t op) {
    uint64_t bytes;
    SC_TRY(take_number(m, 1, &bytes));
    return push_text(m, op == 'C' ? SC_PICKLE_BYTES : SC_PICKLE_STR, bytes);
}

static sc_status op_text32(machine *m, uint8_t op) {
    uint64_t bytes;
    SC_TRY(take_number(m, 4, &bytes));
    return push_text(m, op == 'B' ? SC_PICKLE_BYTES : SC_PICKLE_STR, bytes);
}

static sc_status op_text64(machine *m, uint8_t op) {
    uint64_t bytes;
    SC_TRY(take_number(m, 8, &bytes));
    return push_text(m, op == 0x8e ? SC_PICKLE_BYTES : SC_PICKLE_STR, bytes);
}

// --- Containers ----------------------------------------------------------------------------------

static sc_status op_mark(machine *m, uint8_t op) {
    (void)op;
    if (m->marks.count >= m->ctx->limits.pickle_stack_max)
        return sc_fail(m->ctx, SC_ERR_LIMIT, NULL, "the pickle's marks exceed pickle_stack_max");
    sc_vec_push(m->ctx->scratch, &m->marks, m->stack.count);
    return SC_OK;
}

static sc_status op_empty(machine *m, uint8_t op) {
    return push_new(m, op == ')'   ? SC_PICKLE_TUPLE
                       : op == ']' ? SC_PICKLE_LIST
                       : op == '}' ? SC_PICKLE_DICT
                                   : SC_PICKLE_SET);
}

// TUPLE1, TUPLE2, TUPLE3
static sc_status op_small_tuple(machine *m, uint8_t op) {
    uint32_t count = op - 0x84u;
    if (available(m) < count) return sc_pickle_fail(m, "the stack is empty");
    value *tuple = sc_pickle_new(m, SC_PICKLE_TUPLE);
    m->stack.count -= count;
    for (uint32_t i = 0; i < count; i++)
        sc_pickle_append(m, tuple, m->stack.data[m->stack.count + i]);
    return push(m, tuple);
}

// TUPLE, LIST, FROZENSET: takes all values above the mark
static sc_status op_collect(machine *m, uint8_t op) {
    uint32_t first, count;
    SC_TRY(pop_mark(m, &first, &count));
    value *list = sc_pickle_new(m, op == 't'   ? SC_PICKLE_TUPLE
                                   : op == 'l' ? SC_PICKLE_LIST
                                               : SC_PICKLE_SET);
    for (uint32_t i = 0; i < count; i++) sc_pickle_append(m, list, m->stack.data[first + i]);
    return push(m, list);
}

// Finds the container for items that are appended to `target`. It is `target` itself, or a
// container inside an opaque object.
static sc_status container_of(machine *m, value *target, sc_pickle_kind kind, value **out) {
    *out = target;
    bool list =
        kind == SC_PICKLE_LIST && (target->kind == SC_PICKLE_LIST || target->kind == SC_PICKLE_SET);
    if (list || (kind == SC_PICKLE_DICT && target->kind == SC_PICKLE_DICT)) return SC_OK;
    if (target->kind != SC_PICKLE_OBJECT)
        return sc_pickle_fail(m, "items are added to an object that cannot hold them");
    if (target->object->items && target->object->items->kind != kind)
        return sc_pickle_fail(m, "an object is both a list and a dict");
    if (!target->object->items) target->object->items = sc_pickle_new(m, kind);
    // The machine made this value, so it may change it.
    *out = (value *)target->object->items;
    return SC_OK;
}

static sc_status append_items(machine *m, uint32_t first, uint32_t count) {
    value *target, *list;
    SC_TRY(peek(m, &target));
    SC_TRY(container_of(m, target, SC_PICKLE_LIST, &list));
    for (uint32_t i = 0; i < count; i++) sc_pickle_append(m, list, m->stack.data[first + i]);
    return SC_OK;
}

static sc_status set_items(machine *m, uint32_t first, uint32_t count) {
    value *target, *dict;
    if (count % 2) return sc_pickle_fail(m, "a key without a value");
    SC_TRY(peek(m, &target));
    SC_TRY(container_of(m, target, SC_PICKLE_DICT, &dict));
    for (uint32_t i = 0; i < count; i += 2)
        sc_pickle_append_pair(m, dict, m->stack.data[first + i], m->stack.data[first + i + 1]);
    return SC_OK;
}

// APPEND, SETITEM
static sc_status op_add_one(machine *m, uint8_t op) {
    uint32_t count = op == 'a' ? 1 : 2;
    if (available(m) < count + 1) return sc_pickle_fail(m, "the stack is empty");
    m->stack.count -= count;
    return op == 'a' ? append_items(m, m->stack.count, 1) : set_items(m, m->stack.count, 2);
}

// APPENDS, ADDITEMS, SETITEMS
static sc_status op_add_many(machine *m, uint8_t op) {
    uint32_t first, count;
    SC_TRY(pop_mark(m, &first, &count));
    return op == 'u' ? set_items(m, first, count) : append_items(m, first, count);
}

// DICT
static sc_status op_dict(machine *m, uint8_t op) {
    uint32_t first, count;
    (void)op;
    SC_TRY(pop_mark(m, &first, &count));
    if (count % 2) return sc_pickle_fail(m, "a key without a value");
    value *dict = sc_pickle_new(m, SC_PICKLE_DICT);
    for (uint32_t i = 0; i < count; i += 2)
        sc_pickle_append_pair(m, dict, m->stack.data[first + i], m->stack.data[first + i + 1]);
    return push(m, dict);
}

// --- Stack, memo ---------------------------------------------------------------------------------

static sc_status op_pop(machine *m, uint8_t op) {
    uint32_t first, count;
    value *dropped;
    // POP on top of a mark removes the mark, as in CPython.
    if (op == '1' || (available(m) == 0 && m->marks.count)) return pop_mark(m, &first, &count);
    return pop(m, &dropped);
}

static sc_status op_dup(machine *m, uint8_t op) {
    value *top;
    (void)op;
    SC_TRY(peek(m, &top));
    return push(m, top);
}

static sc_status memo_index(machine *m, uint8_t op, uint64_t *index) {
    sc_str line;
    if (op == 'h' || op == 'q') return take_number(m, 1, index);
    if (op == 'j' || op == 'r') return take_number(m, 4, index);
    SC_TRY(take_line(m, &line));
    return sc_parse_u64(line, index) ? SC_OK : sc_pickle_fail(m, "malformed memo index");
}

static sc_status memoize(machine *m, uint64_t index) {
    value *top;
    SC_TRY(peek(m, &top));
    if (index >= m->ctx->limits.pickle_memo_max)
        return sc_fail(m->ctx, SC_ERR_LIMIT, NULL, "the pickle's memo exceeds pickle_memo_max");
    sc_vec_reserve(m->ctx->scratch, &m->memo, (uint32_t)index + 1);
    // Added memory is zero, so slots that were not written are NULL.
    if (m->memo.count <= index) m->memo.count = (uint32_t)index + 1;
    m->memo.data[index] = top;
    return SC_OK;
}

// PUT, BINPUT, LONG_BINPUT
static sc_status op_put(machine *m, uint8_t op) {
    uint64_t index;
    SC_TRY(memo_index(m, op, &index));
    return memoize(m, index);
}

static sc_status op_memoize(machine *m, uint8_t op) {
    (void)op;
    return memoize(m, m->memo.count);
}

// GET, BINGET, LONG_BINGET
static sc_status op_get(machine *m, uint8_t op) {
    uint64_t index;
    SC_TRY(memo_index(m, op, &index));
    if (index >= m->memo.count || !m->memo.data[index])
        return sc_pickle_fail(m, "the memo has no such entry");
    return push(m, m->memo.data[index]);
}

// --- Globals and calls ---------------------------------------------------------------------------

static sc_status op_global(machine *m, uint8_t op) {
    sc_str module, name;
    (void)op;
    SC_TRY(take_line(m, &module));
    SC_TRY(take_line(m, &name));
    return push(m, sc_pickle_global(m, module, name));
}

static sc_status op_stack_global(machine *m, uint8_t op) {
    value *module, *name;
    (void)op;
    SC_TRY(pop(m, &name));
    SC_TRY(pop(m, &module));
    if (module->kind != SC_PICKLE_STR || name->kind != SC_PICKLE_STR)
        return sc_pickle_fail(m, "the name of a global is not text");
    return push(m, sc_pickle_global(m, sc_pickle_str(module), sc_pickle_str(name)));
}

// REDUCE, NEWOBJ, NEWOBJ_EX (its keyword arguments are ignored)
static sc_status op_call(machine *m, uint8_t op) {
    value *callee, *args, *result;
    SC_TRY(pop(m, &args));
    if (op == 0x92) SC_TRY(pop(m, &args));
    SC_TRY(pop(m, &callee));
    SC_TRY(sc_pickle_call(m, callee, args, &result));
    return push(m, result);
}

// The state of a known object, such as an OrderedDict's _metadata, is ignored.
static sc_status op_build(machine *m, uint8_t op) {
    value *state, *target;
    (void)op;
    SC_TRY(pop(m, &state));
    SC_TRY(peek(m, &target));
    if (target->kind == SC_PICKLE_OBJECT) target->object->state = state;
    return SC_OK;
}

static sc_status op_persistent(machine *m, uint8_t op) {
    value *id, *result;
    (void)op;
    SC_TRY(pop(m, &id));
    SC_TRY(sc_pickle_persistent(m, id, &result));
    return push(m, result);
}

static sc_status op_proto(machine *m, uint8_t op) {
    uint64_t protocol;
    (void)op;
    SC_TRY(take_number(m, 1, &protocol));
    if (protocol > PROTOCOL_MAX)
        return sc_fail(m->ctx, SC_ERR_VERSION, NULL, "pickle protocol %u is unknown",
                       (unsigned)protocol);
    return SC_OK;
}

static sc_status op_frame(machine *m, uint8_t op) {
    uint64_t bytes;
    (void)op;
    return take_number(m, 8, &bytes);
}

// Opcodes without a row are refused: INST, OBJ, EXT*, buffers, and text strings of protocol 0.
static sc_status (*const handlers[256])(machine *m, uint8_t op) = {
    ['N'] = op_none,          [0x88] = op_bool,        [0x89] = op_bool,
    ['J'] = op_binint,        ['K'] = op_binint,       ['M'] = op_binint,
    [0x8a] = op_long,         [0x8b] = op_long,        ['I'] = op_int_line,
    ['L'] = op_int_line,      ['F'] = op_float_line,   ['G'] = op_binfloat,
    ['U'] = op_text8,         ['C'] = op_text8,        [0x8c] = op_text8,
    ['T'] = op_text32,        ['X'] = op_text32,       ['B'] = op_text32,
    [0x8d] = op_text64,       [0x8e] = op_text64,      ['('] = op_mark,
    [')'] = op_empty,         [']'] = op_empty,        ['}'] = op_empty,
    [0x8f] = op_empty,        [0x85] = op_small_tuple, [0x86] = op_small_tuple,
    [0x87] = op_small_tuple,  ['t'] = op_collect,      ['l'] = op_collect,
    [0x91] = op_collect,      ['d'] = op_dict,         ['a'] = op_add_one,
    ['s'] = op_add_one,       ['e'] = op_add_many,     ['u'] = op_add_many,
    [0x90] = op_add_many,     ['0'] = op_pop,          ['1'] = op_pop,
    ['2'] = op_dup,           ['p'] = op_put,          ['q'] = op_put,
    ['r'] = op_put,           [0x94] = op_memoize,     ['g'] = op_get,
    ['h'] = op_get,           ['j'] = op_get,          ['c'] = op_global,
    [0x93] = op_stack_global, ['R'] = op_call,         [0x81] = op_call,
    [0x92] = op_call,         ['b'] = op_build,        ['Q'] = op_persistent,
    [0x80] = op_proto,        [0x95] = op_frame,
};

static sc_status run(machine *m) {
    while (m->at < m->end) {
        uint8_t op = *m->at++;
        value *root;
        if (op == '.') {
            SC_TRY(pop(m, &root));
            m->out->root = root;
            m->out->end = (uint64_t)(m->at - m->begin);
            return SC_OK;
        }
        SC_TRY(sc_pickle_spend(m, 1));
        if (!handlers[op])
            return sc_fail(m->ctx, SC_ERR_UNSUPPORTED, NULL,
                           "pickle, byte %llu: opcode 0x%02x is not supported",
                           (unsigned long long)(m->at - m->begin - 1), op);
        SC_TRY(handlers[op](m, op));
    }
    return sc_fail(m->ctx, SC_ERR_TRUNCATED, NULL, "the pickle has no end");
}

// --- Shape of the result -------------------------------------------------------------------------

static uint32_t child_count(const value *v) {
    switch (v->kind) {
    case SC_PICKLE_TUPLE:
    case SC_PICKLE_LIST:
    case SC_PICKLE_SET: return v->count;
    case SC_PICKLE_DICT: return 2 * v->count;
    case SC_PICKLE_OBJECT: return 3;
    default: return 0;
    }
}

static const value *child_at(const value *v, uint32_t index) {
    if (v->kind != SC_PICKLE_OBJECT) return v->items[index];
    return index == 0 ? v->object->args : index == 1 ? v->object->state : v->object->items;
}

typedef struct frame {
    const value *v;
    uint32_t next, height;
} frame;

enum {
    ENTERED = 0
};  // the mark of a value whose children are being walked; any other number is
    // its height

// Walks depth-first over the graph of values, each once. Fails if a value contains itself, or a
// path is longer than the limit.
static sc_status check_depth(machine *m) {
    sc_arena *scratch = m->ctx->scratch;
    uint32_t depth_max = m->ctx->limits.pickle_depth_max;
    sc_imap seen;
    SC_VEC(frame) path = {0};
    sc_imap_init(&seen, scratch);
    sc_vec_push(scratch, &path, (frame){m->out->root, 0, 1});
    while (path.count) {
        frame *top = &sc_vec_last(&path);
        if (top->next == child_count(top->v)) {
            uint32_t height = top->height + 1;
            sc_imap_set(&seen, SC_PTR_KEY(top->v), top->height);
            path.count--;
            if (path.count && sc_vec_last(&path).height < height)
                sc_vec_last(&path).height = height;
            continue;
        }
        const value *child = child_at(top->v, top->next++);
        if (!child || child_count(child) == 0) continue;
        uint64_t *height = sc_imap_find(&seen, SC_PTR_KEY(child));
        if (height && *height == ENTERED)
            return sc_fail(m->ctx, SC_ERR_UNSUPPORTED, NULL, "a pickled value contains itself");
        if (path.count + (height ? *height : 1) > depth_max)
            return sc_fail(m->ctx, SC_ERR_LIMIT, NULL,
                           "the pickle is nested deeper than pickle_depth_max");
        if (height) {
            top->height = (uint32_t)sc_max_u64(top->height, *height + 1);
            continue;
        }
        sc_imap_set(&seen, SC_PTR_KEY(child), ENTERED);
        sc_vec_push(scratch, &path, (frame){child, 0, 1});
    }
    return SC_OK;
}

sc_status sc_pickle_load(sc_ctx *ctx, sc_arena *arena, const uint8_t *bytes, size_t size,
                         sc_pickle *out) {
    *out = (sc_pickle){0};
    machine m = {.ctx = ctx, .arena = arena, .begin = bytes, .at = bytes, .end = bytes + size};
    m.out = out;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_map_init(&m.storages, ctx->scratch);
    sc_status status = run(&m);
    if (status == SC_OK) status = check_depth(&m);
    if (arena != ctx->scratch) sc_arena_rewind(ctx->scratch, mark);
    return status;
}

const value *sc_pickle_get(const value *dict, const char *key) {
    if (!dict || dict->kind != SC_PICKLE_DICT) return NULL;
    // Goes backwards, because a later member replaces an earlier one.
    for (uint32_t i = dict->count; i-- > 0;)
        if (dict->items[2 * i]->kind == SC_PICKLE_STR &&
            sc_str_is(sc_pickle_str(dict->items[2 * i]), key))
            return dict->items[2 * i + 1];
    return NULL;
}

bool sc_pickle_is(const value *v, const char *module, const char *name) {
    return v && (v->kind == SC_PICKLE_OBJECT || v->kind == SC_PICKLE_GLOBAL) &&
           sc_str_is(v->object->module, module) && sc_str_is(v->object->name, name);
}
