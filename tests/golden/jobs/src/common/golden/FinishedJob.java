package golden;

import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.VOID;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A job of which parts have finished: a source, the operator that read from nothing else, and one of two subtasks of
 * another source. What also read from the source that goes on has the state of all that it saw.
 */
final class FinishedJob implements Job {
    @Override
    public int sources(int phase) {
        return phase == 1 ? 3 : 1;
    }

    @Override
    public void build(StreamExecutionEnvironment env, Case options) {
        DataStream<Event> lasting = StatesJob.source(env, "small", options);
        DataStream<Event> ending = ending(env, "rules", 1);
        DataStream<Event> partly = ending(env, "changing-rules", 2);
        ending.keyBy(e -> e.name, STRING).map(new CountFunction()).returns(VOID).uid("finished").name("finished");
        lasting.keyBy(e -> e.name, STRING).connect(ending.union(partly).keyBy(e -> e.name, STRING))
                .map(new CountFunction()).returns(VOID).uid("going-on").name("going on");
    }

    private static DataStream<Event> ending(StreamExecutionEnvironment env, String feed, int parallelism) {
        return env.addSource(new EndingSource(feed), feed, Types.POJO(Event.class))
                .setParallelism(parallelism)
                .uid(feed);
    }

    @Override
    public List<Model.Operator> model(Case options) {
        List<Event> events = new ArrayList<>(Feeds.seen("small", options.phase()));
        events.addAll(Feeds.events("rules", 1));
        events.addAll(Feeds.events("changing-rules", 1));
        Map<String, Long> counts = new LinkedHashMap<>();
        events.forEach(event -> counts.merge(event.name, 1L, Long::sum));
        Model.State count = new Model.State(CountFunction.COUNT, "VALUE");
        counts.forEach((name, n) -> count.rows.add(new Model.Row(name, null, n)));
        Model.Operator goingOn = new Model.Operator("going-on", "going on", options.parallelism);
        goingOn.states.add(count);
        return Arrays.asList(
                new Model.Operator("small", "Source: small", 1),
                goingOn,
                new Model.Operator("rules", "Source: rules", 1).finished(0),
                new Model.Operator("finished", "finished", options.parallelism).finished(0, 1),
                new Model.Operator("changing-rules", "Source: changing-rules", 2).finished(0));
    }
}
