// Names of contents: the same in whatever pieces the bytes come, and another one for whatever else
// differs.
#include "base/content_key.h"
#include "harness.h"

static void key_of(const uint8_t *data, size_t bytes, size_t step, char *key) {
    sc_content_key k;
    sc_content_key_init(&k);
    for (size_t at = 0; at < bytes; at += step)
        sc_content_key_update(&k, data + at, step < bytes - at ? step : bytes - at);
    sc_content_key_final(&k, key);
}

TEST(pieces_do_not_matter) {
    static uint8_t data[3000];
    char whole[SC_CONTENT_KEY_CHARS], pieces[SC_CONTENT_KEY_CHARS];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t bytes = 0; bytes <= sizeof data; bytes += 97) {
        key_of(data, bytes, sizeof data, whole);
        for (size_t step = 1; step < 200; step += 13) {
            key_of(data, bytes, step, pieces);
            CHECK_EQ_MEM(pieces, whole, sizeof whole);
        }
    }
}

// Known ones, because files keep them.
TEST(keys_stay_what_they_are) {
    char key[SC_CONTENT_KEY_CHARS];
    static uint8_t data[2000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * i >> 3);
    key_of(data, 0, 1, key);
    CHECK_EQ_TEXT(key, sizeof key, "65b957899cfe485e69f123fe09d34612");
    key_of(data, sizeof data, sizeof data, key);
    CHECK_EQ_TEXT(key, sizeof key, "0b73ee5d68841ef9ef0d8f471947c050");
}

// Every bit, the length, and the order of blocks.
TEST(what_differs_has_another_key) {
    enum { BYTES = 1100 };
    static uint8_t data[BYTES], swapped[BYTES];
    static char keys[BYTES * 8 + BYTES + 16][SC_CONTENT_KEY_CHARS];
    size_t count = 0;
    for (size_t bit = 0; bit < BYTES * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        key_of(data, BYTES, BYTES, keys[count++]);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bytes = 0; bytes <= BYTES; bytes++) key_of(data, bytes, BYTES, keys[count++]);
    for (size_t i = 0; i < BYTES; i++) data[i] = (uint8_t)(i / 64 + 1);
    for (size_t other = 64; other < 640; other += 64) {
        memcpy(swapped, data, BYTES);
        memcpy(swapped, data + other, 64);
        memcpy(swapped + other, data, 64);
        key_of(swapped, BYTES, BYTES, keys[count++]);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (memcmp(keys[i], keys[k], 32) == 0) FAIL("%zu and %zu have one key", i, k);
}
