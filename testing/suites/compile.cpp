// Compiles kernels of a text in MSL: `compile TEXT.metal NAME...` writes a line of JSON for each, with the first line of
// the error, or "" for a kernel that has code, and with the arguments that it takes.
#include "device.h"

int main(int count, char **words) {
    if (count < 2) return 2;
    FILE *file = fopen(words[1], "r");
    if (!file) return 2;
    std::string text, error;
    for (int c; (c = fgetc(file)) != EOF;) text += char(c);
    auto *library = suites::Device::get().compile(text, error);
    for (int i = 2; i < count; i++) {
        suites::Kernel kernel;
        kernel.error = error;
        if (library) kernel = suites::Device::get().make(library, words[i]);
        auto why = kernel.error.substr(0, kernel.error.find('\n'));
        printf("{\"kernel\": %s, \"error\": %s, \"arguments\": [", suites::Device::quoted(words[i]).c_str(),
               suites::Device::quoted(why).c_str());
        const char *comma = "";
        for (const auto &info : kernel.arguments) {
            printf("%s{\"name\": \"%s\", \"index\": %u, \"threadgroup\": %d, \"reference\": %d, \"size\": %zu}", comma,
                   info.name, info.index, info.is_threadgroup, info.is_reference, info.element_size);
            comma = ", ";
        }
        puts("]}");
    }
}
