package golden;

import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.util.Collector;

/** Two broadcast states that win, change and lose entries, in an operator without keys. */
public class ChangingRulesFunction extends BroadcastProcessFunction<Event, Event, Void> {
    private static final long serialVersionUID = 1L;

    @Override
    public void processElement(Event event, ReadOnlyContext context, Collector<Void> out) {}

    @Override
    public void processBroadcastElement(Event rule, Context context, Collector<Void> out) throws Exception {
        if (removes(rule)) {
            context.getBroadcastState(RulesFunction.LIMITS).remove(rule.name);
        } else {
            context.getBroadcastState(RulesFunction.LIMITS).put(rule.name, rule.number);
        }
        context.getBroadcastState(RulesFunction.RULES).put((int) rule.number % 4, rule);
    }

    static boolean removes(Event rule) {
        return rule.number % 3 == 2;
    }
}
