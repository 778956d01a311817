# What a fit shows of itself: print, summary, plot.

#' @export
print.survtrace <- function(x, ...) {
  print(summary(x), settings = FALSE)
  invisible(x)
}

#' Summarise a fit
#'
#' @param object,x A fit of [survtrace()]; a summary.
#' @param settings Whether to print the settings that were given.
#' @param ... Not used.
#' @return A list with the numbers of subjects and events, follow-up, missing values and settings.
#' @examplesIf survtrace_available()
#' fit <- survtrace(Surv(time, status) ~ age + sex, survival::lung, n_members = 1, max_epochs = 2)
#' summary(fit)
#' @export
summary.survtrace <- function(object, ...) {
  card <- object$card
  missing <- unlist(card$n_missing)
  events <- unlist(card$n_events)
  found <- list(
    call = object$call, n_subjects = card$n_subjects, n_rows = card$n_rows,
    events = stats::setNames(events[object$codes], object$causes), n_censored = card$n_censored,
    follow_up = unlist(card$follow_up), time_unit = object$time_unit,
    time_grid = object$time_grid, covariates = object$covariates, left_out = unlist(object$left_out),
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
  rows <- if (isTRUE(x$n_rows > x$n_subjects)) paste(" in", x$n_rows, "rows")
  if (!is.null(x$n_subjects)) {
    cat(x$n_subjects, " subjects", rows, ", ", x$n_censored, " censored; events: ",
      paste0(x$events, if (length(x$events) > 1) paste0(" ", names(x$events)), collapse = ", "), "\n",
      sep = ""
    )
  }
  unit <- if (nzchar(x$time_unit)) paste0(" ", x$time_unit)
  if ("median" %in% names(x$follow_up)) {
    cat("median follow-up ", format(x$follow_up[["median"]]), unit, "; ", sep = "")
  }
  cat("curves from ", format(x$time_grid[[1]]), " to ", format(max(x$time_grid)), unit, "\n", sep = "")
  wrapped("covariates: ", x$covariates)
  if (length(x$left_out)) wrapped("left out: ", x$left_out)
  if (length(x$missing)) wrapped("missing: ", paste(names(x$missing), x$missing))
  cat("members: ", x$settings$n_members, if (length(x$epochs)) paste0(", epochs ", paste(unique(range(x$epochs)), collapse = " to ")), "\n", sep = "")
  if (length(x$updates)) cat("updated:", x$updates, "\n")
  if (settings) {
    shown <- Filter(function(value) length(value) == 1 && is.atomic(value), x$settings)
    wrapped("settings: ", paste(names(shown), unlist(lapply(shown, as.character)), sep = " = "))
  }
  invisible(x)
}

wrapped <- function(title, parts) {
  text <- paste0(title, paste(gsub(" ", "\u00a0", parts), collapse = ", "))
  cat(gsub("\u00a0", " ", strwrap(text, exdent = 2)), sep = "\n")
}

#' Plot predicted curves, or the training
#'
#' With `newdata`, the incidence of a cause (or survival) of each row over time, with an interval for a
#' single row. Without, the validation loss of each member in each epoch.
#'
#' @param x A fit of [survtrace()].
#' @param newdata Rows to draw; a data frame.
#' @param type `"incidence"` or `"survival"`.
#' @param cause The cause whose incidence is drawn; all by default, in panels of their own.
#' @param times Where curves are drawn; by default from the beginning of the time grid to its end.
#' @param conditional_after As for [predict()][predict.survtrace].
#' @param level Level of the interval of a single row.
#' @param col,lty Colours and line types of the rows.
#' @param legend Whether to name the rows, if there are up to eight.
#' @param ... Passed to [plot.default()].
#' @return The predictions, invisibly.
#' @examplesIf survtrace_available()
#' lung <- survival::lung
#' fit <- survtrace(Surv(time, status) ~ age + sex + ph.ecog, lung, n_members = 1, max_epochs = 2)
#' plot(fit, lung[1, ], type = "survival")
#' plot(fit)
#' @export
plot.survtrace <- function(x, newdata = NULL, type = c("incidence", "survival"), cause = NULL, times = NULL,
                           conditional_after = NULL, level = 0.95, col = NULL, lty = 1,
                           legend = TRUE, ...) {
  if (is.null(newdata)) return(plot_history(x, ...))
  type <- match.arg(type)
  grid <- x$time_grid
  if (is.null(times)) times <- seq(max(grid[[1]], conditional_after), max(grid), length.out = 101)
  single <- nrow(newdata) == 1 && isTRUE(x$has_intervals)
  found <- stats::predict(x, newdata, times, type,
    conditional_after = conditional_after, interval = single, level = level
  )
  found <- if (single) found else list(fit = found)
  causes <- if (type == "survival") NULL else if (is.null(cause)) x$causes else x$causes[[cause_place(x, cause, NULL) + 1L]]
  if (is.null(col)) col <- grDevices::hcl.colors(max(2, nrow(newdata)), "Dark 3")[seq_len(nrow(newdata))]
  if (length(causes) > 1) {
    before <- graphics::par(mfrow = rev(grDevices::n2mfrow(length(causes))))
    on.exit(graphics::par(before))
  }
  for (each in if (is.null(causes)) list(NULL) else causes) {
    curves <- lapply(found, function(values) if (length(dim(values)) == 3) values[, each, ] else values)
    curves <- lapply(curves, matrix, nrow = nrow(newdata))
    title <- if (is.null(each)) "event-free" else if (length(x$causes) > 1) each else ""
    draw_curves(curves, times, title, x, type, col, lty, ...)
    if (legend && nrow(newdata) > 1 && nrow(newdata) <= 8) {
      graphics::legend(if (type == "survival") "bottomleft" else "topleft", row.names(newdata), col = col, lty = lty, bty = "n")
    }
  }
  invisible(if (single) found else found$fit)
}

draw_curves <- function(curves, times, title, object, type, col, lty, ...) {
  unit <- if (nzchar(object$time_unit)) paste0(" (", object$time_unit, ")")
  top <- if (type == "survival") 1 else max(unlist(curves), 0.01)
  settings <- utils::modifyList(list(
    x = range(times), y = c(0, top), type = "n", main = title, las = 1, bty = "l",
    xlab = paste0(object$time_name, unit), ylab = if (type == "survival") "survival" else "cumulative incidence"
  ), list(...))
  do.call(graphics::plot, settings)
  if (!is.null(curves$lower)) {
    graphics::polygon(c(times, rev(times)), c(curves$lower, rev(curves$upper)),
      col = grDevices::adjustcolor(col[[1]], 0.2), border = NA
    )
  }
  graphics::matlines(times, t(curves$fit), col = col, lty = lty, lwd = 2)
}

plot_history <- function(x, ...) {
  losses <- as.data.frame(lapply(x$history, unlist))
  by_member <- split(losses, losses$member)
  settings <- utils::modifyList(list(
    x = range(losses$epoch) + 1, y = range(losses$validation_loss, finite = TRUE), type = "n",
    xlab = "epoch", ylab = "validation loss", las = 1, bty = "l"
  ), list(...))
  do.call(graphics::plot, settings)
  for (each in by_member) graphics::lines(each$epoch + 1, each$validation_loss, col = "grey40")
  invisible(losses)
}
