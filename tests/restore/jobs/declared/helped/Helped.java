package declared.helped;

import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;

/** A method sets the TTL of what it is given. */
public abstract class Helped extends RichMapFunction<Long, Long> {
    private static final long serialVersionUID = 1L;

    private static <D extends StateDescriptor<?, ?>> D lasting(D descriptor, StateTtlConfig config) {
        descriptor.enableTimeToLive(config);
        return descriptor;
    }

    void declare(StateTtlConfig config) {
        getRuntimeContext().getState(lasting(new ValueStateDescriptor<>("lasting", Types.LONG), config));
        getRuntimeContext().getListState(new ListStateDescriptor<>("plain", Types.LONG));
    }
}
