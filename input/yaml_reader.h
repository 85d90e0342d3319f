// YAML read strictly: every value knows its file, line and path, and every key must be wanted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/units.h"
#include "input/quantity.h"

namespace dualpath {

struct YamlNode;  // yaml_tree.h: immutable, shared by all views of it
class YamlMap;

/// One value of a document, read as what the caller wants. Every getter throws InputError with the
/// value's place when it is null, of another kind, or outside of what is allowed.
class YamlValue {
public:
    explicit YamlValue(std::shared_ptr<const YamlNode> node) : node_{std::move(node)} {}

    const Place& place() const;
    bool is_map() const;
    bool is_list() const;
    bool is_scalar() const;

    std::string text() const;  ///< any scalar as written, not empty
    bool boolean() const;      ///< true or false, nothing else
    std::int64_t integer(std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX) const;
    int count(int min = 0, int max = INT32_MAX) const;  ///< an integer that fits an int
    double real(double min, double max) const;          ///< finite, min and max included
    BytesPerSecond rate(Zero zero = Zero::refused) const;
    Bytes bytes(Zero zero = Zero::refused) const;
    Duration duration(Zero zero = Zero::refused) const;
    Tokens tokens(PlainNumber plain = PlainNumber::refused, Zero zero = Zero::refused) const;
    FlopsPerSecond flops(Zero zero = Zero::refused) const;
    std::string one_of(std::span<const std::string_view> allowed) const;
    YamlMap map() const;
    std::vector<YamlValue> list() const;

private:
    const std::string& scalar(std::string_view wanted) const;

    std::shared_ptr<const YamlNode> node_;
};

/// A map whose keys must all be wanted: it remembers which keys were asked for, and finish()
/// refuses the rest. For a default write `map.optional_rate("snic").value_or(50_GBps)`. A key that
/// is there with a null value is an error in the optional form too.
class YamlMap {
public:
    explicit YamlMap(std::shared_ptr<const YamlNode> node) : node_{std::move(node)} {}

    const Place& place() const;
    bool has(std::string_view key);         ///< asks for the key, so finish() knows it
    std::vector<std::string> keys() const;  ///< in the document's order; asks for none

    /// The value of a key that must be there / may be absent.
    YamlValue value(std::string_view key);
    std::optional<YamlValue> optional_value(std::string_view key);

    std::string text(std::string_view key) { return value(key).text(); }
    bool boolean(std::string_view key) { return value(key).boolean(); }
    std::int64_t integer(std::string_view key, std::int64_t min = INT64_MIN,
                         std::int64_t max = INT64_MAX) {
        return value(key).integer(min, max);
    }
    int count(std::string_view key, int min = 0, int max = INT32_MAX) {
        return value(key).count(min, max);
    }
    double real(std::string_view key, double min, double max) { return value(key).real(min, max); }
    BytesPerSecond rate(std::string_view key, Zero zero = Zero::refused) {
        return value(key).rate(zero);
    }
    Bytes bytes(std::string_view key, Zero zero = Zero::refused) { return value(key).bytes(zero); }
    Duration duration(std::string_view key, Zero zero = Zero::refused) {
        return value(key).duration(zero);
    }
    Tokens tokens(std::string_view key, PlainNumber plain = PlainNumber::refused,
                  Zero zero = Zero::refused) {
        return value(key).tokens(plain, zero);
    }
    FlopsPerSecond flops(std::string_view key, Zero zero = Zero::refused) {
        return value(key).flops(zero);
    }
    std::string one_of(std::string_view key, std::span<const std::string_view> allowed) {
        return value(key).one_of(allowed);
    }
    YamlMap map(std::string_view key) { return value(key).map(); }
    std::vector<YamlValue> list(std::string_view key) { return value(key).list(); }

    std::optional<std::string> optional_text(std::string_view key);
    std::optional<bool> optional_boolean(std::string_view key);
    std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t min = INT64_MIN,
                                                 std::int64_t max = INT64_MAX);
    std::optional<int> optional_count(std::string_view key, int min = 0, int max = INT32_MAX);
    std::optional<double> optional_real(std::string_view key, double min, double max);
    std::optional<BytesPerSecond> optional_rate(std::string_view key, Zero zero = Zero::refused);
    std::optional<Bytes> optional_bytes(std::string_view key, Zero zero = Zero::refused);
    std::optional<Duration> optional_duration(std::string_view key, Zero zero = Zero::refused);
    std::optional<Tokens> optional_tokens(std::string_view key,
                                          PlainNumber plain = PlainNumber::refused,
                                          Zero zero = Zero::refused);
    std::optional<FlopsPerSecond> optional_flops(std::string_view key, Zero zero = Zero::refused);
    std::optional<std::string> optional_one_of(std::string_view key,
                                               std::span<const std::string_view> allowed);
    std::optional<YamlMap> optional_map(std::string_view key);
    /// An absent list is an empty one.
    std::vector<YamlValue> optional_list(std::string_view key);

    /// Throws InputError at the first key nobody asked for, with the nearest of those asked for.
    void finish() const;

private:
    std::shared_ptr<const YamlNode> node_;
    std::vector<std::string> asked_;  // in the order of asking, each once
};

/// A whole document, or several laid over one another; its top level is a map.
class YamlDocument {
public:
    /// Throws InputError when the file is missing or no YAML, a key stands twice, or the top level
    /// is no map. An empty file is an empty map.
    static YamlDocument load(const std::filesystem::path& file);
    static YamlDocument parse(const std::string& text, const std::string& file);

    /// This document over `under`: maps merge key by key, anything else replaces what lies below.
    YamlDocument over(const YamlDocument& under) const;
    /// With one value replaced or added: `a.b.c=value`, the value being YAML; `faults.0.at` counts
    /// list items from 0. Its place is file `--set`, field `a.b.c`.
    YamlDocument with(std::string_view assignment) const;
    /// Without this top-level key.
    YamlDocument without(std::string_view key) const;

    YamlMap root() const { return YamlMap{node_}; }
    /// The effective document as YAML: what a run folder keeps.
    std::string text() const;

private:
    explicit YamlDocument(std::shared_ptr<const YamlNode> node) : node_{std::move(node)} {}

    std::shared_ptr<const YamlNode> node_;
};

/// The document in `file` over the one its top-level `base: FILE` names (relative to the naming
/// file, or absolute), and so on down, then every `--set` in order. `base` itself is left out.
YamlDocument load_layered(const std::filesystem::path& file,
                          const std::vector<std::string>& assignments = {});

}  // namespace dualpath
