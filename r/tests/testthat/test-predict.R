# What predictions look like, and that they are the right ones.

new <- mgus2[c(3, 8, 5), ]

test_that("incidences and survival are named and sum to 1", {
  fit <- shared_fit()
  incidence <- predict(fit, new, times = c(60, 120.5))
  expect_equal(
    dimnames(incidence),
    list(row.names(new), cause = c("pcm", "death"), time = c("60", "120.5"))
  )
  survival <- predict(fit, new, times = c(60, 120.5), type = "survival")
  expect_equal(survival + incidence[, 1, ] + incidence[, 2, ], survival^0)
  expect_equal(predict(fit, new, times = c(60, 120.5), cause = "death"), incidence[, "death", ])
  expect_equal(predict(fit, new, times = c(60, 120.5), cause = 2), incidence[, "death", ])
})

test_that("one row, no row and no times keep their shapes", {
  fit <- shared_fit()
  expect_equal(dim(predict(fit, new[1, ], times = 60)), c(1, 2, 1))
  expect_equal(dim(predict(fit, new[1, ], times = 60, type = "survival")), c(1, 1))
  expect_equal(dim(predict(fit, new[0, ], times = c(60, 120), cause = 1)), c(0, 2))
  expect_length(predict(fit, new[0, ], type = "risk"), 0)
  expect_equal(dim(predict(fit, new)), c(3, 2, length(fit$time_grid)))
})

test_that("a row of times for each subject is read by row", {
  fit <- shared_fit()
  own <- predict(fit, new, times = cbind(c(10, 20, 30), c(60, 70, 80)), type = "survival")
  for (row in 1:3) {
    times <- c(10, 60) + 10 * (row - 1)
    expect_equal(own[row, ], predict(fit, new[row, ], times, "survival")[1, ],
      ignore_attr = TRUE, tolerance = 1e-6
    )
  }
})

test_that("every other kind of answer has a value for each row", {
  fit <- shared_fit()
  median_time <- predict(fit, new, type = "quantile", q = 0.2)[, 1]
  at_median <- diag(predict(fit, new, times = unname(median_time), type = "survival"))
  expect_equal(at_median, rep(0.8, 3), tolerance = 1e-6)
  expect_named(predict(fit, new, type = "risk"), row.names(new))
  rmst <- predict(fit, new, type = "rmst", times = c(60, 120))
  expect_true(all(rmst[, 1] <= 60 & rmst[, 1] < rmst[, 2]))
  own <- predict(fit, new, type = "rmst", times = cbind(c(60, 120, 60)))
  expect_equal(own[, 1], c(rmst[1, 1], rmst[2, 2], rmst[3, 1]), ignore_attr = TRUE)
  expect_true(all(predict(fit, new, type = "typicality") <= 1))
  hazard <- predict(fit, new, times = 60, type = "hazard")
  expect_equal(exp(-rowSums(hazard)), predict(fit, new, times = 60, type = "survival")[, 1])
})

test_that("intervals hold the prediction", {
  fit <- shared_fit()
  found <- predict(fit, new, times = c(60, 120), interval = TRUE)
  expect_named(found, c("fit", "lower", "upper"))
  expect_true(all(found$lower <= found$fit & found$fit <= found$upper))
  wide <- predict(fit, new, times = c(60, 120), interval = TRUE, level = 0.99)
  expect_true(all(wide$lower <= found$lower))
  expect_error(predict(fit, new, type = "risk", interval = TRUE), "interval = TRUE is for")
  expect_error(predict(fit, new, interval = "confidence"), "interval must be TRUE or FALSE")
})

test_that("survivors are conditioned on as the formula says", {
  fit <- shared_fit()
  both <- predict(fit, new, times = c(60, 120), type = "survival")
  after <- predict(fit, new, times = 120, type = "survival", conditional_after = 60)
  expect_equal(after[, 1], both[, 2] / both[, 1], tolerance = 1e-6)
  own <- predict(fit, new, times = 120, type = "survival", conditional_after = c(0, 60, 0))
  expect_equal(own[2, ], after[2, ])
})

test_that("terms are evaluated again on new rows", {
  fit <- shared_fit()
  by_name <- survtrace_load(survtrace_save(fit, tempfile()))
  new[["log(hgb)"]] <- log(new$hgb)
  expect_identical(predict(by_name, new, times = 60), predict(fit, new, times = 60))
  new$hgb <- new$hgb + 1
  expect_false(identical(predict(by_name, new, times = 60), predict(fit, new, times = 60)))
})

test_that("what newdata lacks, and questions that cannot be meant, are refused", {
  fit <- shared_fit()
  refused <- function(words, class = "survtrace_data_error", ...) {
    expect_error(predict(fit, ...), words, class = class)
  }
  hgb <- age <- creat <- 1 # are not looked up outside of newdata
  refused("newdata lacks 'hgb', 'creat'", newdata = new[c("age", "sex")])
  refused("newdata must be a data frame", newdata = 1:3)
  refused("newdata is missing")
  refused("cause must be one of 'pcm', 'death'", newdata = new, cause = "relapse")
  refused("times must be numbers", newdata = new, times = "60")
  refused("times must be numbers; got none", newdata = new, times = numeric())
  refused("zero or more; got -1", newdata = new, times = c(1, -1))
  refused("zero or more; got NA", newdata = new, times = 1, conditional_after = NA_real_)
  refused("one for each of the 3", newdata = new, times = 1, conditional_after = c(1, 2))
  refused("unused argument 'horizon'", "survtrace_setting_error", newdata = new, horizon = 60)
})

test_that("unseen levels and times beyond the grid are warned of", {
  fit <- shared_fit()
  odd <- transform(new, sex = factor("X"))
  expect_warning(predict(fit, odd, times = 60), "not seen in fit.*sex", class = "survtrace_warning")
  expect_warning(predict(fit, new, times = 1e4), "beyond the grid", class = "survtrace_warning")
  expect_true(all(is.nan(predict(fit, new, times = 1e4, extrapolate = "nan"))))
})

test_that("with age as the clock a prediction from the first age on is warned of", {
  skip_without_python()
  flchain <- survival::flchain[1:300, ]
  flchain <- transform(flchain, exit = age + pmax(futime, 1) / 365.25)
  fit <- small(Surv(age, exit, death) ~ sex + kappa, flchain, intervals = FALSE)
  expect_warning(predict(fit, flchain[1:2, ], times = 80), "conditional_after is not given")
  now <- flchain$age[1:2]
  expect_silent(predict(fit, flchain[1:2, ], times = outer(now, 1:2, `+`), conditional_after = now))
})

test_that("start-stop rows are those of subjects", {
  skip_without_python()
  heart <- survival::heart
  fit <- small(Surv(start, stop, event) ~ age + transplant, heart, id = id, intervals = FALSE)
  expect_equal(summary(fit)$n_subjects, length(unique(heart$id)))
  expect_equal(summary(fit)$n_rows, nrow(heart))
})
