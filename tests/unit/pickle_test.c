// Pickles of Python and PyTorch as values; hostile ones as errors.
#include <math.h>

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
    const sc_pickle_tensor *wide = tensor_of(root, "wide"), *none = tensor_of(root, "none");
    REQUIRE(weight && transposed && row && half && wide && none);
    CHECK(weight->is_parameter && weight->requires_grad && !row->requires_grad);
    CHECK(weight->dtype == 7 && half->dtype == 6 && wide->dtype == 28);
    CHECK(weight->storage == transposed->storage && weight->storage == row->storage);
    CHECK(tensor_of(root, "tied")->storage == weight->storage);
    CHECK(transposed->rank == 2 && transposed->strides[0] == 1 && transposed->strides[1] == 4);
    CHECK(row->rank == 1 && row->storage_offset == 4 && row->numel == 4);
    CHECK(none->numel == 0 && none->rank == 2 && tensor_of(root, "scalar")->rank == 0);
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
