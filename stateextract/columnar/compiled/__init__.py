"""Machine code: what compiled kernels are made of, where their code is kept, and which decoder reads."""
