// The catalog: finds a file by name, alias or path and reads it.
#include "models/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "input/nearest.h"
#include "input/yaml_reader.h"
#include "models/llm_reader.h"

#ifndef DUALPATH_SOURCE_DIR
#define DUALPATH_SOURCE_DIR "."
#endif

namespace dualpath {

namespace {

namespace fs = std::filesystem;

struct Shelf {
    std::string_view folder;
    std::string_view kind;  ///< one of its files, in messages
};

Shelf shelf(CatalogKind kind) {
    switch (kind) {
        case CatalogKind::models:
            return {"models", "model"};
        case CatalogKind::gpus:
            return {"gpus", "GPU"};
        case CatalogKind::nodes:
            return {"nodes", "node"};
        case CatalogKind::calibration:
            return {"calibration", "calibration"};
    }
    return {};
}

bool is_path(std::string_view name) {
    return name.find('/') != std::string_view::npos || name.ends_with(".yaml");
}

/// The file that `name` means: its own, or a path; nothing where the catalog has no such name.
std::optional<fs::path> find_file(const fs::path& catalog, CatalogKind kind,
                                  std::string_view name) {
    if (is_path(name)) return fs::path{name};
    const std::vector<std::string> names = catalog_names(catalog, kind);
    if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
    return catalog / shelf(kind).folder / fmt::format("{}.yaml", name);
}

[[noreturn]] void throw_unknown(const fs::path& catalog, CatalogKind kind, std::string_view name,
                                const Place& place, const std::vector<std::string>& aliases = {}) {
    std::vector<std::string> known = catalog_names(catalog, kind);
    known.insert(known.end(), aliases.begin(), aliases.end());
    throw InputError{place, unknown_word(shelf(kind).kind, name, known),
                     fmt::format("known: {}", fmt::join(known, ", "))};
}

fs::path find_or_throw(const fs::path& catalog, CatalogKind kind, std::string_view name,
                       const Place& place) {
    if (auto file = find_file(catalog, kind, name)) return *file;
    throw_unknown(catalog, kind, name, place);
}

/// A file laid over another must say what it is and where each section's numbers come from:
/// merging would lend it the words of what it replaces.
void check_sources(const YamlDocument& document) {
    YamlMap root = document.root();
    root.text("name");
    root.text("provenance");
    for (const std::string& key : root.keys()) {
        const YamlValue section = root.value(key);
        if (section.is_map()) section.map().text("source");
    }
}

}  // namespace

fs::path default_catalog() {
    const char* named = std::getenv("DUALPATH_CATALOG");
    if (named && *named) return named;
    return fs::path{DUALPATH_SOURCE_DIR} / "models" / "catalog";
}

std::vector<std::string> catalog_names(const fs::path& catalog, CatalogKind kind) {
    const fs::path folder = catalog / shelf(kind).folder;
    if (!fs::is_directory(folder)) {
        throw InputError{{folder.string(), 0, {}},
                         "no such folder of the catalog",
                         "set DUALPATH_CATALOG to the folder that holds models, gpus, nodes and "
                         "calibration"};
    }
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator{folder}) {
        if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());  // the folder has no order of its own
    return names;
}

Llm load_llm(const fs::path& catalog, std::string_view name, const Place& place) {
    const auto load = [](const fs::path& file) {
        YamlMap yaml = YamlDocument::load(file).root();
        return read_llm(yaml);
    };
    if (auto file = find_file(catalog, CatalogKind::models, name)) return load(*file);
    std::vector<std::string> aliases;
    for (const std::string& known : catalog_names(catalog, CatalogKind::models)) {
        Llm llm = load(*find_file(catalog, CatalogKind::models, known));
        if (std::find(llm.aliases.begin(), llm.aliases.end(), name) != llm.aliases.end()) {
            return llm;
        }
        aliases.insert(aliases.end(), llm.aliases.begin(), llm.aliases.end());
    }
    throw_unknown(catalog, CatalogKind::models, name, place, aliases);
}

Gpu load_gpu(const fs::path& catalog, std::string_view name, const Place& place) {
    YamlMap yaml =
        YamlDocument::load(find_or_throw(catalog, CatalogKind::gpus, name, place)).root();
    return read_gpu(yaml);
}

NodeFacts load_node(const fs::path& catalog, std::string_view name, const Place& place) {
    YamlMap yaml =
        YamlDocument::load(find_or_throw(catalog, CatalogKind::nodes, name, place)).root();
    return read_node(yaml);
}

namespace {

YamlDocument calibration_document(const fs::path& catalog, std::string_view name,
                                  const Place& place) {
    YamlDocument document =
        YamlDocument::load(find_or_throw(catalog, CatalogKind::calibration, name, place));
    if (!is_path(name)) return document;
    check_sources(document);
    return document.over(
        YamlDocument::load(find_or_throw(catalog, CatalogKind::calibration, "default", place)));
}

}  // namespace

Calibration load_calibration(const fs::path& catalog, std::string_view name, const Place& place) {
    YamlMap yaml = calibration_document(catalog, name, place).root();
    return read_calibration(yaml);
}

std::string calibration_text(const fs::path& catalog, std::string_view name, const Place& place) {
    return calibration_document(catalog, name, place).text();
}

}  // namespace dualpath
