// Hashes against published vectors, in one piece and in many.
#include "base/hash.h"
#include "harness.h"

TEST(crc32_matches_the_standard) {
    CHECK_EQ_UINT(sc_crc32(0, "123456789", 9), 0xcbf43926u);
    CHECK_EQ_UINT(sc_crc32(0, "", 0), 0);
    uint8_t bytes[1000];
    for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)(i * 7);
    uint32_t whole = sc_crc32(0, bytes, sizeof(bytes));
    for (size_t cut = 0; cut <= 40; cut++) {
        uint32_t parts = sc_crc32(sc_crc32(0, bytes, cut), bytes + cut, sizeof(bytes) - cut);
        CHECK_EQ_UINT(parts, whole);
        uint32_t second = sc_crc32(0, bytes + cut, sizeof(bytes) - cut);
        CHECK_EQ_UINT(sc_crc32_join(sc_crc32(0, bytes, cut), second, sizeof(bytes) - cut), whole);
    }
    CHECK_EQ_UINT(sc_crc32_join(whole, 0, 0), whole);
    // Sums of runs that are too long to be made here: a move by two lengths equals two moves by
    // one.
    for (uint32_t bit = 0; bit < 63; bit++) {
        const uint64_t gap = UINT64_C(1) << bit;
        const uint32_t again = sc_crc32_join(sc_crc32_join(whole, 0, gap), 0, gap);
        CHECK_EQ_UINT(sc_crc32_join(whole, 0, 2 * gap), again);
    }
}

static void check_sha256(const void *data, size_t bytes, size_t step, const char *expected) {
    sc_sha256 sha;
    uint8_t digest[32];
    char text[65];
    sc_sha256_init(&sha);
    for (size_t at = 0; at < bytes; at += step)
        sc_sha256_update(&sha, (const char *)data + at, step < bytes - at ? step : bytes - at);
    sc_sha256_final(&sha, digest);
    for (int i = 0; i < 32; i++) {
        text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    text[64] = 0;
    CHECK_EQ_STR(text, expected);
}

TEST(sha256_matches_fips_180) {
    check_sha256("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha256("abc", 3, 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check_sha256(two, 56, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = test_alloc(1000000);
    memset(million, 'a', 1000000);
    for (size_t step = 61; step < 200; step += 67)
        check_sha256(million, 1000000, step,
                     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(hash64_depends_on_every_byte) {
    uint8_t bytes[40] = {0};
    uint64_t base = sc_hash64(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = 1;
        CHECK(sc_hash64(bytes, sizeof(bytes)) != base);
        bytes[i] = 0;
    }
    CHECK(sc_hash64(bytes, 8) != sc_hash64(bytes, 9));
    CHECK(sc_hash64_mix(1, 2) != sc_hash64_mix(2, 1));
}
