package golden;

import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.agents.api.AgentsExecutionEnvironment;
import org.apache.flink.agents.api.Event;
import org.apache.flink.agents.api.InputEvent;
import org.apache.flink.agents.api.OutputEvent;
import org.apache.flink.agents.api.agents.Agent;
import org.apache.flink.agents.api.annotation.Action;
import org.apache.flink.agents.api.context.MemoryObject;
import org.apache.flink.agents.api.context.RunnerContext;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.SourceFunction;

/** An agent that sees the numbers 0 to 19, the number n for the key n % 4, and keeps values of several types in its memory. */
public class AgentsJob {
  static final int NUMBERS = 20;
  static final AtomicInteger SEEN = new AtomicInteger();

  /** The agent. */
  public static class Remembering extends Agent {
    @Action(listenEvents = {InputEvent.class})
    public static void remember(Event event, RunnerContext context) throws Exception {
      MemoryObject memory = context.getShortTermMemory();
      Integer n = (Integer) ((InputEvent) event).getInput();
      int count = memory.isExist("count") ? (Integer) memory.get("count").getValue() : 0;
      memory.set("count", count + n);
      memory.set("last", "n" + n + "ü");
      memory.set("long", (long) n << 33);
      memory.set("half", n / 2.0);
      memory.set("even", n % 2 == 0);
      memory.set("tags", new ArrayList<>(Arrays.asList("t" + n, "u")));
      Map<String, Integer> counts = new HashMap<>();
      counts.put("b", n);
      memory.set("counts", counts);
      MemoryObject home = memory.newObject("home", true);
      home.set("city", "c" + n);
      context.sendEvent(new OutputEvent(n));
      SEEN.incrementAndGet();
    }
  }

  /** The numbers; ends with the job. */
  static class Numbers implements SourceFunction<Integer> {
    private volatile boolean running = true;

    @Override
    public void run(SourceContext<Integer> context) throws Exception {
      for (int n = 0; n < NUMBERS; n++) {
        synchronized (context.getCheckpointLock()) {
          context.collect(n);
        }
      }
      while (running) {
        Thread.sleep(50);
      }
    }

    @Override
    public void cancel() {
      running = false;
    }
  }

  public static void main(String[] args) throws Exception {
    Path checkpoints = Paths.get(args[1]);
    Configuration configuration = new Configuration();
    configuration.setString("rest.port", "0");
    configuration.setString("state.backend.type", args[0]);
    configuration.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
    configuration.setString("execution.checkpointing.interval", "500 ms");
    configuration.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
    env.setMaxParallelism(8);
    AgentsExecutionEnvironment agents = AgentsExecutionEnvironment.getExecutionEnvironment(env);
    agents
        .fromDataStream(env.addSource(new Numbers()).returns(Integer.class), (KeySelector<Integer, Integer>) n -> n % 4)
        .apply(new Remembering())
        .toDataStream()
        .addSink(new DiscardingSink<>());
    Thread running =
        new Thread(
            () -> {
              try {
                agents.execute();
              } catch (Exception e) {
                e.printStackTrace();
              }
              Runtime.getRuntime().halt(1);
            });
    running.setDaemon(true);
    running.start();
    while (SEEN.get() < NUMBERS) {
      Thread.sleep(100);
    }
    Checkpoints.awaitTwo(checkpoints);
    Runtime.getRuntime().halt(0);
  }
}
