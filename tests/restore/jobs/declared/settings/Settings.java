package declared.settings;

import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.typeutils.ListTypeInfo;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.streaming.api.datastream.DataStream;

/** Sets by an option how Flink finds types, and has a type inside of itself. */
abstract class Settings extends RichMapFunction<Long, Long> {
    private static final long serialVersionUID = 1L;

    private TypeInformation<?> type;

    void declare(DataStream<Long> stream) {
        stream.getExecutionEnvironment().configure(new Configuration().set(PipelineOptions.FORCE_KRYO, true));
        stream.keyBy(value -> value);
        type = new ListTypeInfo<>(type);
        getRuntimeContext().getState(new ValueStateDescriptor<>("endless", type));
        getRuntimeContext().getState(new ValueStateDescriptor<>("plain", Types.LONG));
    }
}
