"""Classes of JDK 17 whose objects a job may keep: kind, supertypes, names, enums' constants; without ``java.``.

Made by ``tests/kryo/generate.py``; ``jdk.py`` reads it. Data only.
"""

from typing import Final

CLASSES: Final = """\
open io.FilterInputStream: io.BufferedInputStream io.LineNumberInputStream io.PushbackInputStream
open io.FilterOutputStream: io.BufferedOutputStream
open io.Reader: io.BufferedReader io.CharArrayReader io.FilterReader io.InputStreamReader io.PipedReader io.StringReader
open io.Writer: io.BufferedWriter io.CharArrayWriter io.FilterWriter io.OutputStreamWriter io.PipedWriter io.PrintWriter
open io.Writer: io.StringWriter
open io.InputStream: io.ByteArrayInputStream io.FileInputStream io.FilterInputStream io.PipedInputStream
open io.InputStream: io.SequenceInputStream io.StringBufferInputStream
open io.OutputStream: io.ByteArrayOutputStream io.FileOutputStream io.FilterOutputStream io.PipedOutputStream
interface lang.AutoCloseable: io.Closeable
final io.Flushable: io.Console
interface: io.DataInput io.DataOutput io.FileFilter io.FilenameFilter io.Flushable io.ObjectInputFilter
interface: io.ObjectInputFilter$FilterInfo io.ObjectInputValidation io.ObjectStreamConstants io.Serial io.Serializable
interface: lang.Appendable lang.AutoCloseable lang.CharSequence lang.Cloneable lang.Comparable lang.Deprecated
interface: lang.FunctionalInterface lang.Iterable lang.Override lang.ProcessHandle$Info lang.Readable lang.Runnable
interface: lang.SafeVarargs lang.StackWalker$StackFrame lang.SuppressWarnings lang.System$Logger
interface: lang.Thread$UncaughtExceptionHandler net.ContentHandlerFactory net.CookiePolicy net.CookieStore
interface: net.DatagramSocketImplFactory net.FileNameMap net.ProtocolFamily net.SocketImplFactory net.SocketOption
interface: net.SocketOptions net.URLStreamHandlerFactory nio.file.CopyOption nio.file.DirectoryStream$Filter
interface: nio.file.FileVisitor nio.file.OpenOption nio.file.PathMatcher nio.file.WatchEvent nio.file.WatchEvent$Kind
interface: nio.file.WatchEvent$Modifier nio.file.WatchKey nio.file.Watchable sql.Array sql.Blob sql.Clob
interface: sql.ConnectionBuilder sql.Driver sql.DriverAction sql.Ref sql.RowId sql.SQLData sql.SQLInput sql.SQLOutput
interface: sql.SQLType sql.SQLXML sql.Savepoint sql.ShardingKey sql.ShardingKeyBuilder sql.Struct sql.Wrapper
interface: time.InstantSource time.temporal.TemporalAccessor time.temporal.TemporalAdjuster time.temporal.TemporalAmount
interface: time.temporal.TemporalField time.temporal.TemporalQuery time.temporal.TemporalUnit util.Comparator
interface: util.Enumeration util.EventListener util.Formattable util.Iterator util.Map util.Map$Entry util.Observer
interface: util.RandomAccess util.Spliterator util.concurrent.Callable
interface: util.concurrent.CompletableFuture$AsynchronousCompletionTask util.concurrent.CompletionService
interface: util.concurrent.CompletionStage util.concurrent.Executor util.concurrent.Flow$Publisher
interface: util.concurrent.Flow$Subscriber util.concurrent.Flow$Subscription
interface: util.concurrent.ForkJoinPool$ForkJoinWorkerThreadFactory util.concurrent.ForkJoinPool$ManagedBlocker
interface: util.concurrent.Future util.concurrent.RejectedExecutionHandler util.concurrent.ThreadFactory
interface: util.function.BiConsumer util.function.BiFunction util.function.BiPredicate util.function.BooleanSupplier
interface: util.function.Consumer util.function.DoubleBinaryOperator util.function.DoubleConsumer
interface: util.function.DoubleFunction util.function.DoublePredicate util.function.DoubleSupplier
interface: util.function.DoubleToIntFunction util.function.DoubleToLongFunction util.function.DoubleUnaryOperator
interface: util.function.Function util.function.IntBinaryOperator util.function.IntConsumer util.function.IntFunction
interface: util.function.IntPredicate util.function.IntSupplier util.function.IntToDoubleFunction
interface: util.function.IntToLongFunction util.function.IntUnaryOperator util.function.LongBinaryOperator
interface: util.function.LongConsumer util.function.LongFunction util.function.LongPredicate util.function.LongSupplier
interface: util.function.LongToDoubleFunction util.function.LongToIntFunction util.function.LongUnaryOperator
interface: util.function.ObjDoubleConsumer util.function.ObjIntConsumer util.function.ObjLongConsumer
interface: util.function.Predicate util.function.Supplier util.function.ToDoubleBiFunction util.function.ToDoubleFunction
interface: util.function.ToIntBiFunction util.function.ToIntFunction util.function.ToLongBiFunction
interface: util.function.ToLongFunction util.regex.MatchResult
open io.FilterInputStream io.DataInput: io.DataInputStream
open io.FilterOutputStream io.DataOutput: io.DataOutputStream
open util.LinkedHashMap: io.ExpiringCache$1
interface io.Serializable: io.Externalizable
open io.Serializable lang.Comparable: io.File
final: io.FileDescriptor io.ObjectInputFilter$Config lang.Compiler lang.Math lang.Module lang.ModuleLayer
final: lang.ModuleLayer$Controller lang.ProcessBuilder lang.StackWalker lang.StrictMath lang.System lang.Void
final: net.DatagramPacket net.IDN net.NetworkInterface net.PasswordAuthentication net.StandardSocketOptions nio.ByteOrder
final: nio.charset.StandardCharsets nio.file.FileSystems nio.file.Files nio.file.Paths nio.file.StandardWatchEventKinds
final: text.Bidi text.CollationElementIterator text.Normalizer time.temporal.IsoFields time.temporal.JulianFields
final: time.temporal.TemporalAdjusters time.temporal.TemporalQueries util.HexFormat util.Locale$Builder
final: util.Locale$LanguageRange util.Objects util.Optional util.OptionalDouble util.OptionalInt util.OptionalLong
final: util.Spliterators util.SplittableRandom util.StringJoiner util.concurrent.Flow
final security.Permission io.Serializable: io.FilePermission net.SocketPermission
open io.InputStreamReader: io.FileReader
open io.OutputStreamWriter: io.FileWriter
open io.Closeable: io.InputStream net.DatagramSocket net.ServerSocket net.Socket nio.file.FileSystem
open io.BufferedReader: io.LineNumberReader
interface io.DataInput lang.AutoCloseable: io.ObjectInput
enum lang.Enum: io.ObjectInputFilter$Status | UNDECIDED ALLOWED REJECTED
enum lang.Enum: lang.ProcessBuilder$Redirect$Type | PIPE INHERIT READ WRITE APPEND
enum lang.Enum: lang.StackWalker$Option | RETAIN_CLASS_REFERENCE SHOW_REFLECT_FRAMES SHOW_HIDDEN_FRAMES
enum lang.Enum: lang.System$Logger$Level | ALL TRACE DEBUG INFO WARNING ERROR OFF
enum lang.Enum: lang.Thread$State | NEW RUNNABLE BLOCKED WAITING TIMED_WAITING TERMINATED
enum lang.Enum: math.RoundingMode | UP DOWN CEILING FLOOR HALF_UP HALF_DOWN HALF_EVEN UNNECESSARY
enum lang.Enum: net.Authenticator$RequestorType | PROXY SERVER
enum lang.Enum: net.Proxy$Type | DIRECT HTTP SOCKS
enum lang.Enum: nio.file.AccessMode | READ WRITE EXECUTE
enum lang.Enum: nio.file.FileVisitOption | FOLLOW_LINKS
enum lang.Enum: nio.file.FileVisitResult | CONTINUE TERMINATE SKIP_SUBTREE SKIP_SIBLINGS
enum lang.Enum: sql.ClientInfoStatus | REASON_UNKNOWN REASON_UNKNOWN_PROPERTY REASON_VALUE_INVALID REASON_VALUE_TRUNCATED
enum lang.Enum: sql.PseudoColumnUsage | SELECT_LIST_ONLY WHERE_CLAUSE_ONLY NO_USAGE_RESTRICTIONS USAGE_UNKNOWN
enum lang.Enum: sql.RowIdLifetime | ROWID_UNSUPPORTED ROWID_VALID_OTHER ROWID_VALID_SESSION ROWID_VALID_TRANSACTION ROWID_VALID_FOREVER
enum lang.Enum: text.Normalizer$Form | NFD NFC NFKD NFKC
enum lang.Enum: text.NumberFormat$Style | SHORT LONG
enum lang.Enum: util.Formatter$BigDecimalLayoutForm | SCIENTIFIC DECIMAL_FLOAT
enum lang.Enum: util.Locale$Category | DISPLAY FORMAT
enum lang.Enum: util.Locale$FilteringMode | AUTOSELECT_FILTERING EXTENDED_FILTERING IGNORE_EXTENDED_RANGES MAP_EXTENDED_RANGES REJECT_EXTENDED_RANGES
enum lang.Enum: util.Locale$IsoCountryCode | PART1_ALPHA2 PART1_ALPHA3 PART3
enum lang.Enum: util.concurrent.TimeUnit | NANOSECONDS MICROSECONDS MILLISECONDS SECONDS MINUTES HOURS DAYS
open io.InputStream io.ObjectInput io.ObjectStreamConstants: io.ObjectInputStream
open: io.ObjectInputStream$GetField io.ObjectOutputStream$PutField io.StreamTokenizer lang.Character$Subset
open: lang.ClassLoader lang.ClassValue lang.NamedPackage lang.Object lang.Process lang.ProcessBuilder$Redirect
open: lang.Record lang.Runtime lang.SecurityManager lang.System$LoggerFinder lang.ThreadLocal
open: lang.constant.DynamicConstantDesc net.Authenticator net.CacheRequest net.CacheResponse net.ContentHandler
open: net.CookieHandler net.InterfaceAddress net.Proxy net.ProxySelector net.ResponseCache net.URLConnection
open: net.URLDecoder net.URLEncoder net.URLStreamHandler nio.Buffer nio.charset.CharsetDecoder nio.charset.CharsetEncoder
open: nio.charset.CoderResult nio.charset.CodingErrorAction nio.file.FileStore sql.DriverManager sql.DriverPropertyInfo
open: sql.Types text.Annotation text.AttributedString text.FieldPosition text.ParsePosition util.Arrays util.Base64
open: util.Base64$Decoder util.Base64$Encoder util.Calendar$Builder util.Collections util.Dictionary
open: util.FormattableFlags util.Observable util.ResourceBundle util.ResourceBundle$Control util.Timer
open: util.concurrent.CountDownLatch util.concurrent.CyclicBarrier util.concurrent.Exchanger util.concurrent.Executors
open: util.concurrent.Phaser util.concurrent.atomic.AtomicIntegerFieldUpdater
open: util.concurrent.atomic.AtomicLongFieldUpdater util.concurrent.atomic.AtomicMarkableReference
open: util.concurrent.atomic.AtomicReferenceFieldUpdater util.concurrent.atomic.AtomicStampedReference
interface io.DataOutput lang.AutoCloseable: io.ObjectOutput
open io.OutputStream io.ObjectOutput io.ObjectStreamConstants: io.ObjectOutputStream
open io.Serializable: io.ObjectStreamClass lang.Number lang.Throwable net.InetAddress net.SocketAddress
open io.Serializable: security.Permission text.AttributedCharacterIterator$Attribute time.ZoneId util.EventObject
open io.Serializable: util.Random util.concurrent.Semaphore util.concurrent.atomic.AtomicBoolean
open io.Serializable: util.concurrent.atomic.AtomicIntegerArray util.concurrent.atomic.AtomicLongArray
open io.Serializable: util.concurrent.atomic.AtomicReference util.concurrent.atomic.AtomicReferenceArray
final util.concurrent.ConcurrentHashMap: io.ObjectStreamClass$DeserializationConstructorsCache
open lang.Comparable: io.ObjectStreamField nio.charset.Charset text.CollationKey
open io.Closeable io.Flushable: io.OutputStream
open io.FilterOutputStream lang.Appendable io.Closeable: io.PrintStream
open io.FilterReader: io.PushbackReader
open io.DataOutput io.DataInput io.Closeable: io.RandomAccessFile
open lang.Readable io.Closeable: io.Reader
final security.BasicPermission: io.SerializablePermission lang.RuntimePermission net.NetPermission
final security.BasicPermission: nio.file.LinkPermission sql.SQLPermission util.PropertyPermission
open lang.Appendable io.Closeable io.Flushable: io.Writer
open lang.Appendable lang.CharSequence: lang.AbstractStringBuilder
final io.Serializable lang.Comparable: lang.Boolean lang.Character util.UUID
final lang.Number lang.Comparable: lang.Byte lang.Double lang.Float lang.Integer lang.Long lang.Short
final lang.Character$Subset: lang.Character$UnicodeBlock
final io.Serializable: lang.Class lang.StackTraceElement math.MathContext net.URL time.temporal.ValueRange
final io.Serializable: time.temporal.WeekFields util.Currency util.regex.Pattern
open util.WeakHashMap: lang.ClassValue$ClassValueMap
open lang.Comparable io.Serializable: lang.Enum
final lang.constant.DynamicConstantDesc: lang.Enum$EnumDesc
open lang.Throwable: lang.Exception
open lang.ThreadLocal: lang.InheritableThreadLocal
open lang.NamedPackage: lang.Package
open util.AbstractSet: lang.ProcessEnvironment$StringEntrySet lang.ProcessEnvironment$StringKeySet util.AbstractMap$1
open util.AbstractSet: util.EnumMap$EntrySet util.EnumMap$KeySet util.Hashtable$EntrySet util.Hashtable$KeySet
open util.AbstractSet: util.IdentityHashMap$EntrySet util.IdentityHashMap$KeySet util.ImmutableCollections$MapN$1
open util.AbstractSet: util.TreeMap$EntrySet util.TreeMap$NavigableSubMap$EntrySetView util.WeakHashMap$EntrySet
open util.AbstractSet: util.WeakHashMap$KeySet
open util.AbstractMap: lang.ProcessEnvironment$StringEnvironment
open util.AbstractCollection: lang.ProcessEnvironment$StringValues util.AbstractMap$2 util.EnumMap$Values
open util.AbstractCollection: util.Hashtable$ValueCollection util.IdentityHashMap$Values
open util.AbstractCollection: util.ImmutableCollections$AbstractImmutableCollection util.TreeMap$Values
open util.AbstractCollection: util.WeakHashMap$Values
interface lang.Comparable: lang.ProcessHandle time.chrono.Chronology util.concurrent.Delayed
final lang.Comparable: lang.Runtime$Version
final io.Serializable lang.Comparable lang.CharSequence: lang.String
final lang.AbstractStringBuilder io.Serializable lang.Comparable lang.CharSequence: lang.StringBuffer lang.StringBuilder
open lang.Runnable: lang.Thread util.TimerTask
open lang.Thread$UncaughtExceptionHandler: lang.ThreadGroup
open lang.Number lang.Comparable: math.BigDecimal math.BigInteger
open net.CookieHandler: net.CookieManager
open net.SocketOptions: net.DatagramSocketImpl net.SocketImpl
final lang.Cloneable: net.HttpCookie
open net.URLConnection: net.HttpURLConnection net.JarURLConnection
final net.InetAddress: net.Inet4Address net.Inet6Address
open net.SocketAddress: net.InetSocketAddress
open net.DatagramSocket: net.MulticastSocket
open net.CacheResponse: net.SecureCacheResponse
enum lang.Enum net.ProtocolFamily: net.StandardProtocolFamily | INET INET6 UNIX
final lang.Comparable io.Serializable: net.URI
open security.SecureClassLoader io.Closeable: net.URLClassLoader
final security.Permission: net.URLPermission
final net.SocketAddress: net.UnixDomainSocketAddress
open nio.Buffer lang.Comparable: nio.ByteBuffer nio.DoubleBuffer nio.FloatBuffer nio.IntBuffer nio.LongBuffer
open nio.Buffer lang.Comparable: nio.ShortBuffer
open nio.Buffer lang.Comparable lang.Appendable lang.CharSequence lang.Readable: nio.CharBuffer
open nio.ByteBuffer: nio.MappedByteBuffer
interface io.Closeable lang.Iterable: nio.file.DirectoryStream
enum lang.Enum nio.file.OpenOption nio.file.CopyOption: nio.file.LinkOption | NOFOLLOW_LINKS
interface lang.Comparable lang.Iterable nio.file.Watchable: nio.file.Path
interface nio.file.DirectoryStream: nio.file.SecureDirectoryStream
open nio.file.FileVisitor: nio.file.SimpleFileVisitor
enum lang.Enum nio.file.CopyOption: nio.file.StandardCopyOption | REPLACE_EXISTING COPY_ATTRIBUTES ATOMIC_MOVE
enum lang.Enum nio.file.OpenOption: nio.file.StandardOpenOption | READ WRITE APPEND TRUNCATE_EXISTING CREATE CREATE_NEW DELETE_ON_CLOSE SPARSE SYNC DSYNC
interface io.Closeable: nio.file.WatchService
open security.Permission io.Serializable: security.BasicPermission
open lang.ClassLoader: security.SecureClassLoader
interface sql.PreparedStatement: sql.CallableStatement
interface sql.Wrapper lang.AutoCloseable: sql.Connection sql.ResultSet sql.Statement
interface sql.Wrapper: sql.DatabaseMetaData sql.ParameterMetaData sql.ResultSetMetaData
open util.Date: sql.Date sql.Time sql.Timestamp
enum lang.Enum sql.SQLType: sql.JDBCType | BIT TINYINT SMALLINT INTEGER BIGINT FLOAT REAL DOUBLE NUMERIC DECIMAL CHAR VARCHAR LONGVARCHAR DATE TIME TIMESTAMP BINARY VARBINARY LONGVARBINARY NULL OTHER JAVA_OBJECT DISTINCT STRUCT ARRAY BLOB CLOB REF DATALINK BOOLEAN ROWID NCHAR NVARCHAR LONGNVARCHAR NCLOB SQLXML REF_CURSOR TIME_WITH_TIMEZONE TIMESTAMP_WITH_TIMEZONE
interface sql.Clob: sql.NClob
interface sql.Statement: sql.PreparedStatement
interface text.CharacterIterator: text.AttributedCharacterIterator
final util.AbstractMap: text.AttributedString$AttributeMap
open lang.Cloneable: text.BreakIterator
interface lang.Cloneable: text.CharacterIterator
open text.NumberFormat: text.ChoiceFormat text.DecimalFormat
open util.Comparator lang.Cloneable: text.Collator
final text.NumberFormat: text.CompactNumberFormat
open text.Format: text.DateFormat text.MessageFormat text.NumberFormat
open text.Format$Field: text.DateFormat$Field text.MessageFormat$Field text.NumberFormat$Field
open io.Serializable lang.Cloneable: text.DateFormatSymbols text.Format util.TimeZone
open lang.Cloneable io.Serializable: text.DecimalFormatSymbols util.BitSet
open text.AttributedCharacterIterator$Attribute: text.Format$Field
open text.Collator: text.RuleBasedCollator
open text.DateFormat: text.SimpleDateFormat
final text.CharacterIterator: text.StringCharacterIterator
open time.InstantSource: time.Clock
enum lang.Enum time.temporal.TemporalAccessor time.temporal.TemporalAdjuster: time.DayOfWeek | MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY
enum lang.Enum time.temporal.TemporalAccessor time.temporal.TemporalAdjuster: time.Month | JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER
final time.temporal.TemporalAmount lang.Comparable io.Serializable: time.Duration
final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable: time.Instant time.LocalTime
final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable: time.OffsetDateTime
final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable: time.OffsetTime time.Year
final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable: time.YearMonth
final time.temporal.Temporal time.temporal.TemporalAdjuster time.chrono.ChronoLocalDate io.Serializable: time.LocalDate
final time.temporal.Temporal time.temporal.TemporalAdjuster time.chrono.ChronoLocalDateTime io.Serializable: time.LocalDateTime
final time.temporal.TemporalAccessor time.temporal.TemporalAdjuster lang.Comparable io.Serializable: time.MonthDay
final time.chrono.ChronoPeriod io.Serializable: time.Period
final time.ZoneId time.temporal.TemporalAccessor time.temporal.TemporalAdjuster lang.Comparable io.Serializable: time.ZoneOffset
final time.temporal.Temporal time.chrono.ChronoZonedDateTime io.Serializable: time.ZonedDateTime
open time.chrono.Chronology: time.chrono.AbstractChronology
interface time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable: time.chrono.ChronoLocalDate
interface time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable: time.chrono.ChronoLocalDateTime
open time.chrono.ChronoLocalDate time.temporal.Temporal time.temporal.TemporalAdjuster io.Serializable: time.chrono.ChronoLocalDateImpl
interface time.temporal.TemporalAmount: time.chrono.ChronoPeriod
interface time.temporal.Temporal lang.Comparable: time.chrono.ChronoZonedDateTime
interface time.temporal.TemporalAccessor time.temporal.TemporalAdjuster: time.chrono.Era
final time.chrono.AbstractChronology io.Serializable: time.chrono.HijrahChronology time.chrono.IsoChronology
final time.chrono.AbstractChronology io.Serializable: time.chrono.JapaneseChronology time.chrono.MinguoChronology
final time.chrono.AbstractChronology io.Serializable: time.chrono.ThaiBuddhistChronology
final time.chrono.ChronoLocalDateImpl time.chrono.ChronoLocalDate io.Serializable: time.chrono.HijrahDate
final time.chrono.ChronoLocalDateImpl time.chrono.ChronoLocalDate io.Serializable: time.chrono.JapaneseDate
final time.chrono.ChronoLocalDateImpl time.chrono.ChronoLocalDate io.Serializable: time.chrono.MinguoDate
final time.chrono.ChronoLocalDateImpl time.chrono.ChronoLocalDate io.Serializable: time.chrono.ThaiBuddhistDate
enum lang.Enum time.chrono.Era: time.chrono.HijrahEra | AH
enum lang.Enum time.chrono.Era: time.chrono.IsoEra | BCE CE
enum lang.Enum time.chrono.Era: time.chrono.MinguoEra | BEFORE_ROC ROC
enum lang.Enum time.chrono.Era: time.chrono.ThaiBuddhistEra | BEFORE_BE BE
final time.chrono.Era io.Serializable: time.chrono.JapaneseEra
enum lang.Enum time.temporal.TemporalField: time.temporal.ChronoField | NANO_OF_SECOND NANO_OF_DAY MICRO_OF_SECOND MICRO_OF_DAY MILLI_OF_SECOND MILLI_OF_DAY SECOND_OF_MINUTE SECOND_OF_DAY MINUTE_OF_HOUR MINUTE_OF_DAY HOUR_OF_AMPM CLOCK_HOUR_OF_AMPM HOUR_OF_DAY CLOCK_HOUR_OF_DAY AMPM_OF_DAY DAY_OF_WEEK ALIGNED_DAY_OF_WEEK_IN_MONTH ALIGNED_DAY_OF_WEEK_IN_YEAR DAY_OF_MONTH DAY_OF_YEAR EPOCH_DAY ALIGNED_WEEK_OF_MONTH ALIGNED_WEEK_OF_YEAR MONTH_OF_YEAR PROLEPTIC_MONTH YEAR_OF_ERA YEAR ERA INSTANT_SECONDS OFFSET_SECONDS
enum lang.Enum time.temporal.TemporalUnit: time.temporal.ChronoUnit | NANOS MICROS MILLIS SECONDS MINUTES HOURS HALF_DAYS DAYS WEEKS MONTHS YEARS DECADES CENTURIES MILLENNIA ERAS FOREVER
interface time.temporal.TemporalAccessor: time.temporal.Temporal
open util.Collection: util.AbstractCollection
open util.AbstractCollection util.List: util.AbstractList
open util.AbstractList$SubList util.RandomAccess: util.AbstractList$RandomAccessSubList
open util.AbstractList: util.AbstractList$SubList util.AbstractSequentialList
open util.Map: util.AbstractMap
open util.Map$Entry io.Serializable: util.AbstractMap$SimpleEntry util.AbstractMap$SimpleImmutableEntry
open util.AbstractCollection util.Queue: util.AbstractQueue
open util.AbstractCollection util.Set: util.AbstractSet
open util.AbstractCollection util.Deque lang.Cloneable io.Serializable: util.ArrayDeque
open util.AbstractList util.List util.RandomAccess lang.Cloneable io.Serializable: util.ArrayList util.Vector
open util.AbstractList util.RandomAccess: util.ArrayList$SubList
open util.AbstractList util.RandomAccess io.Serializable: util.Arrays$ArrayList util.Collections$CopiesList
open util.AbstractList util.RandomAccess io.Serializable: util.Collections$EmptyList util.Collections$SingletonList
open io.Serializable lang.Cloneable lang.Comparable: util.Calendar util.Date
interface lang.Iterable: util.Collection
open util.AbstractQueue util.Queue io.Serializable: util.Collections$AsLIFOQueue util.concurrent.ConcurrentLinkedQueue
open util.Collection io.Serializable: util.Collections$CheckedCollection util.Collections$SynchronizedCollection
open util.Collection io.Serializable: util.Collections$UnmodifiableCollection
open util.Collection io.Serializable: util.concurrent.ConcurrentHashMap$CollectionView
open util.Collections$CheckedCollection util.List: util.Collections$CheckedList
open util.Map io.Serializable: util.Collections$CheckedMap util.Collections$SynchronizedMap
open util.Map io.Serializable: util.Collections$UnmodifiableMap
open util.Set: util.Collections$CheckedMap$CheckedEntrySet util.Properties$EntrySet
open util.Collections$CheckedSortedMap util.NavigableMap io.Serializable: util.Collections$CheckedNavigableMap
open util.Collections$CheckedSortedSet util.NavigableSet io.Serializable: util.Collections$CheckedNavigableSet
open util.Collections$CheckedCollection util.Queue io.Serializable: util.Collections$CheckedQueue
open util.Collections$CheckedList util.RandomAccess: util.Collections$CheckedRandomAccessList
open util.Collections$CheckedCollection util.Set io.Serializable: util.Collections$CheckedSet
open util.Collections$CheckedMap util.SortedMap io.Serializable: util.Collections$CheckedSortedMap
open util.Collections$CheckedSet util.SortedSet io.Serializable: util.Collections$CheckedSortedSet
open util.AbstractMap io.Serializable: util.Collections$EmptyMap util.Collections$SingletonMap
open util.AbstractMap io.Serializable: util.ImmutableCollections$AbstractImmutableMap
open util.AbstractSet io.Serializable: util.Collections$EmptySet util.Collections$SingletonSet
open util.AbstractSet io.Serializable: util.concurrent.CopyOnWriteArraySet
open util.AbstractSet util.Set io.Serializable: util.Collections$SetFromMap
open util.Collections$SynchronizedCollection util.List: util.Collections$SynchronizedList
open util.Collections$SynchronizedSortedMap util.NavigableMap: util.Collections$SynchronizedNavigableMap
open util.Collections$SynchronizedSortedSet util.NavigableSet: util.Collections$SynchronizedNavigableSet
open util.Collections$SynchronizedList util.RandomAccess: util.Collections$SynchronizedRandomAccessList
open util.Collections$SynchronizedCollection util.Set: util.Collections$SynchronizedSet
open util.Collections$SynchronizedMap util.SortedMap: util.Collections$SynchronizedSortedMap
open util.Collections$SynchronizedSet util.SortedSet: util.Collections$SynchronizedSortedSet
open util.Collections$UnmodifiableCollection util.List: util.Collections$UnmodifiableList
open util.Collections$UnmodifiableSet: util.Collections$UnmodifiableMap$UnmodifiableEntrySet
open util.Collections$UnmodifiableSortedMap util.NavigableMap io.Serializable: util.Collections$UnmodifiableNavigableMap
open util.Collections$UnmodifiableNavigableMap io.Serializable: util.Collections$UnmodifiableNavigableMap$EmptyNavigableMap
open util.Collections$UnmodifiableSortedSet util.NavigableSet io.Serializable: util.Collections$UnmodifiableNavigableSet
open util.Collections$UnmodifiableNavigableSet io.Serializable: util.Collections$UnmodifiableNavigableSet$EmptyNavigableSet
open util.Collections$UnmodifiableList util.RandomAccess: util.Collections$UnmodifiableRandomAccessList
open util.Collections$UnmodifiableCollection util.Set io.Serializable: util.Collections$UnmodifiableSet
open util.Collections$UnmodifiableMap util.SortedMap io.Serializable: util.Collections$UnmodifiableSortedMap
open util.Collections$UnmodifiableSet util.SortedSet io.Serializable: util.Collections$UnmodifiableSortedSet
interface util.Queue: util.Deque util.concurrent.BlockingQueue
open util.function.DoubleConsumer: util.DoubleSummaryStatistics
open util.AbstractMap io.Serializable lang.Cloneable: util.EnumMap
open util.AbstractSet lang.Cloneable io.Serializable: util.EnumSet
open util.EventListener: util.EventListenerProxy
final io.Closeable io.Flushable: util.Formatter
open util.Calendar: util.GregorianCalendar
open util.AbstractMap util.Map lang.Cloneable io.Serializable: util.HashMap
final util.AbstractSet: util.HashMap$EntrySet util.HashMap$KeySet util.LinkedHashMap$LinkedEntrySet
final util.AbstractSet: util.LinkedHashMap$LinkedKeySet util.concurrent.ConcurrentSkipListMap$EntrySet
final util.AbstractCollection: util.HashMap$Values util.LinkedHashMap$LinkedValues
final util.AbstractCollection: util.concurrent.ConcurrentSkipListMap$Values
open util.AbstractSet util.Set lang.Cloneable io.Serializable: util.HashSet
open util.Dictionary util.Map lang.Cloneable io.Serializable: util.Hashtable
open util.AbstractMap util.Map io.Serializable lang.Cloneable: util.IdentityHashMap
open util.ImmutableCollections$AbstractImmutableCollection util.List util.RandomAccess: util.ImmutableCollections$AbstractImmutableList
open util.ImmutableCollections$AbstractImmutableCollection util.Set: util.ImmutableCollections$AbstractImmutableSet
final util.ImmutableCollections$AbstractImmutableList io.Serializable: util.ImmutableCollections$List12
final util.ImmutableCollections$AbstractImmutableList io.Serializable: util.ImmutableCollections$ListN
final util.ImmutableCollections$AbstractImmutableMap: util.ImmutableCollections$Map1 util.ImmutableCollections$MapN
final util.ImmutableCollections$AbstractImmutableSet io.Serializable: util.ImmutableCollections$Set12
final util.ImmutableCollections$AbstractImmutableSet io.Serializable: util.ImmutableCollections$SetN
final util.ImmutableCollections$AbstractImmutableList util.RandomAccess: util.ImmutableCollections$SubList
open util.function.IntConsumer: util.IntSummaryStatistics
open util.EnumSet: util.JumboEnumSet util.RegularEnumSet
open util.HashMap util.Map: util.LinkedHashMap
open util.HashSet util.Set lang.Cloneable io.Serializable: util.LinkedHashSet
open util.AbstractSequentialList util.List util.Deque lang.Cloneable io.Serializable: util.LinkedList
interface util.Collection: util.List util.Queue util.Set
interface util.Iterator: util.ListIterator util.PrimitiveIterator
open util.ResourceBundle: util.ListResourceBundle util.PropertyResourceBundle
final lang.Cloneable io.Serializable: util.Locale
open util.function.LongConsumer util.function.IntConsumer: util.LongSummaryStatistics
interface util.SortedMap: util.NavigableMap
interface util.SortedSet: util.NavigableSet
interface util.PrimitiveIterator: util.PrimitiveIterator$OfDouble util.PrimitiveIterator$OfInt
interface util.PrimitiveIterator: util.PrimitiveIterator$OfLong
open util.AbstractQueue io.Serializable: util.PriorityQueue
open util.Hashtable: util.Properties
final util.Iterator io.Closeable: util.Scanner
final lang.Iterable: util.ServiceLoader
interface util.function.Supplier: util.ServiceLoader$Provider
open util.TimeZone: util.SimpleTimeZone
interface util.Map: util.SortedMap util.concurrent.ConcurrentMap
interface util.Set: util.SortedSet
interface util.Spliterator$OfPrimitive: util.Spliterator$OfDouble util.Spliterator$OfInt util.Spliterator$OfLong
interface util.Spliterator: util.Spliterator$OfPrimitive
open util.Spliterator$OfDouble: util.Spliterators$AbstractDoubleSpliterator
open util.Spliterator$OfInt: util.Spliterators$AbstractIntSpliterator
open util.Spliterator$OfLong: util.Spliterators$AbstractLongSpliterator
open util.Spliterator: util.Spliterators$AbstractSpliterator
open util.Vector: util.Stack
open util.Enumeration: util.StringTokenizer
open util.AbstractMap util.NavigableMap lang.Cloneable io.Serializable: util.TreeMap
final util.TreeMap$NavigableSubMap: util.TreeMap$AscendingSubMap util.TreeMap$DescendingSubMap
final util.TreeMap$NavigableSubMap$EntrySetView: util.TreeMap$AscendingSubMap$AscendingEntrySetView
final util.TreeMap$NavigableSubMap$EntrySetView: util.TreeMap$DescendingSubMap$DescendingEntrySetView
final util.AbstractSet util.NavigableSet: util.TreeMap$KeySet util.concurrent.ConcurrentSkipListMap$KeySet
open util.AbstractMap util.NavigableMap io.Serializable: util.TreeMap$NavigableSubMap
open util.AbstractMap util.SortedMap io.Serializable: util.TreeMap$SubMap
open util.AbstractSet util.NavigableSet lang.Cloneable io.Serializable: util.TreeSet
open util.AbstractSet util.NavigableSet lang.Cloneable io.Serializable: util.concurrent.ConcurrentSkipListSet
open util.AbstractMap util.Map: util.WeakHashMap
open util.concurrent.ExecutorService: util.concurrent.AbstractExecutorService
open util.AbstractQueue util.concurrent.BlockingQueue io.Serializable: util.concurrent.ArrayBlockingQueue
open util.AbstractQueue util.concurrent.BlockingQueue io.Serializable: util.concurrent.LinkedBlockingQueue
open util.AbstractQueue util.concurrent.BlockingQueue io.Serializable: util.concurrent.PriorityBlockingQueue
open util.AbstractQueue util.concurrent.BlockingQueue io.Serializable: util.concurrent.SynchronousQueue
interface util.concurrent.BlockingQueue util.Deque: util.concurrent.BlockingDeque
open util.concurrent.Future util.concurrent.CompletionStage: util.concurrent.CompletableFuture
open util.AbstractMap util.concurrent.ConcurrentMap io.Serializable: util.concurrent.ConcurrentHashMap
final util.concurrent.ConcurrentHashMap$CollectionView util.Set io.Serializable: util.concurrent.ConcurrentHashMap$EntrySetView
open util.concurrent.ConcurrentHashMap$CollectionView util.Set io.Serializable: util.concurrent.ConcurrentHashMap$KeySetView
final util.concurrent.ConcurrentHashMap$CollectionView util.Collection io.Serializable: util.concurrent.ConcurrentHashMap$ValuesView
open util.AbstractCollection util.Deque io.Serializable: util.concurrent.ConcurrentLinkedDeque
interface util.concurrent.ConcurrentMap util.NavigableMap: util.concurrent.ConcurrentNavigableMap
open util.AbstractMap util.concurrent.ConcurrentNavigableMap lang.Cloneable io.Serializable: util.concurrent.ConcurrentSkipListMap
final util.AbstractMap util.concurrent.ConcurrentNavigableMap io.Serializable: util.concurrent.ConcurrentSkipListMap$SubMap
open util.List util.RandomAccess lang.Cloneable io.Serializable: util.concurrent.CopyOnWriteArrayList
open util.List util.RandomAccess: util.concurrent.CopyOnWriteArrayList$COWSubList
open util.concurrent.ForkJoinTask: util.concurrent.CountedCompleter util.concurrent.RecursiveAction
open util.concurrent.ForkJoinTask: util.concurrent.RecursiveTask
open util.AbstractQueue util.concurrent.BlockingQueue: util.concurrent.DelayQueue
open util.AbstractQueue util.concurrent.BlockingQueue: util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue
open util.concurrent.CompletionService: util.concurrent.ExecutorCompletionService
interface util.concurrent.Executor: util.concurrent.ExecutorService
interface util.concurrent.Flow$Subscriber util.concurrent.Flow$Publisher: util.concurrent.Flow$Processor
open util.concurrent.AbstractExecutorService: util.concurrent.ForkJoinPool util.concurrent.ThreadPoolExecutor
open util.concurrent.Future io.Serializable: util.concurrent.ForkJoinTask
open lang.Thread: util.concurrent.ForkJoinWorkerThread
open util.concurrent.RunnableFuture: util.concurrent.FutureTask
open util.AbstractQueue util.concurrent.BlockingDeque io.Serializable: util.concurrent.LinkedBlockingDeque
open util.AbstractQueue util.concurrent.TransferQueue io.Serializable: util.concurrent.LinkedTransferQueue
interface lang.Runnable util.concurrent.Future: util.concurrent.RunnableFuture
interface util.concurrent.RunnableFuture util.concurrent.ScheduledFuture: util.concurrent.RunnableScheduledFuture
interface util.concurrent.ExecutorService: util.concurrent.ScheduledExecutorService
interface util.concurrent.Delayed util.concurrent.Future: util.concurrent.ScheduledFuture
open util.concurrent.ThreadPoolExecutor util.concurrent.ScheduledExecutorService: util.concurrent.ScheduledThreadPoolExecutor
open util.concurrent.Flow$Publisher lang.AutoCloseable: util.concurrent.SubmissionPublisher
open util.Random: util.concurrent.ThreadLocalRandom
open util.concurrent.RejectedExecutionHandler: util.concurrent.ThreadPoolExecutor$AbortPolicy
open util.concurrent.RejectedExecutionHandler: util.concurrent.ThreadPoolExecutor$CallerRunsPolicy
open util.concurrent.RejectedExecutionHandler: util.concurrent.ThreadPoolExecutor$DiscardOldestPolicy
open util.concurrent.RejectedExecutionHandler: util.concurrent.ThreadPoolExecutor$DiscardPolicy
interface util.concurrent.BlockingQueue: util.concurrent.TransferQueue
open lang.Number io.Serializable: util.concurrent.atomic.AtomicInteger util.concurrent.atomic.AtomicLong
open util.concurrent.atomic.Striped64 io.Serializable: util.concurrent.atomic.DoubleAccumulator
open util.concurrent.atomic.Striped64 io.Serializable: util.concurrent.atomic.DoubleAdder
open util.concurrent.atomic.Striped64 io.Serializable: util.concurrent.atomic.LongAccumulator
open util.concurrent.atomic.Striped64 io.Serializable: util.concurrent.atomic.LongAdder
open lang.Number: util.concurrent.atomic.Striped64
interface util.function.BiFunction: util.function.BinaryOperator
interface util.function.Function: util.function.UnaryOperator
final util.regex.MatchResult: util.regex.Matcher
"""  # noqa: E501
