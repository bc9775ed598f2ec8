package golden;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Runs each case of a list in a cluster of its own and keeps the snapshot and what it must hold. */
public final class Runner {
    private Runner() {}

    /** Arguments: file with one case a line; folder where Flink writes; folder that gets the cases. */
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Paths.get(args[0]), StandardCharsets.UTF_8)) {
            run(new Case(line), Paths.get(args[1]), Paths.get(args[2]));
        }
        System.exit(0);
    }

    private static void run(Case options, Path work, Path data) throws Exception {
        Path folder = work.resolve(options.name);
        delete(folder);
        Configuration conf = configuration(options, folder);
        Job job = Job.of(options.job);
        JobGraph graph = graph(options, job, conf);
        JobID id = graph.getJobID();
        if (options.from != null) {
            Files.createDirectories(folder);
            Files.write(folder.resolve("from"), options.from.getBytes(StandardCharsets.UTF_8));
            byte[] path = Files.readAllBytes(work.resolve(options.from).resolve("snapshot"));
            restore(graph, conf, new String(path, StandardCharsets.UTF_8));
        }
        FeedSource.released = 0;
        MiniClusterConfiguration cluster = new MiniClusterConfiguration.Builder()
                .setConfiguration(conf)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(4)
                .build();
        try (MiniCluster running = new MiniCluster(cluster)) {
            running.start();
            running.submitJob(graph).get();
            Path checkpoints = folder.resolve("checkpoints").resolve(id.toString());
            for (int phase = options.firstPhase; phase < options.lastPhase; phase++) {
                emit(running, id, options, job, phase);
                if (phase >= options.checkpointsFrom) {
                    checkpoint(running, id, checkpoints);
                }
            }
            Thread.sleep(options.pause);
            emit(running, id, options, job, options.lastPhase);
            Path snapshot = options.kind.equals("checkpoint")
                    ? checkpoint(running, id, checkpoints)
                    : savepoint(running, id, folder.resolve("savepoints"), options.kind);
            keep(options, snapshot, work, data.resolve(options.name), job);
            Files.write(folder.resolve("snapshot"), snapshot.toUri().toString().getBytes(StandardCharsets.UTF_8));
            running.cancelJob(id).get();
            running.requestJobResult(id).get();
        }
        System.out.println(options.name);
    }

    /** Lets the job begin with a snapshot. */
    static void restore(JobGraph graph, Configuration conf, String snapshot) {
        Configuration restore = new Configuration(conf);
        restore.setString("execution.savepoint.path", snapshot);
        restore.setString("execution.state-recovery.path", snapshot);
        graph.setSavepointRestoreSettings(SavepointRestoreSettings.fromConfiguration(restore));
    }

    /** The job, under an id that follows from the case's name. */
    static JobGraph graph(Case options, Job job, Configuration conf) {
        StreamExecutionEnvironment env = new StreamExecutionEnvironment();
        env.configure(conf, Runner.class.getClassLoader());
        env.setParallelism(options.parallelism);
        env.setMaxParallelism(options.maxParallelism);
        env.getConfig().setUseSnapshotCompression(options.compression);
        job.build(env, options);
        JobGraph graph = env.getStreamGraph().getJobGraph();
        graph.setJobID(new JobID(options.name.hashCode() * 0x9E3779B97F4A7C15L, options.name.hashCode()));
        return graph;
    }

    /** Lets the sources emit a phase of their input, and waits until they have. */
    static void emit(MiniCluster cluster, JobID id, Case options, Job job, int phase) throws Exception {
        FeedSource.emitted = new CountDownLatch(job.sources(phase));
        FeedSource.released = phase;
        if (!FeedSource.emitted.await(60, TimeUnit.SECONDS)) {
            cluster.requestJobResult(id).get(1, TimeUnit.SECONDS).getSerializedThrowable().ifPresent(Throwable::printStackTrace);
            throw new IllegalStateException(options.name + ": the job does not run");
        }
    }

    /** Options changed their names over time: each is set under all its names. */
    static Configuration configuration(Case options, Path folder) {
        Configuration conf = new Configuration();
        String checkpoints = folder.resolve("checkpoints").toUri().toString();
        conf.setString("state.backend", options.backend);
        conf.setString("state.backend.type", options.backend);
        conf.setString("state.checkpoints.dir", checkpoints);
        conf.setString("execution.checkpointing.dir", checkpoints);
        conf.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        conf.setString("state.checkpoints.num-retained", "100");
        conf.setString("execution.checkpointing.num-retained", "100");
        conf.setString("execution.checkpointing.interval", Runner.triggersCheckpoints() ? "1 h" : "300 ms");
        String threshold = options.storage.equals("inline") ? "1 mb" : "0 b";
        conf.setString("state.storage.fs.memory-threshold", threshold);
        conf.setString("execution.checkpointing.data-inline-threshold", threshold);
        if (options.storage.equals("merged")) {
            conf.setString("execution.checkpointing.file-merging.enabled", "true");
        }
        conf.setString("pipeline.generic-types", "false");
        conf.setString("pipeline.registered-pojo-types", "golden.Circle");
        conf.setString("pipeline.serialization-config", "[golden.Circle: {type: pojo}]");
        conf.setString("taskmanager.memory.network.min", "16m");
        conf.setString("taskmanager.memory.network.max", "16m");
        conf.setString("taskmanager.memory.managed.size", "16m");
        options.flinkOptions.forEach((option, value) -> conf.setString(option, value.replace("{checkpoints}", checkpoints)));
        conf.setString("rest.port", "0");
        conf.setString("restart-strategy", "none");
        conf.setString("restart-strategy.type", "none");
        return conf;
    }

    private static Method method(String name, int parameters) {
        for (Method method : MiniCluster.class.getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == parameters) {
                return method;
            }
        }
        return null;
    }

    /** Flink 1.13 takes no checkpoints on demand. */
    static boolean triggersCheckpoints() {
        return method("triggerCheckpoint", 1) != null;
    }

    /** Takes a checkpoint of everything that the sources emitted; gives its folder. */
    static Path checkpoint(MiniCluster cluster, JobID id, Path folder) throws Exception {
        if (triggersCheckpoints()) {
            return await(() -> (CompletableFuture<?>) method("triggerCheckpoint", 1).invoke(cluster, id));
        }
        // A checkpoint whose folder does not exist yet will start behind the last event; it is complete when the next
        // one has begun, but not yet when its _metadata can be seen.
        int seen = checkpoints(folder).stream().mapToInt(Runner::number).max().orElse(0);
        for (int i = 0; i < 600; i++) {
            List<Path> later = checkpoints(folder).stream()
                    .filter(chk -> number(chk) > seen)
                    .sorted(Comparator.comparing(Runner::number))
                    .collect(Collectors.toList());
            if (later.size() > 1 && Files.exists(later.get(0).resolve("_metadata"))) {
                return later.get(0);
            }
            Thread.sleep(50);
        }
        throw new IllegalStateException("no checkpoint in " + folder);
    }

    private static List<Path> checkpoints(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().startsWith("chk-")).collect(Collectors.toList());
        }
    }

    static int number(Path chk) {
        return Integer.parseInt(chk.getFileName().toString().substring("chk-".length()));
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static Path savepoint(MiniCluster cluster, JobID id, Path folder, String kind) throws Exception {
        if (method("triggerSavepoint", 4) == null) {
            return await(() -> (CompletableFuture<?>) method("triggerSavepoint", 3)
                    .invoke(cluster, id, folder.toUri().toString(), false));
        }
        Class format = Class.forName("org.apache.flink.core.execution.SavepointFormatType");
        return await(() -> (CompletableFuture<?>) method("triggerSavepoint", 4)
                .invoke(cluster, id, folder.toUri().toString(), false,
                        Enum.valueOf(format, kind.startsWith("native") ? "NATIVE" : "CANONICAL")));
    }

    private interface Trigger {
        CompletableFuture<?> run() throws Exception;
    }

    /** A snapshot is refused while some task is not yet running; those of Scala compile code for a while. */
    private static Path await(Trigger trigger) throws Exception {
        for (int i = 0; ; i++) {
            try {
                return Paths.get(URI.create((String) trigger.run().get(60, TimeUnit.SECONDS)));
            } catch (ExecutionException e) {
                if (i == 400) {
                    throw e;
                }
                Thread.sleep(100);
            }
        }
    }

    /** Copies a snapshot and the files that it names, which may be other jobs' if it was restored from theirs. */
    private static void keep(Case options, Path snapshot, Path work, Path target, Job job) throws Exception {
        delete(target);
        Path metadata = snapshot.resolve("_metadata");
        String names = new String(Files.readAllBytes(metadata), StandardCharsets.ISO_8859_1);
        String relative = null;
        for (Path root : roots(work, options)) {
            if (snapshot.startsWith(root)) {
                relative = root.relativize(snapshot).toString();
            }
            try (Stream<Path> files = Files.walk(root)) {
                for (Path file : files.filter(Files::isRegularFile).collect(Collectors.toList())) {
                    String name = file.getFileName().toString();
                    if (file.equals(metadata) || !name.equals("_metadata") && names.contains(name)) {
                        Path copy = target.resolve(root.relativize(file).toString());
                        Files.createDirectories(copy.getParent());
                        Files.copy(file, copy);
                    }
                }
            }
        }
        List<Model.Operator> operators = job.model(options);
        String rows = job.sharedRows(options);
        if (rows != null) {
            Files.write(target.resolveSibling(rows), Model.rowsJson(operators).getBytes(StandardCharsets.US_ASCII));
        }
        String json = Model.json(options, EnvironmentInformation.getVersion(), relative, operators, rows);
        Files.write(target.resolve("expected.json"), json.getBytes(StandardCharsets.US_ASCII));
        job.keep(target);
    }

    /** Where the checkpoints and savepoints are of a case and of those that it was restored from. */
    private static List<Path> roots(Path work, Case options) throws IOException {
        List<Path> roots = new ArrayList<>();
        for (String name = options.name; name != null; ) {
            for (String kind : Arrays.asList("checkpoints", "savepoints")) {
                Path root = work.resolve(name).resolve(kind);
                if (Files.isDirectory(root)) {
                    roots.add(root);
                }
            }
            Path from = work.resolve(name).resolve("from");
            name = Files.exists(from) ? new String(Files.readAllBytes(from), StandardCharsets.UTF_8) : null;
        }
        return roots;
    }

    static void delete(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
                    Files.delete(file);
                }
            }
        }
    }
}
