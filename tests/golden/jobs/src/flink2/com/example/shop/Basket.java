package com.example.shop;

import java.util.List;
import org.apache.flink.api.java.tuple.Tuple3;

/** The value of the benchmarks' shape {@code nested}. */
public class Basket {
    /** May be null. */
    public Address address;

    public List<Tuple3<String, Integer, Double>> items;
    public long opened;
}
