# For plugins: headers and the libraries whose types stand in them. Symbols come from the binary that loads the plugin.
include(CMakeFindDependencyMacro)
find_dependency(nlohmann_json)
if(NOT TARGET better-compute::plugin)
    add_library(better-compute::plugin INTERFACE IMPORTED)
    target_include_directories(better-compute::plugin INTERFACE ${CMAKE_CURRENT_LIST_DIR}/../../../include/better-compute)
    target_link_libraries(better-compute::plugin INTERFACE nlohmann_json::nlohmann_json)
    target_compile_features(better-compute::plugin INTERFACE cxx_std_20)
endif()
