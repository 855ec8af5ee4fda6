// Names that the user's own lines give to results.
#include "ir/python_line.h"

#include "harness.h"

TEST_CASES(a_line_that_is_one_call_names_its_result) {
    static const char *const cases[][3] = {
        {"counts = torch.bincount(x)", "bincount", "counts"},
        {"counts = torch.bincount(x)", "bincount_2", "counts"},
        {"y2 = x.view(-1, f(3))", "view", "y2"},
        {"p = torch.nn.functional.pad(x, (1, 2))", "pad", "p"},
        {"counts = torch.bincount(x)", "bincounts", ""},
        {"counts = torch.bincount(x)", "bincount_", ""},
        {"counts = torch.bincount(x)", "bincount_2a", ""},
        {"counts = torch.bincount(x)", "bin", ""},
        {"y = torch.relu(x) + 1", "relu", ""},
        {"y = torch.relu(torch.neg(x))", "neg", ""},
        {"return torch.relu(x)", "relu", ""},
        {"a, b = torch.sort(x)", "sort", ""},
        {"y = torch.relu(", "relu", ""},
        {"y = )(", "y", ""},
        {"y = x", "x", ""},
        {"y == x.relu()", "relu", ""},
        {" = relu(x)", "relu", ""},
        {"", "relu", ""},
        {"y = (x)", "", ""},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        if (!test_case("%zu", i)) continue;
        sc_str name = sc_python_name(sc_str_from(cases[i][0]), sc_str_from(cases[i][1]));
        CHECK_EQ_TEXT(name.size ? name.data : "", name.size, cases[i][2]);
    }
}
