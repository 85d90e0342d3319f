// A model's YAML file becomes an Llm.
#pragma once

#include "input/yaml_reader.h"
#include "models/llm.h"

namespace dualpath {

/// Throws InputError where a field is missing, unknown or impossible, or a section has no source.
Llm read_llm(YamlMap& yaml);

}  // namespace dualpath
