package zoo;

import com.google.protobuf.DescriptorProtos.EnumValueDescriptorProto;
import com.google.protobuf.GeneratedMessageV3;
import com.google.protobuf.Message;
import com.google.protobuf.Struct;
import com.google.protobuf.Timestamp;
import com.google.protobuf.Value;
import com.twitter.chill.protobuf.ProtobufSerializer;
import com.twitter.chill.thrift.TBaseSerializer;
import java.io.ByteArrayOutputStream;
import java.io.FileWriter;
import java.io.Writer;
import java.util.ArrayList;
import java.util.Arrays;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;

/** Writes messages of Protobuf and Thrift as twitter/chill does; the columns are those of Vectors. */
public class MessageVectors {
    private static Writer out;

    @SuppressWarnings({"unchecked", "rawtypes"})
    public static void main(String[] arguments) throws Exception {
        EnumValueDescriptorProto big = EnumValueDescriptorProto.newBuilder().setName("BIG").setNumber(-3).build();
        EnumValueDescriptorProto empty = EnumValueDescriptorProto.getDefaultInstance();
        try (Writer file = new FileWriter(arguments[0])) {
            out = file;
            SerializerConfigImpl config = new SerializerConfigImpl();
            config.registerTypeWithKryoSerializer(EnumValueDescriptorProto.class, (Class) ProtobufSerializer.class);
            v("registered", EnumValueDescriptorProto.class, big, config);
            v("empty", EnumValueDescriptorProto.class, empty, config);
            v("as Object", Object.class, big, config);
            v("in a list", Object.class, new ArrayList<>(Arrays.asList(big, empty, big)), config);
            config = new SerializerConfigImpl();
            config.addDefaultKryoSerializer(Message.class, (Class) ProtobufSerializer.class);
            v("by interface", Timestamp.class, Timestamp.newBuilder().setSeconds(-1).setNanos(7).build(), config);
            config = new SerializerConfigImpl();
            config.addDefaultKryoSerializer(GeneratedMessageV3.class, (Class) ProtobufSerializer.class);
            Value number = Value.newBuilder().setNumberValue(1.5).build();
            v("by superclass", Struct.class, Struct.newBuilder().putFields("k", number).build(), config);
            config = new SerializerConfigImpl();
            config.registerTypeWithKryoSerializer(Reading.class, (Class) TBaseSerializer.class);
            v("Thrift", Reading.class, new Reading(5), config);
        }
    }

    private static <T> void v(String name, Class<T> declared, T value, SerializerConfigImpl config) throws Exception {
        TypeSerializer<T> serializer = new GenericTypeInfo<>(declared).createSerializer(config);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        serializer.serialize(value, new DataOutputViewStreamWrapper(bytes));
        ByteArrayOutputStream snapshot = new ByteArrayOutputStream();
        TypeSerializerSnapshot.writeVersionedSnapshot(
                new DataOutputViewStreamWrapper(snapshot), serializer.snapshotConfiguration());
        out.write(String.join("\t", name, declared.getName(), "", hex(bytes), hex(snapshot)) + "\n");
    }

    private static String hex(ByteArrayOutputStream bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes.toByteArray()) {
            text.append(String.format("%02x", b));
        }
        return text.toString();
    }
}
