// Packed files (tests/models/official/lstm.pte and xnnpack/lstm.pte): what they leave out, and what
// opening one refuses. tests/rt/zoo_test.c compares their results.
#include "base/hash.h"
#include "harness.h"
#include "rt/load/packed_file.h"
#include "rt/setup.h"

extern const sc_rt_backend sc_rt_backend_xnnpack;

static const sc_rt_backend *find(void *user, sc_str id) {
    (void)user;
    return sc_str_is(id, "XnnpackBackend") ? &sc_rt_backend_xnnpack : NULL;
}

typedef struct fixture {
    setup s;
    uint8_t *bytes;  // of the packed file
    size_t size, pte_size;
    sc_rt_packed_file *file;
} fixture;

static void save(fixture *f, const char *path) {
    static const sc_rt_backends backends = {.find = find};
    sc_rt_options options;
    sc_cord cord;
    const uint8_t *bytes = NULL;
    memset(f, 0, sizeof *f);
    setup_begin(&f->s);
    f->s.ctx.limits.deferred_bytes_min = 512;
    sc_rt_options_default(&options);
    options.backends = &backends;
    const char *pte = test_read(path, &f->pte_size);
    sc_source *source = setup_read(&f->s.arena, pte, f->pte_size);
    REQUIRE_OK(sc_rt_program_open(&f->s.ctx, source, &options, &f->s.program));
    sc_cord_init(&cord, &f->s.arena);
    REQUIRE_OK(sc_rt_program_save(&f->s.ctx, f->s.program, &cord));
    REQUIRE_OK(sc_cord_flatten(&f->s.ctx, &cord, &f->s.arena, UINT64_MAX, &bytes));
    f->size = (size_t)cord.size;
    f->bytes = test_alloc(f->size);
    memcpy(f->bytes, bytes, f->size);
}

static sc_status open(fixture *f, size_t size) {
    sc_source *source = setup_read(&f->s.arena, f->bytes, size);
    return sc_rt_packed_file_open(&f->s.ctx, &f->s.arena, source, &f->file);
}

static uint64_t missing_bytes(fixture *f, uint32_t file) {
    uint64_t missing = 0;
    sc_source *source = f->file->files[file];
    for (uint64_t at = 0; at < source->size; at++) {
        uint8_t byte;
        const sc_diag_mark mark = sc_diags_mark(&f->s.ctx);
        missing += source->read(source, &f->s.ctx, at, &byte, 1) != SC_OK;
        sc_diags_rewind(&f->s.ctx, mark);
    }
    return missing;
}

static void leaves_out(const char *path, uint64_t least) {
    fixture f;
    save(&f, path);
    if (f.bytes && CHECK_OK(open(&f, f.size)) && CHECK(f.file)) {
        uint64_t packed = 0;
        for (uint32_t i = 0; i < f.file->saved_count; i++) packed += f.file->saved[i].size;
        CHECK(f.file->saved_count > 0 && packed > 0);
        CHECK_EQ_UINT(f.file->file_count, 1);
        CHECK_EQ_UINT(f.file->files[0]->size, f.pte_size);
        CHECK(missing_bytes(&f, 0) >= least);
    }
    setup_end(&f.s);
}

TEST(weights_that_were_packed_are_left_out) {
    leaves_out("models/official/lstm.pte", 3000);
    leaves_out("models/xnnpack/lstm.pte", 12000);
}

TEST(other_files_are_no_packed_files) {
    fixture f;
    save(&f, "models/official/lstm.pte");
    f.bytes[0] ^= 1;
    CHECK_OK(open(&f, f.size));
    CHECK(!f.file);
    CHECK_OK(open(&f, 7));
    CHECK(!f.file);
    setup_end(&f.s);
}

static void refuses(fixture *f, size_t size, sc_status status) {
    CHECK_STATUS(open(f, size), status);
    CHECK(!f->file && f->s.ctx.error_count > 0);
}

// Finds a text of the directory, and changes its first letter.
static void change_text(fixture *f, sc_str text) {
    const uint64_t bytes = sc_fb_load_u64(f->bytes + 16);
    uint8_t *directory = f->bytes + SC_RT_PACKED_HEAD;
    for (uint64_t at = 0; at + text.size <= bytes; at++) {
        if (memcmp(directory + at, text.data, text.size) != 0) continue;
        directory[at] ^= 1;
        sc_fb_store_u64(f->bytes + 32, sc_hash64_wide(directory, (size_t)bytes));
        return;
    }
    FAIL("the text is not there");
}

TEST(packed_files_of_other_builds_are_refused) {
    fixture f;
    save(&f, "models/official/lstm.pte");
    change_text(&f, sc_rt_packed_version());
    refuses(&f, f.size, SC_ERR_VERSION);
    setup_end(&f.s);
    save(&f, "models/official/lstm.pte");
    change_text(&f, sc_rt_packed_layout());
    refuses(&f, f.size, SC_ERR_VERSION);
    setup_end(&f.s);
    save(&f, "models/official/lstm.pte");
    f.bytes[8]++;
    refuses(&f, f.size, SC_ERR_VERSION);
    setup_end(&f.s);
}

TEST(damaged_packed_files_are_refused) {
    fixture f;
    save(&f, "models/official/lstm.pte");
    refuses(&f, f.size - 1, SC_ERR_TRUNCATED);
    refuses(&f, 40, SC_ERR_TRUNCATED);
    f.bytes[SC_RT_PACKED_HEAD + 20] ^= 1;
    refuses(&f, f.size, SC_ERR_CORRUPT);
    f.bytes[SC_RT_PACKED_HEAD + 20] ^= 1;
    sc_fb_store_u64(f.bytes + 16, f.size);
    refuses(&f, f.size, SC_ERR_CORRUPT);
    setup_end(&f.s);
}

// The directory of the file is right, but weights or the program's own bytes are not.
TEST(damaged_weights_are_found_when_they_are_read) {
    fixture f;
    save(&f, "models/official/lstm.pte");
    if (f.bytes && CHECK_OK(open(&f, f.size)) && CHECK(f.file && f.file->saved_count)) {
        sc_rt_saved *saved = &f.file->saved[0];
        uint8_t *out = test_alloc((size_t)saved->size);
        CHECK_OK(sc_rt_saved_read(&f.s.ctx, f.file, saved, out));
        CHECK_OK(sc_rt_saved_check(&f.s.ctx, saved, sc_str_dup(&f.s.arena, saved->variant),
                                   saved->size));
        CHECK_STATUS(sc_rt_saved_check(&f.s.ctx, saved, "another", saved->size), SC_ERR_VERSION);
        f.bytes[saved->offset] ^= 1;
        CHECK_STATUS(sc_rt_saved_read(&f.s.ctx, f.file, saved, out), SC_ERR_CORRUPT);
    }
    setup_end(&f.s);
}
