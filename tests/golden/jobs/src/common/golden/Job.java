package golden;

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

    static Job of(String name) throws ReflectiveOperationException {
        String simple = Character.toUpperCase(name.charAt(0)) + name.substring(1) + "Job";
        return (Job) Class.forName("golden." + simple).getDeclaredConstructor().newInstance();
    }
}
