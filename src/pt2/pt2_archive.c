// Recognises the containers and lists their models. It does not read the models.
//
//   PT2 archive (2.8 on)   <root>/archive_format = "pt2", <root>/models/<name>.json,
//                          <root>/data/...
//   legacy (2.1 to 2.7)    serialized_exported_program.json and torch.save blobs, no root folder
#include "format/magic.h"
#include "pt2/pt2.h"

static const char legacy_model[] = "serialized_exported_program.json";

static sc_status check_magic(sc_ctx *ctx, sc_source *source) {
    uint8_t head[SC_FILE_HEAD_BYTES] = {0};
    size_t bytes = (size_t)sc_min_u64(sizeof(head), source->size);
    SC_TRY(sc_extent_read(ctx, sc_extent_whole(source), 0, head, bytes));
    const char *hint = "Open a .pt2 file that torch.export.save has written.";
    const char *what = "this is not a .pt2 archive";
    switch (sc_file_kind_of(head)) {
    case SC_FILE_ZIP: return SC_OK;
    case SC_FILE_PTE:
        return sc_fail(ctx, SC_ERR_FORMAT, "Run it, or open the .pt2 that it was made from.",
                       "this is an ExecuTorch program, not an exported PyTorch program");
    case SC_FILE_PYTORCH:
        return sc_fail(ctx, SC_ERR_VERSION, hint, "this is a PyTorch file in the format of 2018");
    case SC_FILE_BPTE: what = "this is a bundled ExecuTorch program, not a .pt2 archive"; break;
    case SC_FILE_PACKED: what = "this is a packed program, not a .pt2 archive"; break;
    case SC_FILE_PTD: what = "this is the data file of an ExecuTorch program"; break;
    case SC_FILE_TFLITE: what = "this is a TensorFlow Lite model"; break;
    case SC_FILE_PICKLE: what = "this is a Python pickle, not a .pt2 archive"; break;
    case SC_FILE_UNKNOWN: break;
    }
    return sc_fail(ctx, SC_ERR_FORMAT, hint, "%s", what);
}

const sc_zip_entry *sc_pt2_find(sc_ctx *ctx, const sc_pt2_archive *archive, const char *folder,
                                sc_str name, const char *suffix) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_sb path;
    sc_sb_init(&path, ctx->scratch);
    sc_sb_add(&path, archive->root);
    sc_sb_add_text(&path, folder);
    sc_sb_add(&path, name);
    sc_sb_add_text(&path, suffix);
    const sc_zip_entry *entry = sc_zip_find(&archive->zip, sc_sb_str(&path));
    sc_arena_rewind(ctx->scratch, mark);
    return entry;
}

// Does a small entry contain exactly `text`?
static sc_status entry_is(sc_ctx *ctx, const sc_zip_entry *entry, const char *text, bool *out) {
    sc_str bytes = {0};
    *out = false;
    if (!entry || entry->size != strlen(text)) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = sc_zip_load(ctx, ctx->scratch, entry, entry->size, &bytes);
    *out = status == SC_OK && sc_str_is(bytes, text);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

static void list_models(sc_ctx *ctx, sc_arena *work, sc_pt2_archive *archive) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_str folder = sc_str_format(ctx->scratch, SC_STR_FMT "models/", SC_STR_ARG(archive->root));
    for (uint32_t i = 0; i < archive->zip.count; i++) {
        sc_str name = archive->zip.entries[i].name;
        bool below =
            name.size > folder.size + 5 && sc_str_equal(sc_str_slice(name, 0, folder.size), folder);
        if (below && sc_str_ends_with(name, ".json"))
            sc_vec_push(work, &archive->models, sc_str_slice(name, folder.size, name.size - 5));
    }
    sc_arena_rewind(ctx->scratch, mark);
}

// A zip of another kind gets an error that names its kind.
static sc_status fail_other_zip(sc_ctx *ctx, const sc_pt2_archive *archive) {
    const char *hint = "Save it again with torch.export.save(torch.export.export(...), path).";
    sc_pt2_archive bare = *archive;
    bare.root = SC_STR("");
    if (sc_pt2_find(ctx, archive, "", SC_STR("constants.pkl"), ""))
        return sc_fail(ctx, SC_ERR_FORMAT, hint, "this is TorchScript, not an exported program");
    if (sc_pt2_find(ctx, archive, "", SC_STR("data.pkl"), ""))
        return sc_fail(ctx, SC_ERR_FORMAT, hint,
                       "this is a torch.save file (a state dict?), not an exported program");
    if (sc_pt2_find(ctx, &bare, "", SC_STR("archive_format"), ""))
        return sc_fail(
            ctx, SC_ERR_FORMAT, hint,
            "this is an AOTInductor package: it has compiled code instead of an exported program");
    return sc_fail(ctx, SC_ERR_FORMAT, hint, "this zip is not a .pt2 archive");
}

static sc_status check_archive(sc_ctx *ctx, const sc_pt2_archive *archive) {
    bool is_pt2, is_version;
    const sc_zip_entry *format = sc_pt2_find(ctx, archive, "", SC_STR("archive_format"), "");
    const sc_zip_entry *version = sc_pt2_find(ctx, archive, "", SC_STR("archive_version"), "");
    SC_TRY(entry_is(ctx, format, "pt2", &is_pt2));
    if (archive->root.size == 0 || !is_pt2) return fail_other_zip(ctx, archive);
    SC_TRY(entry_is(ctx, version, "0", &is_version));
    if (version && !is_version)
        return sc_fail(ctx, SC_ERR_VERSION, NULL, "the .pt2 archive has an unknown version");
    bool is_little;
    const sc_zip_entry *order = sc_pt2_find(ctx, archive, "", SC_STR("byteorder"), "");
    SC_TRY(entry_is(ctx, order, "little", &is_little));
    if (order && !is_little)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Save it on a little-endian machine.",
                       "the .pt2 archive is big-endian");
    if (archive->models.count == 0)
        return sc_fail(ctx, SC_ERR_FORMAT,
                       "Export again, and check that torch.export.save ends without an error. If "
                       "it fails, it leaves such a file behind.",
                       "the .pt2 archive holds no exported program");
    return SC_OK;
}

// May this importer read the entry of an archive that is a .pt2? Folders end in '/'.
static bool is_read(const void *user, const sc_zip_entry *entry) {
    static const char *const legacy[] = {legacy_model, "serialized_state_dict.",
                                         "serialized_constants."};
    static const char *const names[] = {"archive_format", "archive_version", "byteorder",
                                        "models/",        "data/weights/",   "data/constants/"};
    const sc_pt2_archive *archive = user;
    const char *examples = archive->legacy ? "serialized_example_inputs." : "data/sample_inputs/";
    sc_str root = archive->root, name = entry->name;
    if (name.size < root.size || !sc_str_equal(sc_str_slice(name, 0, root.size), root))
        return false;
    sc_str rest = sc_str_slice(name, root.size, name.size);
    const char *const *rows = archive->legacy ? legacy : names;
    size_t count = archive->legacy ? SC_COUNT_OF(legacy) : SC_COUNT_OF(names);
    for (size_t i = 0; i < count; i++)
        if (sc_str_starts_with(rest, rows[i])) return true;
    // These entries are optional, and not worth inflating.
    return entry->method == SC_ZIP_STORED && sc_str_starts_with(rest, examples);
}

// Reads the directory and the container's properties. Zips that are not a .pt2 keep all entries.
static sc_status read_directory(sc_ctx *ctx, sc_arena *work, sc_source *source, sc_pt2_archive *out,
                                bool *is_ours) {
    *out = (sc_pt2_archive){.root = SC_STR("")};
    SC_TRY(sc_zip_open(ctx, work, sc_extent_whole(source), &out->zip));
    out->legacy = sc_zip_find(&out->zip, sc_str_from(legacy_model)) != NULL;
    sc_str first = out->zip.count ? out->zip.entries[0].name : SC_STR("");
    ptrdiff_t slash = out->legacy ? -1 : sc_str_find(first, '/');
    if (slash >= 0) out->root = sc_str_slice(first, 0, (size_t)slash + 1);
    *is_ours = out->legacy || sc_pt2_find(ctx, out, "", SC_STR("archive_format"), "");
    if (*is_ours) sc_zip_keep(ctx, &out->zip, is_read, out);
    return SC_OK;
}

sc_status sc_import_directory(sc_ctx *ctx, sc_arena *arena, sc_source *archive, sc_zip *out) {
    sc_pt2_archive all;
    bool is_ours;
    SC_TRY(read_directory(ctx, arena, archive, &all, &is_ours));
    *out = all.zip;
    return SC_OK;
}

sc_status sc_pt2_open(sc_ctx *ctx, sc_arena *work, sc_source *source, sc_pt2_archive *out) {
    bool is_ours;
    SC_TRY(check_magic(ctx, source));
    SC_TRY(read_directory(ctx, work, source, out, &is_ours));
    // Checked before any entry is read, so that the host can inflate the archive and try again.
    // Zips that are not a .pt2 are not checked.
    if (is_ours && sc_zip_is_compressed(&out->zip))
        return sc_fail(ctx, SC_ERR_COMPRESSED, NULL, "the .pt2 archive is compressed");
    if (out->legacy) {
        sc_vec_push(work, &out->models, SC_STR("model"));
        return SC_OK;
    }
    list_models(ctx, work, out);
    return check_archive(ctx, out);
}

sc_status sc_pt2_model_text(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                            sc_str model, sc_str *out) {
    const sc_zip_entry *entry = archive->legacy
                                    ? sc_zip_find(&archive->zip, sc_str_from(legacy_model))
                                    : sc_pt2_find(ctx, archive, "models/", model, ".json");
    SC_ASSERT(entry);
    return sc_zip_load(ctx, work, entry, ctx->limits.json_bytes_max, out);
}
