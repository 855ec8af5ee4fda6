// Reading ETDumps: those of the official runtime, those with everything that a writer may leave
// out, and those that lie.
#include "devtools/inspect/etdump_read.h"

#include <stdio.h>

#include "devtools/made_dump.h"

static const made_place OUTSIDE = {.chain = -1};

static sc_dump *read_made(setup *s, made_dump *d, sc_source *buffer) {
    sc_dump *dump = NULL;
    CHECK_OK(sc_dump_read(&s->ctx, made_file(d, s, true), buffer, &dump));
    return dump;
}

static sc_source *floats(setup *s, const float *values, uint32_t count) {
    return sc_source_from_memory(&s->arena, values, count * sizeof *values);
}

TEST(a_dump_is_read_with_and_without_its_prefix) {
    for (int has_prefix = 0; has_prefix < 2; has_prefix++) {
        setup s;
        made_dump d;
        sc_dump *dump = NULL;
        setup_begin(&s);
        made_begin(&d, &s);
        made_profile(&d, "Method::execute", OUTSIDE, 1000, 4000);
        made_run(&d, "Execute", 3);
        REQUIRE_OK(sc_dump_read(&s.ctx, made_file(&d, &s, has_prefix), NULL, &dump));
        REQUIRE(dump->run_count == 1 && dump->runs[0].event_count == 1);
        const sc_dump_event *e = &dump->runs[0].events[0];
        CHECK_EQ_TEXT(dump->runs[0].name.data, dump->runs[0].name.size, "Execute");
        CHECK_EQ_INT(dump->runs[0].bundled_index, 3);
        CHECK_EQ_TEXT(e->name.data, e->name.size, "Method::execute");
        CHECK_EQ_INT(e->chain, -1);
        CHECK_EQ_INT(e->delegate_int, SC_DUMP_NO_ID);
        CHECK_EQ_UINT(e->end - e->start, 3000);
        CHECK(!e->delegate_str.data);
        setup_end(&s);
    }
}

TEST(what_is_absent_is_empty) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    made_run(&d, NULL, -1);
    made_add(&d, SC_ETDP_Event_profile_event, 0);
    made_value(&d, 0, (made_place){0}, 0);
    made_run(&d, "Execute", -1);
    const sc_dump *dump = read_made(&s, &d, NULL);
    REQUIRE(dump && dump->run_count == 2);
    CHECK_EQ_UINT(dump->runs[0].event_count, 0);
    CHECK_EQ_UINT(dump->runs[0].name.size, 0);
    CHECK_EQ_INT(dump->runs[1].events[0].kind, SC_DUMP_NOTHING);
    CHECK_EQ_INT(dump->runs[1].events[1].value->kind, SC_DUMP_NULL);
    setup_end(&s);
    setup_begin(&s);
    made_begin(&d, &s);
    CHECK_EQ_UINT(read_made(&s, &d, NULL)->run_count, 0);
    setup_end(&s);
}

TEST(allocators_and_what_they_allocate_are_read) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    made_allocator(&d, "temp");
    made_allocation(&d, 0, 640);
    made_run(&d, "Execute", -1);
    const sc_dump_run *run = &read_made(&s, &d, NULL)->runs[0];
    CHECK_EQ_TEXT(run->allocators[0].data, run->allocators[0].size, "temp");
    CHECK_EQ_INT(run->events[0].kind, SC_DUMP_ALLOCATION);
    CHECK_EQ_UINT(run->events[0].bytes, 640);
    setup_end(&s);
}

TEST(a_chain_of_minus_one_is_outside_in_both_widths) {
    static const uint64_t CHAINS[] = {UINT64_MAX, UINT32_MAX, 7};
    static const int64_t RIGHT[] = {-1, -1, 7};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    for (uint32_t i = 0; i < 3; i++) made_value(&d, CHAINS[i], OUTSIDE, 0);
    made_run(&d, "Execute", -1);
    const sc_dump *dump = read_made(&s, &d, NULL);
    for (uint32_t i = 0; i < 3; i++) CHECK_EQ_INT(dump->runs[0].events[i].chain, RIGHT[i]);
    setup_end(&s);
}

static void check_elements(setup *s, const sc_dump_tensor *t, const double *right) {
    double found[16] = {0};
    bool is_read = false;
    REQUIRE(t->numel <= 16);
    CHECK_OK(sc_dump_tensor_read(&s->ctx, t, found, &is_read));
    REQUIRE(is_read);
    for (uint64_t i = 0; i < t->numel; i++) CHECK_SAME_FLOAT(found[i], right[i]);
}

TEST(strides_say_where_elements_are) {
    static const float BYTES[] = {9, 1, 2, 3, 4, 5, 6};
    static const int64_t SIZES[] = {2, 3}, COLUMNS[] = {1, 2};
    static const double RIGHT[] = {1, 3, 5, 2, 4, 6}, PLAIN[] = {1, 2, 3, 4, 5, 6};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    for (int i = 0; i < 2; i++) {
        const sc_fb_ref t = made_tensor(&d, SC_DTYPE_F32, SIZES, i ? NULL : COLUMNS, 2, 4);
        made_value(&d, 0, (made_place){0},
                   made_entry(&d, SC_ETDP_ValueType_Tensor, SC_ETDP_Value_tensor, t, false));
    }
    made_run(&d, "Execute", -1);
    const sc_dump *dump = read_made(&s, &d, floats(&s, BYTES, 7));
    check_elements(&s, dump->runs[0].events[0].value->tensors, RIGHT);
    check_elements(&s, dump->runs[0].events[1].value->tensors, PLAIN);
    CHECK_EQ_UINT(dump->beyond_buffer, 0);
    setup_end(&s);
}

TEST(every_type_of_numbers_is_read) {
    static const struct {
        int8_t dtype;
        uint8_t bytes[8];
        double right;
    } CASES[] = {
        {SC_DTYPE_U8, {200}, 200},
        {SC_DTYPE_I8, {0xff}, -1},
        {SC_DTYPE_I16, {0xfe, 0xff}, -2},
        {SC_DTYPE_U16, {0xfe, 0xff}, 65534},
        {SC_DTYPE_I32, {1, 0, 0, 0x80}, -2147483647.0},
        {SC_DTYPE_U32, {1, 0, 0, 0x80}, 2147483649.0},
        {SC_DTYPE_I64, {0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -3},
        {SC_DTYPE_U64, {0, 0, 0, 0, 0, 0, 0, 0x80}, 9223372036854775808.0},
        {SC_DTYPE_F16, {0, 0x3e}, 1.5},
        {SC_DTYPE_BF16, {0x40, 0x40}, 3},
        {SC_DTYPE_F32, {0, 0, 0x20, 0xc0}, -2.5},
        {SC_DTYPE_F64, {0, 0, 0, 0, 0, 0, 0xd0, 0x3f}, 0.25},
        {SC_DTYPE_BOOL, {2}, 1},
    };
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        setup s;
        made_dump d;
        setup_begin(&s);
        made_begin(&d, &s);
        made_value(&d, 0, (made_place){0},
                   made_entry(&d, SC_ETDP_ValueType_Tensor, SC_ETDP_Value_tensor,
                              made_tensor(&d, CASES[i].dtype, NULL, NULL, 0, 0), false));
        made_run(&d, "Execute", -1);
        const sc_dump *dump = read_made(&s, &d, sc_source_from_memory(&s.arena, CASES[i].bytes, 8));
        check_elements(&s, dump->runs[0].events[0].value->tensors, &CASES[i].right);
        setup_end(&s);
    }
}

TEST(values_without_bytes_are_values_all_the_same) {
    static const float BYTES[4] = {0};
    static const int64_t SIZES[] = {4}, EMPTY[] = {0}, STRIDES[] = {1}, FAR[] = {INT64_MAX / 8};
    static const struct {
        int8_t dtype;
        const int64_t *sizes, *strides;
        int64_t offset;
        uint64_t beyond;
    } CASES[] = {
        {SC_DTYPE_F32, SIZES, STRIDES, 4, 1},   // ends behind the buffer
        {SC_DTYPE_F32, SIZES, STRIDES, -1, 0},  // says that there are none
        {SC_DTYPE_F32, EMPTY, STRIDES, -1, 0},  // has no elements
        {SC_DTYPE_F32, SIZES, FAR, 0, 1},       // reaches further than memory
        {SC_DTYPE_F32, SIZES, EMPTY, 0, 1},     // all elements in one place
        {99, SIZES, STRIDES, 0, 0},             // of a type that there is not
    };
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        setup s;
        made_dump d;
        double out[4];
        bool is_read = true;
        setup_begin(&s);
        made_begin(&d, &s);
        const sc_fb_ref t =
            made_tensor(&d, CASES[i].dtype, CASES[i].sizes, CASES[i].strides, 1, CASES[i].offset);
        made_value(&d, 0, (made_place){0},
                   made_entry(&d, SC_ETDP_ValueType_Tensor, SC_ETDP_Value_tensor, t, false));
        made_run(&d, "Execute", -1);
        const sc_dump *dump = read_made(&s, &d, floats(&s, BYTES, 4));
        const sc_dump_tensor *tensor = dump->runs[0].events[0].value->tensors;
        CHECK_OK(sc_dump_tensor_read(&s.ctx, tensor, out, &is_read));
        CHECK(is_read == (tensor->numel == 0));
        CHECK_EQ_UINT(dump->beyond_buffer, CASES[i].beyond);
        setup_end(&s);
    }
}

TEST(lists_and_scalars_are_read) {
    static const int64_t SIZES[] = {1};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    sc_fb_ref tensors[2];
    for (int i = 0; i < 2; i++) tensors[i] = made_tensor(&d, SC_DTYPE_F32, SIZES, SIZES, 1, 4 * i);
    const sc_fb_ref refs = sc_fb_add_refs(&d.b, tensors, 2);
    sc_fb_begin(&d.b);
    sc_etdp_TensorList_set_tensors(&d.b, refs);
    const sc_fb_ref list = sc_fb_end(&d.b);
    made_value(
        &d, 0, (made_place){0},
        made_entry(&d, SC_ETDP_ValueType_TensorList, SC_ETDP_Value_tensor_list, list, false));
    sc_fb_begin(&d.b);
    sc_etdp_Int_set_int_val(&d.b, -5);
    made_value(
        &d, UINT64_MAX, OUTSIDE,
        made_entry(&d, SC_ETDP_ValueType_Int, SC_ETDP_Value_int_value, sc_fb_end(&d.b), true));
    sc_fb_begin(&d.b);
    sc_etdp_Double_set_double_val(&d.b, 0.5);
    made_value(&d, 0, (made_place){0},
               made_entry(&d, SC_ETDP_ValueType_Double, SC_ETDP_Value_double_value, sc_fb_end(&d.b),
                          false));
    made_run(&d, "Execute", -1);
    const sc_dump_event *e = read_made(&s, &d, NULL)->runs[0].events;
    CHECK_EQ_UINT(e[0].value->tensor_count, 2);
    CHECK_EQ_INT(e[1].value->i, -5);
    CHECK(e[1].value->is_output && !e[0].value->is_output);
    CHECK_SAME_FLOAT(e[2].value->d, 0.5);
    setup_end(&s);
}

static void check_refused(setup *s, made_dump *d, sc_status right) {
    sc_dump *dump;
    made_run(d, "Execute", -1);
    CHECK_STATUS(sc_dump_read(&s->ctx, made_file(d, s, true), NULL, &dump), right);
}

TEST(a_dump_that_contradicts_itself_is_refused) {
    static const int64_t NEGATIVE[] = {-1}, HUGE_SIZES[] = {INT64_MAX, INT64_MAX}, MANY[17] = {1};
    setup s;
    made_dump d;
    for (int i = 0; i < 5; i++) {
        setup_begin(&s);
        made_begin(&d, &s);
        sc_fb_ref t = 0;
        if (i == 0) t = made_tensor(&d, SC_DTYPE_F32, NEGATIVE, NULL, 1, 0);
        if (i == 1) t = made_tensor(&d, SC_DTYPE_F32, HUGE_SIZES, NULL, 2, 0);
        if (i == 2) t = made_tensor(&d, SC_DTYPE_F32, MANY, NULL, 17, 0);
        const int8_t kind = i == 4 ? 55 : SC_ETDP_ValueType_Tensor;  // 3: without its tensor
        made_value(&d, 0, (made_place){0}, made_entry(&d, kind, SC_ETDP_Value_tensor, t, false));
        check_refused(&s, &d, SC_ERR_CORRUPT);
        setup_end(&s);
    }
}

TEST(a_dump_that_names_one_event_over_and_over_is_refused) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, "x", OUTSIDE, 0, 1);
    while (d.event_count < MADE_MAX) {
        d.events[d.event_count] = d.events[0];
        d.event_count++;
    }
    made_run(&d, "Execute", -1);
    while (d.run_count < MADE_MAX) {
        d.runs[d.run_count] = d.runs[0];
        d.run_count++;
    }
    sc_dump *dump;
    CHECK_STATUS(sc_dump_read(&s.ctx, made_file(&d, &s, true), NULL, &dump), SC_ERR_CORRUPT);
    setup_end(&s);
}

TEST(other_files_and_cut_ones_are_refused) {
    setup s;
    made_dump d;
    sc_dump *dump;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, "x", OUTSIDE, 0, 1);
    made_run(&d, "Execute", -1);
    sc_source *whole = made_file(&d, &s, true);
    for (uint64_t size = 0; size < whole->size; size++) {
        sc_source *cut = sc_source_from_memory(&s.arena, whole->memory, size);
        CHECK(sc_dump_read(&s.ctx, cut, NULL, &dump) != SC_OK);
    }
    sc_source *other = sc_source_from_memory(&s.arena, "this is no dump at all", 22);
    CHECK_STATUS(sc_dump_read(&s.ctx, other, NULL, &dump), SC_ERR_FORMAT);
    setup_end(&s);
}

TEST_CASES(official_dumps_are_read_whole) {
    static const struct {
        const char *name;
        uint32_t runs;
        uint64_t events, values;
    } FILES[] = {{"mlp", 5, 0, 0},        {"mlp.debug", 2, 0, 9}, {"mlp_xnnpack", 5, 0, 0},
                 {"conv.debug", 2, 0, 0}, {"methods", 6, 0, 0},   {"mlp_xnnpack.debug", 2, 16, 5}};
    for (size_t i = 0; i < SC_COUNT_OF(FILES); i++) {
        if (!test_case("%s", FILES[i].name)) continue;
        setup s;
        sc_dump *dump = NULL;
        char path[64];
        setup_begin(&s);
        snprintf(path, sizeof path, "data/etdump/%s.etdp", FILES[i].name);
        sc_source *file = setup_file(&s, path).source;
        sc_source *buffer = NULL;
        if (strstr(FILES[i].name, "debug")) {
            snprintf(path, sizeof path, "data/etdump/%s.bin", FILES[i].name);
            buffer = setup_file(&s, path).source;
        }
        REQUIRE_OK(sc_dump_read(&s.ctx, file, buffer, &dump));
        CHECK_EQ_UINT(dump->run_count, FILES[i].runs);
        if (FILES[i].events) CHECK_EQ_UINT(dump->event_count, FILES[i].events);
        if (FILES[i].values) CHECK_EQ_UINT(dump->value_count, FILES[i].values);
        CHECK_EQ_UINT(dump->beyond_buffer, 0);
        setup_end(&s);
    }
}
