"""From bytes to Arrow columns by a layout: the compiled kernel and the slow interpreter."""
