# Cox with late entry and start-stop rows by R's survival, Breslow's ties: writes cox_entry.json.
# Rscript cox_entry.R   (in this folder)
library(survival)

of_rows <- function(formula, rows, times) {
  fit <- coxph(formula, rows, model = TRUE, x = TRUE, ties = "breslow",
               control = coxph.control(eps = 1e-14, toler.chol = 1e-15, iter.max = 100))
  base <- basehaz(fit, centered = FALSE)
  list(coefficients = as.numeric(coef(fit)), times = times,
       hazard = as.numeric(stepfun(base$time, c(0, base$hazard))(times)),
       log_likelihood = fit$loglik[2])
}

hearts <- transform(heart, transplant = as.numeric(transplant == "1"))
ages <- transform(mgus2, event = ifelse(pstat == 1, 1, 2 * death), male = as.numeric(sex == "M"),
                  stop = (12 * age + ifelse(pstat == 1, ptime, futime)) / 12, year = dxyr - 1980)
found <- list(
  heart = of_rows(Surv(start, stop, event) ~ age + year + surgery + transplant, hearts,
                 c(10, 100, 500)),
  mgus_age_1 = of_rows(Surv(age, stop, event == 1) ~ year + male, ages, c(60, 70, 80, 90)),
  mgus_age_2 = of_rows(Surv(age, stop, event == 2) ~ year + male, ages, c(60, 70, 80, 90)),
  versions = list(R = as.character(getRversion()), survival = as.character(packageVersion("survival")))
)
writeLines(jsonlite::toJSON(found, digits = NA, auto_unbox = TRUE, pretty = TRUE), "cox_entry.json")
