// Fails on purpose: CTest runs it and expects exactly these verdicts, so that a harness which lets
// a failing check pass is itself caught. The expected reports are counted in harness.check.mjs.
#include "harness.h"

TEST(passes) {
    CHECK(true);
    CHECK_EQ_INT(-1, -1);
    CHECK_EQ_STR("a", "a");
    CHECK_EQ_TEXT("abc", 2, "ab");
    CHECK_CLOSE(1.0 + 1e-9, 1.0, 1e-6);
    CHECK_STATUS(SC_ERR_IO, SC_ERR_IO);
    size_t bytes = 0;
    const char *text = test_read("probes/harness.c", &bytes);
    CHECK(bytes > 100 && text && text[bytes] == 0);
    CHECK_GOLDEN("probes/harness.c", text, bytes);
}

TEST(fails_and_goes_on) {
    CHECK(false);
    CHECK_EQ_INT(1, 2);
    CHECK_EQ_UINT(1, 2);
    CHECK_EQ_STR("a", NULL);
    CHECK_EQ_TEXT("abc", 3, "ab");
    CHECK_EQ_MEM("abc", "abd", 3);
    CHECK_CLOSE(1.0, 1.1, 1e-6);
    CHECK_CLOSE(0.0 / 1.0, 1e300 * 1e300, 1.0);
    CHECK_SAME_FLOAT(0.0, -0.0);
    CHECK_OK(SC_ERR_IO);
    CHECK_GOLDEN("probes/harness.c", "", 0);
    test_read("tools/no_such_file", NULL);
    FAIL("the %dth", 13);
    REQUIRE(false);
    FAIL("unreachable");
}

TEST_CASES(cases) {
    if (test_case("good")) CHECK(true);
    if (test_case("bad")) CHECK(false);
    if (test_case("good again")) CHECK(true);
}

TEST_CASES(no_cases) {}

int main(int argc, char **argv) { return test_main(argc, argv); }
