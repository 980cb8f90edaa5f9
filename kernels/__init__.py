"""Name guard: the folder `kernels/` is imported as `ocrcli.kernels` and nothing else."""

if __name__ != "ocrcli.kernels":
    raise ImportError("import this package as ocrcli.kernels")
