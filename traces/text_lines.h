// The lines of a text file, plain or gzip.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/input_error.h"

struct gzFile_s;

namespace dualpath {

/// Reads a file line by line. gzip is recognised by its magic bytes, not by the name; a UTF-8 byte
/// order mark is skipped; a line ends in LF or CRLF, the last one may end with the file.
class TextLines {
public:
    /// Throws InputError where the file cannot be opened.
    explicit TextLines(const std::filesystem::path& path);

    /// The next line that is not blank, or nullopt at the end of the file. Throws InputError where
    /// reading fails or gzip data is damaged or cut off.
    std::optional<std::string> next();

    /// Where the line just returned stands: the file and its line number, blank lines counted.
    Place place(std::string field = {}) const { return {path_, line_, std::move(field)}; }

private:
    struct Close {
        void operator()(gzFile_s* file) const noexcept;
    };

    bool read_line(std::string& line);
    bool fill();
    void refuse_if_broken() const;

    std::string path_;
    std::unique_ptr<gzFile_s, Close> file_;
    std::array<char, 1 << 16> buffer_;
    std::size_t used_ = 0;    ///< bytes of buffer_ already handed out
    std::size_t filled_ = 0;  ///< bytes of buffer_ that were read
    int line_ = 0;
};

}  // namespace dualpath
