# One INTERFACE target carries the flags; compute_room() makes the library of a folder under common/.
add_library(compute_flags INTERFACE)
target_compile_options(compute_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # -Wnull-dereference and -Wrestrict are false at -O2 in g++ 12 (libstdc++ strings).
    target_compile_options(compute_flags INTERFACE -Wsuggest-override -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wno-restrict)
endif()
if(COMPUTE_WERROR)
    target_compile_options(compute_flags INTERFACE -Werror)
endif()
if(COMPUTE_SANITIZE)
    target_compile_options(compute_flags INTERFACE -fsanitize=${COMPUTE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(compute_flags INTERFACE -fsanitize=${COMPUTE_SANITIZE})
endif()
target_include_directories(compute_flags INTERFACE ${CMAKE_SOURCE_DIR}/common ${CMAKE_SOURCE_DIR})
target_link_libraries(compute_flags INTERFACE Threads::Threads nlohmann_json::nlohmann_json)

if(COMPUTE_PCH)
    file(WRITE ${CMAKE_BINARY_DIR}/pch_anchor.cc "// carries the precompiled header\n")
    add_library(compute_pch OBJECT ${CMAKE_BINARY_DIR}/pch_anchor.cc)
    target_link_libraries(compute_pch PUBLIC compute_flags)
    target_precompile_headers(compute_pch PRIVATE <string> <vector> <map> <optional> <functional> <memory> <chrono> <nlohmann/json.hpp>)
endif()

# compute_target_defaults(TARGET): flags, and the precompiled header when there is one.
function(compute_target_defaults target)
    target_link_libraries(${target} PUBLIC compute_flags)
    if(COMPUTE_PCH)
        target_precompile_headers(${target} REUSE_FROM compute_pch)
    endif()
endfunction()

# compute_room(NAME SOURCES file... DEPS target...): the static library compute_NAME of the folder.
function(compute_room name)
    cmake_parse_arguments(ROOM "" "" "SOURCES;DEPS" ${ARGN})
    if(NOT ROOM_SOURCES)
        add_library(compute_${name} INTERFACE)
        target_link_libraries(compute_${name} INTERFACE compute_flags ${ROOM_DEPS})
        return()
    endif()
    add_library(compute_${name} STATIC ${ROOM_SOURCES})
    compute_target_defaults(compute_${name})
    target_link_libraries(compute_${name} PUBLIC ${ROOM_DEPS})
endfunction()

# compute_test(NAME SOURCES file... DEPS target... [LABELS label...] [TIMEOUT seconds]): a GoogleTest program, one ctest test.
# Tests of both engines read BETTER_COMPUTE_TEST_POSTGRES, which `./dev test` sets.
function(compute_test name)
    cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
    if(NOT TEST_TIMEOUT)
        set(TEST_TIMEOUT 300)
    endif()
    add_executable(${name} ${TEST_SOURCES})
    compute_target_defaults(${name})
    target_link_libraries(${name} PRIVATE ${TEST_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()
