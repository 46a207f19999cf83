"""Synthetic answers of OpenML, for tests without a network.

The network is replaced below ``urllib``: requests go through the usual code up to the line that
would open a connection.
"""

from __future__ import annotations

import email.message
import gzip
import hashlib
import io
import json
import urllib.error
import urllib.request
import urllib.response
from contextlib import contextmanager

import numpy as np


def answers(data_id: int, X: np.ndarray, y: np.ndarray) -> dict[str, bytes]:
    """Return the pages of OpenML about a dataset, followed by its ARFF file."""
    classes = sorted({str(label) for label in y})
    lines = ["@RELATION data"]
    lines += [f"@ATTRIBUTE f{i} REAL" for i in range(X.shape[1])]
    lines += [f"@ATTRIBUTE class {{{','.join(classes)}}}", "@DATA"]
    lines += [
        ",".join("?" if np.isnan(value) else repr(float(value)) for value in row) + f",{label}"
        for row, label in zip(X, y, strict=True)
    ]
    arff = ("\n".join(lines) + "\n").encode()
    common = {"is_target": "false", "is_ignore": "false", "is_row_identifier": "false"}
    common |= {"number_of_missing_values": "0"}
    features = [
        {**common, "index": str(i), "name": f"f{i}", "data_type": "numeric"}
        for i in range(X.shape[1])
    ]
    target = {"index": str(X.shape[1]), "name": "class", "data_type": "nominal"}
    features.append({**common, **target, "is_target": "true"})
    file = f"data/v1/download/{data_id}/data.arff"
    description = {
        "id": str(data_id),
        "name": "data",
        "version": "1",
        "description": "synthetic",
        "format": "ARFF",
        "status": "active",
        "url": f"https://www.openml.org/{file}",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    qualities = [{"name": "NumberOfInstances", "value": str(float(len(X)))}]
    pages = {
        f"{data_id}": {"data_set_description": description},
        f"features/{data_id}": {"data_features": {"feature": features}},
        f"qualities/{data_id}": {"data_qualities": {"quality": qualities}},
    }
    encoded = {f"api/v1/json/data/{page}": json.dumps(x).encode() for page, x in pages.items()}
    return {**encoded, file: arff}


class Recorded(urllib.request.BaseHandler):
    """Answers requests from memory and records them; the status of an unknown page is 412."""

    handler_order = 1  # before handlers that open a connection

    def __init__(self, pages: dict[str, bytes], damage=None, zipped: bool = True) -> None:
        self.pages, self.damage, self.zipped, self.requests = pages, damage, zipped, []

    def https_open(self, request):
        path = request.selector.lstrip("/")
        self.requests.append(path)
        headers = email.message.Message()
        content, status = self.pages.get(path, b"{}"), 200 if path in self.pages else 412
        if self.zipped and request.get_header("Accept-encoding") == "gzip":
            headers["Content-Encoding"] = "gzip"
            content = gzip.compress(content)
        if self.damage is not None:
            content = self.damage(path, content)
        answer = urllib.response.addinfourl(io.BytesIO(content), headers, request.full_url, status)
        answer.msg = "recorded"
        return answer


class Offline(urllib.request.BaseHandler):
    """Fails all requests, as without a network."""

    handler_order = 1

    def https_open(self, request):
        raise urllib.error.URLError("Name or service not known")


@contextmanager
def network(handler: urllib.request.BaseHandler):
    """Return a context in which a handler answers every ``urlopen`` of this process."""
    before = urllib.request._opener
    urllib.request.install_opener(urllib.request.build_opener(handler))
    try:
        yield handler
    finally:
        urllib.request.install_opener(before)
