package restore;

import java.io.File;
import java.io.PrintWriter;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.SerializedThrowable;

/**
 * Runs lines of a list, each {@code what cell backend from to}: {@code write} and {@code fresh} keep a canonical savepoint in {@code to},
 * {@code restore} starts the new job from {@code from}. Prints a line of JSON for each.
 */
public final class Runner {
    private Runner() {}

    /** Arguments: the list; folders of the old and new classes; where Flink writes; the file of results. */
    public static void main(String[] args) throws Exception {
        Path work = Paths.get(args[3]);
        Configuration conf = configuration(work, "hashmap");
        MiniClusterConfiguration cluster = new MiniClusterConfiguration.Builder()
                .setConfiguration(conf).setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build();
        try (MiniCluster running = new MiniCluster(cluster); PrintWriter results = new PrintWriter(args[4], "UTF-8")) {
            running.start();
            for (String line : Files.readAllLines(Paths.get(args[0]), StandardCharsets.UTF_8)) {
                String[] words = line.split(" ");
                String classes = words[0].equals("write") ? args[1] : args[2];
                URL url = new File(classes).toURI().toURL();
                try (URLClassLoader loader = new URLClassLoader(new URL[] {url}, Runner.class.getClassLoader())) {
                    results.println(run(running, words, url, loader, work));
                    results.flush();
                }
            }
        }
        System.exit(0);
    }

    private static Configuration configuration(Path work, String backend) {
        Configuration conf = new Configuration();
        conf.setString("state.backend.type", backend);
        conf.setString("execution.checkpointing.dir", work.resolve("checkpoints").toUri().toString());
        conf.setString("execution.checkpointing.data-inline-threshold", "1 mb");
        conf.setString("execution.checkpointing.interval", "1 h");
        conf.setString("taskmanager.memory.network.min", "16m");
        conf.setString("taskmanager.memory.network.max", "16m");
        conf.setString("taskmanager.memory.managed.size", "64m");
        conf.setString("rest.port", "0");
        conf.setString("restart-strategy.type", "none");
        return conf;
    }

    private static String run(MiniCluster cluster, String[] words, URL url, ClassLoader loader, Path work) throws Exception {
        String what = words[0];
        Map<String, String> result = new TreeMap<>();
        result.put("what", quoted(what));
        result.put("cell", quoted(words[1]));
        result.put("backend", quoted(words[2]));
        Thread.currentThread().setContextClassLoader(loader);
        Spec spec = (Spec) loader.loadClass("m." + words[1] + ".Job").getDeclaredConstructor().newInstance();
        Configuration conf = configuration(work, words[2]);
        List<String> classes = new ArrayList<>();
        register(spec.registered(), "pojo", words[1], classes);
        register(spec.registeredWithKryo(), "kryo", words[1], classes);
        if (!classes.isEmpty()) {
            conf.setString("pipeline.serialization-config", "[" + String.join(", ", classes) + "]");
        }
        StreamExecutionEnvironment env = new StreamExecutionEnvironment();
        env.configure(conf, loader);
        env.setParallelism(1);
        env.setMaxParallelism(4);
        resolve(what, spec, env, loader, Paths.get(words[what.equals("restore") ? 3 : 4]), result);
        JobGraph graph = graph(env, spec, what);
        graph.setClasspaths(List.of(url));
        if (what.equals("restore")) {
            graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(words[3], false));
        }
        Op.SEEN.clear();
        JobID id = graph.getJobID();
        cluster.submitJob(graph).get();
        boolean all = false;
        for (int n = 0; n < 3000 && !all && !cluster.getJobStatus(id).get().isGloballyTerminalState(); n++) {
            Thread.sleep(10);
            synchronized (Op.SEEN) {
                all = Op.SEEN.size() == 4;
            }
        }
        JobResult ended = null;
        if (all) {
            try {
                String folder = work.resolve("savepoints").toUri().toString();
                String made = cluster.triggerSavepoint(id, folder, false, SavepointFormatType.CANONICAL).get(30, TimeUnit.SECONDS);
                if (!what.equals("restore")) {
                    Path target = Paths.get(words[4]);
                    Files.createDirectories(target);
                    Files.copy(Paths.get(URI.create(made)).resolve("_metadata"), target.resolve("_metadata"));
                }
                result.put("next", quoted("ok"));
            } catch (Exception e) {
                result.put("next", quoted("failed"));
            }
        }
        if (!cluster.getJobStatus(id).get().isGloballyTerminalState()) {
            cluster.cancelJob(id).get();
        }
        ended = cluster.requestJobResult(id).get(30, TimeUnit.SECONDS);
        if (!all) {
            Throwable cause = ended.getSerializedThrowable().map(t -> t.deserializeError(loader)).orElse(null);
            explain(cause, result);
        }
        StringBuilder seen = new StringBuilder();
        synchronized (Op.SEEN) {
            Op.SEEN.forEach((key, text) -> seen.append(seen.length() == 0 ? "" : ", ").append(quoted(key.toString())).append(": ")
                    .append(quoted(text)));
        }
        result.put("seen", "{" + seen + "}");
        StringBuilder json = new StringBuilder();
        result.forEach((key, text) -> json.append(json.length() == 0 ? "" : ", ").append(quoted(key)).append(": ").append(text));
        return "{" + json + "}";
    }

    private static void register(String names, String type, String cell, List<String> classes) {
        for (String name : names.isEmpty() ? new String[0] : names.split(",")) {
            classes.add("m." + cell + "." + name + ": {type: " + type + "}");
        }
    }

    private static JobGraph graph(StreamExecutionEnvironment env, Spec spec, String what) {
        spec.graph(env, new Op(spec, what.equals("write")));
        return env.getStreamGraph().getJobGraph();
    }

    /** What Flink answers for the types of the state's values and user keys: the answer that changes most. */
    private static void resolve(
            String what, Spec spec, StreamExecutionEnvironment env, ClassLoader loader, Path folder, Map<String, String> result)
            throws Exception {
        List<TypeSerializer<?>> serializers = new ArrayList<>();
        for (TypeInformation<?> type : spec.types()) {
            serializers.add(type.createSerializer(env.getConfig().getSerializerConfig()));
        }
        Path file = folder.resolveSibling(folder.getFileName() + ".serializer");
        if (what.equals("write")) {
            DataOutputSerializer out = new DataOutputSerializer(256);
            for (TypeSerializer<?> serializer : serializers) {
                TypeSerializerSnapshot.writeVersionedSnapshot(out, serializer.snapshotConfiguration());
            }
            Files.createDirectories(folder.getParent());
            Files.write(file, out.getCopyOfBuffer());
        } else if (what.equals("restore")) {
            try {
                DataInputDeserializer old = new DataInputDeserializer(Files.readAllBytes(file));
                int most = 0;
                for (TypeSerializer<?> serializer : serializers) {
                    most = Math.max(most, old.available() == 0 ? 0 : ANSWERS.indexOf(answer(serializer, old, loader)));
                }
                result.put("resolved", quoted(ANSWERS.get(most)));
            } catch (Exception | LinkageError e) {
                result.put("resolved", "null");
            }
        }
    }

    private static final List<String> ANSWERS = List.of("as is", "reconfigured", "after migration", "incompatible");

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static String answer(TypeSerializer serializer, DataInputDeserializer old, ClassLoader loader) throws Exception {
        TypeSerializerSnapshot before = TypeSerializerSnapshot.readVersionedSnapshot(old, loader);
        before.restoreSerializer();
        TypeSerializerSchemaCompatibility found = serializer.snapshotConfiguration().resolveSchemaCompatibility(before);
        return found.isIncompatible() ? "incompatible"
                : found.isCompatibleAfterMigration() ? "after migration"
                : found.isCompatibleWithReconfiguredSerializer() ? "reconfigured" : "as is";
    }

    /** The first cause that says something. */
    private static void explain(Throwable cause, Map<String, String> result) {
        String last = null;
        for (int depth = 0; cause != null && depth < 30; cause = cause.getCause(), depth++) {
            String name = cause instanceof SerializedThrowable
                    ? ((SerializedThrowable) cause).getOriginalErrorClassName() : cause.getClass().getName();
            last = name + ": " + cause.getMessage();
            if (name.contains("StateMigration") || name.contains("IllegalState") || name.endsWith("IOException")
                    && String.valueOf(cause.getMessage()).contains("Could not find class")) {
                break;
            }
        }
        result.put("exception", quoted(last == null ? "nothing was read" : last.lines().findFirst().orElse("")));
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                quoted.append(String.format("\\u%04x", (int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }
}
