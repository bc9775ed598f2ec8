package golden;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Base64;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointStatsSnapshot;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.state.RetrievableStateHandle;
import org.apache.flink.util.InstantiationUtil;

/** Runs a job in a cluster with high availability, which dies; and says what Flink's own classes read in its store. */
public final class HighAvailability {
    private HighAvailability() {}

    /** First argument: what to do; then the case, and the folder where Flink writes. */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("describe")) {
            describe();
            return;
        }
        Case options = new Case(args[1]);
        Path folder = Paths.get(args[2]).resolve(options.name);
        Configuration conf = Runner.configuration(options, folder);
        JobGraph graph = Runner.graph(options, Job.of(options.job), conf);
        MiniCluster cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(conf)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(4)
                .build());
        cluster.start();
        if (args[0].equals("run")) {
            run(cluster, options, graph, folder);
        } else {
            System.out.println("restored " + restored(cluster, graph.getJobID()));
        }
        System.out.flush();
        // As a machine that fails: nothing is taken back.
        Runtime.getRuntime().halt(0);
    }

    private static void run(MiniCluster cluster, Case options, JobGraph graph, Path folder) throws Exception {
        Job job = Job.of(options.job);
        JobID id = graph.getJobID();
        FeedSource.released = 0;
        cluster.submitJob(graph).get();
        Path checkpoints = folder.resolve("checkpoints").resolve(id.toString());
        for (int phase = options.firstPhase; phase <= options.lastPhase; phase++) {
            Runner.emit(cluster, id, options, job, phase);
            if (phase >= options.checkpointsFrom) {
                Runner.checkpoint(cluster, id, checkpoints);
            }
        }
        if (!options.kind.equals("checkpoint")) {
            Runner.savepoint(cluster, id, folder.resolve("savepoints"), options.kind);
        }
        System.out.println("job " + id);
    }

    /** The checkpoint that a new cluster on the same data restored the job from. */
    private static long restored(MiniCluster cluster, JobID id) throws Exception {
        for (int i = 0; i < 600; i++) {
            try {
                CheckpointStatsSnapshot stats = cluster.getExecutionGraph(id).get().getCheckpointStatsSnapshot();
                if (stats != null && stats.getLatestRestoredCheckpoint() != null) {
                    return stats.getLatestRestoredCheckpoint().getCheckpointId();
                }
            } catch (Exception e) {
                // The job has not been recovered yet.
            }
            Thread.sleep(100);
        }
        throw new IllegalStateException("the job was not restored");
    }

    /**
     * Reads lines of Base64, each an entry as ZooKeeper has it, and prints what Flink reads there: a JSON object, and with
     * flink-kubernetes the entry as a ConfigMap has it, and that of an entry that is being removed.
     */
    @SuppressWarnings("unchecked")
    private static void describe() throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        ClassLoader loader = HighAvailability.class.getClassLoader();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            RetrievableStateHandle<CompletedCheckpoint> handle =
                    InstantiationUtil.deserializeObject(Base64.getDecoder().decode(line), loader);
            CompletedCheckpoint found = handle.retrieveState();
            System.out.println("{\"id\": " + found.getCheckpointID()
                    + ", \"job_id\": \"" + found.getJobId() + "\""
                    + ", \"triggered\": " + found.getTimestamp()
                    + ", \"completed\": " + completed(found)
                    + ", \"is_savepoint\": " + found.getProperties().isSavepoint()
                    + ", \"operators\": " + found.getOperatorStates().size()
                    + ", \"external_pointer\": \"" + found.getExternalPointer() + "\""
                    + ", \"metadata_size\": " + found.getMetadataHandle().getStateSize()
                    + kubernetes(handle, loader) + "}");
        }
    }

    /** Until 1.13 there was a duration instead. */
    private static long completed(CompletedCheckpoint found) throws Exception {
        try {
            return (long) CompletedCheckpoint.class.getMethod("getCompletionTimestamp").invoke(found);
        } catch (NoSuchMethodException e) {
            return found.getTimestamp() + (long) CompletedCheckpoint.class.getMethod("getDuration").invoke(found);
        }
    }

    private static String kubernetes(RetrievableStateHandle<?> handle, ClassLoader loader) throws Exception {
        Class<?> store;
        try {
            store = Class.forName("org.apache.flink.kubernetes.highavailability.KubernetesStateHandleStore"
                    + "$StateHandleWithDeleteMarker", false, loader);
        } catch (ClassNotFoundException e) {
            return "";
        }
        Constructor<?> make = store.getDeclaredConstructor(RetrievableStateHandle.class);
        make.setAccessible(true);
        Method delete = store.getDeclaredMethod("toDeleting");
        delete.setAccessible(true);
        Object entry = make.newInstance(handle);
        return ", \"config_map\": \"" + base64(entry) + "\", \"deleting\": \"" + base64(delete.invoke(entry)) + "\"";
    }

    private static String base64(Object value) throws Exception {
        return Base64.getEncoder().encodeToString(InstantiationUtil.serializeObject(value));
    }
}
