// What a plugin is: a shared object with one exported function, that describes one module.
//
// A plugin is C++ and shares types with the binary, so it must be built with the same compiler and the same release of the headers;
// `abi` and `build` say with what it was built, and the binary loads nothing that differs. Its methods live under plugins/<id>/ and
// may only name actions compute:<id>:...; its migrations are named <id>/<NNNN>_<name>.
//
//   COMPUTE_PLUGIN("acme", [] { method::Module module; ...; return module; })
#pragma once

#include <cstdint>
#include <memory>

#include "method/module.h"

namespace compute::method {

// Raised whenever a type that plugins share changes its layout or meaning.
inline constexpr std::uint32_t kPluginAbi = 2;

#define COMPUTE_STRINGIZE_(x) #x
#define COMPUTE_STRINGIZE(x) COMPUTE_STRINGIZE_(x)

// The compiler and the standard library's string layout.
inline constexpr const char* kPluginBuild =
#if defined(__clang__)
    "clang-" COMPUTE_STRINGIZE(__clang_major__)
#else
    "gcc-" COMPUTE_STRINGIZE(__GNUC__)
#endif
    " cxx11-abi-" COMPUTE_STRINGIZE(_GLIBCXX_USE_CXX11_ABI);

// What the exported function returns; static in the plugin. Plain C types: it is read before anything else is trusted.
struct PluginEntry {
    std::uint32_t abi;
    const char* build;
    const char* id;  // ^[a-z][a-z0-9-]{0,63}$
    Module* (*make)();  // the caller owns the result
};

// The name of the exported function: `const PluginEntry* better_compute_plugin()`.
inline constexpr const char* kPluginSymbol = "better_compute_plugin";

}  // namespace compute::method

// Exports a plugin. `...` is a callable that returns its Module; id and is_plugin are filled in.
#define COMPUTE_PLUGIN(ID, ...)                                                                                      \
    extern "C" __attribute__((visibility("default"))) const compute::method::PluginEntry* better_compute_plugin() { \
        static const compute::method::PluginEntry kEntry{                                                            \
            compute::method::kPluginAbi,                                                                             \
            compute::method::kPluginBuild,                                                                           \
            ID,                                                                                                      \
            []() -> compute::method::Module* {                                                                       \
                auto* module = new compute::method::Module((__VA_ARGS__)());                                         \
                module->id = ID;                                                                                     \
                module->is_plugin = true;                                                                            \
                return module;                                                                                       \
            }};                                                                                                      \
        return &kEntry;                                                                                              \
    }
