package restore;

import java.io.Serializable;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** What a job declares. Each side of a cell has a class {@code Job} that extends it. */
public abstract class Spec implements Serializable {
    private static final long serialVersionUID = 1L;

    public abstract TypeInformation<?> type();

    public Object value(int i) {
        return null;
    }

    public String name() {
        return "s";
    }

    /** value, list, map, reducing, oplist, union, broadcast or none. */
    public String kind() {
        return "value";
    }

    public TypeInformation<?> userKey() {
        return Types.INT;
    }

    public Object userKeyOf(int i) {
        return i;
    }

    public TypeInformation<?> key() {
        return Types.INT;
    }

    public Object keyOf(int i) {
        return i;
    }

    public String uid() {
        return "op";
    }

    public int maxParallelism() {
        return 4;
    }

    public int ttlHours() {
        return 0;
    }

    /** Classes that the job registers as POJOs, by commas. */
    public String registered() {
        return "";
    }

    /** Classes that the job registers with Kryo, by commas. */
    public String registeredWithKryo() {
        return "";
    }
}
