package restore;

import java.io.Serializable;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.OperatorStateStore;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A job. Each side of a cell has a class {@code Job} that extends it. */
public abstract class Spec implements Serializable {
    private static final long serialVersionUID = 1L;

    /** The keyed state that the job declares, or null. */
    public State state(RuntimeContext from) throws Exception {
        return null;
    }

    /** The operator state that the job declares, or null. */
    public State state(OperatorStateStore from) throws Exception {
        return null;
    }

    /** The operators, with keys, uids and maximum parallelism. */
    public abstract void graph(StreamExecutionEnvironment env, Op op);

    /** The type of the state's values, then that of its user keys, if it has any. */
    public abstract TypeInformation<?>[] types();

    public abstract Object value(int i);

    public abstract Object userKeyOf(int i);

    /** Classes that the job registers as POJOs, by commas. */
    public abstract String registered();

    /** Classes that the job registers with Kryo, by commas. */
    public abstract String registeredWithKryo();
}
