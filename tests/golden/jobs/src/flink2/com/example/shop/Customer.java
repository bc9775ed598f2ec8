package com.example.shop;

/** The value of the benchmarks' shape {@code pojo}. */
public class Customer {
    public boolean active;
    public double balance;

    /** May be null. */
    public String name;

    public int orders;
    public long updated;
}
