/* SPDX-License-Identifier: MIT */
#include "profile/model/dtype.h"

#include <string.h>

#include "base/test.h"

TEST(a_dtype_is_found_by_each_formats_own_word)
{
    CHECK(sd_dtype_named("torch.bfloat16", 14) == SD_DTYPE_BF16);
    CHECK(sd_dtype_named("bfloat16", 8) == SD_DTYPE_BF16);
    CHECK(sd_dtype_of_safetensors("F8_E4M3", 7) == SD_DTYPE_F8_E4M3);
    CHECK(sd_dtype_of_onnx(7) == SD_DTYPE_I64);
    CHECK(sd_dtype_of_ggml(0) == SD_DTYPE_F32);
    CHECK(sd_dtype_of_ggml(14) == SD_DTYPE_Q6_K);
}

TEST(a_dtype_that_nobody_knows_is_unknown_and_has_no_bytes)
{
    CHECK(sd_dtype_named("torch.", 6) == SD_DTYPE_UNKNOWN);
    CHECK(sd_dtype_named("", 0) == SD_DTYPE_UNKNOWN);
    CHECK(sd_dtype_of_safetensors("", 0) == SD_DTYPE_UNKNOWN);
    CHECK(sd_dtype_of_onnx(0) == SD_DTYPE_UNKNOWN);
    CHECK(sd_dtype_of_onnx(-1) == SD_DTYPE_UNKNOWN);
    CHECK(sd_dtype_of_ggml(4) == SD_DTYPE_UNKNOWN);
    CHECK(!strcmp(sd_dtype_about(63)->name, "unknown"));
    CHECK(!strcmp(sd_dtype_about(255)->name, "unknown"));
    CHECK(sd_dtype_bytes(SD_DTYPE_UNKNOWN, 12) == 0);
}

TEST(elements_in_blocks_take_whole_blocks)
{
    CHECK(sd_dtype_bytes(SD_DTYPE_F32, 10) == 40);
    CHECK(sd_dtype_bytes(SD_DTYPE_I4, 3) == 2);
    CHECK(sd_dtype_bytes(SD_DTYPE_Q4_K, 512) == 288);
    CHECK(sd_dtype_bytes(SD_DTYPE_Q4_0, 33) == 36);
    CHECK(sd_dtype_bytes(SD_DTYPE_F64, INT64_MAX) == INT64_MAX);
}
