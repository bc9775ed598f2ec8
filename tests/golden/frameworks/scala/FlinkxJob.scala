package golden

import java.nio.file.{Files, Path, Paths}
import java.time.{OffsetDateTime, ZoneId, ZoneOffset, ZonedDateTime}
import java.util.UUID
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicLong

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.collection.mutable
import scala.concurrent.duration._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}

import org.apache.flink.api.common.functions.OpenContext
import org.apache.flink.api.common.state.{MapState, MapStateDescriptor, ValueState, ValueStateDescriptor}
import org.apache.flink.api.common.typeinfo.TypeInformation
import org.apache.flink.api.java.functions.KeySelector
import org.apache.flink.api.java.typeutils.GenericTypeInfo
import org.apache.flink.configuration.Configuration
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
import org.apache.flink.streaming.api.functions.KeyedProcessFunction
import org.apache.flink.util.Collector

import org.apache.flinkx.api.auto._
import org.apache.flinkx.api.serializer.OrderingTypeInfo

case class Item(name: String, price: BigDecimal)
case class Order(user: String, items: List[Item], note: Option[String], counts: Map[String, Int], first: Item)
case class Id(a: Int, b: Long)
case class Empty()
case class Pair(left: Id, right: Int)

sealed trait Event
case class Click(page: String, times: Long) extends Event
case class Purchase(amount: Double, items: Seq[String]) extends Event
case object Logout extends Event

sealed trait Color
case object Red extends Color
case object Green extends Color
case object Blue extends Color

/** One state of each type, by the number of the key. */
class States extends KeyedProcessFunction[String, java.lang.Long, String] {
  @transient private var writes: Seq[Long => Unit] = _
  @transient private var byId: MapState[Id, Event] = _

  private def state[T](name: String, value: Long => T)(implicit info: TypeInformation[T]): Long => Unit = {
    val made: ValueState[T] = getRuntimeContext.getState(new ValueStateDescriptor[T](name, info))
    n => made.update(value(n))
  }

  override def open(context: OpenContext): Unit = {
    implicit val ints: TypeInformation[Ordering[Int]] = OrderingTypeInfo.DefaultIntOrderingInfo
    implicit val strings: TypeInformation[Ordering[String]] = OrderingTypeInfo.DefaultStringOrderingInfo
    byId = getRuntimeContext.getMapState(
      new MapStateDescriptor[Id, Event]("by-id", implicitly[TypeInformation[Id]], implicitly[TypeInformation[Event]])
    )
    writes = Seq(
      state[Order](
        "order",
        n =>
          Order(
            s"u$n",
            List(Item("tea", BigDecimal("12.50")), Item("é", BigDecimal(n))),
            if (n % 2 == 0) None else Some("n"),
            Map("x" -> n.toInt),
            if (n == 3) null else Item("first", BigDecimal(-1))
          )
      ),
      state[Event]("event", States.event),
      state[Color]("color", n => Seq(Red, Green, Blue)((n % 3).toInt)),
      state[Pair]("pair", n => Pair(if (n == 3) null else Id(n.toInt, -n), n.toInt + 1)),
      state[Empty]("empty", _ => Empty()),
      state[Option[Long]]("option", n => if (n % 2 == 0) None else Some(n)),
      state[Either[String, Int]]("either", n => if (n % 2 == 0) Left(s"l$n") else Right(n.toInt)),
      state[Vector[Double]]("vector", n => Vector(n / 2.0, 1)),
      state[Set[String]]("set", n => Set("a", s"b$n")),
      state[Map[Id, Option[String]]]("map", n => Map(Id(n.toInt, 1) -> Some("v"))),
      state[Array[String]]("strings", n => Array("s", s"t$n")),
      state[Array[Int]]("ints", n => Array(n.toInt, 2)),
      state[Array[Id]]("ids", n => Array(Id(n.toInt, n))),
      state[(String, Int)]("tuple", n => (s"t$n", n.toInt)),
      state[UUID]("uuid", n => new UUID(n, -n)),
      state[BigInt]("bigint", n => BigInt(2).pow(70) + n),
      state[Duration]("duration", n => Seq(5.seconds, Duration.Inf, Duration.MinusInf, Duration.Undefined)((n % 4).toInt)),
      state[FiniteDuration]("finite", n => FiniteDuration(n, MINUTES)),
      state[ZonedDateTime]("zoned", n => ZonedDateTime.of(2024, 1, 2, 3, 4, n.toInt, 500, ZoneId.of("Europe/Paris"))),
      state[OffsetDateTime]("offset", n => OffsetDateTime.of(2024, 1, 2, 3, 4, n.toInt, 0, ZoneOffset.ofHours(2))),
      state[ZoneId]("zone", _ => ZoneId.of("UTC")),
      state[TimeUnit]("enum", n => TimeUnit.values()((n % 3).toInt)),
      state[SortedSet[Int]]("sorted-set", n => SortedSet(3, n.toInt - 10)),
      state[SortedMap[String, Long]]("sorted-map", n => SortedMap("b" -> n, "a" -> 1L)),
      state[mutable.Buffer[String]]("buffer", n => mutable.Buffer("m", s"n$n")),
      state[mutable.Map[String, Int]]("mutable-map", n => mutable.Map("k" -> n.toInt)),
      // Kryo writes these, as in a job without flink-scala-api.
      state[ObjectNode]("json-object", States.json)(new GenericTypeInfo(classOf[ObjectNode])),
      state[ArrayNode]("json-array", n => States.json(n).withArray[ArrayNode]("/list"))(new GenericTypeInfo(classOf[ArrayNode])),
      state[JsonNode]("json-any", n => if (n == 0) States.json(n) else States.json(n).get("list").get(n.toInt))(
        new GenericTypeInfo(classOf[JsonNode])
      )
    )
  }

  override def processElement(
      n: java.lang.Long,
      context: KeyedProcessFunction[String, java.lang.Long, String]#Context,
      out: Collector[String]
  ): Unit = {
    writes.foreach(_(n))
    byId.put(Id(n.toInt, 2), States.event(n))
    States.seen.incrementAndGet()
  }
}

object States {
  val seen = new AtomicLong()

  /** A tree with every kind of node. */
  def json(n: Long): ObjectNode = {
    val nodes = JsonNodeFactory.instance
    val tree = nodes.objectNode()
    tree.put("text", s"é$n").put("int", n.toInt).put("long", n + (1L << 40)).put("double", n / 2.0).put("float", 0.25f)
    tree.put("short", 7.toShort).put("true", true).putNull("null").put("bytes", Array[Byte](1, 2))
    tree.put("decimal", new java.math.BigDecimal("12.50")).put("big", java.math.BigInteger.TWO.pow(70))
    val inner = tree.putObject("object")
    inner.put("$class", "a").putObject("empty")
    tree.putArray("list").add(1).add("two").add(3.5).addNull().add(false).addArray().add(n)
    tree
  }

  def event(n: Long): Event = n % 3 match {
    case 0 => Click(s"c$n", n)
    case 1 => Purchase(1.5 * n, Seq("a", "b"))
    case _ => Logout
  }
}

/** A state whose keys are a case class of fixed length. */
class ById extends KeyedProcessFunction[Id, java.lang.Long, String] {
  @transient private var last: ValueState[java.lang.Long] = _

  override def open(context: OpenContext): Unit =
    last = getRuntimeContext.getState(new ValueStateDescriptor[java.lang.Long]("last", classOf[java.lang.Long]))

  override def processElement(
      n: java.lang.Long,
      context: KeyedProcessFunction[Id, java.lang.Long, String]#Context,
      out: Collector[String]
  ): Unit = {
    last.update(n)
    States.seen.incrementAndGet()
  }
}

object ByText extends KeySelector[java.lang.Long, String] {
  override def getKey(n: java.lang.Long): String = s"k$n"
}

object ByIdKey extends KeySelector[java.lang.Long, Id] {
  override def getKey(n: java.lang.Long): Id = Id(n.toInt - 2, n * 1000000000L)
}

/** Types of flink-scala-api in state. Arguments: the state backend, and where the checkpoints go. */
object FlinkxJob {
  private val Count = 6L

  def main(args: Array[String]): Unit = {
    val checkpoints = Paths.get(args(1))
    val configuration = new Configuration()
    configuration.setString("state.backend.type", args(0))
    configuration.setString("execution.checkpointing.dir", checkpoints.toUri.toString)
    configuration.setString("state.checkpoints.dir", checkpoints.toUri.toString)
    configuration.setString("execution.checkpointing.interval", "1 s")
    configuration.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
    val environment = StreamExecutionEnvironment.createLocalEnvironment(1, configuration)
    environment.setMaxParallelism(8)
    val numbers = environment.addSource(new Numbers(Count), "numbers", implicitly[TypeInformation[java.lang.Long]])
    numbers.keyBy(ByText, implicitly[TypeInformation[String]]).process(new States, implicitly[TypeInformation[String]]).uid("states")
    numbers.keyBy(ByIdKey, implicitly[TypeInformation[Id]]).process(new ById, implicitly[TypeInformation[String]]).uid("by-id")
    environment.executeAsync()
    while (States.seen.get() < 2 * Count) Thread.sleep(100)
    val before = newest(checkpoints)
    while (newest(checkpoints) < before + 2) Thread.sleep(100)
    Runtime.getRuntime.halt(0)
  }

  /** The number of the newest complete checkpoint. */
  private def newest(folder: Path): Long = {
    val files = Files.walk(folder)
    try {
      val found = files.filter(path => path.getFileName.toString == "_metadata").toArray
      found.map(path => path.asInstanceOf[Path].getParent.getFileName.toString.substring(4).toLong).maxOption.getOrElse(0L)
    } catch { case _: java.io.UncheckedIOException => 0L }
    finally files.close()
  }
}
