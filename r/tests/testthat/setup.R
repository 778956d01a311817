# Small fits that the tests share, made once, and what they are made of.

skip_without_python <- function() {
  skip_if_not(survtrace_available(), "Python with survtrace (see RETICULATE_PYTHON)")
}

small <- function(...) {
  suppressWarnings(survtrace(..., n_members = 1, max_epochs = 2, unknown_steps = 10))
}

mgus2 <- survival::mgus2
mgus2$time <- with(mgus2, ifelse(pstat == 1, ptime, futime))
mgus2$event <- with(mgus2, ifelse(pstat == 1, 1, 2 * death))
mgus2$event <- factor(mgus2$event, 0:2, c("censored", "pcm", "death"))
mgus2 <- mgus2[1:300, ]

fits <- new.env()
shared_fit <- function() {
  skip_without_python()
  if (is.null(fits$competing)) {
    fits$competing <- small(
      Surv(time, event) ~ age + sex + log(hgb) + creat, mgus2,
      time_unit = "months", random_state = 1
    )
  }
  fits$competing
}

# Run code in an R session of its own.
other_session <- function(code, env = character()) {
  script <- tempfile(fileext = ".R")
  paths <- paste0(".libPaths(", paste(deparse(.libPaths()), collapse = ""), ")")
  writeLines(c(paths, "library(survtrace)", code), script, useBytes = TRUE)
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script), env = env)
  testthat::expect_equal(status, 0)
}
