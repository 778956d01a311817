#' Fit a transformer for survival and competing events
#'
#' Learns the hazard of each competing cause over time from a data frame. Factors stay factors and
#' `NA` stays missing: neither has to be coded or filled in. Curves are coherent by construction:
#' the event-free probability and the incidences of all causes sum to 1.
#'
#' @param formula `Surv(time, status) ~ .`, or covariates by name, also with functions such as
#'   `log(age)` or `splines::ns(age, 3)`, which predictions evaluate again. A factor `status` means
#'   competing causes; its first level is censored. `Surv(start, stop, status)` has delayed entry,
#'   or rows for stretches of time with `id`; `prodlim::Hist()` works, too. Interactions are
#'   learned and not written.
#' @param data A data frame. With `.` its columns except those of the left side, `id` and
#'   `weights` are covariates.
#' @param ... Settings of the Python estimator by name, such as `n_members = 4`, `max_epochs = 50`,
#'   `time_unit = "months"`, `random_state = 1`, `verbose = TRUE`; all are in `settings` of the
#'   result.
#' @param id The subject of each row, a column of `data`, where subjects have several rows.
#' @param weights Weight of each subject in every loss, a column of `data`.
#' @param subset An expression of columns that says which rows to use.
#' @param na.action What to do with missing values: by default they stay and are learned from.
#'   Time and status must be known.
#' @return An object of class `survtrace` for [predict()][predict.survtrace],
#'   [plot()][plot.survtrace], [summary()][summary.survtrace] and [saveRDS()]. `causes`,
#'   `time_grid`, `covariates`, `settings` and `history` (losses of each epoch) can be looked at.
#'
#' @details
#' The seed is drawn from R's unless `random_state` is given: [set.seed()] makes a fit repeatable.
#'
#' Errors have the class `survtrace_error` and one of `survtrace_data_error`,
#' `survtrace_setting_error`, `survtrace_saved_file_error`, `survtrace_training_error`,
#' `survtrace_file_error` and `survtrace_python_error`; warnings have `survtrace_warning`. Rows they
#' name count from 1 among the rows used.
#'
#' @examplesIf survtrace_available()
#' mgus2 <- survival::mgus2
#' mgus2$time <- with(mgus2, ifelse(pstat == 1, ptime, futime))
#' status <- with(mgus2, ifelse(pstat == 1, 1, 2 * death))
#' mgus2$event <- factor(status, 0:2, c("censored", "pcm", "death"))
#' fit <- survtrace(
#'   Surv(time, event) ~ age + sex + hgb + creat + mspike, mgus2,
#'   subset = time > 0, time_unit = "months",
#'   n_members = 1, max_epochs = 2 # small, for the sake of the example
#' )
#' fit
#' predict(fit, mgus2[1:3, ], times = c(60, 120))
#' @export
survtrace <- function(formula, data, ..., id = NULL, weights = NULL, subset = NULL,
                      na.action = stats::na.pass) {
  call <- match.call()
  require_formula(formula, call)
  rows <- open_formula(
    formula, data, substitute(id), substitute(weights), substitute(subset), na.action, call
  )
  outcome <- read_outcome(stats::model.response(rows$frame), call)
  settings <- python_settings(list(...), call)
  settings$cause_names <- cause_names(outcome, settings$cause_names, call)
  columns <- python_columns(covariates(rows$frame), call)
  folder <- tempfile("survtrace-")
  on.exit(unlink(folder, recursive = TRUE))
  outcome <- python_outcome(outcome, rows$frame[["(id)"]], rows$frame[["(weights)"]])
  ask("fit", columns, outcome, settings, folder, call = call)
  new_fit(folder, call, rows$formula, rows$terms, rows$used)
}

require_formula <- function(formula, call) {
  if (!inherits(formula, "formula")) {
    abort("data", "formula must be a formula, such as Surv(time, status) ~ .; got a ",
      class(formula)[[1]], ".",
      call = call
    )
  }
}

# The columns of a model frame that the right side names.
covariates <- function(frame) {
  labels <- names(attr(attr(frame, "terms"), "dataClasses"))
  response <- attr(attr(frame, "terms"), "response")
  others <- c("(id)", "(weights)", if (response > 0) labels[[response]])
  frame[setdiff(names(frame), others)]
}

#' Bring a fit to another place
#'
#' Updates the fit by rows of another hospital or time: the level of the hazards, their spread, or
#' the network, as far as held-out rows bear it out. Time grid, covariates and causes stay.
#'
#' @param fit A fit of [survtrace()].
#' @param data Rows of the new place.
#' @param how `"auto"`, `"none"`, `"level"`, `"slope"`, `"heads"` or `"whole"`: how much may change.
#' @param formula The formula of the fit; to be given where the fit was read from a folder.
#' @inheritParams survtrace
#' @return A new fit; `updates` says what was done. It has no intervals.
#' @examplesIf survtrace_available()
#' lung <- survival::lung
#' fit <- survtrace(Surv(time, status) ~ age, lung[1:150, ], n_members = 1, max_epochs = 2)
#' survtrace_update(fit, lung[151:228, ], how = "level")$updates
#' @export
survtrace_update <- function(fit, data, how = "auto", id = NULL, subset = NULL,
                             formula = fit$formula) {
  call <- match.call()
  require_fit(fit, call)
  require_formula(formula, call)
  if (missing(formula)) { # its constants are known, and the variables of the caller for subset
    environment(formula) <- list2env(as.list(environment(formula)), parent = parent.frame())
  }
  rows <- open_formula(
    formula, data, substitute(id), NULL, substitute(subset), stats::na.pass, call
  )
  outcome <- read_outcome(stats::model.response(rows$frame), call)
  folders <- c(write_files(fit$files, tempfile("survtrace-")), tempfile("survtrace-"))
  on.exit(unlink(folders, recursive = TRUE))
  columns <- python_columns(covariates(rows$frame), call)
  outcome <- python_outcome(outcome, rows$frame[["(id)"]])
  ask("update", folders[[1]], columns, outcome, how, draw_seed(), folders[[2]], call = call)
  new_fit(folders[[2]], call, rows$formula, rows$terms, rows$used)
}

# Settings as Python has them: whole numbers are integers, vectors lists, names those of a dict.
python_settings <- function(given, call) {
  if (length(given) && (is.null(names(given)) || any(names(given) == ""))) {
    abort("setting", "settings are given by name, such as n_members = 4; one has no name.",
      call = call
    )
  }
  if (is.numeric(given$categorical)) {
    abort("setting", "categorical takes names of columns; or make the columns factors.",
      call = call
    )
  }
  usual <- list(verbose = FALSE, random_state = draw_seed())
  settings <- utils::modifyList(usual, given, keep.null = TRUE)
  lists <- intersect(names(settings), c("categorical", "time_grid"))
  settings[lists] <- lapply(settings[lists], function(x) if (!is.null(x)) as.list(x))
  lapply(settings, python_value)
}

python_value <- function(x) {
  if (is.list(x)) return(lapply(x, python_value))
  if (length(x) > 1 || !is.null(names(x))) return(lapply(as.list(x), python_value))
  whole <- is.double(x) && length(x) == 1 && is.finite(x) && x == round(x) && abs(x) < 2^31
  if (whole) as.integer(x) else x
}

draw_seed <- function() sample.int(.Machine$integer.max, 1)
