package org.apache.flink.shaded.zookeeper3.org.apache.zookeeper.client;

import java.net.InetSocketAddress;
import java.util.Collection;

/** In place of the class of the ZooKeeper client of Flink 1.13, which finds no host since Java 14 prints addresses otherwise. */
public final class StaticHostProvider implements HostProvider {
    private final InetSocketAddress[] servers;
    private int next;

    public StaticHostProvider(Collection<InetSocketAddress> servers) {
        this.servers = servers.toArray(new InetSocketAddress[0]);
    }

    @Override
    public int size() {
        return servers.length;
    }

    @Override
    public InetSocketAddress next(long spinDelay) {
        InetSocketAddress found = servers[next++ % servers.length];
        return new InetSocketAddress(found.getHostString(), found.getPort());
    }

    @Override
    public void onConnected() {}
}
