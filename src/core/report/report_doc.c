#include "core/report/report_doc.h"

#include "core/shape/shapes.def"

#include "core/report/documents.def"
