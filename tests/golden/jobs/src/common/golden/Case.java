package golden;

import java.util.LinkedHashMap;
import java.util.Map;

/** One snapshot to make, read from one line of generate.py: key=value pairs with tabs between. */
final class Case {
    private static final String FLINK = "flink.";

    private final String line;

    final String name;
    final String job;

    /** "checkpoint", "native-savepoint" or "canonical-savepoint". */
    final String kind;

    final boolean compression;
    final int parallelism;
    final int maxParallelism;

    /** "file", "inline" (in _metadata) or "merged" (several states in one file, Flink 1.20 and later). */
    final String storage;

    /** "hashmap", "rocksdb" or "forst". */
    final String backend;

    /** Where the changelog is written, "filesystem" or "memory", or null if there is none. */
    final String changelog;

    /** The case whose snapshot the job is restored from, or null. */
    final String from;

    /** The phases of input that this run emits. Behind the last the snapshot is taken. */
    final int firstPhase;

    final int lastPhase;

    /** The first phase that a checkpoint is taken behind. */
    final int checkpointsFrom;

    /** Milliseconds to wait in front of the last phase, for what the backend does by itself. */
    final long pause;

    /** More of Flink's options; {@link Runner} fills in folders. */
    final Map<String, String> flinkOptions = new LinkedHashMap<>();

    Case(String line) {
        this.line = line;
        Map<String, String> options = new LinkedHashMap<>();
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
        changelog = options.get("changelog");
        from = options.get("from");
        firstPhase = Integer.parseInt(options.get("first_phase"));
        lastPhase = Integer.parseInt(options.get("last_phase"));
        checkpointsFrom = Integer.parseInt(options.get("checkpoints_from"));
        pause = Long.parseLong(options.get("pause"));
        options.forEach((option, value) -> {
            if (option.startsWith(FLINK)) {
                flinkOptions.put(option.substring(FLINK.length()), value);
            }
        });
    }

    /** The same with another last phase. */
    Case upTo(int phase) {
        return new Case(line.replaceAll("\\blast_phase=\\d+", "last_phase=" + phase));
    }

    /** All phases up to this one have been seen when the snapshot is taken. */
    int phase() {
        return lastPhase;
    }

    /**
     * Whether the snapshot knows of keys whose map is empty. Where each entry of a map is written for itself, nothing is
     * written for them.
     */
    boolean keepsEmptyMaps() {
        return backend.equals("hashmap") && changelog == null && !kind.equals("canonical-savepoint");
    }
}
