package golden;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** The checkpoints of a job that runs. */
final class Checkpoints {
  private Checkpoints() {}

  /** Waits until two checkpoints are complete after the newest one: the second began after this was called. */
  static void awaitTwo(Path folder) throws IOException, InterruptedException {
    long seen = 0;
    while (seen == 0) {
      Thread.sleep(100);
      seen = newest(folder);
    }
    while (newest(folder) < seen + 2) {
      Thread.sleep(100);
    }
  }

  /** The number of the newest complete checkpoint; 0 while Flink deletes an older one. */
  private static long newest(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .filter(file -> file.getFileName().toString().equals("_metadata"))
          .mapToLong(file -> Long.parseLong(file.getParent().getFileName().toString().substring("chk-".length())))
          .max()
          .orElse(0);
    } catch (UncheckedIOException e) {
      return 0;
    }
  }
}
