package declared.named;

import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;

/** The name of a state is computed, and so are a key and a maximum parallelism. */
public abstract class Named extends RichMapFunction<Long, Long> {
    private static final long serialVersionUID = 1L;

    void declare(String name, boolean longs) {
        getRuntimeContext().getState(new ValueStateDescriptor<>("fixed", longs ? Types.LONG : Types.LONG));
        getRuntimeContext().getState(new ValueStateDescriptor<>("state-" + name, Types.LONG));
    }

    static void graph(DataStream<Long> numbers, org.apache.flink.api.java.functions.KeySelector<Long, Long> selector, int most) {
        numbers.keyBy(selector).map(number -> number).setMaxParallelism(most);
    }
}
