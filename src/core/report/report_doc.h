#pragma once
/* What reports say, as structs and as JSON: core/report/documents.def. */
#include "core/model/model.h"
#include "core/shape/shape.h"

#include "core/shape/structs.def"

#include "core/report/documents.def"
