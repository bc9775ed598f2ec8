package declared.hidden;

import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** Its subclass, a nested class and another class set its fields. */
abstract class Base extends RichMapFunction<Long, Long> {
    private static final long serialVersionUID = 1L;

    static Class<?> shared = Long.class;
    private static Class<?> nested = Long.class;
    private static Class<?> own = Long.class;
    protected TypeInformation<?> type = Types.LONG;

    static final class Setter {
        private Setter() {}

        static void set() {
            nested = Integer.class;
        }
    }

    void declare() {
        getRuntimeContext().getState(new ValueStateDescriptor<>("by-subclass", type));
        getRuntimeContext().getState(new ValueStateDescriptor<>("by-nested", nested));
        getRuntimeContext().getState(new ValueStateDescriptor<>("by-other", shared));
        getRuntimeContext().getState(new ValueStateDescriptor<>("own", own));
    }
}
