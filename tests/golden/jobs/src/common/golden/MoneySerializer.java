package golden;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** A user's serializer without parameters: {@code writeUTF(currency)}, then {@code writeLong(cents)}. */
public class MoneySerializer extends UserSerializer<Money> {
    private static final long serialVersionUID = 1L;

    @Override
    public Money createInstance() {
        return new Money("", 0);
    }

    @Override
    public void serialize(Money money, DataOutputView target) throws IOException {
        target.writeUTF(money.currency);
        target.writeLong(money.cents);
    }

    @Override
    public Money deserialize(DataInputView source) throws IOException {
        return new Money(source.readUTF(), source.readLong());
    }

    @Override
    public TypeSerializerSnapshot<Money> snapshotConfiguration() {
        return new Snapshot();
    }

    /** Writes nothing but Flink's own frame. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Money> {
        public Snapshot() {
            super(MoneySerializer::new);
        }
    }
}
