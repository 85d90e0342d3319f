// The arrows between rooms: CMakeLists.txt names them, the includes must keep to them.
#pragma once

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tidy/source.h"

namespace dualpath::tidy {

/// One `dualpath_room(NAME SEES rooms... USES libraries...)` of CMakeLists.txt.
struct Room {
    std::string name;
    std::set<std::string> sees;
    std::size_t line;
};

/// The words of a CMake file, comments left out, parentheses as words, each with its line.
inline std::vector<std::pair<std::string, std::size_t>> cmake_words(const std::string& text) {
    std::vector<std::pair<std::string, std::size_t>> words;
    std::size_t number = 0;
    for (const std::string& line : lines_of(text)) {
        ++number;
        std::string spaced;
        for (const char c : line.substr(0, line.find('#')))
            spaced += c == '(' || c == ')' ? std::string{' ', c, ' '} : std::string{c};
        std::istringstream in{spaced};
        for (std::string word; in >> word;) words.emplace_back(word, number);
    }
    return words;
}

inline std::vector<Room> rooms_of(const std::string& cmake) {
    std::vector<Room> rooms;
    const auto words = cmake_words(cmake);
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
        if (words[i].first != "dualpath_room" || words[i + 1].first != "(") continue;
        Room room{words[i + 2].first, {}, words[i].second};
        bool sees = false;
        for (i += 3; i < words.size() && words[i].first != ")"; ++i) {
            const std::string& word = words[i].first;
            if (word == "SEES" || word == "USES")
                sees = word == "SEES";
            else if (sees)
                room.sees.insert(word);
        }
        rooms.push_back(room);
    }
    return rooms;
}

struct Include {
    std::string path;
    bool quoted;
    std::size_t line;
};

inline std::vector<Include> includes_of(const Source& source) {
    std::vector<Include> includes;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
        if (!trimmed(source.code[i]).starts_with("#include")) continue;  // not one in a comment
        const std::string& line = source.lines[i];
        const std::size_t open = line.find_first_of("<\"");
        if (open == line.npos) continue;
        const std::size_t close = line.find_first_of(">\"", open + 1);
        includes.push_back({line.substr(open + 1, close - open - 1), line[open] == '"', i + 1});
    }
    return includes;
}

/// Rooms are named from the bottom up, so that each arrow points downward; sim and hw never meet.
inline Findings arrows_not_downward(const std::vector<Room>& rooms) {
    Findings findings;
    std::map<std::string, std::set<std::string>> reached;  // through any number of arrows
    for (const Room& room : rooms) {
        std::set<std::string> all = room.sees;
        for (const std::string& seen : room.sees) {
            if (reached.contains(seen))
                all.insert(reached[seen].begin(), reached[seen].end());
            else
                findings.push_back({"CMakeLists.txt", room.line,
                                    room.name + " SEES " + seen + ", which is not named above it"});
        }
        if ((room.name == "sim" && all.contains("hw")) ||
            (room.name == "hw" && all.contains("sim")))
            findings.push_back(
                {"CMakeLists.txt", room.line,
                 "sim and hw stand side by side on control; neither sees the other"});
        reached[room.name] = all;
    }
    return findings;
}

inline std::string against_arrows(const std::string& room, const std::string& path) {
    const std::size_t slash = path.find('/');
    if (slash == path.npos) return "write the whole path: #include \"" + room + "/" + path + "\"";
    return room + " does not see " + path.substr(0, slash) +
           " (dualpath_room in CMakeLists.txt): pass what it needs as an argument, or move the"
           " shared part to a lower room";
}

inline Findings includes_against_arrows(const std::vector<Source>& sources,
                                        const std::vector<Room>& rooms) {
    std::map<std::string, std::set<std::string>> sees;
    for (const Room& room : rooms) sees[room.name] = room.sees;
    Findings findings;
    for (const Source& source : sources) {
        const std::string room = source.folder();
        if (room == "tests" || room == "benchmarks") continue;  // they see every room
        if (!sees.contains(room)) {
            findings.push_back({source.path, 1, "name dualpath_room(" + room + " SEES ...)"});
            continue;
        }
        for (const Include& include : includes_of(source)) {
            const std::string target = include.path.substr(0, include.path.find('/'));
            const bool ours = include.quoted || sees.contains(target);
            if (!ours || target == room || sees[room].contains(target)) continue;
            findings.push_back({source.path, include.line, against_arrows(room, include.path)});
        }
    }
    return findings;
}

/// workload and analysis know control by what it says, not by how it decides.
inline Findings includes_past_the_messages(const std::vector<Source>& sources) {
    const std::set<std::string> words_of_control{"control/messages.h", "control/run.h",
                                                 "control/world.h"};
    Findings findings;
    for (const Source& source : sources) {
        if (source.folder() != "workload" && source.folder() != "analysis") continue;
        for (const Include& include : includes_of(source))
            if (include.path.starts_with("control/") && !words_of_control.contains(include.path))
                findings.push_back({source.path, include.line,
                                    "of control only messages.h, run.h and world.h: put what both"
                                    " need into control/messages.h"});
    }
    return findings;
}

/// base speaks only the language: a standard header has neither a folder nor a suffix.
inline Findings includes_beyond_the_standard(const std::vector<Source>& sources) {
    Findings findings;
    for (const Source& source : sources) {
        if (source.folder() != "base") continue;
        for (const Include& include : includes_of(source)) {
            const bool standard =
                !include.quoted && include.path.find_first_of("/.") == std::string::npos;
            if (!standard && !include.path.starts_with("base/"))
                findings.push_back({source.path, include.line,
                                    "base includes only standard headers (<cmath>, not <math.h>)"
                                    " and base/: move this to the room that uses the library"});
        }
    }
    return findings;
}

}  // namespace dualpath::tidy
