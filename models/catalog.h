// The catalog: models, GPUs, nodes and calibrations by name, every number with its source.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration.h"
#include "models/gpu.h"
#include "models/llm.h"
#include "models/node.h"

namespace dualpath {

/// Environment variable DUALPATH_CATALOG, else models/catalog of the source tree.
std::filesystem::path default_catalog();

// NAME is a file of the catalog without `.yaml`, an alias (models only), or a path to a YAML file
// (it has a '/' or ends in .yaml). Another name is an InputError that lists the known ones and the
// nearest; `place` says where the name stood.
Llm load_llm(const std::filesystem::path& catalog, std::string_view name, const Place& place = {});
Gpu load_gpu(const std::filesystem::path& catalog, std::string_view name, const Place& place = {});
NodeFacts load_node(const std::filesystem::path& catalog, std::string_view name,
                    const Place& place = {});
/// A path names a file that lies over `default`: it may give a few numbers, but needs its own
/// `name` and `provenance`, and a `source` in each section it touches.
Calibration load_calibration(const std::filesystem::path& catalog, std::string_view name,
                             const Place& place = {});
/// The same as YAML, complete: what a run folder keeps.
std::string calibration_text(const std::filesystem::path& catalog, std::string_view name,
                             const Place& place = {});

enum class CatalogKind { models, gpus, nodes, calibration };
/// File names without `.yaml`, sorted; aliases are not among them.
std::vector<std::string> catalog_names(const std::filesystem::path& catalog, CatalogKind kind);

}  // namespace dualpath
