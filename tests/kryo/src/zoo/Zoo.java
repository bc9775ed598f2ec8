package zoo;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;

/** Classes of a job, as Kryo meets them; zoo.jar has them compiled. */
public class Zoo {
    public enum Color { RED, GREEN, BLUE }

    public enum Op {
        ADD { int apply(int a, int b) { return a + b; } },
        NEG { int apply(int a, int b) { return -a; } };

        abstract int apply(int a, int b);
    }

    public static final class Item {
        public int n;
        public String s;

        public Item() {}

        public Item(int n, String s) {
            this.n = n;
            this.s = s;
        }
    }

    public static class Base {
        static int ignored = 7;
        public transient int skipped = 8;
        public long id;
        protected String name;
    }

    public static class Middle extends Base {
        public List<String> tags;
        public Map<String, Long> counts;
        char letter;
    }

    /** Three levels. */
    public static class Leaf extends Middle {
        public BigDecimal price;
        public UUID uid;
        public Color color;
        public Op op;
        public Instant at;
        public LocalDate day;
        public Date when;
        public int[] ints;
        public byte[] raw;
        public Item[] items;
        public Object any;
        public Integer boxed;
        public double ratio;
        public boolean ok;
    }

    public static class Shadowed {
        public int x = 1;
        public String s = "outer";
    }

    public static class Shadowing extends Shadowed {
        public String x = "inner";
    }

    public static class Box<T> {
        public T value;
        public List<T> list;

        public Box() {}

        public Box(T value, List<T> list) {
            this.value = value;
            this.list = list;
        }
    }

    public static class StringBox extends Box<String> {
        public int extra;
    }

    public static class DeepBox<A> extends Box<A> {
        public A more;
    }

    public static class Pair<A, B> {
        public A first;
        public B second;
    }

    public static class Outer<T> {
        public Pair<String, T> pair;
        public T t;
        public List<T> ts;
        public Map<T, String> map;
    }

    public static class Holder {
        public Box<String> strings;
        public Box<Object> objects;
        public Box<List<String>> lists;
        public List<Box<String>> boxes;
        public List<List<String>> nested;
        public Map<String, List<Integer>> numbers;
        public Map<Color, Item> items;
        public List<? extends Item> some;
        public List<?> unknown;
        public List<String>[] array;
        public Set<Integer> set;
        public Box<?> wild;
        public DeepBox<Long> deep;
        public Outer<Long> outer;
        public Box raw;
        public ArrayList<Color> colors;
        public Optional<String> maybe;
        public AtomicReference<String> atomic;
        public String[][] grid;
        public BigInteger big;
    }

    public static class Node {
        public int v;
        public Node next;
    }

    public interface Shape {}

    public static class Circle implements Shape {
        public double radius;
    }

    public static class Square implements Shape {
        public int side;
        public Color fill;
    }

    public static class Drawing {
        public Shape main;
        public List<Shape> shapes;
    }

    public static class Named extends ArrayList<String> {
        public int extra;
    }

    public static class Table extends LinkedHashMap<String, Integer> {}

    public class Inner {
        public int z;
    }

    public record Point(int x, int y, String label, Object any, List<String> tags, Color color) {}

    public static class Registered {
        public int a;
    }
}
