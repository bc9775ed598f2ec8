package declared.hidden;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.streaming.api.datastream.DataStream;

/** A selector that says the type of its keys itself. */
final class Keys implements KeySelector<Long, Object>, ResultTypeQueryable<Object> {
    private static final long serialVersionUID = 1L;

    private Keys() {}

    @Override
    public Object getKey(Long value) {
        return value;
    }

    @Override
    @SuppressWarnings({"unchecked", "rawtypes"})
    public TypeInformation<Object> getProducedType() {
        return (TypeInformation) Types.LONG;
    }

    static void graph(DataStream<Long> stream) {
        stream.keyBy(new Keys());
    }
}
