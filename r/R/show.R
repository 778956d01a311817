# What a fit shows of itself: print and summary.

#' @export
print.survtrace <- function(x, ...) {
  print(summary(x), settings = FALSE)
  invisible(x)
}

#' Summarise a fit
#'
#' @param object,x A fit of [survtrace()]; a summary.
#' @param settings Whether to print the settings, too.
#' @param ... Not used.
#' @return A list with the numbers of subjects and events, follow-up, missing values and settings.
#' @examplesIf survtrace_available()
#' fit <- survtrace(Surv(time, status) ~ age + sex, survival::lung, n_members = 1, max_epochs = 2)
#' summary(fit)
#' @export
summary.survtrace <- function(object, ...) {
  card <- object$card
  missing <- unlist(card$n_missing)
  found <- list(
    call = object$call, n_subjects = card$n_subjects, n_rows = card$n_rows,
    events = stats::setNames(unlist(card$n_events)[object$codes], object$causes),
    n_censored = card$n_censored, follow_up = unlist(card$follow_up),
    time_unit = object$time_unit, time_grid = object$time_grid,
    covariates = object$covariates, left_out = unlist(object$left_out),
    missing = missing[missing > 0], settings = object$settings, epochs = epochs_of(object),
    updates = unlist(object$updates)
  )
  structure(found, class = "summary.survtrace")
}

epochs_of <- function(object) {
  if (length(object$history$member)) tapply(object$history$epoch, object$history$member, max) + 1L
}

#' @rdname summary.survtrace
#' @export
print.summary.survtrace <- function(x, settings = TRUE, ...) {
  cat("Call:\n  ", paste(trimws(deparse(x$call)), collapse = " "), "\n\n", sep = "")
  if (!is.null(x$n_subjects)) print_counts(x)
  unit <- if (nzchar(x$time_unit)) paste0(" ", x$time_unit)
  if ("median" %in% names(x$follow_up)) {
    cat("median follow-up ", format(x$follow_up[["median"]]), unit, "; ", sep = "")
  }
  ends <- format(c(x$time_grid[[1]], max(x$time_grid)), trim = TRUE)
  cat("curves from ", ends[[1]], " to ", ends[[2]], unit, "\n", sep = "")
  wrapped("covariates: ", x$covariates)
  if (length(x$left_out)) wrapped("left out: ", x$left_out)
  if (length(x$missing)) wrapped("missing: ", paste(names(x$missing), x$missing))
  cat("members: ", x$settings$n_members, sep = "")
  if (length(x$epochs)) cat(", epochs", paste(unique(range(x$epochs)), collapse = " to "))
  cat("\n")
  if (length(x$updates)) cat("updated:", x$updates, "\n")
  if (settings) {
    shown <- Filter(function(value) length(value) == 1 && is.atomic(value), x$settings)
    wrapped("settings: ", paste(names(shown), vapply(shown, as.character, ""), sep = " = "))
  }
  invisible(x)
}

print_counts <- function(x) {
  rows <- if (isTRUE(x$n_rows > x$n_subjects)) paste(" in", x$n_rows, "rows")
  events <- if (length(x$events) > 1) paste(x$events, names(x$events)) else x$events
  cat(x$n_subjects, " subjects", rows, ", ", x$n_censored, " censored; events: ",
    paste(events, collapse = ", "), "\n",
    sep = ""
  )
}

# Print a title and parts, broken between parts only.
wrapped <- function(title, parts) {
  text <- paste0(title, paste(gsub(" ", "\u00a0", parts), collapse = ", "))
  cat(gsub("\u00a0", " ", strwrap(text, exdent = 2)), sep = "\n")
}
