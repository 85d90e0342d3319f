// InputError: what a user got wrong, with its place; caught once, in main, which exits with 2.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace dualpath {

/// Where in the user's input something stands; empty parts are left out of the message.
struct Place {
    std::string file;
    int line = 0;  ///< 1-based; 0 is "no line"
    std::string field;
};

/// Prints as `FILE:LINE: FIELD: what is wrong; what is allowed`.
class InputError : public std::runtime_error {
public:
    InputError(const Place& place, const std::string& wrong, const std::string& allowed = {})
        : std::runtime_error{message(place, wrong, allowed)} {}

private:
    static std::string message(const Place& place, const std::string& wrong,
                               const std::string& allowed) {
        std::string text = place.file;
        if (place.line > 0) text += (text.empty() ? "line " : ":") + std::to_string(place.line);
        if (!text.empty()) text += ": ";
        if (!place.field.empty()) text += place.field + ": ";
        text += wrong;
        if (!allowed.empty()) text += "; " + allowed;
        return text;
    }
};

}  // namespace dualpath
