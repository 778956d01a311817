# Calls of Python: the module in inst/python, and its errors and warnings as conditions of R.

session <- new.env(parent = emptyenv()) # the module, once loaded, and the models last used

#' Is Python there, with survtrace?
#'
#' Starts Python, if that has not happened yet. reticulate chooses which: the one that the
#' environment variable `RETICULATE_PYTHON` names, or that `reticulate::use_virtualenv()` was
#' told, before the first call.
#'
#' @return `TRUE` or `FALSE`.
#' @examples
#' survtrace_available()
#' @export
survtrace_available <- function() {
  isTRUE(tryCatch(!is.null(bridge()), survtrace_python_error = function(e) FALSE))
}

# Load the Python module once.
bridge <- function() {
  if (is.null(session$bridge)) {
    require_python()
    session$bridge <- reticulate::import_from_path(
      "survtrace_bridge",
      path = system.file("python", package = "survtrace")
    )
  }
  session$bridge
}

require_python <- function() {
  started <- tryCatch(reticulate::py_available(initialize = TRUE), error = function(e) FALSE)
  if (!started) {
    abort("python", "Python was not found. ", WAYS_TO_PYTHON)
  }
  found <- tryCatch(
    {
      reticulate::import("survtrace")
      NULL
    },
    error = conditionMessage
  )
  if (!is.null(found)) {
    abort(
      "python", "The Python package survtrace cannot be loaded by ",
      reticulate::py_config()$python, " (", trimws(strsplit(found, "\n")[[1]][1]), "). ",
      WAYS_TO_PYTHON
    )
  }
}

WAYS_TO_PYTHON <- paste0(
  "Install survtrace with pip, then name the Python that has it in a fresh R session, before ",
  "anything else uses Python: Sys.setenv(RETICULATE_PYTHON = \"/path/to/venv/bin/python\"), or ",
  "reticulate::use_virtualenv(\"/path/to/venv\", required = TRUE)."
)

# Call a function of the module; `call` is the user's, which conditions name.
ask <- function(name, ..., call = NULL) {
  answer <- bridge()[[name]](...)
  for (text in answer$warnings) warn(text, call = call)
  if (!is.null(answer$error)) {
    abort(answer$error$kind, answer$error$message, call = call)
  }
  answer$value
}

# Stop with an error of class survtrace_<kind>_error, where there is a kind, and survtrace_error.
abort <- function(kind, ..., call = NULL) {
  kind <- if (nzchar(kind)) sprintf("survtrace_%s_error", kind)
  classes <- c(kind, "survtrace_error", "error", "condition")
  stop(structure(class = classes, list(message = paste0(...), call = call)))
}

warn <- function(..., call = NULL) {
  classes <- c("survtrace_data_warning", "survtrace_warning", "warning", "condition")
  warning(structure(class = classes, list(message = paste0(...), call = call)))
}

# "'a', 'b' and 3 more", for messages.
quoted <- function(names, most = 5) {
  shown <- paste0("'", utf8(names[seq_len(min(most, length(names)))]), "'", collapse = ", ")
  if (length(names) > most) paste(shown, "and", length(names) - most, "more") else shown
}

utf8 <- function(x) enc2utf8(as.character(x))
