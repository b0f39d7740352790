/* SPDX-License-Identifier: MIT */
#include "base/encoding/crc.h"

#include <nmmintrin.h>
#include <string.h>

/* Four bits at a time: sixteen entries written out stay a constant, so there is no
 * table to fill at start and none to share between threads.  Entry i is i shifted
 * four times through the reflected polynomial 0x82F63B78. */
static const uint32_t nibbles[16] = {
    0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
    0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
    0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint32_t sd_crc32c_plain(uint32_t crc, const void *p, size_t n)
{
    const uint8_t *at = p;

    crc = ~crc;
    for (; n > 0; at++, n--) {
        crc ^= *at;
        crc = (crc >> 4) ^ nibbles[crc & 15];
        crc = (crc >> 4) ^ nibbles[crc & 15];
    }
    return ~crc;
}

/* The build is for any x86-64; only this function may use the instruction, and only
 * where the processor has it. */
__attribute__((target("sse4.2"))) static uint32_t
crc_by_instruction(uint32_t crc, const uint8_t *at, size_t n)
{
    uint64_t c = ~crc;

    for (; n >= 8; at += 8, n -= 8) {
        uint64_t v;

        memcpy(&v, at, sizeof v);
        c = _mm_crc32_u64(c, v);
    }
    for (; n > 0; at++, n--)
        c = _mm_crc32_u8((uint32_t)c, *at);
    return ~(uint32_t)c;
}

uint32_t sd_crc32c(uint32_t crc, const void *p, size_t n)
{
    if (__builtin_cpu_supports("sse4.2"))
        return crc_by_instruction(crc, p, n);
    return sd_crc32c_plain(crc, p, n);
}
