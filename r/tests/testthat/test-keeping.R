# Fits that are saved, read by another session, and exchanged with Python.

new <- mgus2[1:4, ]

test_that("another session reads a fit and answers the same to the bit, without torch", {
  skip_without_python()
  offset_of <- local(function(x) x + 1) # a function of the user, in the formula
  fit <- small(Surv(time, event) ~ log(offset_of(age)) + sex + hgb, mgus2, intervals = FALSE)
  paths <- tempfile(c("fit", "new", "answer"), fileext = ".rds")
  saveRDS(fit, paths[1])
  saveRDS(new, paths[2])
  expect_identical(readRDS(paths[1])$files, fit$files)
  other_session(c(
    sprintf("fit <- readRDS('%s')", paths[1]),
    sprintf("saveRDS(predict(fit, readRDS('%s'), times = c(60, 120)), '%s')", paths[2], paths[3]),
    "stopifnot(!reticulate::py_eval(\"'torch' in __import__('sys').modules\"))"
  ))
  expect_identical(readRDS(paths[3]), predict(fit, new, times = c(60, 120)))
})

test_that("a fit keeps nothing of the call but what the formula uses", {
  fit <- local({
    large <- rnorm(1e6)
    power <- 2
    skip_without_python()
    small(Surv(time, event) ~ I(age^power) + sex, mgus2, intervals = FALSE)
  })
  expect_equal(ls(environment(fit$terms)), "power")
  expect_lt(length(serialize(fit, NULL)), 2e6)
  expect_equal(dim(predict(fit, new, times = 60)), c(4, 2, 1))
})

test_that("Python answers the same from the folder", {
  fit <- shared_fit()
  folder <- survtrace_save(fit, tempfile())
  python <- reticulate::import("survtrace.portable")$load(folder)
  row <- list(
    "age" = new$age[1], "sex" = as.character(new$sex[1]), "log(hgb)" = log(new$hgb[1]),
    "creat" = new$creat[1]
  )
  answer <- python$predict_survival_function(list(row), list(60))
  expect_equal(answer$tolist()[[1]][1], predict(fit, new[1, ], times = 60, type = "survival")[[1]])
})

test_that("a folder is read with its formula, and not written over", {
  fit <- shared_fit()
  folder <- survtrace_save(fit, tempfile())
  expect_error(survtrace_save(fit, folder), "exists", class = "survtrace_file_error")
  expect_equal(survtrace_save(fit, folder, overwrite = TRUE), folder)
  expect_error(survtrace_save(fit, tempdir(), overwrite = TRUE), "holds no saved model")
  again <- survtrace_load(folder, ~ age + sex + log(hgb) + creat)
  expect_identical(predict(again, new, times = 60), predict(fit, new, times = 60))
  damaged <- "survtrace_saved_file_error"
  expect_error(survtrace_load(tempfile()), "no saved estimator", class = damaged)
  writeBin(as.raw(0:9), file.path(folder, "tensors.safetensors"))
  expect_error(survtrace_load(folder), "damaged|not what was saved", class = damaged)
})

test_that("an update takes the rows of a new place", {
  fit <- shared_fit()
  updated <- survtrace_update(fit, mgus2, how = "level", subset = time < max(fit$time_grid))
  expect_equal(updated$updates, "level")
  expect_false(identical(predict(updated, new, times = 60), predict(fit, new, times = 60)))
  expect_error(survtrace_update(fit, mgus2, how = "none such"), class = "survtrace_error")
})
