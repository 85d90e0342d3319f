// A YAML document as an immutable tree in which every value knows where it was written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.h"

namespace dualpath {

using YamlNodePtr = std::shared_ptr<const struct YamlNode>;

struct YamlNode {
    enum class Kind { null, scalar, list, map };
    /// A map's key and value, in the order of the file; a list's items have an empty key.
    struct Entry {
        std::string key;
        Place place;  ///< of the key
        YamlNodePtr value;
    };

    Kind kind = Kind::null;
    Place place;  ///< of a map below a key: the key's line
    std::string scalar;
    bool quoted = false;
    std::vector<Entry> entries;

    const Entry* find(std::string_view key) const;
};

/// "a list", "a map", ...: what a node is, for messages.
std::string_view kind_name(YamlNode::Kind kind);

/// Where the tree's values stand: `field` is the dotted path of its root, and lines are left out
/// for text that is no file (`--set`).
struct YamlOrigin {
    std::string file;
    std::string field;
    bool has_lines = true;
};

/// Throws InputError for a syntax error, a key that stands twice, a key that is no scalar, more
/// than one document, and nesting or aliases beyond reason.
YamlNodePtr parse_yaml(const std::string& text, const YamlOrigin& origin);

/// Maps merge key by key, anything else of `upper` replaces what lies below.
YamlNodePtr merge_yaml(const YamlNodePtr& upper, const YamlNodePtr& lower);

/// `root` with the value at the dotted `path` replaced, maps on the way created where absent.
/// Throws InputError (file `--set`) where the path leads through something that has no parts.
YamlNodePtr replace_yaml(const YamlNodePtr& root, std::string_view path, const YamlNodePtr& value);

/// As YAML text, ending in a line break.
std::string emit_yaml(const YamlNode& root);

}  // namespace dualpath
