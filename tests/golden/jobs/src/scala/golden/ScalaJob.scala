package golden

import java.util.{ArrayList, Arrays, List => JavaList}
import java.util.function.Function
import org.apache.flink.api.common.ExecutionConfig
import org.apache.flink.api.common.typeinfo.{TypeInformation, Types}
import org.apache.flink.api.scala._
import org.apache.flink.types.NullValue
import scala.util.{Success, Try}

object Size extends Enumeration {
  val Small: Size.Value = Value(7, "small")
  val Large: Size.Value = Value(-1, "large")
  val Huge: Size.Value = Value("HUGE")
}

case class Item(id: Long, name: String, tags: Seq[String])

case class Place(x: Double, item: Item, spare: Option[Item], size: Size.Value)

case class Node(value: Int, either: Either[Int, Place])

/** One state for each of the Scala API's types; key n has the n-th value. */
final class ScalaJob extends StatesJob("scala", "types") {
  import ScalaJob._

  override def operators(): JavaList[OperatorSpec] = Arrays.asList(
    new OperatorSpec("products", "products", Types.INT, (e: Event) => Int.box(e.number.toInt),
      state[Item]("case-class", item),
      state[Place]("nested", n => place(n)),
      state[Node]("deep", n => Node(n, if (n % 2 == 0) Left(-n) else Right(place(n)))),
      state[(Int, String)]("tuple2", n => (n, Strings.awkward(n))),
      state[(Int, Long)]("tuple2-numbers", n => (n, n * 10000000000L)),
      state[(Boolean, Double, Option[Int])]("tuple3", n => (n % 2 == 0, n / 4.0, if (n == 0) None else Some(n))),
      state[Option[String]]("option", n => if (n % 2 == 0) None else Some(Strings.awkward(n))),
      state[Either[Long, String]]("either", n => if (n % 2 == 0) Left(n) else Right(Strings.awkward(n))),
      state[Size.Value]("enumeration", n => Size.values.toSeq(n % 3)),
      state[Unit]("unit", _ => {}),
      tries()),
    new OperatorSpec("collections", "collections", Types.INT, (e: Event) => Int.box(e.number.toInt),
      state[Seq[Int]]("seq", n => 0 until n),
      state[Seq[String]]("seq-nulls", n => Seq(null, "x", null).take(n)),
      state[List[Item]]("list", n => List.tabulate(n % 3)(i => item(n + i))),
      state[Vector[Double]]("vector", n => Vector.tabulate(n)(_ / 3.0)),
      state[Set[String]]("set", n => Set("a", "b", "c").take(n)),
      state[Map[String, Long]]("map", n => Map("a" -> 1L, "" -> -n.toLong).take(n)),
      state[Map[Int, Seq[Option[String]]]]("map-nested", n => Map(n -> Seq(None, Some("s")), -n - 1 -> Seq())),
      state[Array[String]]("array", n => Array.tabulate(n)(i => Strings.name(i))),
      state[Array[Item]]("array-case-class", n => Array.tabulate(n % 3)(i => item(i)))),
    new OperatorSpec("keys", "keys", implicitly[TypeInformation[(String, Item)]], (e: Event) => key(e),
      StateSpec.list[Item]("items", implicitly[TypeInformation[Item]], 
        on(e => item(e.number.toInt)), on(e => shown(item(e.number.toInt)))),
      StateSpec.map[Size.Value, Option[Long]]("sizes",
        implicitly[TypeInformation[Size.Value]], implicitly[TypeInformation[Option[Long]]],
        on(e => StateSpec.entry(size(e), spare(e))),
        on(e => StateSpec.entry(shown(size(e)), shown(spare(e))))))
      .showingKeys((e: Event) => shown(key(e))))

  /** What failed would be Kryo's, of Java's serialization. */
  private def tries(): StateSpec = {
    val serializer = implicitly[TypeInformation[Try[Int]]].createSerializer(new ExecutionConfig())
    StateSpec.value[Try[Int]]("try", serializer,
      on[Try[Int]](e => Success(e.number.toInt)), on(e => new Fields().`with`("value", Int.box(e.number.toInt))))
  }
}

object ScalaJob {
  private def on[R](function: Event => R): Function[Event, R] = (event: Event) => function(event)

  /** So many keys have values. */
  private val COUNT = 7

  private def item(n: Int): Item = Item(n * 1000000007L, Strings.awkward(n), Seq.tabulate(n % 3)(i => s"tag $i"))

  private def place(n: Int): Place =
    Place(n / 2.0, item(n), if (n % 3 == 0) None else Some(item(-n)), Size.values.toSeq(n % 3))

  private def key(e: Event): (String, Item) = (Strings.name(e.number % 4), item((e.number % 4).toInt))

  private def size(e: Event): Size.Value = Size.values.toSeq((e.number % 3).toInt)

  private def spare(e: Event): Option[Long] = if (e.number % 2 == 0) None else Some(e.number)

  private def state[T](name: String, value: Int => T)(implicit type_ : TypeInformation[T]): StateSpec =
    StateSpec.value[T](name, type_,
      on(e => if (e.number < COUNT) value(e.number.toInt) else null.asInstanceOf[T]),
      on(e => if (e.number < COUNT) shown(value(e.number.toInt)) else null))

  /** What must come out: products by position, maps as lists of pairs, options as what they hold. */
  private def shown(value: Any): AnyRef = value match {
    case null | None | () => NullValue.getInstance
    case Some(inner) => shown(inner)
    case Left(inner) => new Fields().`with`("left", shown(inner))
    case Right(inner) => new Fields().`with`("right", shown(inner))
    case array: Array[_] => shown(array.toSeq)
    case items: Iterable[_] =>
      val out = new ArrayList[AnyRef]()
      items.foreach(item => out.add(shown(item)))
      out
    case constant: Enumeration#Value => constant.toString
    case product: Product =>
      val out = new Fields()
      product.productIterator.zipWithIndex.foreach { case (field, i) => out.`with`(s"_${i + 1}", shown(field)) }
      out
    case other => other.asInstanceOf[AnyRef]
  }
}
