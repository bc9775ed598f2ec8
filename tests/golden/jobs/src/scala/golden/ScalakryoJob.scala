package golden

import java.util.{ArrayList, Arrays, LinkedHashMap, List => JavaList}
import java.util.function.Function
import org.apache.flink.api.common.ExecutionConfig
import org.apache.flink.api.common.typeinfo.Types
import org.apache.flink.api.java.typeutils.GenericTypeInfo
import org.apache.flink.types.NullValue
import scala.collection.mutable.ArrayBuffer

/** Scala's classes as Kryo writes them, by the serializers of chill; key n has the n-th value. */
final class ScalakryoJob extends StatesJob("scalakryo", "types") {
  override def operators(): JavaList[OperatorSpec] = Arrays.asList(
    new OperatorSpec("kryo", "kryo", Types.INT, (e: Event) => Int.box(e.number.toInt),
      kryo("list", List("a", "b"), List()),
      kryo("vector", Vector(1, 2), Vector()),
      kryo("buffer", ArrayBuffer(1L, -2L)),
      kryo("set", Set(1, 2), Set(1, 2, 3, 4, 5)),
      kryo("map", Map("a" -> 1), Map()),
      kryo("option", Some("x"), None),
      kryo("tuple2", (1, "x")),
      kryo("tuple3", (1, "x", null)),
      kryo("either", Left(1), Right("x"))))

  private def kryo(name: String, values: Any*): StateSpec = {
    val serializer = new GenericTypeInfo[AnyRef](classOf[Object]).createSerializer(new ExecutionConfig())
    val value: Function[Event, AnyRef] = e => if (e.number < values.size) values(e.number.toInt).asInstanceOf[AnyRef] else null
    val json: Function[Event, AnyRef] = e => if (e.number < values.size) shown(values(e.number.toInt)) else null
    StateSpec.value[AnyRef](name, serializer, value, json)
  }

  /** What the JSON must say: a tuple is an object, Either what it holds. */
  private def shown(value: Any): AnyRef = value match {
    case null | None => NullValue.getInstance
    case Some(inner) => shown(inner)
    case Left(inner) => shown(inner)
    case Right(inner) => shown(inner)
    case map: Map[_, _] => entries(map)
    case items: Iterable[_] =>
      val out = new ArrayList[AnyRef]()
      items.foreach(item => out.add(shown(item)))
      out
    case tuple: Product => entries(tuple.productIterator.zipWithIndex.map { case (field, i) => s"_${i + 1}" -> field }.toSeq)
    case other => other.asInstanceOf[AnyRef]
  }

  private def entries(pairs: Iterable[(_, _)]): LinkedHashMap[AnyRef, AnyRef] = {
    val out = new LinkedHashMap[AnyRef, AnyRef]()
    pairs.foreach { case (key, value) => out.put(shown(key), shown(value)) }
    out
  }
}
