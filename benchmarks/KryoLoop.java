import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.core.memory.DataInputDeserializer;

/**
 * Decodes values with Flink's KryoSerializer. The first argument is a file of lines: class, tab, one value as hexadecimal
 * digits; the second is how many seconds of processor time each of them takes. Prints values per second, one line each.
 */
public class KryoLoop {
    private static final int COPIES = 20_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = line.split("\t");
            byte[] one = HexFormat.of().parseHex(parts[1]);
            byte[] data = new byte[one.length * COPIES];
            for (int i = 0; i < COPIES; i++) {
                System.arraycopy(one, 0, data, i * one.length, one.length);
            }
            TypeSerializer<?> serializer = new GenericTypeInfo<>(Class.forName(parts[0])).createSerializer(new SerializerConfigImpl());
            double seconds = Double.parseDouble(arguments[1]);
            speed(serializer, data, seconds);
            System.out.println(Math.max(speed(serializer, data, seconds / 2), speed(serializer, data, seconds / 2)));
        }
    }

    private static Object last;

    private static double speed(TypeSerializer<?> serializer, byte[] data, double seconds) throws Exception {
        DataInputDeserializer input = new DataInputDeserializer();
        long start = THREADS.getCurrentThreadCpuTime();
        for (long values = COPIES; ; values += COPIES) {
            input.setBuffer(data);
            for (int i = 0; i < COPIES; i++) {
                last = serializer.deserialize(input);
            }
            double passed = (THREADS.getCurrentThreadCpuTime() - start) / 1e9;
            if (passed > seconds) {
                return values / passed;
            }
        }
    }
}
