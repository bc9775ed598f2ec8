package golden;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.apache.flink.statefun.sdk.java.AddressScopedStorage;
import org.apache.flink.statefun.sdk.java.Context;
import org.apache.flink.statefun.sdk.java.StatefulFunction;
import org.apache.flink.statefun.sdk.java.StatefulFunctionSpec;
import org.apache.flink.statefun.sdk.java.StatefulFunctions;
import org.apache.flink.statefun.sdk.java.TypeName;
import org.apache.flink.statefun.sdk.java.ValueSpec;
import org.apache.flink.statefun.sdk.java.handler.RequestReplyHandler;
import org.apache.flink.statefun.sdk.java.message.Message;
import org.apache.flink.statefun.sdk.java.slice.Slices;
import org.apache.flink.statefun.sdk.java.types.SimpleType;
import org.apache.flink.statefun.sdk.java.types.Type;

/** A remote function that keeps a value of each type of the SDK, and one of its own. Takes requests and returns responses. */
public class RemoteFunction implements Function<byte[], byte[]> {
  static final Type<String> TEXT = textType("golden/text");
  static final ValueSpec<Integer> INT = ValueSpec.named("int").withIntType();
  static final ValueSpec<Long> LONG = ValueSpec.named("long").withLongType();
  static final ValueSpec<Float> FLOAT = ValueSpec.named("float").withFloatType();
  static final ValueSpec<Double> DOUBLE = ValueSpec.named("double").withDoubleType();
  static final ValueSpec<Boolean> BOOL = ValueSpec.named("bool").withBooleanType();
  static final ValueSpec<String> STRING = ValueSpec.named("text").thatExpireAfterWrite(Duration.ofDays(1000)).withUtf8StringType();
  static final ValueSpec<String> OWN = ValueSpec.named("own").withCustomType(textType("golden/own"));

  private final RequestReplyHandler handler =
      new StatefulFunctions()
          .withStatefulFunction(
              StatefulFunctionSpec.builder(TypeName.typeNameFromString("golden.remote/counter"))
                  .withValueSpecs(INT, LONG, FLOAT, DOUBLE, BOOL, STRING, OWN)
                  .withSupplier(Counter::new)
                  .build())
          .requestReplyHandler();

  static Type<String> textType(String name) {
    return SimpleType.simpleImmutableTypeFrom(
        TypeName.typeNameFromString(name),
        text -> text.getBytes(StandardCharsets.UTF_8),
        bytes -> new String(bytes, StandardCharsets.UTF_8));
  }

  @Override
  public byte[] apply(byte[] request) {
    return handler.handle(Slices.wrap(request)).join().toByteArray();
  }

  /** Adds numbers up. */
  static class Counter implements StatefulFunction {
    @Override
    public CompletableFuture<Void> apply(Context context, Message message) {
      int n = Integer.parseInt(message.as(TEXT));
      AddressScopedStorage storage = context.storage();
      storage.set(INT, storage.get(INT).orElse(0) + n);
      storage.set(LONG, n % 2 == 0 ? -(long) n << 33 : 0L);
      storage.set(FLOAT, n / 4f);
      storage.set(DOUBLE, -n / 8.0);
      storage.set(BOOL, n % 2 == 1);
      storage.set(STRING, n % 3 == 0 ? "" : "t" + n + "ü");
      storage.set(OWN, "own " + n);
      return context.done();
    }
  }
}
