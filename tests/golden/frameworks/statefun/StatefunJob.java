package golden;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.statefun.flink.core.StatefulFunctionsConfig;
import org.apache.flink.statefun.flink.core.message.MessageFactoryType;
import org.apache.flink.statefun.flink.core.message.RoutableMessage;
import org.apache.flink.statefun.flink.core.message.RoutableMessageBuilder;
import org.apache.flink.statefun.flink.datastream.RequestReplyFunctionBuilder;
import org.apache.flink.statefun.flink.datastream.StatefulFunctionDataStreamBuilder;
import org.apache.flink.statefun.sdk.Address;
import org.apache.flink.statefun.sdk.Context;
import org.apache.flink.statefun.sdk.FunctionType;
import org.apache.flink.statefun.sdk.StatefulFunction;
import org.apache.flink.statefun.sdk.annotations.Persisted;
import org.apache.flink.statefun.sdk.java.handler.RequestReplyHandler;
import org.apache.flink.statefun.sdk.reqreply.generated.FromFunction;
import org.apache.flink.statefun.sdk.reqreply.generated.ToFunction;
import org.apache.flink.statefun.sdk.reqreply.generated.TypedValue;
import org.apache.flink.statefun.sdk.state.Expiration;
import org.apache.flink.statefun.sdk.state.PersistedAppendingBuffer;
import org.apache.flink.statefun.sdk.state.PersistedTable;
import org.apache.flink.statefun.sdk.state.PersistedValue;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.CheckpointConfig;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.SourceFunction;

/**
 * Stateful Functions that see the numbers 0 to 39, the number n for the key "user-" + n % 5.
 *
 * <p>"kryo": embedded functions, whose messages are strings that Kryo wrote. "protobuf": messages are TypedValues, and there is a
 * remote function too, which a server in this process answers for; it never answers to "user-4", which has waiting requests. In both,
 * messages are on their way between functions, and a third argument takes a savepoint.
 */
public class StatefunJob {
  static final int NUMBERS = 40;
  static final FunctionType COUNTER = new FunctionType("golden", "counter");
  static final FunctionType PING = new FunctionType("golden", "ping");
  static final FunctionType REMOTE = new FunctionType("golden.remote", "counter");
  static final AtomicInteger SEEN = new AtomicInteger();
  static final AtomicInteger ANSWERED = new AtomicInteger();
  static final AtomicInteger HOPS = new AtomicInteger();

  /** What a state of POJOs has. */
  public static class Place {
    public String city;
    public Integer zip;
    public double[] at;
  }

  static Object message(String text, boolean proto) {
    return proto ? typed(text) : text;
  }

  static TypedValue typed(String text) {
    return TypedValue.newBuilder().setTypename("golden/text").setHasValue(true).setValue(ByteString.copyFromUtf8(text)).build();
  }

  static String text(Object message) {
    return message instanceof TypedValue ? ((TypedValue) message).getValue().toStringUtf8() : (String) message;
  }

  /** Has a state of each kind. */
  static class Counter implements StatefulFunction {
    private final boolean proto;

    @Persisted private final PersistedValue<Integer> count = PersistedValue.of("count", Integer.class);
    @Persisted private final PersistedAppendingBuffer<String> names = PersistedAppendingBuffer.of("names", String.class);
    @Persisted private final PersistedTable<String, Long> table = PersistedTable.of("table", String.class, Long.class);
    @Persisted private final PersistedValue<String> last =
        PersistedValue.of("last", String.class, Expiration.expireAfterWriting(Duration.ofDays(1000)));
    @Persisted private final PersistedValue<Place> place = PersistedValue.of("place", Place.class);
    @Persisted private final PersistedValue<ToFunction.Invocation> call = PersistedValue.of("call", ToFunction.Invocation.class);
    @Persisted private final PersistedAppendingBuffer<Timestamp> times = PersistedAppendingBuffer.of("times", Timestamp.class);

    Counter(boolean proto) {
      this.proto = proto;
    }

    @Override
    public void invoke(Context context, Object input) {
      String id = context.self().id();
      int n = Integer.parseInt(text(input));
      count.set(count.getOrDefault(0) + n);
      names.append("n" + n + "ü");
      table.set("b" + n % 3, (long) n);
      last.set("last " + n);
      Place home = new Place();
      home.city = id;
      home.zip = n % 2 == 0 ? null : n;
      home.at = new double[] {n / 2.0, -n};
      place.set(home);
      org.apache.flink.statefun.sdk.reqreply.generated.Address caller =
          org.apache.flink.statefun.sdk.reqreply.generated.Address.newBuilder().setNamespace("golden").setType("c").setId(id).build();
      call.set(ToFunction.Invocation.newBuilder().setCaller(caller).setArgument(typed("n" + n)).build());
      times.append(Timestamp.newBuilder().setSeconds(1_700_000_000L + n).setNanos(n * 1000).build());
      if (n < 5) {
        context.sendAfter(Duration.ofHours(1), context.self(), message("later " + n, proto), "token-" + n);
      }
      if (n >= 35) {
        context.sendAfter(Duration.ofHours(2), context.self(), message("no token " + n, proto));
      }
      if (n % 10 == 7) {
        context.registerAsyncOperation(message("waits " + n, proto), new CompletableFuture<Void>());
      }
      SEEN.incrementAndGet();
    }
  }

  /** Sends a number that grows back and forth between two addresses of different subtasks, so that messages are on their way. */
  static class Ping implements StatefulFunction {
    private final boolean proto;

    @Persisted private final PersistedValue<Long> hop = PersistedValue.of("hop", Long.class);

    Ping(boolean proto) {
      this.proto = proto;
    }

    @Override
    public void invoke(Context context, Object input) {
      long number = Long.parseLong(text(input));
      hop.set(number);
      HOPS.incrementAndGet();
      try {
        Thread.sleep(2);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      String other = context.self().id().equals("left") ? "right-3" : "left";
      context.send(new Address(PING, other), message(Long.toString(number + 1), proto));
    }
  }

  /** The server of the remote function. */
  static void answer(HttpExchange exchange, Function<byte[], byte[]> handler) {
    try {
      byte[] request = exchange.getRequestBody().readAllBytes();
      if (ToFunction.parseFrom(request).getInvocation().getTarget().getId().equals("user-4")) {
        Thread.sleep(Long.MAX_VALUE);
      }
      byte[] response = handler.apply(request);
      exchange.getResponseHeaders().set("Content-Type", "application/octet-stream");
      exchange.sendResponseHeaders(200, response.length);
      exchange.getResponseBody().write(response);
      exchange.close();
      ANSWERED.addAndGet(answered(request, response));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** The number of requests that the function has answered; at first it only says which values it keeps. */
  static int answered(byte[] request, byte[] response) throws IOException {
    boolean missing = FromFunction.parseFrom(response).hasIncompleteInvocationContext();
    return missing ? 0 : ToFunction.parseFrom(request).getInvocation().getInvocationsCount();
  }

  @SuppressWarnings("unchecked")
  static int serve() throws Exception {
    // The SDK has classes of the same names as Flink's part, by another copy of Protobuf.
    URL[] places = {location(RequestReplyHandler.class), location(StatefunJob.class)};
    ClassLoader own = new URLClassLoader(places, ClassLoader.getPlatformClassLoader());
    Class<?> remote = Class.forName("golden.RemoteFunction", true, own);
    Function<byte[], byte[]> handler = (Function<byte[], byte[]>) remote.getDeclaredConstructor().newInstance();
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.setExecutor(Executors.newFixedThreadPool(4));
    server.createContext("/", exchange -> answer(exchange, handler));
    server.start();
    return server.getAddress().getPort();
  }

  static URL location(Class<?> type) {
    return type.getProtectionDomain().getCodeSource().getLocation();
  }

  /** Messages to functions; ends with the job. */
  static class Numbers implements SourceFunction<RoutableMessage> {
    private final boolean proto;
    private volatile boolean running = true;

    Numbers(boolean proto) {
      this.proto = proto;
    }

    @Override
    public void run(SourceContext<RoutableMessage> context) throws Exception {
      for (int n = 0; n < NUMBERS; n++) {
        for (FunctionType type : proto ? new FunctionType[] {COUNTER, REMOTE} : new FunctionType[] {COUNTER}) {
          synchronized (context.getCheckpointLock()) {
            context.collect(to(type, "user-" + n % 5, message(Integer.toString(n), proto)));
          }
        }
      }
      for (String id : new String[] {"left", "right-3"}) {
        synchronized (context.getCheckpointLock()) {
          context.collect(to(PING, id, message("1", proto)));
        }
      }
      while (running) {
        Thread.sleep(50);
      }
    }

    private static RoutableMessage to(FunctionType type, String id, Object payload) {
      return RoutableMessageBuilder.builder().withTargetAddress(type, id).withMessageBody(payload).build();
    }

    @Override
    public void cancel() {
      running = false;
    }
  }

  public static void main(String[] args) throws Exception {
    Path target = Paths.get(args[1]);
    boolean proto = args[2].equals("protobuf");
    Configuration configuration = new Configuration();
    configuration.setString("rest.port", "0");
    configuration.setString("state.backend", args[0]);
    configuration.setString("state.checkpoints.dir", target.toUri().toString());
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2, configuration);
    env.setMaxParallelism(8);
    env.enableCheckpointing(500);
    env.getCheckpointConfig()
        .setExternalizedCheckpointCleanup(CheckpointConfig.ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION);
    StatefulFunctionsConfig config = StatefulFunctionsConfig.fromEnvironment(env);
    config.setFactoryType(proto ? MessageFactoryType.WITH_PROTOBUF_PAYLOADS : MessageFactoryType.WITH_KRYO_PAYLOADS);
    DataStream<RoutableMessage> numbers = env.addSource(new Numbers(proto)).uid("numbers");
    StatefulFunctionDataStreamBuilder builder =
        StatefulFunctionDataStreamBuilder.builder("golden")
            .withDataStreamAsIngress(numbers)
            .withFunctionProvider(COUNTER, type -> new Counter(proto))
            .withFunctionProvider(PING, type -> new Ping(proto))
            .withConfiguration(config);
    if (proto) {
      builder.withRequestReplyRemoteFunction(
          RequestReplyFunctionBuilder.requestReplyFunctionBuilder(REMOTE, URI.create("http://127.0.0.1:" + serve() + "/f"))
              .withMaxRequestDuration(Duration.ofHours(1))
              .withReadTimeout(Duration.ofHours(1)));
    }
    builder.build(env);
    JobClient client = env.executeAsync("statefun");
    while (SEEN.get() < NUMBERS || HOPS.get() < 50 || (proto && ANSWERED.get() < NUMBERS * 4 / 5)) {
      Thread.sleep(100);
    }
    Thread.sleep(500);
    if (args.length > 3) {
      client.triggerSavepoint(target.toUri().toString(), SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
    } else {
      Checkpoints.awaitTwo(target);
    }
    Runtime.getRuntime().halt(0);
  }
}
