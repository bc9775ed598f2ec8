package zoo;

import org.apache.thrift.TBase;
import org.apache.thrift.TException;
import org.apache.thrift.TFieldIdEnum;
import org.apache.thrift.protocol.*;

/** A Thrift struct of one i32, as Thrift's compiler would make it. */
public class Reading implements TBase<Reading, Reading.Field> {
    public enum Field implements TFieldIdEnum {
        CELSIUS;

        @Override
        public short getThriftFieldId() {
            return 1;
        }

        @Override
        public String getFieldName() {
            return "celsius";
        }
    }

    private int celsius;

    public Reading() {}

    public Reading(int celsius) {
        this.celsius = celsius;
    }

    @Override
    public void read(TProtocol in) throws TException {
        in.readStructBegin();
        while (in.readFieldBegin().type != TType.STOP) {
            celsius = in.readI32();
            in.readFieldEnd();
        }
        in.readStructEnd();
    }

    @Override
    public void write(TProtocol out) throws TException {
        out.writeStructBegin(new TStruct("Reading"));
        out.writeFieldBegin(new TField("celsius", TType.I32, (short) 1));
        out.writeI32(celsius);
        out.writeFieldEnd();
        out.writeFieldStop();
        out.writeStructEnd();
    }

    @Override
    public Field fieldForId(int id) {
        return Field.CELSIUS;
    }

    @Override
    public boolean isSet(Field field) {
        return true;
    }

    @Override
    public Object getFieldValue(Field field) {
        return celsius;
    }

    @Override
    public void setFieldValue(Field field, Object value) {
        celsius = (Integer) value;
    }

    @Override
    public Reading deepCopy() {
        return new Reading(celsius);
    }

    @Override
    public void clear() {
        celsius = 0;
    }

    @Override
    public int compareTo(Reading other) {
        return Integer.compare(celsius, other.celsius);
    }
}
