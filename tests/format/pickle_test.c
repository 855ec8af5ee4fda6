// Pickles of Python and PyTorch as values; hostile ones as errors.
#include <math.h>

#include "core/dtype.h"
#include "format/torch_save.h"
#include "setup.h"

static const sc_pickle_value *open_save(setup *s, const char *relative, sc_torch_save *save) {
    CHECK_OK(sc_torch_save_open(&s->ctx, &s->arena, setup_file(s, relative), save));
    return save->root;
}

static sc_status load(setup *s, const char *bytes, size_t size, sc_pickle *out) {
    return sc_pickle_load(&s->ctx, &s->arena, (const uint8_t *)bytes, size, out);
}

#define LOAD(literal, out) load(&s, literal, sizeof(literal) - 1, out)

static const sc_pickle_tensor *tensor_of(const sc_pickle_value *dict, const char *key) {
    const sc_pickle_value *value = sc_pickle_get(dict, key);
    return CHECK(value && value->kind == SC_PICKLE_TENSOR) ? value->tensor : NULL;
}

TEST(torch_save_gives_tensors_as_extents) {
    setup s;
    setup_begin(&s);
    sc_torch_save save;
    const sc_pickle_value *root = open_save(&s, "data/pickle/state.pt", &save);
    REQUIRE(root && root->kind == SC_PICKLE_DICT && root->count == 8);
    const sc_pickle_tensor *weight = tensor_of(root, "weight");
    const sc_pickle_tensor *transposed = tensor_of(root, "transposed");
    const sc_pickle_tensor *row = tensor_of(root, "row"), *half = tensor_of(root, "half");
    const sc_pickle_tensor *wide = tensor_of(root, "wide"), *empty = tensor_of(root, "none");
    REQUIRE(weight && transposed && row && half && wide && empty);
    CHECK(weight->is_parameter && weight->requires_grad && !row->requires_grad);
    CHECK(weight->dtype == 7 && half->dtype == 6 && wide->dtype == 28);
    CHECK(weight->storage == transposed->storage && weight->storage == row->storage);
    CHECK(tensor_of(root, "tied")->storage == weight->storage);
    CHECK(transposed->rank == 2 && transposed->strides[0] == 1 && transposed->strides[1] == 4);
    CHECK(row->rank == 1 && row->storage_offset == 4 && row->numel == 4);
    CHECK(empty->numel == 0 && empty->rank == 2 && tensor_of(root, "scalar")->rank == 0);
    float value;
    CHECK_OK(sc_extent_read(&s.ctx, row->storage->extent, 16, &value, 4));
    CHECK(value == 4.0f);
    uint16_t integer;
    CHECK_OK(sc_extent_read(&s.ctx, wide->storage->extent, 4, &integer, 2));
    CHECK_EQ_UINT(integer, 3);
    CHECK(save.pickle.storages.count >= 4 && !weight->storage->missing);
    setup_end(&s);
}

TEST(torch_save_gives_python_values) {
    setup s;
    setup_begin(&s);
    sc_torch_save save;
    const sc_pickle_value *root = open_save(&s, "data/pickle/values.pt", &save);
    REQUIRE(root && root->kind == SC_PICKLE_DICT);
    const sc_pickle_value *ints = sc_pickle_get(root, "ints");
    REQUIRE(ints && ints->kind == SC_PICKLE_LIST && ints->count == 10);
    static const int64_t expected[] = {0, -1, 255, 256, 65536, -(1LL << 31), 1LL << 40, INT64_MIN};
    for (size_t i = 0; i < SC_COUNT_OF(expected); i++)
        CHECK(ints->items[i]->kind == SC_PICKLE_INT && ints->items[i]->integer == expected[i]);
    CHECK(ints->items[8]->kind == SC_PICKLE_BYTES && ints->items[8]->text.size == 9);
    const sc_pickle_value *floats = sc_pickle_get(root, "floats");
    CHECK(floats->items[0]->real == 0.5 && isinf(floats->items[1]->real));
    CHECK(sc_str_is(sc_pickle_str(sc_pickle_get(root, "text")), "caf\xc3\xa9"));
    const sc_pickle_value *bytes = sc_pickle_get(root, "bytes");
    CHECK(bytes->kind == SC_PICKLE_BYTES &&
          sc_str_equal(sc_pickle_str(bytes), SC_STR("\0\xff\x80")));
    CHECK(sc_pickle_get(root, "set")->kind == SC_PICKLE_SET);
    CHECK(sc_pickle_get(root, "complex")->complex[1] == 2.0);
    CHECK(sc_pickle_get(root, "dtype")->dtype == 13);
    const sc_pickle_value *size = sc_pickle_get(root, "size");
    CHECK(size->kind == SC_PICKLE_TUPLE && size->count == 2 && size->items[1]->integer == 3);
    CHECK(sc_pickle_get(root, "none")->kind == SC_PICKLE_NONE);
    CHECK(sc_pickle_get(root, "default")->kind == SC_PICKLE_DICT);
    CHECK(sc_pickle_is(sc_pickle_get(root, "slice"), "__builtin__", "slice"));
    setup_end(&s);
}

TEST_CASES(pickle_reads_all_protocols) {
    for (int protocol = 0; protocol < 5; protocol++) {
        if (!test_case("protocol %d", protocol)) continue;
        setup s;
        setup_begin(&s);
        size_t bytes;
        char *data = test_read(test_format("data/pickle/protocol%d.pkl", protocol), &bytes);
        sc_pickle pickle = {0};
        if (CHECK_OK(load(&s, data, bytes, &pickle))) {
            const sc_pickle_value *list =
                protocol ? sc_pickle_get(pickle.root, "numbers") : pickle.root;
            CHECK(list && list->kind == SC_PICKLE_LIST && list->items[0]->integer == 1);
            CHECK(list->items[1]->real == 2.5 && list->items[2]->boolean);
            CHECK_EQ_UINT(pickle.end, bytes);
        }
        setup_end(&s);
    }
}

TEST(pickle_keeps_unknown_objects_opaque) {
    setup s;
    setup_begin(&s);
    sc_torch_save save;
    const sc_pickle_value *root = open_save(&s, "data/pickle/opaque.pt", &save);
    const sc_pickle_value *object = sc_pickle_get(root, "object");
    REQUIRE(object && sc_pickle_is(object, "__main__", "Opaque"));
    REQUIRE(object->object->state != NULL);
    CHECK(tensor_of(object->object->state, "weight") != NULL);
    CHECK(sc_pickle_get(root, "meta") != NULL);
    setup_end(&s);
}

TEST(pickle_never_calls) {
    setup s;
    setup_begin(&s);
    sc_pickle pickle;
    REQUIRE_OK(LOAD("cos\nsystem\n(X\2\0\0\0lstR.", &pickle));
    CHECK(sc_pickle_is(pickle.root, "os", "system") && pickle.root->kind == SC_PICKLE_OBJECT);
    CHECK(sc_str_is(sc_pickle_str(pickle.root->object->args->items[0]), "ls"));
    setup_end(&s);
}

TEST(pickle_refuses_cycles_and_depth) {
    setup s;
    setup_begin(&s);
    size_t bytes;
    sc_pickle pickle;
    char *data = test_read("data/pickle/cycle.pkl", &bytes);
    CHECK_STATUS(load(&s, data, bytes, &pickle), SC_ERR_UNSUPPORTED);
    data = test_read("data/pickle/deep.pkl", &bytes);
    CHECK_STATUS(load(&s, data, bytes, &pickle), SC_ERR_LIMIT);
    s.ctx.limits.pickle_depth_max = 1000;
    CHECK_OK(load(&s, data, bytes, &pickle));
    setup_end(&s);
}

// Sharing makes a small pickle a huge tree: it must cost what the pickle is long.
TEST(pickle_shares_what_is_shared) {
    setup s;
    setup_begin(&s);
    sc_sb sb;
    sc_sb_init(&sb, &s.arena);
    sc_sb_add_char(&sb, ')');
    for (int i = 0; i < 400; i++) sc_sb_add_text(&sb, "2\x86");  // DUP, TUPLE2: 2^400 leaves
    sc_sb_add_char(&sb, '.');
    sc_pickle pickle;
    CHECK_OK(load(&s, sb.data, sb.size, &pickle));
    setup_end(&s);
}

TEST(pickle_caps_repeated_work) {
    setup s;
    setup_begin(&s);
    s.ctx.limits.pickle_opcode_max = 5000;
    sc_sb sb;
    sc_sb_init(&sb, &s.arena);
    sc_sb_add_text(&sb, "](");
    for (int i = 0; i < 1000; i++) sc_sb_add_char(&sb, 'N');
    sc_sb_add_text(&sb, "eq");
    sc_sb_add_char(&sb, '\0');
    for (int i = 0; i < 100; i++) {
        sc_sb_add_text(&sb, "c__builtin__\nset\nh");
        sc_sb_add_char(&sb, '\0');
        sc_sb_add_text(&sb, "\x85R0");  // set(list), a thousand items for 20 bytes
    }
    sc_sb_add_char(&sb, '.');
    sc_pickle pickle;
    CHECK_STATUS(load(&s, sb.data, sb.size, &pickle), SC_ERR_LIMIT);
    setup_end(&s);
}

TEST(pickle_refuses_nonsense) {
    setup s;
    setup_begin(&s);
    sc_pickle pickle;
    CHECK_STATUS(LOAD("", &pickle), SC_ERR_TRUNCATED);
    CHECK_STATUS(LOAD("N", &pickle), SC_ERR_TRUNCATED);
    CHECK_STATUS(LOAD(".", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("(N.0.", &pickle), SC_OK);
    CHECK_STATUS(LOAD("(.", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("Nt.", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("N\x86.", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("N(\x85.", &pickle), SC_ERR_CORRUPT);  // below a mark
    CHECK_STATUS(LOAD("NNa.", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("}(Nu.", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("h\5.", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("Nr\xff\xff\xff\xff.", &pickle), SC_ERR_LIMIT);
    CHECK_STATUS(LOAD("X\0\0\0\4zz.", &pickle), SC_ERR_TRUNCATED);
    CHECK_STATUS(LOAD("X\1\0\0\4zz.", &pickle), SC_ERR_LIMIT);
    CHECK_STATUS(LOAD("\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", &pickle), SC_ERR_LIMIT);
    CHECK_STATUS(LOAD("\x8b\xff\xff\xff\x7f.", &pickle), SC_ERR_LIMIT);
    CHECK_STATUS(LOAD("\x80\x63N.", &pickle), SC_ERR_VERSION);
    CHECK_STATUS(LOAD("ios\nsystem\n.", &pickle), SC_ERR_UNSUPPORTED);
    CHECK_STATUS(LOAD("I1x\n.", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("ctorch._utils\n_rebuild_tensor_v2\n)R.", &pickle), SC_ERR_CORRUPT);
    CHECK_STATUS(LOAD("NNR.", &pickle), SC_ERR_CORRUPT);
    setup_end(&s);
}

// A tensor over a storage of four floats, with offset, sizes and strides as small integers.
static sc_status load_tensor(setup *s, const char *offset_sizes_strides) {
    sc_sb sb;
    sc_pickle pickle;
    sc_sb_init(&sb, &s->arena);
    sc_sb_add_text(&sb, "ctorch._utils\n_rebuild_tensor_v2\n((U\7storagectorch\nFloatStorage\nU");
    sc_sb_add(&sb, SC_STR("\1"
                          "0U\3cpuI4\ntQ"));
    sc_sb_add_text(&sb, offset_sizes_strides);
    sc_sb_add_text(&sb, "\x89}tR.");
    return load(s, sb.data, sb.size, &pickle);
}

TEST(pickle_checks_tensors_against_their_storage) {
    setup s;
    setup_begin(&s);
    CHECK_STATUS(load_tensor(&s, "I0\n(I2\nI2\nt(I2\nI1\nt"), SC_OK);
    CHECK_STATUS(load_tensor(&s, "I3\n(I1\nt(I9\nt"), SC_OK);
    CHECK_STATUS(load_tensor(&s, "I4\n(I1\nt(I1\nt"), SC_ERR_CORRUPT);
    CHECK_STATUS(load_tensor(&s, "I9\n(I0\nt(I1\nt"), SC_OK);
    CHECK_STATUS(load_tensor(&s, "I0\n(I5\nt(I1\nt"), SC_ERR_CORRUPT);
    CHECK_STATUS(load_tensor(&s, "I0\n(I1000\nt(I0\nt"), SC_OK);
    CHECK_STATUS(load_tensor(&s, "I0\n(I2\nt(I-1\nt"), SC_ERR_CORRUPT);
    CHECK_STATUS(load_tensor(&s, "I0\n(I-2\nt(I1\nt"), SC_ERR_CORRUPT);
    CHECK_STATUS(load_tensor(&s, "I-1\n(I1\nt(I1\nt"), SC_ERR_CORRUPT);
    CHECK_STATUS(load_tensor(&s, "I0\n(I2\nt(t"), SC_ERR_CORRUPT);
    CHECK_STATUS(load_tensor(&s, "I0\n(L4611686018427387904L\nI8\nt(I0\nI0\nt"), SC_ERR_CORRUPT);
    CHECK_STATUS(load_tensor(&s, "I0\n(I2\nt(L9223372036854775807L\nt"), SC_ERR_CORRUPT);
    setup_end(&s);
}

// --- Writing -------------------------------------------------------------------------------------

// `root` written and read again.
static const sc_pickle_value *written(setup *s, const sc_pickle_value *root, sc_torch_save *save) {
    sc_cord *file = sc_new(&s->arena, sc_cord);
    sc_cord_init(file, &s->arena);
    CHECK_OK(sc_torch_save_write(&s->ctx, root, file));
    sc_source *source = sc_source_from_cord(&s->arena, file);
    CHECK_OK(sc_torch_save_open(&s->ctx, &s->arena, sc_extent_whole(source), save));
    return save->root;
}

static bool same_bytes(setup *s, const sc_pickle_storage *a, const sc_pickle_storage *b) {
    bool equal;
    CHECK_OK(sc_extent_equal(&s->ctx, a->extent, b->extent, &equal));
    return equal;
}

static bool same_tensor(setup *s, const sc_pickle_tensor *a, const sc_pickle_tensor *b) {
    bool same = a->dtype == b->dtype && a->rank == b->rank && a->numel == b->numel &&
                a->storage_offset == b->storage_offset && a->is_parameter == b->is_parameter &&
                a->requires_grad == b->requires_grad;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = a->sizes[i] == b->sizes[i] && a->strides[i] == b->strides[i];
    return same && same_bytes(s, a->storage, b->storage);
}

static bool same_value(setup *s, const sc_pickle_value *a, const sc_pickle_value *b) {
    if (a->kind != b->kind) return false;
    const uint32_t width = a->kind == SC_PICKLE_DICT ? 2 : 1;
    switch ((sc_pickle_kind)a->kind) {
    case SC_PICKLE_NONE: return true;
    case SC_PICKLE_BOOL: return a->boolean == b->boolean;
    case SC_PICKLE_INT: return a->integer == b->integer;
    case SC_PICKLE_FLOAT: return memcmp(&a->real, &b->real, 8) == 0;
    case SC_PICKLE_COMPLEX: return memcmp(a->complex, b->complex, 16) == 0;
    case SC_PICKLE_STR: return sc_str_equal(sc_pickle_str(a), sc_pickle_str(b));
    case SC_PICKLE_DTYPE: return a->dtype == b->dtype;
    case SC_PICKLE_TENSOR: return same_tensor(s, a->tensor, b->tensor);
    default: break;
    }
    bool same = a->count == b->count && a->kind <= SC_PICKLE_DICT;
    for (uint32_t i = 0; same && i < width * a->count; i++)
        same = same_value(s, a->items[i], b->items[i]);
    return same;
}

TEST(pickles_write_what_they_read) {
    setup s;
    setup_begin(&s);
    sc_torch_save save, again;
    const sc_pickle_value *root = open_save(&s, "data/pickle/state.pt", &save);
    const sc_pickle_value *copy = written(&s, root, &again);
    REQUIRE(root && copy && same_value(&s, root, copy));
    CHECK_EQ_UINT(again.pickle.storages.count, save.pickle.storages.count);
    CHECK(tensor_of(copy, "tied")->storage == tensor_of(copy, "weight")->storage);
    setup_end(&s);
}

static const sc_pickle_value *make_values(setup *s, const double *parts) {
    static const int64_t ints[] = {0,         255,       256,       65535,     65536,    -1,
                                   INT32_MAX, INT32_MIN, 1LL << 31, INT64_MAX, INT64_MIN};
    sc_arena *arena = &s->arena;
    sc_pickle_value *list = sc_pickle_make_container(arena, SC_PICKLE_LIST);
    for (size_t i = 0; i < SC_COUNT_OF(ints); i++)
        sc_pickle_add(arena, list, sc_pickle_make_int(arena, ints[i]));
    sc_pickle_add(arena, list, sc_pickle_make_float(arena, -0.5));
    sc_pickle_add(arena, list, sc_pickle_make_float(arena, INFINITY));
    sc_pickle_value *complex = sc_pickle_make_none(arena);
    complex->kind = SC_PICKLE_COMPLEX;
    complex->complex = parts;
    sc_pickle_add(arena, list, complex);
    sc_pickle_value *dict = sc_pickle_make_container(arena, SC_PICKLE_DICT);
    sc_pickle_put(arena, dict, SC_STR("ints"), list);
    sc_pickle_put(arena, dict, SC_STR("\xc3\xa4"),
                  sc_pickle_make_str(arena, SC_STR("\xe2\x82\xac")));
    for (uint32_t n = 0; n < 5; n++) {
        sc_pickle_value *tuple = sc_pickle_make_container(arena, SC_PICKLE_TUPLE);
        for (uint32_t i = 0; i < n; i++)
            sc_pickle_add(arena, tuple, sc_pickle_make_bool(arena, i % 2));
        sc_pickle_put(arena, dict, SC_STR("tuple"), tuple);
    }
    sc_pickle_put(arena, dict, SC_STR("empty"), sc_pickle_make_container(arena, SC_PICKLE_DICT));
    sc_pickle_put(arena, dict, SC_STR("none"), sc_pickle_make_none(arena));
    sc_pickle_put(arena, dict, SC_STR("set"), sc_pickle_make_container(arena, SC_PICKLE_SET));
    return dict;
}

TEST(pickles_write_python_values) {
    setup s;
    setup_begin(&s);
    sc_torch_save save;
    const double parts[] = {1.5, -2.0};
    const sc_pickle_value *dict = make_values(&s, parts);
    CHECK(same_value(&s, dict, written(&s, dict, &save)));
    setup_end(&s);
}

// Every dtype there is, seen through one storage.
TEST(pickles_write_every_dtype) {
    setup s;
    setup_begin(&s);
    sc_torch_save save;
    static const uint8_t bytes[64] = {1, 2, 3};
    static const int64_t sizes[] = {2, 1}, strides[] = {1, 7};
    sc_extent data = sc_extent_whole(sc_source_from_memory(&s.arena, bytes, sizeof(bytes)));
    sc_pickle_storage *shared = sc_pickle_make_storage(&s.arena, data);
    sc_pickle_value *list = sc_pickle_make_container(&s.arena, SC_PICKLE_LIST);
    uint32_t count = 0;
    for (uint32_t i = 0; i < 60; i++) {
        const uint8_t code = sc_dtype_is_known(i % 30) ? sc_dtype_to_pt2((sc_dtype)(i % 30)) : 0;
        if (code == 0) continue;
        sc_pickle_storage *storage = i < 30 ? shared : sc_pickle_make_storage(&s.arena, data);
        sc_pickle_view view = {.code = code, .rank = 2, .sizes = sizes, .storage_offset = 1};
        view.strides = i % 2 ? strides : NULL;
        view.is_parameter = i % 3 == 0;
        sc_pickle_add(&s.arena, list, sc_pickle_make_tensor(&s.arena, storage, &view));
        count++;
    }
    const sc_pickle_value *copy = written(&s, list, &save);
    CHECK_EQ_UINT(copy->count, count);
    CHECK(same_value(&s, list, copy));
    CHECK_EQ_UINT(save.pickle.storages.count, 1 + count / 2);
    setup_end(&s);
}

TEST(pickles_refuse_what_would_not_load) {
    setup s;
    setup_begin(&s);
    sc_pickle read;
    sc_cord file;
    sc_cord_init(&file, &s.arena);
    CHECK_OK(LOAD("\x80\x02"
                  "cos\nsystem\n(X\x02\0\0\0lstR.",
                  &read));
    CHECK_STATUS(sc_torch_save_write(&s.ctx, read.root, &file), SC_ERR_UNSUPPORTED);
    CHECK(strstr(sc_vec_last(&s.ctx.diags).message.data, "os.system"));
    // 2^40 values in 41 lists.
    sc_pickle_value *list = sc_pickle_make_container(&s.arena, SC_PICKLE_LIST);
    for (uint32_t i = 0; i < 40; i++) {
        sc_pickle_value *outer = sc_pickle_make_container(&s.arena, SC_PICKLE_LIST);
        sc_pickle_add(&s.arena, outer, list);
        sc_pickle_add(&s.arena, outer, list);
        list = outer;
    }
    s.ctx.limits.pickle_opcode_max = 10000;
    CHECK_STATUS(sc_torch_save_write(&s.ctx, list, &file), SC_ERR_LIMIT);
    s.ctx.limits.pickle_depth_max = 30;
    CHECK_STATUS(sc_torch_save_write(&s.ctx, list, &file), SC_ERR_LIMIT);
    setup_end(&s);
}
