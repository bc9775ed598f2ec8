package zoo

import java.io.{ByteArrayOutputStream, FileWriter, Writer}
import java.util.HexFormat
import org.apache.flink.api.common.ExecutionConfig
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot
import org.apache.flink.api.java.typeutils.GenericTypeInfo
import org.apache.flink.core.memory.DataOutputViewStreamWrapper
import scala.collection.JavaConverters._
import scala.collection.immutable
import scala.collection.mutable

/** Writes vectors: name, declared class, what to expect as JSON, the bytes of the value and, where it registers, the snapshot. */
object ScalaVectors {
  private var out: Writer = _

  def main(arguments: Array[String]): Unit = {
    out = new FileWriter(arguments(0))
    collections()
    tuples()
    others()
    classes()
    out.close()
  }

  private def collections(): Unit = {
    v("List", List("a", "b"), "['a','b']")
    v("List empty", Nil, "[]")
    v("List with null", List("a", null), "['a',null]")
    v("List nested", List(List(1), Nil), "[[1],[]]")
    v("List of Any", List(1, 2L, "x", 'c', 1.5, true, ()), "[1,2,'x','c',1.5,true,{'$class':'scala.runtime.BoxedUnit','$value':'()'}]")
    val twice = List("t")
    v("List twice", List(twice, twice), "[['t'],['t']]")
    v("Vector", Vector(1, 2, 3), "[1,2,3]")
    v("Vector empty", Vector(), "[]")
    v("Seq declared", Vector("s"), "['s']", classOf[Seq[_]])
    v("Queue immutable", immutable.Queue(1, 2), "[1,2]")
    v("ListBuffer", mutable.ListBuffer("a"), "['a']")
    v("ArrayBuffer", mutable.ArrayBuffer("a", "b"), "['a','b']")
    v("Queue mutable", mutable.Queue(1), "[1]")
    v("WrappedArray", mutable.WrappedArray.make[String](Array("a", "b")), "['a','b']")
    v("WrappedArray of Int", mutable.WrappedArray.make[Int](Array(1, 2)), "[1,2]")
    v("Set0", Set(), "[]")
    v("Set1", Set(1), "[1]")
    v("Set2", Set(1, 2), "[1,2]")
    v("Set3", Set(1, 2, 3), "[1,2,3]")
    v("Set4", Set(1, 2, 3, 4), "[1,2,3,4]")
    v("Set5", Set(1, 2, 3, 4, 5), "[5,1,2,3,4]")
    v("HashSet1", immutable.HashSet(7), "[7]")
    v("HashSet empty", immutable.HashSet(), "[]")
    v("ListSet", immutable.ListSet("a", "b"), "['a','b']")
    v("ListSet empty", immutable.ListSet(), "[]")
    v("TreeSet", immutable.TreeSet(3, 1, 2), "[1,2,3]")
    v("TreeSet of String", immutable.TreeSet("b", "a"), "['a','b']")
    v("BitSet", immutable.BitSet(1, 5, 200), "[1,5,200]")
    v("BitSet small", immutable.BitSet(0, 63), "[0,63]")
    v("BitSet two words", immutable.BitSet(0, 64), "[0,64]")
    v("BitSet empty", immutable.BitSet(), "[]")
    v("BitSet mutable", mutable.BitSet(1, 100), "[1,100]")
    v("HashSet mutable", mutable.HashSet("a"), "['a']")
    v("LinkedHashSet mutable", mutable.LinkedHashSet("b", "a"), "['b','a']")
    v("Map0", Map(), "{}")
    v("Map1", Map("a" -> 1), "{'a':1}")
    v("Map2", Map("a" -> 1, "b" -> 2), "{'a':1,'b':2}")
    v("Map3", Map("a" -> "x", "b" -> "y", "c" -> null), "{'a':'x','b':'y','c':null}")
    v("Map4", Map(1 -> 1L, 2 -> 2L, 3 -> 3L, 4 -> 4L), "[{'key':1,'value':1},{'key':2,'value':2},{'key':3,'value':3},{'key':4,'value':4}]")
    v("Map5", Map("a" -> 1, "b" -> 2, "c" -> 3, "d" -> 4, "e" -> 5), "{'e':5,'a':1,'b':2,'c':3,'d':4}")
    v("HashMap1", immutable.HashMap("k" -> "v"), "{'k':'v'}")
    v("HashMap empty", immutable.HashMap(), "{}")
    v("ListMap", immutable.ListMap("b" -> 1, "a" -> 2), "{'b':1,'a':2}")
    v("TreeMap", immutable.TreeMap("b" -> 1, "a" -> 2), "{'a':2,'b':1}")
    v("TreeMap empty", immutable.TreeMap[Int, Int](), "{}")
    v("HashMap mutable", mutable.HashMap("k" -> 1.5), "{'k':1.5}")
    v("LinkedHashMap mutable", mutable.LinkedHashMap("b" -> 1, "a" -> 2), "{'b':1,'a':2}")
    v("LongMap", immutable.LongMap(5L -> "x"), "[{'key':5,'value':'x'}]")
    v("IntMap", immutable.IntMap(5 -> "x"), "[{'key':5,'value':'x'}]")
    v("Map of primitives", Map(1 -> 2), "[{'key':1,'value':2}]")
    v("Range", 1 until 5, "[1,2,3,4]")
    v("Range inclusive", 1 to 5, "[1,2,3,4,5]")
    v("Range by", 10 to 1 by -3, "[10,7,4,1]")
    v("Range empty", 1 until 1, "[]")
    v("SeqWrapper", List("a", "b").asJava, "['a','b']")
    v("MapWrapper", Map("a" -> 1).asJava, "{'a':1}")
    v("JListWrapper", new java.util.ArrayList[String](java.util.Arrays.asList("a")).asScala, "['a']")
    v("JMapWrapper", new java.util.HashMap[String, String](java.util.Collections.singletonMap("k", "v")).asScala, "{'k':'v'}")
    v("IterableWrapper", (List("a"): Iterable[String]).asJava, "['a']")
  }

  private def tuples(): Unit = {
    v("Tuple1", Tuple1("a"), "{'_1':'a'}")
    v("Tuple1 of Long", Tuple1(5L), "{'_1':5}")
    v("Tuple1 of Int", Tuple1(-5), "{'_1':-5}")
    v("Tuple1 of Double", Tuple1(1.5), "{'_1':1.5}")
    v("Tuple2", ("a", 1), "{'_1':'a','_2':1}")
    v("Tuple2 JJ", (1L, -2L), "{'_1':1,'_2':-2}")
    v("Tuple2 JI", (1L, -2), "{'_1':1,'_2':-2}")
    v("Tuple2 JD", (1L, -2.5), "{'_1':1,'_2':-2.5}")
    v("Tuple2 IJ", (1, -2L), "{'_1':1,'_2':-2}")
    v("Tuple2 II", (1, -2), "{'_1':1,'_2':-2}")
    v("Tuple2 ID", (1, -2.5), "{'_1':1,'_2':-2.5}")
    v("Tuple2 DJ", (1.5, -2L), "{'_1':1.5,'_2':-2}")
    v("Tuple2 DI", (1.5, -2), "{'_1':1.5,'_2':-2}")
    v("Tuple2 DD", (1.5, -2.5), "{'_1':1.5,'_2':-2.5}")
    v("Tuple2 CZ", ('c', true), "{'_1':'c','_2':true}")
    v("Tuple3", (1, "b", null), "{'_1':1,'_2':'b','_3':null}")
    v("Tuple5", (1, 2, 3, 4, 5), "{'_1':1,'_2':2,'_3':3,'_4':4,'_5':5}")
    v("Tuple22", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22),
      (1 to 22).map(i => s"'_$i':$i").mkString("{", ",", "}"))
  }

  private def others(): Unit = {
    v("Some", Some("x"), "'x'")
    v("Some of Some", Some(Some(1)), "{'$class':'scala.Some','$value':1}")
    v("None", None, "null")
    v("Option declared", Some(5), "5", classOf[Option[_]])
    v("None declared", None, "null", classOf[Option[_]])
    v("Left", Left("l"), "'l'")
    v("Right", Right(5), "5")
    v("Either declared", Right(5), "5", classOf[Either[_, _]])
    v("Symbol", 'sym, "'sym'")
    v("Regex", "a+b".r, "'a+b'")
    v("Unit", (), "'()'")
    v("BigDecimal", BigDecimal("12.50"), "'12.50'")
    v("BigInt", BigInt("123456789012345678901234567890"), "123456789012345678901234567890")
    v("Enumeration", Weekday.Tue, "{'enumeration':'zoo.Weekday','id':1}")
    v("Ordering", Ordering.Int, "{}")
    v("Success", scala.util.Success(5), "5")
    v("WrappedString", new immutable.WrappedString("w"), "'w'")
    v("StringBuilder", new StringBuilder("sb"), "'sb'")
    v("in Object", List[Any](Some(1), None, Left("x"), ("a", 1), Map("k" -> 1), 'y),
      "[{'$class':'scala.Some','$value':1},{'$class':'scala.None$','$value':null},{'$class':'scala.util.Left','$value':'x'},"
        + "{'$class':'scala.Tuple2','_1':'a','_2':1},{'k':1},{'$class':'scala.Symbol','$value':'y'}]", classOf[Object])
    v("Null", null, "null", classOf[Seq[_]])
  }

  private def classes(): Unit = {
    v("Circle", Circle(1.5), "{'radius':1.5}")
    val box = Box(1, "b", List("x", "y"), Some(1L << 40), (3, 4))
    v("Box", box, "{'width':1,'name':'b','tags':['x','y'],'extra':{'$class':'scala.Some','$value':1099511627776},'corner':{'$class':'scala.Tuple2$mcII$sp','_1':3,'_2':4}}")
    v("Nothingness", Nothingness, "{}")
    v("Shape", box, null, classOf[Shape])
    v("Shape object", Nothingness, "{}", classOf[Shape])
    v("List of Shapes", List(Circle(1), Nothingness, Circle(2)),
      "[{'$class':'zoo.Circle','radius':1.0},{'$class':'zoo.Nothingness$'},{'$class':'zoo.Circle','radius':2.0}]")
    v("Mixed", Mixed(
      Seq("s"), Vector("v"), Set("x"), Map("k" -> "w"), None, Right(Circle(2.5)), ("p", Circle(3.5)), 'sym, Nothingness,
      List(Circle(4.5)), Array("a", null), List(1), Some("some"), Map("one" -> 1), mutable.Buffer("b"), BigDecimal("1.25")), null)
    val outer = new Outer(7)
    v("Inner", new outer.Inner("t"), "{'text':'t','$outer':{'$class':'zoo.Outer','n':7}}")
    v("Circle registered", Circle(1.5), "{'radius':1.5}", register = true)
  }

  private def v(name: String, value: Any, json: String, declared: Class[_] = null, register: Boolean = false): Unit = {
    val what = if (declared == null) value.getClass else declared
    val config = new ExecutionConfig()
    if (register) {
      config.registerKryoType(classOf[Circle])
      config.registerKryoType(classOf[Some[_]])
    }
    val serializer = new GenericTypeInfo[Any](what.asInstanceOf[Class[Any]]).createSerializer(config)
    val bytes = new ByteArrayOutputStream()
    try serializer.serialize(value, new DataOutputViewStreamWrapper(bytes))
    catch {
      case t: Throwable =>
        System.err.println(s"left out: $name: $t")
        return
    }
    val snapshot = new ByteArrayOutputStream()
    TypeSerializerSnapshot.writeVersionedSnapshot(new DataOutputViewStreamWrapper(snapshot), serializer.snapshotConfiguration())
    val expected = if (json == null) "" else json.replace('\'', '"')
    out.write(Seq(name, what.getName, expected, hex(bytes), if (register) hex(snapshot) else "").mkString("\t") + "\n")
  }

  private def hex(bytes: ByteArrayOutputStream): String = HexFormat.of().formatHex(bytes.toByteArray)
}
