// Keeps main out of the harness, so the harness can be linked into other programs.
#include "harness.h"

int main(int argc, char **argv) { return test_main(argc, argv); }
