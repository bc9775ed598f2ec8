package golden;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.util.EnvironmentInformation;

/** Runs a job, restores it from its last checkpoint, and so on, and keeps all checkpoints with what each must hold. */
public final class Chain {
    /** For compactions that a checkpoint's flush began. */
    private static final long COMPACTING = 400;

    private Chain() {}

    /** Arguments: file with one case a line, each restored from the one before; folder where Flink writes; the chain's. */
    public static void main(String[] args) throws Exception {
        Path work = Paths.get(args[1]);
        Path target = Paths.get(args[2]);
        Runner.delete(target);
        Runner.delete(work);
        List<String> checkpoints = new ArrayList<>();
        List<Path> folders = new ArrayList<>();
        for (String line : Files.readAllLines(Paths.get(args[0]), StandardCharsets.UTF_8)) {
            run(new Case(line), work, folders, checkpoints);
        }
        copy(work.resolve("checkpoints"), target, folders);
        String json = "{\"flink_version\": " + Json.quote(EnvironmentInformation.getVersion()) + ", \"checkpoints\": ["
                + String.join(",\n", checkpoints) + "]}\n";
        Files.write(target.resolve("expected.json"), json.getBytes(StandardCharsets.US_ASCII));
        System.exit(0);
    }

    /** Runs the phases of a case, restored from the last folder, with a checkpoint after each. */
    private static void run(Case options, Path work, List<Path> folders, List<String> checkpoints) throws Exception {
        Job job = Job.of(options.job);
        Configuration conf = Runner.configuration(options, work);
        JobGraph graph = Runner.graph(options, job, conf);
        JobID id = graph.getJobID();
        if (!folders.isEmpty()) {
            Runner.restore(graph, conf, folders.get(folders.size() - 1).toUri().toString());
        }
        FeedSource.released = 0;
        MiniClusterConfiguration cluster = new MiniClusterConfiguration.Builder()
                .setConfiguration(conf)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(4)
                .build();
        Path root = work.resolve("checkpoints");
        try (MiniCluster running = new MiniCluster(cluster)) {
            running.start();
            running.submitJob(graph).get();
            for (int phase = options.firstPhase; phase <= options.lastPhase; phase++) {
                Runner.emit(running, id, options, job, phase);
                Path folder = Runner.checkpoint(running, id, root.resolve(id.toString()));
                folders.add(folder);
                List<String> operators = new ArrayList<>();
                for (Model.Operator operator : job.model(options.upTo(phase))) {
                    operators.add(operator.json(options, true));
                }
                checkpoints.add("{\"snapshot\": " + Json.quote(root.relativize(folder).toString())
                        + ", \"operators\": [" + String.join(",\n", operators) + "]}");
                Thread.sleep(COMPACTING);
            }
            running.cancelJob(id).get();
            running.requestJobResult(id).get();
        }
    }

    /** Copies all but checkpoints that the job took by itself. */
    private static void copy(Path from, Path to, List<Path> checkpoints) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.filter(Files::isRegularFile).collect(Collectors.toList())) {
                Path folder = file.getParent();
                if (folder.getFileName().toString().startsWith("chk-") && !checkpoints.contains(folder)) {
                    continue;
                }
                Path copy = to.resolve(from.relativize(file).toString());
                Files.createDirectories(copy.getParent());
                Files.copy(file, copy);
            }
        }
    }
}
