# CMake toolchain for the wasm presets. The compiler is tools/bin/emcc, which finds Emscripten on
# PATH, in EMSDK, or in the root made by tools/setup.sh; Emscripten's own toolchain file is of no
# use here because it may sit inside that root, out of CMake's sight.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(EMSCRIPTEN TRUE)

set(_bin ${CMAKE_CURRENT_LIST_DIR}/bin)
set(CMAKE_C_COMPILER ${_bin}/emcc)
set(CMAKE_AR ${_bin}/emar CACHE FILEPATH "")
set(CMAKE_RANLIB ${_bin}/emranlib CACHE FILEPATH "")

# Told, not found out: CMake would link a program with none of the build's flags, and Emscripten
# would build its C++ library and a debugging C library for that, which takes a minute.
set(CMAKE_C_COMPILER_ID_RUN TRUE)
set(CMAKE_C_COMPILER_FORCED TRUE)
set(CMAKE_C_COMPILER_ID Clang)
set(CMAKE_C_COMPILER_VERSION 16.0)
set(CMAKE_C_COMPILER_FRONTEND_VARIANT GNU)
set(CMAKE_C_STANDARD_COMPUTED_DEFAULT 11)

# No probing by running programs; a library is proof enough that the compiler works.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
