"""An exported model of one number alone is as precise as any other."""

from __future__ import annotations

import numpy as np
import pytest

import fairfront as ff
from tests.support.extras import optional

pd = optional("pandas")

onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")


@pytest.mark.parametrize("labels", [("no", "yes"), ("low", "middle", "yes")])
def test_one_number_alone_keeps_double_precision(labels: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    amount, group = rng.normal(180_000, 100_000, 900), rng.choice(["a", "b"], 900)
    amount[::9] = np.nan
    score = np.nan_to_num(amount, nan=150_000) / 100_000 + rng.normal(size=900) + (group == "a")
    y = np.array(labels)[np.digitize(score, np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1]))]
    frame = pd.DataFrame({"amount": amount, "group": group, "y": y})
    known = {"target": "y", "groups": "group", "favourable": "yes", "n_points": 3, "stability": 0, "progress": False}
    model = ff.trace_table(frame, **known).select(id=1)
    session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    found = session.run(["probabilities"], {"amount": amount[:, None]})[0]
    np.testing.assert_allclose(found, model.predict_proba(frame), rtol=1e-9)
