# dualpath_room(NAME SEES rooms... USES libraries...): one library per folder.
# A room without .cpp files is an interface library. Warnings are errors everywhere.

add_library(dualpath_flags INTERFACE)
target_include_directories(dualpath_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(dualpath_flags INTERFACE
    -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers
    -Wnon-virtual-dtor -Woverloaded-virtual
    -ffp-contract=off)  # same results on every machine and optimisation level
target_compile_definitions(dualpath_flags INTERFACE
    DUALPATH_VERSION="${PROJECT_VERSION}" DUALPATH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")

function(dualpath_room name)
    cmake_parse_arguments(ROOM "" "" "SEES;USES" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
    list(TRANSFORM ROOM_SEES PREPEND dualpath_)
    if(sources)
        add_library(dualpath_${name} STATIC ${sources})
        target_link_libraries(dualpath_${name} PUBLIC dualpath_flags ${ROOM_SEES} fmt::fmt ${ROOM_USES})
        target_precompile_headers(dualpath_${name} PRIVATE
            <algorithm> <cmath> <cstdint> <map> <memory> <optional> <span> <string> <variant>
            <vector> <fmt/format.h>)
    else()
        add_library(dualpath_${name} INTERFACE)
        target_link_libraries(dualpath_${name} INTERFACE dualpath_flags ${ROOM_SEES} fmt::fmt ${ROOM_USES})
    endif()
endfunction()
