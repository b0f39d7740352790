/* SPDX-License-Identifier: MIT */
#include "collect/model/schema.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

static bool is_arg(const struct sd_schema *s, uint32_t i, const char *name,
                   enum sd_schema_kind kind, bool is_written)
{
    const struct sd_schema_arg *a = &s->args[i];

    return a->n == strlen(name) && memcmp(a->name, name, a->n) == 0 &&
           a->kind == kind && a->is_written == is_written;
}

TEST(a_schema_names_its_arguments_and_their_kinds)
{
    struct sd_schema s;

    CHECK(sd_schema_read("aten::add.Tensor(Tensor self, Tensor other, *, "
                         "Scalar alpha=1) -> Tensor",
                         &s) == 0);
    CHECK(s.n == strlen("aten::add") && memcmp(s.name, "aten::add", s.n) == 0);
    CHECK(s.n_full == strlen("aten::add.Tensor"));
    CHECK(s.n_args == 3);
    CHECK(is_arg(&s, 0, "self", SD_ARG_TENSOR, false));
    CHECK(is_arg(&s, 1, "other", SD_ARG_TENSOR, false));
    CHECK(is_arg(&s, 2, "alpha", SD_ARG_OTHER, false));
}

TEST(a_schema_tells_lists_optionals_and_what_is_written)
{
    struct sd_schema s;

    CHECK(
        sd_schema_read("aten::x(Tensor[] tensors, Tensor?[] maybe, Tensor? bias=None, "
                       "Tensor(a!) self, str mode=\"a, (b\", int[2] stride=[1, 1], "
                       "SymInt groups=1) -> (Tensor, Tensor)",
                       &s) == 0);
    CHECK(s.n_args == 7 && s.n == s.n_full);
    CHECK(is_arg(&s, 0, "tensors", SD_ARG_TENSORS, false));
    CHECK(is_arg(&s, 1, "maybe", SD_ARG_TENSORS, false));
    CHECK(is_arg(&s, 2, "bias", SD_ARG_TENSOR, false));
    CHECK(is_arg(&s, 3, "self", SD_ARG_TENSOR, true));
    CHECK(is_arg(&s, 4, "mode", SD_ARG_OTHER, false));
    CHECK(is_arg(&s, 5, "stride", SD_ARG_OTHER, false));
    CHECK(is_arg(&s, 6, "groups", SD_ARG_OTHER, false));
}

TEST(a_schema_without_arguments_and_none_at_all)
{
    struct sd_schema s;

    CHECK(sd_schema_read("ns::op() -> ()", &s) == 0 && s.n_args == 0);
    CHECK(sd_schema_read("no brackets", &s) == SD_EFORMAT);
    CHECK(sd_schema_read("ns::op(Tensor a", &s) == SD_EFORMAT);
    CHECK(sd_schema_read("(Tensor a) -> Tensor", &s) == SD_EFORMAT);
}

TEST(a_schema_takes_no_more_arguments_than_it_has_room_for)
{
    char text[2048] = "ns::op(";
    struct sd_schema s;

    for (int i = 0; i < SD_SCHEMA_ARGS_MAX + 5; i++)
        strcat(text, i ? ", int a" : "int a");
    strcat(text, ") -> ()");
    CHECK(sd_schema_read(text, &s) == 0 && s.n_args == SD_SCHEMA_ARGS_MAX);
}
