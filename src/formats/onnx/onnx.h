/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_ONNX_ONNX_H
#define SD_FORMATS_ONNX_ONNX_H
/* onnx: reads a model from an ONNX file: its layers, its operators and their shapes.
 *
 * An ONNX file has the operators in the order in which they run, the weights, and the
 * shapes of the inputs.  The shapes in between are worked out here, operator by
 * operator, as the runtime would: exporters leave them out, or write them for one batch
 * size.  An exported transformer computes many of its shapes (Shape, Gather, Concat,
 * Reshape); so small tensors whose elements are known are computed along with the
 * shapes, and operators that only do that are not counted: a runtime does them once, at
 * loading.
 *
 * Layers are read off what exporters leave of the modules: torch's newer exporter
 * writes names and classes of modules beside each node, its older one names nodes after
 * them
 * ("/layer1/layer1.0/conv1/Conv").  A node that has neither is a layer of its own.
 *
 * Symbolic axes are 1 unless the user gives a shape.  Weights are never read, but for
 * small constants; those in other files (external data) are not there.  A body of If,
 * Loop or Scan is counted once, and a note says so.  Whatever cannot be worked out is
 * named in a note, and the operators that need it have no shapes: they are then listed
 * as not counted. */
#include "formats/weights/model_files.h"

bool sd_onnx_is(const void *p, size_t n);
/* Adds to the model *m, which is made.  SD_EFORMAT with a sentence; SD_EUSAGE when the
 * request names what is no input. */
int sd_onnx_read(const void *p, size_t n, const struct sd_model_request *request,
                 struct sd_model *m);
#endif
