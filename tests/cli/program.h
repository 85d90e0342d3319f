// Runs the built program as a user would and captures what it says.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace dualpath::test {

struct Said {
    int exit = -1;
    std::string out, err;
};

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

/// A folder of this test, empty at its start and gone after it.
class Folder {
public:
    Folder() {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        std::string name = std::string{test->test_suite_name()} + "." + test->name();
        for (char& c : name) {
            if (c == '/') c = '_';
        }
        path_ = std::filesystem::temp_directory_path() / ("dualpath-" + name);
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{path_ / name} << text;
        return (path_ / name).string();
    }

private:
    std::filesystem::path path_;
};

inline std::string program() {
    const char* binary = std::getenv("DUALPATH_BINARY");
    return binary ? binary : "build/release/dualpath";
}

/// `arguments` as typed in a shell.
inline Said run_program(const Folder& folder, const std::string& arguments) {
    const auto out = folder / "stdout.txt", err = folder / "stderr.txt";
    const std::string command =
        program() + " " + arguments + " >" + out.string() + " 2>" + err.string();
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
}

}  // namespace dualpath::test
