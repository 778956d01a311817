# Columns of a data frame as bytes that Python reads: NA stays missing, factors keep their levels.

# The covariates of a model frame as a list of columns; matrices become one column each.
python_columns <- function(frame, call = NULL) {
  frame <- split_matrices(frame)
  Map(function(x, name) python_column(x, name, call), unname(as.list(frame)), utf8(names(frame)))
}

# Make one column of each column of a matrix, such as those of splines::ns().
split_matrices <- function(frame) {
  parts <- lapply(names(frame), function(name) {
    x <- frame[[name]]
    if (!is.matrix(x)) return(stats::setNames(list(x), name))
    labels <- if (is.null(colnames(x))) seq_len(ncol(x)) else colnames(x)
    labels <- if (ncol(x) == 1) name else paste0(name, labels)
    stats::setNames(lapply(seq_len(ncol(x)), function(j) x[, j]), labels)
  })
  do.call(c, parts)
}

python_column <- function(x, name, call = NULL) {
  if (is.factor(x)) return(coded_column(x, name, levels(x), ordered = is.ordered(x)))
  require_plain(x, name, call)
  if (is.logical(x)) return(list(name = name, kind = "logical", values = codes(as.integer(x))))
  if (is.character(x)) {
    distinct <- unique(x[!is.na(x)])
    return(coded_column(factor(x, levels = distinct), name, distinct, kind = "text"))
  }
  list(name = name, kind = "number", values = numbers(x), whole = is.integer(x))
}

coded_column <- function(x, name, levels, ordered = FALSE, kind = "factor") {
  at <- as.integer(x) - 1L
  at[is.na(levels[at + 1L])] <- NA # addNA() makes a level of NA, which is missing all the same
  levels <- as.list(utf8(levels))
  levels[is.na(levels)] <- "NA"
  list(name = name, kind = kind, values = codes(at), levels = levels, ordered = ordered)
}

# Refuse what has no meaning as a covariate; a label that Hmisc adds, or I(), changes nothing.
require_plain <- function(x, name, call) {
  harmless <- c("AsIs", "labelled", "numeric", "integer", "character", "logical")
  odd <- setdiff(if (is.object(x)) class(x) else character(), harmless)
  refused <- function(...) abort("data", "column '", name, "' ", ..., call = call)
  if (any(c("Date", "POSIXt", "difftime") %in% odd)) {
    refused(
      "is a ", odd[[1]], "; a covariate is a number, factor, logical or text. Use a number ",
      "instead, such as as.numeric(date - as.Date(\"2000-01-01\")), or leave it out."
    )
  }
  if (length(odd)) {
    refused("is of class ", odd[[1]], "; convert it by as.numeric(), factor() or as.character().")
  }
  if (!(is.numeric(x) || is.character(x) || is.logical(x))) {
    refused("is a ", typeof(x), "; a covariate is a number, factor, logical or text in each row.")
  }
}

numbers <- function(x) writeBin(as.double(x), raw(), endian = "little")

# Codes from 0; -1 where missing.
codes <- function(at) {
  at[is.na(at)] <- -1L
  writeBin(as.integer(at), raw(), endian = "little")
}
