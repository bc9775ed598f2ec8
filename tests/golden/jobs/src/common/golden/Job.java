package golden;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A job and the model of its state. */
interface Job {
    void build(StreamExecutionEnvironment env, Case options);

    List<Model.Operator> model(Case options);

    /** How many sources the job has. */
    default int sources() {
        return 1;
    }

    /** How many of them emit something in a phase. */
    default int sources(int phase) {
        return sources();
    }

    /** The file for the rows of this case, which others share, or null: the rows are with the case. */
    default String sharedRows(Case options) {
        return null;
    }

    /** Puts into the case's folder what else belongs to it. */
    default void keep(Path folder) throws IOException {}

    static Job of(String name) throws ReflectiveOperationException {
        String simple = Character.toUpperCase(name.charAt(0)) + name.substring(1) + "Job";
        return (Job) Class.forName("golden." + simple).getDeclaredConstructor().newInstance();
    }
}
