# Writes OUT, a source file with the text of every migration of NAMES (comma separated) as a raw string, and the function
# store::built_in_migrations() that lists them in that order.
string(REPLACE "," ";" names "${NAMES}")
set(entries "")
foreach(name IN LISTS names)
    set(texts "")
    foreach(engine sqlite postgres)
        file(READ "${FOLDER}/${name}.${engine}.sql" text)
        string(FIND "${text}" ")MIGRATION\"" clash)
        if(NOT clash EQUAL -1)
            message(FATAL_ERROR "${name}.${engine}.sql: contains the end mark of the raw string it is embedded in")
        endif()
        string(APPEND texts ",\n     R\"MIGRATION(${text})MIGRATION\"")
    endforeach()
    string(APPEND entries "    {\"${name}\"${texts}},\n")
endforeach()
file(WRITE "${OUT}" "// Written by migrations/embed.cmake.
#include \"store/migrate.h\"

namespace compute::store {

const std::vector<Migration>& built_in_migrations() {
    static const std::vector<Migration> kMigrations = {
${entries}    };
    return kMigrations;
}

}  // namespace compute::store
")
