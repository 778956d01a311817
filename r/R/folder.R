# The saved folder: kept as bytes inside the fit, so that saveRDS() keeps it, and given to Python.

N_LOADED <- 8 # models that stay loaded in a session; any other is read again when it is asked

# Make the fit from the folder that Python wrote.
new_fit <- function(folder, call, formula = NULL, terms = NULL, used = NULL) {
  names <- list.files(folder, recursive = TRUE, all.files = TRUE)
  read <- function(name) {
    path <- file.path(folder, name)
    readBin(path, raw(), file.size(path))
  }
  files <- stats::setNames(lapply(names, read), names)
  loaded <- ask("load", folder, call = call)
  key <- paste(tools::md5sum(file.path(folder, names)), collapse = "-")
  remember(key, loaded$model)
  asked <- list(call = call, formula = formula, terms = terms, used = used)
  structure(class = "survtrace", c(asked, loaded$about, list(files = files, key = key)))
}

# The Python object of a fit. A fit that another session made is read from its bytes.
loaded_model <- function(object, call = NULL) {
  model <- session$models[[object$key]]
  if (is.null(model)) {
    folder <- write_files(object$files, tempfile("survtrace-"))
    on.exit(unlink(folder, recursive = TRUE))
    model <- ask("load", folder, call = call)$model
    remember(object$key, model)
  }
  model
}

remember <- function(key, model) {
  bridge()
  session$models[[key]] <- model
  session$models <- utils::tail(session$models, N_LOADED)
}

write_files <- function(files, folder) {
  for (name in names(files)) {
    path <- file.path(folder, name)
    dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
    writeBin(files[[name]], path)
  }
  folder
}

#' Exchange a fit with Python
#'
#' `survtrace_save()` writes the folder of JSON and safetensors that Python's `survtrace.load()`,
#' the command line and the server read; `survtrace_load()` reads one. Within R, [saveRDS()] and
#' [readRDS()] are simpler, and keep the formula.
#'
#' A folder holds the names of covariates, not the formula. A fit with `log(age)` has a
#' covariate of that name: read from a folder, it needs a column `log(age)` in `newdata`, or the
#' right side of the formula again, as `formula`. No code of a folder is run.
#'
#' @param fit A fit of [survtrace()].
#' @param folder Path of the folder.
#' @param formula The right side of the formula, such as `~ log(age) + sex`, where it has more than
#'   names of columns.
#' @param overwrite Whether a folder of a saved model may be replaced.
#' @return The path, invisibly; a fit.
#' @examplesIf survtrace_available()
#' fit <- survtrace(Surv(time, status) ~ age + sex, survival::lung, n_members = 1, max_epochs = 2)
#' folder <- tempfile()
#' survtrace_save(fit, folder)
#' survtrace_load(folder)
#' @export
survtrace_save <- function(fit, folder, overwrite = FALSE) {
  call <- match.call()
  require_fit(fit, call)
  folder <- path.expand(folder)
  if (file.exists(folder)) {
    ours <- setequal(list.files(folder, all.files = TRUE, no.. = TRUE), names(fit$files))
    way <- if (ours) "Replace it by overwrite = TRUE" else "It holds no saved model"
    if (!overwrite || !ours) {
      abort("file", folder, " exists. ", way, "; or choose another path.", call = call)
    }
  }
  write_files(fit$files, folder)
  invisible(folder)
}

#' @rdname survtrace_save
#' @export
survtrace_load <- function(folder, formula = NULL) {
  call <- match.call()
  terms <- NULL
  if (!is.null(formula)) {
    terms <- stats::delete.response(stats::terms(formula))
    terms <- right_side(terms, all.vars(terms))
  }
  new_fit(path.expand(folder), call, terms = terms, used = all.vars(terms))
}

require_fit <- function(fit, call) {
  if (!inherits(fit, "survtrace")) {
    abort("data", "a fit of survtrace() is needed; got a ", class(fit)[[1]], ".", call = call)
  }
}
