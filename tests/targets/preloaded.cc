// SPDX-License-Identifier: MIT
// preloaded: a program in C++ whose allocations are known; test_preload.py has the figures.
#include <memory>
#include <thread>
#include <unistd.h>

static char *kept[16];

int main()
{
    for (int i = 0; i < 7; i++)
        kept[i] = new char[5003];
    auto p = std::make_unique<int[]>(2003);
    delete[] kept[0];
    return write(1, "done\n", 5) == 5 && p[0] == 0 ? 0 : 1;
}
