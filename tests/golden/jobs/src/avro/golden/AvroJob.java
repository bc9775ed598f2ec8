package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.STRING;

import golden.AvroRecords.Everything;
import golden.AvroRecords.Place;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.apache.avro.generic.GenericRecord;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.formats.avro.typeutils.AvroSerializer;
import org.apache.flink.formats.avro.typeutils.AvroTypeInfo;
import org.apache.flink.formats.avro.typeutils.GenericRecordAvroTypeInfo;

/** Records of all of Avro's types: specific, generic and by reflection; key n has the n-th. */
final class AvroJob extends StatesJob {
    private static final AvroTypeInfo<Place> PLACE = new AvroTypeInfo<>(Place.class);
    private static final GenericRecordAvroTypeInfo GENERIC = new GenericRecordAvroTypeInfo(AvroRecords.EVERYTHING);

    AvroJob() {
        super("avro", "types");
    }

    private static Fields shown(Event event) {
        return event.number < AvroValues.COUNT ? AvroValues.everything(event.number) : null;
    }

    private static Place place(long n) {
        return (Place) AvroWriting.SPECIFIC.of(AvroValues.place(n), Place.SCHEMA$);
    }

    @SuppressWarnings("unchecked")
    private static <T> Function<Event, T> written(AvroWriting writing) {
        return event -> {
            Fields fields = shown(event);
            return fields == null ? null : (T) writing.of(fields, AvroRecords.EVERYTHING);
        };
    }

    @Override
    List<OperatorSpec> operators() {
        OperatorSpec records = new OperatorSpec("records", "records", INT, e -> (int) e.number,
                StateSpec.value("specific", new AvroSerializer<>(Everything.class),
                        AvroJob.<Everything>written(AvroWriting.SPECIFIC), AvroJob::shown),
                StateSpec.value("generic", GENERIC,
                        AvroJob.<GenericRecord>written(AvroWriting.GENERIC), AvroJob::shown),
                StateSpec.value("reflect", new AvroSerializer<>(AvroReflected.class),
                        AvroReflected::of, AvroReflected::shown));
        OperatorSpec places = new OperatorSpec("places", "places", PLACE, e -> place(e.number % 5),
                StateSpec.list("list", PLACE, e -> place(e.number), e -> AvroValues.place(e.number)),
                StateSpec.map("map", STRING, PLACE, e -> StateSpec.entry("place " + e.number % 2, place(e.number)),
                        e -> StateSpec.entry("place " + e.number % 2, AvroValues.place(e.number))),
                StateSpec.map("keys", PLACE, INT, e -> StateSpec.entry(place(e.number % 3), (int) e.number),
                        e -> StateSpec.entry(AvroValues.place(e.number % 3), (int) e.number)),
                StateSpec.value("tuple", Types.TUPLE(Types.LONG, PLACE), e -> Tuple2.of(e.number, place(e.number)),
                        e -> Tuple2.of(e.number, AvroValues.place(e.number))))
                .showingKeys(e -> AvroValues.place(e.number % 5));
        return Arrays.asList(records, places);
    }
}
