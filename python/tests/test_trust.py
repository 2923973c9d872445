"""Summaries of models and trust in single predictions."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mainstay
from mainstay import ConicSVC, PenalizedClassifier
from mainstay.datasets import load_demo


@pytest.fixture(scope="module")
def demo():
    return load_demo(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def model(demo):
    X, y = demo
    return PenalizedClassifier(normalize=True, alpha=0.05).fit(X[:400], y[:400])


def test_a_summary_has_weights_per_standard_deviation_and_odds_ratios(demo, model):
    table = model.summary().coefficients
    assert list(table["feature"]) == list(demo[0].columns)
    np.testing.assert_array_equal(table["weight"], model.coef_[0])
    deviations = demo[0][:400].to_numpy().std(axis=0)
    np.testing.assert_allclose(table["per_sd"], model.coef_[0] * deviations, rtol=1e-9)
    np.testing.assert_allclose(table["odds_ratio"], np.exp(model.coef_[0]))


def test_a_summary_reads_well_everywhere(model, tmp_path):
    summary = model.summary()
    assert "400 rows" in str(summary)
    assert "no weights can be better by more than" in str(summary)
    assert "| (intercept) |" in summary.to_markdown()
    page = summary._repr_html_()
    assert "<caption>log odds of" in page
    assert page.count("<table>") == page.count("</table>") == 2
    assert len(summary.plot(top=5).get_yticks()) == 5
    mainstay.save(model, tmp_path / "m.json")
    assert "says the file" in str(mainstay.load(tmp_path / "m.json").summary())


def test_names_that_look_like_markup_stay_text():
    import pandas as pd

    X = pd.DataFrame({"<b>x</b>": [0.0, 1.0, 2.0, 3.0]})
    page = PenalizedClassifier().fit(X, [0, 0, 1, 1]).summary()._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_bootstrap_intervals_need_and_use_the_training_rows(demo, model):
    X, y = demo
    with pytest.raises(ValueError, match="go together"):
        model.summary(n_bootstrap=50)
    table = model.summary(X[:400], y[:400], n_bootstrap=40).coefficients
    assert (table["low"] <= table["high"]).all()
    assert table["same_sign"].between(0, 1).all()
    largest = table.iloc[table["per_sd"].abs().argmax()]
    assert largest["low"] < largest["weight"] < largest["high"]
    assert largest["same_sign"] == 1.0


def test_a_kernel_model_says_that_it_holds_training_rows(demo):
    X, y = demo
    model = ConicSVC(kernel="rbf").fit(StandardScaler().fit_transform(X)[:80], y[:80])
    content = model.summary().to_dict()
    assert "rows" in content["training_rows"]
    assert content["coefficients"] == []
    with pytest.raises(ValueError, match="no weights"):
        model.summary().plot()


def test_trust_finds_strange_rows_and_is_right_more_often_where_it_stands(demo, model):
    X, y = demo
    found = mainstay.trust(model, X[400:], y=y[400:])
    assert found.index.equals(X.index[400:])
    accuracy = model.score(X[400:], y[400:])
    assert found.attrs["accuracy"] >= accuracy
    assert 0.5 < found.attrs["coverage"] < 1.0
    strange = X[400:402].copy()
    strange.iloc[0, 3] = 1e6
    odd = mainstay.trust(model, strange)
    assert odd["verdict"].iloc[0] == "unlike the training data"
    assert X.columns[3] in odd["outside"].iloc[0]


def test_flip_distances_are_those_of_certify_in_standard_deviations(demo, model):
    X, _ = demo
    found = mainstay.trust(model, X[400:])
    deviations = X[:400].to_numpy().std(axis=0)
    scores = np.abs(model.decision_function(X[400:]))
    np.testing.assert_allclose(
        found["flip_sd"], scores / np.linalg.norm(model.coef_[0] * deviations), rtol=1e-9
    )
    errors = mainstay.trust(model, X[400:], errors=0.1 * deviations)
    np.testing.assert_allclose(errors["flip_error"], 10 * found["flip_sd"], rtol=1e-9)


def test_training_rows_add_refits_and_p_values(demo, model):
    X, y = demo
    found = mainstay.trust(model, X[400:], X_train=X[:400], y_train=y[:400], n_refits=30)
    assert (found["probability_low"] <= found["probability_high"]).all()
    columns = [f"p_{name}" for name in model.classes_]
    p = found[columns].to_numpy()
    assert ((p > 0) & (p <= 1)).all()
    # Of rows of the same kind about 10 % have their own class ruled out at 10 %.
    own = p[np.arange(len(p)), np.searchsorted(model.classes_, y[400:])]
    assert np.mean(own <= 0.1) < 0.25
    again = mainstay.trust(model, X[400:], X_train=X[:400], y_train=y[:400], n_refits=30, n_jobs=2)
    assert found.equals(again)


def test_refits_take_the_weights_of_the_training_rows(demo):
    X, y = demo
    weight = np.arange(300) % 3
    model = PenalizedClassifier(normalize=True).fit(X[:300], y[:300], weight)
    known = {"X_train": X[:300], "y_train": y[:300], "n_refits": 20}
    found = mainstay.trust(model, X[400:], **known, sample_weight=weight)
    plain = mainstay.trust(model, X[400:], **known)
    assert not found["probability_low"].equals(plain["probability_low"])
    # Rows of weight 0 are as good as absent, to the last bit.
    here = weight > 0
    known = {"X_train": X[:300][here], "y_train": y[:300][here], "n_refits": 20}
    without = mainstay.trust(model, X[400:], **known, sample_weight=weight[here])
    assert found.equals(without)
    summary = model.summary(X[:300], y[:300], sample_weight=weight, n_bootstrap=20)
    again = model.summary(X[:300][here], y[:300][here], sample_weight=weight[here], n_bootstrap=20)
    assert summary.coefficients.equals(again.coefficients)
    with pytest.raises(ValueError, match="no rows to weigh"):
        mainstay.trust(model, X[400:], sample_weight=weight)


def test_abstaining_leaves_answers_empty(demo, model):
    X, _ = demo
    found = mainstay.trust(model, X[400:], abstain=True)
    empty = np.array([value is None for value in found["predicted"]])
    np.testing.assert_array_equal(empty, found["verdict"] != "stands")


def test_pipelines_are_judged_at_their_last_step(demo):
    X, y = demo
    pipe = make_pipeline(StandardScaler(), PenalizedClassifier()).fit(X[:400], y[:400])
    found = mainstay.trust(pipe, X[400:])
    assert len(found) == len(X) - 400
    with pytest.raises(ValueError, match="only classifiers of mainstay"):
        mainstay.trust(StandardScaler().fit(X), X)
