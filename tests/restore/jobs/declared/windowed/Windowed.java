package declared.windowed;

import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** States of each window, and of all. */
public final class Windowed extends ProcessWindowFunction<Long, Long, String, TimeWindow> {
    private static final long serialVersionUID = 1L;

    @Override
    public void process(String key, Context context, Iterable<Long> numbers, Collector<Long> out) throws Exception {
        context.windowState().getState(new ValueStateDescriptor<>("of-window", Long.class)).update(1L);
        context.globalState().getState(new ValueStateDescriptor<>("of-all", Long.class)).update(1L);
    }
}
