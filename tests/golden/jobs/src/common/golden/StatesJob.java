package golden;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A job whose keyed operators are given by specs; one source feeds them all. */
abstract class StatesJob implements Job {
    private final String name;
    private final String feed;

    StatesJob(String name, String feed) {
        this.name = name;
        this.feed = feed;
    }

    abstract List<OperatorSpec> operators();

    OperatorSpec operator(String operator) {
        for (OperatorSpec spec : operators()) {
            if (spec.name.equals(operator)) {
                return spec;
            }
        }
        throw new IllegalArgumentException(operator);
    }

    @Override
    @SuppressWarnings("unchecked")
    public void build(StreamExecutionEnvironment env, Case options) {
        DataStream<Event> events = source(env, feed, options);
        for (OperatorSpec spec : operators()) {
            SingleOutputStreamOperator<Void> operator = events
                    .keyBy(new Key(name, spec.name), (TypeInformation<Object>) spec.keyType)
                    .process(new StatesFunction(name, spec.name), Types.VOID)
                    .name(spec.name);
            if (spec.uid != null) {
                operator.uid(spec.uid);
            }
        }
        more(env, events, options);
    }

    /** Operators that specs cannot describe. */
    void more(StreamExecutionEnvironment env, DataStream<Event> events, Case options) {}

    @Override
    public List<Model.Operator> model(Case options) {
        List<Model.Operator> out = new ArrayList<>();
        out.add(new Model.Operator(feed, "Source: " + feed, 1));
        for (OperatorSpec spec : operators()) {
            out.add(spec.model(
                    Feeds.seen(feed, options.phase()), options.parallelism, Feeds.watermark(feed, options.phase())));
        }
        return out;
    }

    static DataStream<Event> source(StreamExecutionEnvironment env, String feed, Case options) {
        return env.addSource(new FeedSource(feed, options.firstPhase, options.lastPhase), feed, Types.POJO(Event.class))
                .setParallelism(1)
                .uid(feed);
    }

    /** Looks its function up by name, so that specs need not be serializable. */
    static final class Key implements KeySelector<Event, Object> {
        private static final long serialVersionUID = 1L;
        private final String job;
        private final String operator;
        private transient OperatorSpec spec;

        Key(String job, String operator) {
            this.job = job;
            this.operator = operator;
        }

        @Override
        public Object getKey(Event event) throws Exception {
            if (spec == null) {
                spec = ((StatesJob) Job.of(job)).operator(operator);
            }
            return spec.key.apply(event);
        }
    }
}
