"""Where bytes come from: filesystems, finding and opening files, compression, and a cursor over bytes."""
