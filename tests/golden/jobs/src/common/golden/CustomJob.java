package golden;

import static org.apache.flink.api.common.typeinfo.Types.DOUBLE;
import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.POJO;
import static org.apache.flink.api.common.typeinfo.Types.STRING;

import java.util.Arrays;
import java.util.List;
import org.apache.flink.api.common.typeutils.base.ListSerializer;

/** States that only the user's own classes can read, between ordinary ones. */
final class CustomJob extends StatesJob {
    private static final String MONEY = "golden.MoneySerializer$Snapshot";
    private static final String READING = "golden.ReadingSerializer$Snapshot";

    CustomJob() {
        super("custom", "small");
    }

    private static Money money(Event e) {
        return new Money(e.number % 2 == 0 ? "EUR" : "JPY", e.number * 101 - 500);
    }

    @Override
    List<OperatorSpec> operators() {
        ReadingSerializer celsius = new ReadingSerializer("celsius", 2);
        return Arrays.asList(
                new OperatorSpec("mixed", "mixed serializers", INT, e -> (int) (e.number % 9),
                        StateSpec.<Long>value("first", LONG, e -> e.number),
                        StateSpec.<String>list("texts", STRING, e -> e.text),
                        StateSpec.<Money>value("balance", new MoneySerializer(), CustomJob::money).undecodable(MONEY),
                        StateSpec.<Double>value("ratio", DOUBLE, e -> e.number / 8.0),
                        StateSpec.<Reading>value("reading", celsius, e -> new Reading(e.number * 10, "celsius"))
                                .undecodable(READING),
                        StateSpec.<String>value("last", STRING, e -> e.name)),
                new OperatorSpec("nested", "custom inside others", STRING, e -> e.name,
                        StateSpec.<Integer>value("before", INT, e -> (int) e.number),
                        StateSpec.<List<Money>>value("wallet", new ListSerializer<>(new MoneySerializer()),
                                e -> Arrays.asList(money(e), new Money("", e.number))).undecodable(MONEY)),
                // The first snapshot of a job says nothing about subclasses that its serializer meets while writing it.
                new OperatorSpec("figures", "undescribed subclass", INT, e -> (int) (e.number % 9),
                        StateSpec.<Long>value("count", LONG, e -> e.number),
                        StateSpec.<Shape>value("figure", POJO(Shape.class), e -> e.number % 2 == 0
                                        ? new Square(e.name, e.number, null)
                                        : new Circle(e.text, e.number))
                                .undecodable("golden.Square"),
                        StateSpec.<String>value("colour", STRING, e -> e.text)));
    }
}
