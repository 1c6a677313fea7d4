"""The notebooks of examples/notebooks run, each with its own checks, and are stored without outputs."""

from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[4] / "examples/notebooks").glob("*.ipynb"))
assert NOTEBOOKS, "no notebooks in examples/notebooks"

of_each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@of_each
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    # The kernel of this environment, also where the user has another one.
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        book, kernel_name="python3", timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    try:
        client.execute()
    except nbclient.exceptions.CellExecutionError as error:
        failed = [number for number, cell in enumerate(book.cells, 1)
                  if any(output["output_type"] == "error" for output in cell.get("outputs", []))]
        pytest.fail(f"{path.name}, cell {failed[0]}: {error}", pytrace=False)


@of_each
def test_a_notebook_is_stored_without_outputs(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    cells = [(number, cell) for number, cell in enumerate(book.cells, 1) if cell.cell_type == "code"]
    assert cells
    for number, cell in cells:
        assert cell.outputs == [] and cell.execution_count is None, f"{path.name}: clear the outputs of cell {number}"
