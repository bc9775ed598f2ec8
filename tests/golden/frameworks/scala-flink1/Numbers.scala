package golden

import org.apache.flink.streaming.api.functions.source.SourceFunction

/** The numbers from 0 on, and then nothing, without an end. */
class Numbers(count: Long) extends SourceFunction[java.lang.Long] {
  @volatile private var running = true

  override def run(context: SourceFunction.SourceContext[java.lang.Long]): Unit = {
    for (n <- 0L until count) context.collect(n)
    while (running) Thread.sleep(50)
  }

  override def cancel(): Unit = running = false
}
