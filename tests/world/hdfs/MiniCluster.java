import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * Hadoop's mini clusters until the end of standard input: MiniCluster DIRECTORY [ha] [yarn] [name=value ...].
 *
 * Writes Hadoop's configuration files into DIRECTORY/conf and prints "READY host:port host:port", the addresses of HDFS and of
 * WebHDFS. Each line of standard input is a command, which is answered by one line: failover, stop-datanodes, start-datanodes,
 * bytes-read, and files DIRECTORY COUNT, which makes empty files.
 */
public class MiniCluster {
  static final String NAME_SERVICE = "minidfs";

  public static void main(String[] arguments) throws Exception {
    File directory = new File(arguments[0]);
    List<String> options = List.of(arguments).subList(1, arguments.length);
    boolean ha = options.contains("ha");
    Configuration conf = new HdfsConfiguration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(directory, "dfs").getPath());
    // Small blocks, so that the tests' files have several; and nothing waits for slow disks.
    conf.set("dfs.namenode.fs-limits.min-block-size", "65536");
    conf.set("dfs.blocksize", "1048576");
    conf.set("dfs.namenode.edits.noeditlogchannelflush", "true");
    for (String option : options) {
      int at = option.indexOf('=');
      if (at > 0) {
        conf.set(option.substring(0, at), option.substring(at + 1));
      }
    }
    MiniDFSNNTopology topology =
        ha ? MiniDFSNNTopology.simpleHATopology() : MiniDFSNNTopology.simpleSingleNN(0, 0);
    MiniDFSCluster dfs = new MiniDFSCluster.Builder(conf).nnTopology(topology).numDataNodes(1).build();
    dfs.waitActive();
    Configuration client = new Configuration(false);
    if (ha) {
      dfs.transitionToActive(0);
      client.set("dfs.nameservices", NAME_SERVICE);
      client.set("dfs.ha.namenodes." + NAME_SERVICE, "one,two");
      client.set("dfs.namenode.rpc-address." + NAME_SERVICE + ".one", "127.0.0.1:" + dfs.getNameNodePort(0));
      client.set("dfs.namenode.rpc-address." + NAME_SERVICE + ".two", "127.0.0.1:" + dfs.getNameNodePort(1));
      client.set(
          "dfs.client.failover.proxy.provider." + NAME_SERVICE,
          "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider");
    }
    String address = ha ? NAME_SERVICE : "127.0.0.1:" + dfs.getNameNodePort();
    client.set("fs.defaultFS", "hdfs://" + address);
    File configuration = new File(directory, "conf");
    configuration.mkdirs();
    write(client, configuration, "core-site.xml");
    if (options.contains("yarn")) {
      write(yarn(client, directory), configuration, "yarn-site.xml");
    }
    java.net.InetSocketAddress http = dfs.getNameNode(0).getHttpAddress();
    System.out.println("READY " + address + " 127.0.0.1:" + http.getPort());
    serve(dfs);
    System.exit(0);
  }

  static Configuration yarn(Configuration client, File directory) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    for (Map.Entry<String, String> one : client) {
      conf.set(one.getKey(), one.getValue());
    }
    conf.set("yarn.nodemanager.vmem-check-enabled", "false");
    conf.set("yarn.nodemanager.pmem-check-enabled", "false");
    conf.set("yarn.scheduler.minimum-allocation-mb", "128");
    conf.set("yarn.nodemanager.resource.memory-mb", "6144");
    conf.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "99.9");
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
    System.setProperty("test.build.data", new File(directory, "yarn").getPath());
    MiniYARNCluster cluster = new MiniYARNCluster("yarn", 1, 1, 1);
    cluster.init(conf);
    cluster.start();
    return cluster.getConfig();
  }

  static void write(Configuration conf, File directory, String name) throws Exception {
    try (OutputStream out = new FileOutputStream(new File(directory, name))) {
      conf.writeXml(out);
    }
  }

  static void serve(MiniDFSCluster dfs) throws Exception {
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
    List<MiniDFSCluster.DataNodeProperties> stopped = new ArrayList<>();
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] words = line.split(" ");
      String answer = "";
      switch (words[0]) {
        case "failover":
          dfs.transitionToStandby(0);
          dfs.transitionToActive(1);
          break;
        case "stop-datanodes":
          while (!dfs.getDataNodes().isEmpty()) {
            stopped.add(dfs.stopDataNode(0));
          }
          break;
        case "start-datanodes":
          for (MiniDFSCluster.DataNodeProperties one : stopped) {
            dfs.restartDataNode(one, true);
          }
          stopped.clear();
          dfs.waitActive();
          break;
        case "bytes-read":
          long bytes = 0;
          MBeanServer server = ManagementFactory.getPlatformMBeanServer();
          for (ObjectName name : server.queryNames(new ObjectName("Hadoop:service=DataNode,name=DataNodeActivity-*"), null)) {
            bytes += (Long) server.getAttribute(name, "BytesRead");
          }
          answer = Long.toString(bytes);
          break;
        case "files":
          DistributedFileSystem fs = dfs.getFileSystem();
          ExecutorService threads = Executors.newFixedThreadPool(8);
          for (int i = 0; i < Integer.parseInt(words[2]); i++) {
            Path path = new Path(words[1], String.format("file-%05d", i));
            threads.submit(() -> {
              fs.create(path).close();
              return null;
            });
          }
          threads.shutdown();
          threads.awaitTermination(10, TimeUnit.MINUTES);
          break;
        default:
          throw new IllegalArgumentException(line);
      }
      System.out.println("DONE " + answer);
    }
  }
}
