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
if(COMPUTE_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "COMPUTE_FUZZ: libFuzzer comes with clang; configure with -DCMAKE_CXX_COMPILER=clang++")
    endif()
    target_compile_options(compute_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(COMPUTE_FAIL_POINTS)
    target_compile_definitions(compute_flags INTERFACE COMPUTE_FAIL_POINTS)
endif()
target_include_directories(compute_flags INTERFACE ${CMAKE_SOURCE_DIR}/common ${CMAKE_SOURCE_DIR})
target_link_libraries(compute_flags INTERFACE Threads::Threads nlohmann_json::nlohmann_json)

# Every object is position independent and knows of threads, programs' too: a precompiled header serves only files compiled with
# the flags it was made with.
target_compile_options(compute_flags INTERFACE -fPIC -pthread)
if(COMPUTE_PCH)
    # Only headers of packages: what this project's own headers say changes too often.
    set(pch_headers <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <deque> <functional> <map> <memory> <mutex> <optional>
        <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <variant> <vector> <nlohmann/json.hpp>)
    # compute_pch(NAME header...): an object whose precompiled header compute_target_defaults() lends out.
    function(compute_pch name)
        file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "// carries a precompiled header\n")
        add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
        target_link_libraries(${name} PUBLIC compute_flags)
        target_precompile_headers(${name} PRIVATE ${ARGN})
    endfunction()
    compute_pch(compute_pch ${pch_headers})
    if(COMPUTE_TESTS)
        compute_pch(compute_test_pch ${pch_headers} <gmock/gmock.h> <gtest/gtest.h>)
        target_link_libraries(compute_test_pch PUBLIC GTest::gtest GTest::gmock)
    endif()
endif()

# compute_target_defaults(TARGET [TEST]): flags, and the precompiled header when there is one.
function(compute_target_defaults target)
    target_link_libraries(${target} PUBLIC compute_flags)
    if(COMPUTE_PCH)
        if("TEST" IN_LIST ARGN)
            target_precompile_headers(${target} REUSE_FROM compute_test_pch)
        else()
            target_precompile_headers(${target} REUSE_FROM compute_pch)
        endif()
    endif()
endfunction()

# compute_false_alarms(FILE...): files of this folder in which g++ 12 warns of libstdc++'s own strings once their header is
# precompiled (it forgets then that the header is the system's).
function(compute_false_alarms)
    if(COMPUTE_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread")
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
    compute_target_defaults(${name} TEST)
    target_link_libraries(${name} PRIVATE ${TEST_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()
