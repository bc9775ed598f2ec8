package golden;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** A user's serializer with parameters, which its snapshot keeps: {@code writeLong(unscaled)}; the unit is a parameter. */
public class ReadingSerializer extends UserSerializer<Reading> {
    private static final long serialVersionUID = 1L;

    private final String unit;
    private final int scale;

    public ReadingSerializer(String unit, int scale) {
        this.unit = unit;
        this.scale = scale;
    }

    @Override
    public Reading createInstance() {
        return new Reading(0, unit);
    }

    @Override
    public int getLength() {
        return 8;
    }

    @Override
    public void serialize(Reading reading, DataOutputView target) throws IOException {
        target.writeLong(reading.unscaled);
    }

    @Override
    public Reading deserialize(DataInputView source) throws IOException {
        return new Reading(source.readLong(), unit);
    }

    @Override
    public TypeSerializerSnapshot<Reading> snapshotConfiguration() {
        return new Snapshot(unit, scale);
    }

    /** Payload: {@code writeUTF(unit)}, {@code writeInt(scale)}. */
    public static final class Snapshot implements TypeSerializerSnapshot<Reading> {
        private String unit;
        private int scale;

        public Snapshot() {}

        Snapshot(String unit, int scale) {
            this.unit = unit;
            this.scale = scale;
        }

        @Override
        public int getCurrentVersion() {
            return 3;
        }

        @Override
        public void writeSnapshot(DataOutputView out) throws IOException {
            out.writeUTF(unit);
            out.writeInt(scale);
        }

        @Override
        public void readSnapshot(int version, DataInputView in, ClassLoader loader) throws IOException {
            unit = in.readUTF();
            scale = in.readInt();
        }

        @Override
        public TypeSerializer<Reading> restoreSerializer() {
            return new ReadingSerializer(unit, scale);
        }

        /** Flink up to 1.20 asks the old snapshot about the new serializer. */
        public TypeSerializerSchemaCompatibility<Reading> resolveSchemaCompatibility(TypeSerializer<Reading> serializer) {
            return TypeSerializerSchemaCompatibility.compatibleAsIs();
        }

        /** Flink from 1.19 on asks the new snapshot about the old one. */
        public TypeSerializerSchemaCompatibility<Reading> resolveSchemaCompatibility(
                TypeSerializerSnapshot<Reading> old) {
            return TypeSerializerSchemaCompatibility.compatibleAsIs();
        }
    }
}
