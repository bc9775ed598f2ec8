package golden;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Classes that Flink does not take for POJOs, so that Kryo writes them: three levels, generics, references, an enum. */
final class Fleet {
    private Fleet() {}

    enum Fuel { DIESEL, ELECTRIC, HYDROGEN }

    abstract static class Vehicle {
        static int built;
        transient String note = "not written";
        private final long id;
        private final String plate;

        Vehicle(long id, String plate) {
            this.id = id;
            this.plate = plate;
        }
    }

    static class Car extends Vehicle {
        private final Fuel fuel;
        private final List<String> owners;
        private final Map<String, Long> services;

        Car(long id, String plate, Fuel fuel, List<String> owners, Map<String, Long> services) {
            super(id, plate);
            this.fuel = fuel;
            this.owners = owners;
            this.services = services;
        }
    }

    static final class Truck extends Car {
        private final BigDecimal price;
        private final UUID serial;
        private final Instant sold;
        private final int[] axles;
        private final Load<Double> load;
        private final List<Fuel> tried;
        private final Truck tows;

        Truck(long id, String plate, Fuel fuel, List<String> owners, Map<String, Long> services, BigDecimal price,
                UUID serial, Instant sold, int[] axles, Load<Double> load, List<Fuel> tried) {
            super(id, plate, fuel, owners, services);
            this.price = price;
            this.serial = serial;
            this.sold = sold;
            this.axles = axles;
            this.load = load;
            this.tried = tried;
            this.tows = null;
        }
    }

    static final class Load<T> {
        private final T weight;
        private final List<T> parts;

        Load(T weight, List<T> parts) {
            this.weight = weight;
            this.parts = parts;
        }
    }

    static Truck truck(long n) {
        String shared = "owner " + n;
        Map<String, Long> services = new LinkedHashMap<>();
        services.put("wash", n * 1_000_000_007L);
        services.put("none", null);
        return new Truck(-n, n % 2 == 0 ? null : "\u00e9 " + n, Fuel.values()[(int) (n % 3)],
                new ArrayList<>(Arrays.asList(shared, null, shared)), services, BigDecimal.valueOf(n, 2),
                new UUID(n, ~n), Instant.ofEpochSecond(n * 86_400, n * 1_000), new int[] {(int) n, -1},
                n % 3 == 0 ? null : new Load<>(n / 4.0, new ArrayList<>(Arrays.asList(0.5, null))),
                new ArrayList<>(Arrays.asList(Fuel.HYDROGEN, null)));
    }

    static Car car(long n) {
        return n % 2 == 0 ? truck(n) : new Car(n, "car", null, new ArrayList<>(), null);
    }
}
