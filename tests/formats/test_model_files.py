# SPDX-License-Identifier: MIT
# limit: 900
"""Files of models, without Python on the path: exact numbers, large files, damaged files.

The files are written here byte by byte, so that nothing needs to be installed; what
torch itself exports is counted beside them where torch and onnx are there.
"""
import json
import os
import resource
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SONDE_SRC"], "tests"))
from helpers import TARGETS, contains, equal, need, python_with, run_tests  # noqa: E402

SONDE = os.environ["SONDE"]
BARE = {"PATH": "/nowhere", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "HOME": os.getcwd()}


def sonde(*words, ok=True):
    done = subprocess.run([SONDE, "model", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BARE)
    if ok:
        equal(done.stderr.decode(), "")
        equal(done.returncode, 0)
    return done


def numbers(*words):
    return json.loads(sonde(*words, "--json").stdout)


# --- ONNX by hand: fields of onnx.proto by their numbers

def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, b):
    b = b.encode() if isinstance(b, str) else b
    return varint(field << 3 | 2) + varint(len(b)) + b


def node(op, ins, outs, name="", **attrs):
    out = b"".join(data(1, i) for i in ins) + b"".join(data(2, o) for o in outs) + data(3, name) + data(4, op)
    for key, value in attrs.items():
        if isinstance(value, int):
            out += data(5, data(1, key) + number(3, value) + number(20, 2))
        else:
            out += data(5, data(1, key) + data(8, b"".join(map(varint, value))) + number(20, 7))
    return data(1, out)


def weight(name, *dims):
    """Its numbers are in another file, and never looked at."""
    return data(5, b"".join(number(1, d) for d in dims) + number(2, 1) + data(8, name) + number(14, 1))


def shaped(field, name, *dims):
    axes = b"".join(data(1, data(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return data(field, data(1, name) + data(2, data(1, number(1, 1) + data(2, axes))))


def model(graph):
    return number(1, 10) + data(7, graph) + data(8, number(2, 20))


def resnet18(batch):
    """As torch's older exporter names the layers; batch norms are folded into the convolutions."""
    parts, at = [shaped(11, "x", batch, 3, 224, 224)], "x"

    def conv(before, name, cin, cout, kernel, stride):
        parts.append(weight(name + ".weight", cout, cin, kernel, kernel))
        parts.append(weight(name + ".bias", cout))
        parts.append(node("Conv", [before, name + ".weight", name + ".bias"], [name], "/" + name.replace(".", "/") + "/Conv",
                          strides=[stride] * 2, pads=[kernel // 2] * 4, kernel_shape=[kernel] * 2))
        return name

    def relu(before):
        parts.append(node("Relu", [before], [before + "_relu"]))
        return before + "_relu"

    at = relu(conv(at, "conv1", 3, 64, 7, 2))
    parts.append(node("MaxPool", [at], ["pooled"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    at, width = "pooled", 64
    for layer in range(1, 5):
        for block in range(2):
            stride, out, name = (2 if layer > 1 and block == 0 else 1), 64 << (layer - 1), "layer%d.%d" % (layer, block)
            y = conv(relu(conv(at, name + ".conv1", width, out, 3, stride)), name + ".conv2", out, out, 3, 1)
            if stride != 1:
                at = conv(at, name + ".downsample", width, out, 1, stride)
            parts.append(node("Add", [y, at], [name]))
            at, width = relu(name), out
    parts += [node("GlobalAveragePool", [at], ["mean"]), node("Flatten", ["mean"], ["flat"]), weight("fc.weight", 1000, 512), weight("fc.bias", 1000),
              node("Gemm", ["flat", "fc.weight", "fc.bias"], ["y"], "/fc/Gemm", transB=1), shaped(12, "y", batch, 1000)]
    return model(b"".join(parts))


def write(name, content):
    with open(name, "wb") as f:
        f.write(content)
    return name


def test_an_onnx_file_is_counted_exactly(folder):
    os.chdir(folder)
    write("resnet18.onnx", resnet18(1))
    got = numbers("resnet18.onnx")
    equal(got["macs"], 1814073344)
    equal(got["params"], 11684712)  # 11,689,512 without the norms' own, with a bias for each convolution
    equal(got["coverage"], 1)
    text = sonde("resnet18.onnx", "--tree").stdout.decode()
    contains(text, "layer4")
    contains(text, "1,814,073,344")


def test_symbolic_axes_are_1_or_what_is_given(folder):
    os.chdir(folder)
    write("batch.onnx", resnet18("batch"))
    got = numbers("batch.onnx")
    equal(got["macs"], 1814073344)
    contains(" ".join(got["notes"]), "batch of x")
    equal(numbers("batch.onnx", "--input", "x=4,3,224,224")["macs"], 4 * 1814073344)
    wrong = sonde("batch.onnx", "--input", "z=4,3,224,224", ok=False)
    equal(wrong.returncode, 2)
    contains(wrong.stderr.decode(), "no input named z")


def test_products_without_a_shape_are_not_said_to_have_no_rule(folder):
    os.chdir(folder)
    write("open.onnx", model(shaped(11, "x", 1, 8) + node("NonZero", ["x"], ["places"]) + weight("w", 8, 8) + node("MatMul", ["places", "w"], ["y"])))
    text = " ".join(sonde("open.onnx").stdout.decode().split())
    contains(text, "1 of 2 calls of operators have shapes that are not known (coverage 0.5000)")
    contains(text, "Operators without a rule, or of unknown shapes")
    write("other.onnx", model(shaped(11, "x", 1, 8) + node("Unheard", ["x"], ["y"])))
    contains(" ".join(sonde("other.onnx").stdout.decode().split()), "1 of 1 calls of operators have no rule")


def safetensors(tensors):
    head, at = {}, 0
    for name, dtype, shape, size in tensors:
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    head = json.dumps(head).encode()
    return struct.pack("<Q", len(head)) + head, at


def test_a_safetensors_file_of_ten_gigabytes_takes_as_long_as_its_header(folder):
    os.chdir(folder)
    each = 10 * 2**30 // 500
    head, size = safetensors([("model.layers.%d.weight" % i, "BF16", [each // 2], each) for i in range(500)])
    with open("large.safetensors", "wb") as f:
        f.write(head)
        f.truncate(len(head) + size)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    got = numbers("large.safetensors")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    equal(got["params"], each // 2 * 500)
    # Reading the data would take seconds; the header takes a few milliseconds.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1, "CPU time"
    os.unlink("large.safetensors")


def test_shards_are_added_up_and_a_missing_one_is_named(folder):
    os.chdir(folder)
    os.mkdir("shards")
    places = {}
    for i in range(3):
        name = "model-%05d-of-00003.safetensors" % (i + 1)
        head, size = safetensors([("layers.%d.weight" % i, "F32", [10, i + 1], 40 * (i + 1))])
        write("shards/" + name, head + bytes(size))
        places["layers.%d.weight" % i] = name
    write("shards/model.safetensors.index.json", json.dumps({"metadata": {"total_size": 240}, "weight_map": places}).encode())
    equal(numbers("shards")["params"], 60)
    equal(numbers("shards/model.safetensors.index.json")["params"], 60)
    os.unlink("shards/model-00002-of-00003.safetensors")
    contains(sonde("shards", ok=False).stderr.decode(), "model-00002-of-00003.safetensors")


def gguf():
    def text(s):
        return struct.pack("<Q", len(s)) + s.encode()
    out = b"GGUF" + struct.pack("<IQQ", 3, 2, 1) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
    out += text("blk.0.ffn.weight") + struct.pack("<IQQIQ", 2, 256, 4, 12, 0)  # Q4_K: 4 blocks of 144 bytes
    out += text("output.bias") + struct.pack("<IQIQ", 1, 7, 0, 576)
    return out + bytes(-len(out) % 32) + bytes(576 + 28)


def test_a_gguf_file_has_elements_and_bytes_of_its_blocks(folder):
    os.chdir(folder)
    write("small.gguf", gguf())
    got = numbers("small.gguf")
    equal(got["params"], 1024 + 7)
    equal(got["param_bytes"], 576 + 28)
    contains(sonde("small.gguf", "--table", "tensors").stdout.decode(), "blk.0.ffn.weight")


def test_a_configuration_alone_gives_the_parameters(folder):
    os.chdir(folder)
    os.mkdir("llama")
    write("llama/config.json", json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000, "torch_dtype": "float16"}).encode())
    got = numbers("llama")
    equal(got["params"], 6738415616)
    equal(got["param_bytes"], 2 * 6738415616)
    write("llama/config.json", b'{"model_type": "unheard-of"}')
    contains(sonde("llama", ok=False).stderr.decode(), "unheard-of")


def test_of_weights_what_is_not_known_is_null_and_not_0(folder):
    os.chdir(folder)
    head, size = safetensors([("a.weight", "F32", [4], 16)])
    write("w.safetensors", head + bytes(size))
    got = numbers("w.safetensors")
    for key in ("trainable", "macs", "flops", "madds", "backward_macs", "mem_read", "operator_calls"):
        equal(got[key], None, key)
    for words in (("--type", "Conv"), ("--plot", "types", "-o", "t.svg")):
        contains(sonde("w.safetensors", *words, ok=False).stderr.decode(), "needs the types of layers")
    write("other.safetensors", gguf())
    contains(sonde("other.safetensors").stdout.decode(), "\ngguf")


def test_sums_beyond_64_bits_say_so(folder):
    os.chdir(folder)
    write("config.json", json.dumps({
        "model_type": "llama", "hidden_size": 10**12, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 10**12}).encode())
    contains(" ".join(numbers("config.json")["notes"]), "more than 64 bits")
    contains(sonde("config.json").stdout.decode(), "at least 9,223,372,036,854,775,807 parameters")


def test_a_file_without_arithmetic_has_no_roofline_and_says_why(folder):
    os.chdir(folder)
    write("empty.onnx", model(b""))
    wrong = sonde("empty.onnx", "--plot", "roofline", "-o", "r.svg", ok=False).stderr.decode()
    contains(wrong, "known to do arithmetic")
    assert "weights" not in wrong, wrong


def test_damaged_files_end_in_one_sentence(folder):
    os.chdir(folder)
    head, size = safetensors([("a", "F32", [4], 16)])
    for name, whole in (("d.onnx", resnet18(1)), ("d.gguf", gguf()), ("d.safetensors", head + bytes(size))):
        for cut in (0, 1, 7, 20, len(whole) // 2, len(whole) - 17):
            done = sonde(write(name, whole[:cut]), ok=False)
            equal(done.returncode, 1)
            equal(done.stderr.decode().count("\n"), 1)
        for place in range(0, len(whole), max(1, len(whole) // 40)):
            broken = bytearray(whole)
            broken[place] ^= 0x40
            done = sonde(write(name, bytes(broken)), ok=False)
            assert done.returncode in (0, 1), (name, place, done)
            assert done.stderr.decode().count("\n") <= 1, (name, place, done)


def test_a_damaged_capture_says_so_whether_its_model_is_left_or_not(folder):
    os.chdir(folder)
    write("r.onnx", resnet18(1))
    sonde("r.onnx", "-o", "r.sonde")
    with open("r.sonde", "rb") as f:
        whole = f.read()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x40
    for name, broken, words in (("half.sonde", whole[:len(whole) // 2], "truncated inside a chunk"), ("flipped.sonde", bytes(flipped), "damaged")):
        done = sonde(write(name, broken), ok=False)
        equal((done.returncode, done.stdout, done.stderr.decode().count("\n")), (1, b"", 1))
        for part in (name, words, "what is left of it holds no model"):
            contains(done.stderr.decode(), part)
    done = sonde(write("end.sonde", whole[:-40]), ok=False)
    equal((done.returncode, done.stdout), (0, sonde("r.sonde").stdout))
    contains(done.stderr.decode(), "end.sonde: truncated inside a chunk")


def test_what_torch_exports_is_counted_exactly(folder):
    """By both exporters; the newer one writes it with onnxscript."""
    os.chdir(folder)
    python = python_with("torch", "onnx", "onnxscript")
    need(python, "no torch with onnx and onnxscript in any environment of the tests (CI=true installs them for one version)")
    done = subprocess.run([python, "-W", "ignore", os.path.join(TARGETS, "torch_exports.py")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    equal(done.returncode, 0, "status (%s)" % done.stderr.decode()[-300:])
    for name in ("older.onnx", "newer.onnx"):
        equal(numbers(name)["macs"], 8 * 27 * 64 + 5120, name)
    got = numbers("parts.onnx")
    equal((got["macs"], got["coverage"], got["notes"]), (2 * 2 * 16 * 32 + 2 * 16 * 4 + 2 * 10 * 4, 1, []), "parts")
    got = numbers("attention.onnx")
    # Into queries, keys and values; their products, and those with the values, of 4 heads; and out of them.
    equal(got["macs"], 2 * (7 * 16 * 48 + 2 * 4 * 7 * 7 * 4 + 7 * 16 * 16), "attention")
    equal(got["coverage"], 1, "coverage")


if __name__ == "__main__":
    run_tests(globals())
