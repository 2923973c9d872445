# mainstay from R through reticulate: fit, probabilities, which labels look wrong, save.
#
#   RETICULATE_PYTHON=/path/to/python Rscript examples/from_r.R
library(reticulate)
mainstay <- import("mainstay")
datasets <- import("mainstay.datasets")

demo <- datasets$load_demo(return_X_y = TRUE)
x <- scale(demo[[1]])                       # an R matrix; R's scale() standardises it
y <- ifelse(demo[[2]] == 1, "malignant", "benign")

ridge <- mainstay$PenalizedClassifier(penalty = "l2", alpha = "cv")
ridge$fit(x, y)
cat(sprintf("alpha %.3g, proven gap %.1e\n", ridge$alpha_, ridge$dual_gap_))

probabilities <- ridge$predict_proba(x[1:3, ])
colnames(probabilities) <- ridge$classes_
print(round(probabilities, 3))

# Positions count from 0 in Python and from 1 in R.
robust <- mainstay$RobustLogisticRegression(wrong_labels = 0.05)
robust$fit(x, y)
doubtful <- order(robust$label_posterior_)[1:5]
cat("least certain labels, rows of R:", doubtful, "\n")

model <- file.path(tempdir(), "model.json")
mainstay$save(ridge, model)
again <- mainstay$load(model)
stopifnot(identical(again$predict(x), ridge$predict(x)))
cat("saved and read again: same predictions\n")
