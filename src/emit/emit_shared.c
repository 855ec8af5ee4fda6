// Vectors and strings of the file, each written once and shared by equal ones.
#include "emit/emit_state.h"

#define SHARED_VECTOR_MAX 256  // bytes; longer vectors are hardly ever equal

// Finds the offset that was written under a key of kind and content, or makes room for it.
static void **shared_slot(sc_emit_state *state, char kind, const void *bytes, size_t size) {
    char key[SHARED_VECTOR_MAX + 1];
    key[0] = kind;
    if (size) memcpy(key + 1, bytes, size);
    sc_str view = {key, size + 1};
    void **found = sc_map_find(&state->vectors, view);
    if (found) return found;
    view = sc_str_copy(state->arena, view);
    sc_map_add(&state->vectors, view, NULL);
    return sc_map_find(&state->vectors, view);
}

sc_fb_ref sc_emit_vector(sc_emit_state *state, const void *items, uint32_t count,
                         uint32_t item_bytes) {
    size_t size = (size_t)count * item_bytes;
    if (size > SHARED_VECTOR_MAX)
        return sc_fb_add_vector(&state->fb, items, count, item_bytes, item_bytes);
    void **slot = shared_slot(state, (char)item_bytes, items, size);
    if (!*slot)
        *slot =
            (void *)(uintptr_t)sc_fb_add_vector(&state->fb, items, count, item_bytes, item_bytes);
    return (sc_fb_ref)(uintptr_t)*slot;
}

sc_fb_ref sc_emit_string(sc_emit_state *state, sc_str text) {
    if (text.size > SHARED_VECTOR_MAX) return sc_fb_add_string(&state->fb, text);
    void **slot = shared_slot(state, 's', text.data, text.size);
    if (!*slot) *slot = (void *)(uintptr_t)sc_fb_add_string(&state->fb, text);
    return (sc_fb_ref)(uintptr_t)*slot;
}
