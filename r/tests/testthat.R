library(testthat)
library(survtrace)

test_check("survtrace")
