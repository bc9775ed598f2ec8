package zoo

/** Classes of a job in Scala. */
sealed trait Shape

case class Circle(radius: Double) extends Shape

case class Box(width: Int, name: String, tags: List[String], extra: Option[Long], corner: (Int, Int)) extends Shape

case object Nothingness extends Shape

case class Mixed(
    seq: Seq[String],
    vector: Vector[String],
    set: Set[String],
    map: Map[String, String],
    option: Option[String],
    either: Either[String, Circle],
    pair: (String, Circle),
    symbol: Symbol,
    shape: Shape,
    shapes: List[Shape],
    array: Array[String],
    any: Any,
    maybe: Some[String],
    numbers: Map[String, Int],
    buffer: scala.collection.mutable.Buffer[String],
    big: BigDecimal
)

object Weekday extends Enumeration {
  val Mon, Tue, Wed = Value
}

class Outer(val n: Int) {
  class Inner(val text: String) {
    // Whoever refers to the outer object has it as a synthetic field.
    def both: String = text + n
  }
}
