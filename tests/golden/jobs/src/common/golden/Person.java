package golden;

import static org.apache.flink.api.common.typeinfo.Types.BIG_DEC;
import static org.apache.flink.api.common.typeinfo.Types.BOOLEAN;
import static org.apache.flink.api.common.typeinfo.Types.CHAR;
import static org.apache.flink.api.common.typeinfo.Types.DOUBLE;
import static org.apache.flink.api.common.typeinfo.Types.ENUM;
import static org.apache.flink.api.common.typeinfo.Types.INSTANT;
import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LIST;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.MAP;
import static org.apache.flink.api.common.typeinfo.Types.POJO;
import static org.apache.flink.api.common.typeinfo.Types.PRIMITIVE_ARRAY;
import static org.apache.flink.api.common.typeinfo.Types.STRING;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInformation;

/** A POJO with fields of many types; all but the primitive ones may be null. */
public class Person {
    public String name;
    public Integer age;
    public int score;
    public boolean active;
    public char initial;
    public double[] readings;
    public Address address;
    public List<String> tags;
    public Map<String, Long> counts;
    public Color color;
    public Instant since;
    public BigDecimal balance;
    public Double ratio;

    /** Lists and maps get their types by hand: Flink 1 would give them to Kryo. */
    static TypeInformation<Person> type() {
        Map<String, TypeInformation<?>> fields = new HashMap<>();
        fields.put("name", STRING);
        fields.put("age", INT);
        fields.put("score", INT);
        fields.put("active", BOOLEAN);
        fields.put("initial", CHAR);
        fields.put("readings", PRIMITIVE_ARRAY(DOUBLE));
        fields.put("address", POJO(Address.class));
        fields.put("tags", LIST(STRING));
        fields.put("counts", MAP(STRING, LONG));
        fields.put("color", ENUM(Color.class));
        fields.put("since", INSTANT);
        fields.put("balance", BIG_DEC);
        fields.put("ratio", DOUBLE);
        return POJO(Person.class, fields);
    }
}
