// A file with given bytes that lives as long as a test needs it.
#pragma once

#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/input_error.h"

namespace dualpath {

/// A directory of its own holding one file called `name`, removed at the end.
class TemporaryFile {
public:
    TemporaryFile(std::string_view name, std::string_view bytes) {
        std::string pattern = (std::filesystem::temp_directory_path() / "dualpath_XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"mkdtemp"};
        directory_ = pattern;
        path_ = directory_ / name;
        std::ofstream{path_, std::ios::binary} << bytes;
    }
    ~TemporaryFile() { std::filesystem::remove_all(directory_); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path directory_;
    std::filesystem::path path_;
};

/// The bytes as a gzip file.
inline std::string gzip(std::string_view bytes) {
    const TemporaryFile file{"packed.gz", ""};
    const gzFile out = gzopen(file.path().c_str(), "wb");
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
    std::ifstream in{file.path(), std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// The message of the InputError that `read` throws for a file of these bytes; "" if none.
template <class Read>
std::string refusal(Read read, std::string_view name, std::string_view bytes) {
    const TemporaryFile file{name, bytes};
    try {
        read(file.path());
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

}  // namespace dualpath
