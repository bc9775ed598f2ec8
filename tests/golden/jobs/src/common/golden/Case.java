package golden;

import java.util.HashMap;
import java.util.Map;

/** One snapshot to make, read from one line of generate.py: key=value pairs with tabs between. */
final class Case {
    final String name;
    final String job;

    /** "checkpoint", "native-savepoint" or "canonical-savepoint". */
    final String kind;

    final boolean compression;
    final int parallelism;
    final int maxParallelism;

    /** "file", "inline" (in _metadata) or "merged" (several states in one file, Flink 1.20 and later). */
    final String storage;

    /** "hashmap" or "rocksdb". */
    final String backend;

    /** The case whose snapshot the job is restored from, or null. */
    final String from;

    Case(String line) {
        Map<String, String> options = new HashMap<>();
        for (String pair : line.split("\t")) {
            options.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        name = options.get("name");
        job = options.get("job");
        kind = options.get("kind");
        compression = Boolean.parseBoolean(options.get("compression"));
        parallelism = Integer.parseInt(options.get("parallelism"));
        maxParallelism = Integer.parseInt(options.get("max_parallelism"));
        storage = options.get("storage");
        backend = options.get("backend");
        from = options.get("from");
    }

    /** The phase of input that this run emits; a restored job has seen phase 1 already. */
    int phase() {
        return from == null ? 1 : 2;
    }
}
