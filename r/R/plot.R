# Drawings: predicted curves, and the training.

#' Plot predicted curves, or the training
#'
#' With `newdata`, the incidence of each cause (or survival) of each row over time, with an interval
#' for a single row. Without, the validation loss of each member in each epoch.
#'
#' @param x A fit of [survtrace()].
#' @param newdata Rows to draw; a data frame.
#' @param type `"incidence"` or `"survival"`.
#' @param cause The cause whose incidence is drawn; by default all, in panels of their own.
#' @param times Where curves are drawn; by default from the beginning of the time grid to its end.
#' @param conditional_after As for [predict()][predict.survtrace].
#' @param level Level of the interval of a single row.
#' @param col,lty Colours and line types of the rows.
#' @param legend Whether to name the rows, if there are up to eight.
#' @param ... Passed to [plot.default()].
#' @return The predictions, or the losses, invisibly.
#' @examplesIf survtrace_available()
#' lung <- survival::lung
#' fit <- survtrace(Surv(time, status) ~ age + sex + ph.ecog, lung, n_members = 1, max_epochs = 2)
#' plot(fit, lung[1, ], type = "survival")
#' plot(fit)
#' @export
plot.survtrace <- function(x, newdata = NULL, type = c("incidence", "survival"), cause = NULL,
                           times = NULL, conditional_after = NULL, level = 0.95, col = NULL,
                           lty = 1, legend = TRUE, ...) {
  if (is.null(newdata)) return(plot_history(x, ...))
  type <- match.arg(type)
  n_rows <- nrow(newdata)
  grid <- x$time_grid
  if (is.null(times)) times <- seq(max(grid[[1]], conditional_after), max(grid), length.out = 101)
  with_interval <- n_rows == 1 && isTRUE(x$has_intervals)
  found <- stats::predict(x, newdata, times, type,
    cause = cause, conditional_after = conditional_after, interval = with_interval, level = level
  )
  curves <- if (with_interval) found else list(fit = found)
  if (is.null(col)) col <- grDevices::hcl.colors(max(2, n_rows), "Dark 3")[seq_len(n_rows)]
  panels <- if (length(dim(curves$fit)) == 3) x$causes else panel_title(x, type, cause)
  if (length(panels) > 1) {
    before <- graphics::par(mfrow = rev(grDevices::n2mfrow(length(panels))))
    on.exit(graphics::par(before))
  }
  for (title in panels) {
    shown <- lapply(curves, function(each) if (length(dim(each)) == 3) each[, title, ] else each)
    shown <- lapply(shown, matrix, nrow = n_rows)
    draw_curves(shown, times, title, x, type, col, lty, ...)
    if (legend && n_rows > 1 && n_rows <= 8) {
      corner <- if (type == "survival") "bottomleft" else "topleft"
      graphics::legend(corner, row.names(newdata), col = col, lty = lty, bty = "n")
    }
  }
  invisible(found)
}

panel_title <- function(x, type, cause) {
  if (type == "survival") return("event-free")
  if (length(x$causes) > 1) x$causes[[cause_place(x, cause, NULL) + 1L]] else ""
}

draw_curves <- function(curves, times, title, object, type, col, lty, ...) {
  unit <- if (nzchar(object$time_unit)) paste0(" (", object$time_unit, ")")
  top <- if (type == "survival") 1 else max(unlist(curves), 0.01)
  settings <- list(
    x = range(times), y = c(0, top), type = "n", main = title, las = 1, bty = "l",
    xlab = paste0(object$time_name, unit),
    ylab = if (type == "survival") "survival" else "cumulative incidence"
  )
  do.call(graphics::plot, utils::modifyList(settings, list(...)))
  if (!is.null(curves$lower)) {
    graphics::polygon(c(times, rev(times)), c(curves$lower, rev(curves$upper)),
      col = grDevices::adjustcolor(col[[1]], 0.2), border = NA
    )
  }
  graphics::matlines(times, t(curves$fit), col = col, lty = lty, lwd = 2)
}

plot_history <- function(x, ...) {
  losses <- as.data.frame(lapply(x$history, unlist))
  settings <- list(
    x = range(losses$epoch) + 1, y = range(losses$validation_loss, finite = TRUE), type = "n",
    xlab = "epoch", ylab = "validation loss", las = 1, bty = "l"
  )
  do.call(graphics::plot, utils::modifyList(settings, list(...)))
  for (each in split(losses, losses$member)) {
    graphics::lines(each$epoch + 1, each$validation_loss, col = "grey40")
  }
  invisible(losses)
}
