// SPDX-License-Identifier: MIT
// native: functions of C++, whose names a linker does not write as programmers do.
extern "C" void native_work(unsigned long n);
extern "C" void native_turns(unsigned long n);

namespace shop
{
struct Worker {
    unsigned long turns;
    __attribute__((noinline)) void turn(unsigned long n, const char *) const
    {
        native_work(n);
        asm volatile("");
    }
    template <typename T> __attribute__((noinline)) T twice(T n) const
    {
        turn(n, "");
        turn(n, "");
        asm volatile("");
        return n;
    }
};
} // namespace shop

extern "C" void native_turns(unsigned long n)
{
    shop::Worker w{ n };

    for (unsigned long i = 0; i < n; i++)
        w.twice<unsigned long>(20000);
}
