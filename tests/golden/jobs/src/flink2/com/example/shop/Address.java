package com.example.shop;

/** Where a {@link Basket} goes. */
public class Address {
    public String city;
    public int number;
    public String street;
}
