"""Classes of JDK 17 whose objects a job may keep: name, kind, supertypes, an enum's constants; without ``java.``.

Made by ``tests/kryo/generate.py``; ``jdk.py`` reads it. Data only.
"""

from typing import Final

CLASSES: Final = """\
io.BufferedInputStream open io.FilterInputStream
io.BufferedOutputStream open io.FilterOutputStream
io.BufferedReader open io.Reader
io.BufferedWriter open io.Writer
io.ByteArrayInputStream open io.InputStream
io.ByteArrayOutputStream open io.OutputStream
io.CharArrayReader open io.Reader
io.CharArrayWriter open io.Writer
io.Closeable interface lang.AutoCloseable
io.Console final io.Flushable
io.DataInput interface
io.DataInputStream open io.FilterInputStream io.DataInput
io.DataOutput interface
io.DataOutputStream open io.FilterOutputStream io.DataOutput
io.ExpiringCache$1 open util.LinkedHashMap
io.Externalizable interface io.Serializable
io.File open io.Serializable lang.Comparable
io.FileDescriptor final
io.FileFilter interface
io.FileInputStream open io.InputStream
io.FileOutputStream open io.OutputStream
io.FilePermission final security.Permission io.Serializable
io.FileReader open io.InputStreamReader
io.FileWriter open io.OutputStreamWriter
io.FilenameFilter interface
io.FilterInputStream open io.InputStream
io.FilterOutputStream open io.OutputStream
io.FilterReader open io.Reader
io.FilterWriter open io.Writer
io.Flushable interface
io.InputStream open io.Closeable
io.InputStreamReader open io.Reader
io.LineNumberInputStream open io.FilterInputStream
io.LineNumberReader open io.BufferedReader
io.ObjectInput interface io.DataInput lang.AutoCloseable
io.ObjectInputFilter interface
io.ObjectInputFilter$Config final
io.ObjectInputFilter$FilterInfo interface
io.ObjectInputFilter$Status enum lang.Enum | UNDECIDED ALLOWED REJECTED
io.ObjectInputStream open io.InputStream io.ObjectInput io.ObjectStreamConstants
io.ObjectInputStream$GetField open
io.ObjectInputValidation interface
io.ObjectOutput interface io.DataOutput lang.AutoCloseable
io.ObjectOutputStream open io.OutputStream io.ObjectOutput io.ObjectStreamConstants
io.ObjectOutputStream$PutField open
io.ObjectStreamClass open io.Serializable
io.ObjectStreamClass$DeserializationConstructorsCache final util.concurrent.ConcurrentHashMap
io.ObjectStreamConstants interface
io.ObjectStreamField open lang.Comparable
io.OutputStream open io.Closeable io.Flushable
io.OutputStreamWriter open io.Writer
io.PipedInputStream open io.InputStream
io.PipedOutputStream open io.OutputStream
io.PipedReader open io.Reader
io.PipedWriter open io.Writer
io.PrintStream open io.FilterOutputStream lang.Appendable io.Closeable
io.PrintWriter open io.Writer
io.PushbackInputStream open io.FilterInputStream
io.PushbackReader open io.FilterReader
io.RandomAccessFile open io.DataOutput io.DataInput io.Closeable
io.Reader open lang.Readable io.Closeable
io.SequenceInputStream open io.InputStream
io.Serial interface
io.Serializable interface
io.SerializablePermission final security.BasicPermission
io.StreamTokenizer open
io.StringBufferInputStream open io.InputStream
io.StringReader open io.Reader
io.StringWriter open io.Writer
io.Writer open lang.Appendable io.Closeable io.Flushable
lang.AbstractStringBuilder open lang.Appendable lang.CharSequence
lang.Appendable interface
lang.AutoCloseable interface
lang.Boolean final io.Serializable lang.Comparable
lang.Byte final lang.Number lang.Comparable
lang.CharSequence interface
lang.Character final io.Serializable lang.Comparable
lang.Character$Subset open
lang.Character$UnicodeBlock final lang.Character$Subset
lang.Class final io.Serializable
lang.ClassLoader open
lang.ClassValue open
lang.ClassValue$ClassValueMap open util.WeakHashMap
lang.Cloneable interface
lang.Comparable interface
lang.Compiler final
lang.Deprecated interface
lang.Double final lang.Number lang.Comparable
lang.Enum open lang.Comparable io.Serializable
lang.Enum$EnumDesc final lang.constant.DynamicConstantDesc
lang.Exception open lang.Throwable
lang.Float final lang.Number lang.Comparable
lang.FunctionalInterface interface
lang.InheritableThreadLocal open lang.ThreadLocal
lang.Integer final lang.Number lang.Comparable
lang.Iterable interface
lang.Long final lang.Number lang.Comparable
lang.Math final
lang.Module final
lang.ModuleLayer final
lang.ModuleLayer$Controller final
lang.NamedPackage open
lang.Number open io.Serializable
lang.Object open
lang.Override interface
lang.Package open lang.NamedPackage
lang.Process open
lang.ProcessBuilder final
lang.ProcessBuilder$Redirect open
lang.ProcessBuilder$Redirect$Type enum lang.Enum | PIPE INHERIT READ WRITE APPEND
lang.ProcessEnvironment$StringEntrySet open util.AbstractSet
lang.ProcessEnvironment$StringEnvironment open util.AbstractMap
lang.ProcessEnvironment$StringKeySet open util.AbstractSet
lang.ProcessEnvironment$StringValues open util.AbstractCollection
lang.ProcessHandle interface lang.Comparable
lang.ProcessHandle$Info interface
lang.Readable interface
lang.Record open
lang.Runnable interface
lang.Runtime open
lang.Runtime$Version final lang.Comparable
lang.RuntimePermission final security.BasicPermission
lang.SafeVarargs interface
lang.SecurityManager open
lang.Short final lang.Number lang.Comparable
lang.StackTraceElement final io.Serializable
lang.StackWalker final
lang.StackWalker$Option enum lang.Enum | RETAIN_CLASS_REFERENCE SHOW_REFLECT_FRAMES SHOW_HIDDEN_FRAMES
lang.StackWalker$StackFrame interface
lang.StrictMath final
lang.String final io.Serializable lang.Comparable lang.CharSequence
lang.StringBuffer final lang.AbstractStringBuilder io.Serializable lang.Comparable lang.CharSequence
lang.StringBuilder final lang.AbstractStringBuilder io.Serializable lang.Comparable lang.CharSequence
lang.SuppressWarnings interface
lang.System final
lang.System$Logger interface
lang.System$Logger$Level enum lang.Enum | ALL TRACE DEBUG INFO WARNING ERROR OFF
lang.System$LoggerFinder open
lang.Thread open lang.Runnable
lang.Thread$State enum lang.Enum | NEW RUNNABLE BLOCKED WAITING TIMED_WAITING TERMINATED
lang.Thread$UncaughtExceptionHandler interface
lang.ThreadGroup open lang.Thread$UncaughtExceptionHandler
lang.ThreadLocal open
lang.Throwable open io.Serializable
lang.Void final
lang.constant.DynamicConstantDesc open
math.BigDecimal open lang.Number lang.Comparable
math.BigInteger open lang.Number lang.Comparable
math.MathContext final io.Serializable
math.RoundingMode enum lang.Enum | UP DOWN CEILING FLOOR HALF_UP HALF_DOWN HALF_EVEN UNNECESSARY
net.Authenticator open
net.Authenticator$RequestorType enum lang.Enum | PROXY SERVER
net.CacheRequest open
net.CacheResponse open
net.ContentHandler open
net.ContentHandlerFactory interface
net.CookieHandler open
net.CookieManager open net.CookieHandler
net.CookiePolicy interface
net.CookieStore interface
net.DatagramPacket final
net.DatagramSocket open io.Closeable
net.DatagramSocketImpl open net.SocketOptions
net.DatagramSocketImplFactory interface
net.FileNameMap interface
net.HttpCookie final lang.Cloneable
net.HttpURLConnection open net.URLConnection
net.IDN final
net.Inet4Address final net.InetAddress
net.Inet6Address final net.InetAddress
net.InetAddress open io.Serializable
net.InetSocketAddress open net.SocketAddress
net.InterfaceAddress open
net.JarURLConnection open net.URLConnection
net.MulticastSocket open net.DatagramSocket
net.NetPermission final security.BasicPermission
net.NetworkInterface final
net.PasswordAuthentication final
net.ProtocolFamily interface
net.Proxy open
net.Proxy$Type enum lang.Enum | DIRECT HTTP SOCKS
net.ProxySelector open
net.ResponseCache open
net.SecureCacheResponse open net.CacheResponse
net.ServerSocket open io.Closeable
net.Socket open io.Closeable
net.SocketAddress open io.Serializable
net.SocketImpl open net.SocketOptions
net.SocketImplFactory interface
net.SocketOption interface
net.SocketOptions interface
net.SocketPermission final security.Permission io.Serializable
net.StandardProtocolFamily enum lang.Enum net.ProtocolFamily | INET INET6 UNIX
net.StandardSocketOptions final
net.URI final lang.Comparable io.Serializable
net.URL final io.Serializable
net.URLClassLoader open security.SecureClassLoader io.Closeable
net.URLConnection open
net.URLDecoder open
net.URLEncoder open
net.URLPermission final security.Permission
net.URLStreamHandler open
net.URLStreamHandlerFactory interface
net.UnixDomainSocketAddress final net.SocketAddress
nio.Buffer open
nio.ByteBuffer open nio.Buffer lang.Comparable
nio.ByteOrder final
nio.CharBuffer open nio.Buffer lang.Comparable lang.Appendable lang.CharSequence lang.Readable
nio.DoubleBuffer open nio.Buffer lang.Comparable
nio.FloatBuffer open nio.Buffer lang.Comparable
nio.IntBuffer open nio.Buffer lang.Comparable
nio.LongBuffer open nio.Buffer lang.Comparable
nio.MappedByteBuffer open nio.ByteBuffer
nio.ShortBuffer open nio.Buffer lang.Comparable
nio.charset.Charset open lang.Comparable
nio.charset.CharsetDecoder open
nio.charset.CharsetEncoder open
nio.charset.CoderResult open
nio.charset.CodingErrorAction open
nio.charset.StandardCharsets final
nio.file.AccessMode enum lang.Enum | READ WRITE EXECUTE
nio.file.CopyOption interface
nio.file.DirectoryStream interface io.Closeable lang.Iterable
nio.file.DirectoryStream$Filter interface
nio.file.FileStore open
nio.file.FileSystem open io.Closeable
nio.file.FileSystems final
nio.file.FileVisitOption enum lang.Enum | FOLLOW_LINKS
nio.file.FileVisitResult enum lang.Enum | CONTINUE TERMINATE SKIP_SUBTREE SKIP_SIBLINGS
nio.file.FileVisitor interface
nio.file.Files final
nio.file.LinkOption enum lang.Enum nio.file.OpenOption nio.file.CopyOption | NOFOLLOW_LINKS
nio.file.LinkPermission final security.BasicPermission
nio.file.OpenOption interface
nio.file.Path interface lang.Comparable lang.Iterable nio.file.Watchable
nio.file.PathMatcher interface
nio.file.Paths final
nio.file.SecureDirectoryStream interface nio.file.DirectoryStream
nio.file.SimpleFileVisitor open nio.file.FileVisitor
nio.file.StandardCopyOption enum lang.Enum nio.file.CopyOption | REPLACE_EXISTING COPY_ATTRIBUTES ATOMIC_MOVE
nio.file.StandardOpenOption enum lang.Enum nio.file.OpenOption | READ WRITE APPEND TRUNCATE_EXISTING CREATE CREATE_NEW DELETE_ON_CLOSE SPARSE SYNC DSYNC
nio.file.StandardWatchEventKinds final
nio.file.WatchEvent interface
nio.file.WatchEvent$Kind interface
nio.file.WatchEvent$Modifier interface
nio.file.WatchKey interface
nio.file.WatchService interface io.Closeable
nio.file.Watchable interface
security.BasicPermission open security.Permission io.Serializable
security.Permission open io.Serializable
security.SecureClassLoader open lang.ClassLoader
sql.Array interface
sql.Blob interface
sql.CallableStatement interface sql.PreparedStatement
sql.ClientInfoStatus enum lang.Enum | REASON_UNKNOWN REASON_UNKNOWN_PROPERTY REASON_VALUE_INVALID REASON_VALUE_TRUNCATED
sql.Clob interface
sql.Connection interface sql.Wrapper lang.AutoCloseable
sql.ConnectionBuilder interface
sql.DatabaseMetaData interface sql.Wrapper
sql.Date open util.Date
sql.Driver interface
sql.DriverAction interface
sql.DriverManager open
sql.DriverPropertyInfo open
sql.JDBCType enum lang.Enum sql.SQLType | BIT TINYINT SMALLINT INTEGER BIGINT FLOAT REAL DOUBLE NUMERIC DECIMAL CHAR VARCHAR LONGVARCHAR DATE TIME TIMESTAMP BINARY VARBINARY LONGVARBINARY NULL OTHER JAVA_OBJECT DISTINCT STRUCT ARRAY BLOB CLOB REF DATALINK BOOLEAN ROWID NCHAR NVARCHAR LONGNVARCHAR NCLOB SQLXML REF_CURSOR TIME_WITH_TIMEZONE TIMESTAMP_WITH_TIMEZONE
sql.NClob interface sql.Clob
sql.ParameterMetaData interface sql.Wrapper
sql.PreparedStatement interface sql.Statement
sql.PseudoColumnUsage enum lang.Enum | SELECT_LIST_ONLY WHERE_CLAUSE_ONLY NO_USAGE_RESTRICTIONS USAGE_UNKNOWN
sql.Ref interface
sql.ResultSet interface sql.Wrapper lang.AutoCloseable
sql.ResultSetMetaData interface sql.Wrapper
sql.RowId interface
sql.RowIdLifetime enum lang.Enum | ROWID_UNSUPPORTED ROWID_VALID_OTHER ROWID_VALID_SESSION ROWID_VALID_TRANSACTION ROWID_VALID_FOREVER
sql.SQLData interface
sql.SQLInput interface
sql.SQLOutput interface
sql.SQLPermission final security.BasicPermission
sql.SQLType interface
sql.SQLXML interface
sql.Savepoint interface
sql.ShardingKey interface
sql.ShardingKeyBuilder interface
sql.Statement interface sql.Wrapper lang.AutoCloseable
sql.Struct interface
sql.Time open util.Date
sql.Timestamp open util.Date
sql.Types open
sql.Wrapper interface
text.Annotation open
text.AttributedCharacterIterator interface text.CharacterIterator
text.AttributedCharacterIterator$Attribute open io.Serializable
text.AttributedString open
text.AttributedString$AttributeMap final util.AbstractMap
text.Bidi final
text.BreakIterator open lang.Cloneable
text.CharacterIterator interface lang.Cloneable
text.ChoiceFormat open text.NumberFormat
text.CollationElementIterator final
text.CollationKey open lang.Comparable
text.Collator open util.Comparator lang.Cloneable
text.CompactNumberFormat final text.NumberFormat
text.DateFormat open text.Format
text.DateFormat$Field open text.Format$Field
text.DateFormatSymbols open io.Serializable lang.Cloneable
text.DecimalFormat open text.NumberFormat
text.DecimalFormatSymbols open lang.Cloneable io.Serializable
text.FieldPosition open
text.Format open io.Serializable lang.Cloneable
text.Format$Field open text.AttributedCharacterIterator$Attribute
text.MessageFormat open text.Format
text.MessageFormat$Field open text.Format$Field
text.Normalizer final
text.Normalizer$Form enum lang.Enum | NFD NFC NFKD NFKC
text.NumberFormat open text.Format
text.NumberFormat$Field open text.Format$Field
text.NumberFormat$Style enum lang.Enum | SHORT LONG
text.ParsePosition open
text.RuleBasedCollator open text.Collator
text.SimpleDateFormat open text.DateFormat
text.StringCharacterIterator final text.CharacterIterator
time.Clock open time.InstantSource
time.DayOfWeek enum lang.Enum time.temporal.TemporalAccessor time.temporal.TemporalAdjuster | MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY
time.Duration final time.temporal.TemporalAmount lang.Comparable io.Serializable
time.Instant final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable
time.InstantSource interface
time.LocalDate final time.temporal.Temporal time.temporal.TemporalAdjuster time.chrono.ChronoLocalDate io.Serializable
time.LocalDateTime final time.temporal.Temporal time.temporal.TemporalAdjuster time.chrono.ChronoLocalDateTime io.Serializable
time.LocalTime final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable
time.Month enum lang.Enum time.temporal.TemporalAccessor time.temporal.TemporalAdjuster | JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER
time.MonthDay final time.temporal.TemporalAccessor time.temporal.TemporalAdjuster lang.Comparable io.Serializable
time.OffsetDateTime final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable
time.OffsetTime final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable
time.Period final time.chrono.ChronoPeriod io.Serializable
time.Year final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable
time.YearMonth final time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable io.Serializable
time.ZoneId open io.Serializable
time.ZoneOffset final time.ZoneId time.temporal.TemporalAccessor time.temporal.TemporalAdjuster lang.Comparable io.Serializable
time.ZonedDateTime final time.temporal.Temporal time.chrono.ChronoZonedDateTime io.Serializable
time.chrono.AbstractChronology open time.chrono.Chronology
time.chrono.ChronoLocalDate interface time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable
time.chrono.ChronoLocalDateImpl open time.chrono.ChronoLocalDate time.temporal.Temporal time.temporal.TemporalAdjuster io.Serializable
time.chrono.ChronoLocalDateTime interface time.temporal.Temporal time.temporal.TemporalAdjuster lang.Comparable
time.chrono.ChronoPeriod interface time.temporal.TemporalAmount
time.chrono.ChronoZonedDateTime interface time.temporal.Temporal lang.Comparable
time.chrono.Chronology interface lang.Comparable
time.chrono.Era interface time.temporal.TemporalAccessor time.temporal.TemporalAdjuster
time.chrono.HijrahChronology final time.chrono.AbstractChronology io.Serializable
time.chrono.HijrahDate final time.chrono.ChronoLocalDateImpl time.chrono.ChronoLocalDate io.Serializable
time.chrono.HijrahEra enum lang.Enum time.chrono.Era | AH
time.chrono.IsoChronology final time.chrono.AbstractChronology io.Serializable
time.chrono.IsoEra enum lang.Enum time.chrono.Era | BCE CE
time.chrono.JapaneseChronology final time.chrono.AbstractChronology io.Serializable
time.chrono.JapaneseDate final time.chrono.ChronoLocalDateImpl time.chrono.ChronoLocalDate io.Serializable
time.chrono.JapaneseEra final time.chrono.Era io.Serializable
time.chrono.MinguoChronology final time.chrono.AbstractChronology io.Serializable
time.chrono.MinguoDate final time.chrono.ChronoLocalDateImpl time.chrono.ChronoLocalDate io.Serializable
time.chrono.MinguoEra enum lang.Enum time.chrono.Era | BEFORE_ROC ROC
time.chrono.ThaiBuddhistChronology final time.chrono.AbstractChronology io.Serializable
time.chrono.ThaiBuddhistDate final time.chrono.ChronoLocalDateImpl time.chrono.ChronoLocalDate io.Serializable
time.chrono.ThaiBuddhistEra enum lang.Enum time.chrono.Era | BEFORE_BE BE
time.temporal.ChronoField enum lang.Enum time.temporal.TemporalField | NANO_OF_SECOND NANO_OF_DAY MICRO_OF_SECOND MICRO_OF_DAY MILLI_OF_SECOND MILLI_OF_DAY SECOND_OF_MINUTE SECOND_OF_DAY MINUTE_OF_HOUR MINUTE_OF_DAY HOUR_OF_AMPM CLOCK_HOUR_OF_AMPM HOUR_OF_DAY CLOCK_HOUR_OF_DAY AMPM_OF_DAY DAY_OF_WEEK ALIGNED_DAY_OF_WEEK_IN_MONTH ALIGNED_DAY_OF_WEEK_IN_YEAR DAY_OF_MONTH DAY_OF_YEAR EPOCH_DAY ALIGNED_WEEK_OF_MONTH ALIGNED_WEEK_OF_YEAR MONTH_OF_YEAR PROLEPTIC_MONTH YEAR_OF_ERA YEAR ERA INSTANT_SECONDS OFFSET_SECONDS
time.temporal.ChronoUnit enum lang.Enum time.temporal.TemporalUnit | NANOS MICROS MILLIS SECONDS MINUTES HOURS HALF_DAYS DAYS WEEKS MONTHS YEARS DECADES CENTURIES MILLENNIA ERAS FOREVER
time.temporal.IsoFields final
time.temporal.JulianFields final
time.temporal.Temporal interface time.temporal.TemporalAccessor
time.temporal.TemporalAccessor interface
time.temporal.TemporalAdjuster interface
time.temporal.TemporalAdjusters final
time.temporal.TemporalAmount interface
time.temporal.TemporalField interface
time.temporal.TemporalQueries final
time.temporal.TemporalQuery interface
time.temporal.TemporalUnit interface
time.temporal.ValueRange final io.Serializable
time.temporal.WeekFields final io.Serializable
util.AbstractCollection open util.Collection
util.AbstractList open util.AbstractCollection util.List
util.AbstractList$RandomAccessSubList open util.AbstractList$SubList util.RandomAccess
util.AbstractList$SubList open util.AbstractList
util.AbstractMap open util.Map
util.AbstractMap$1 open util.AbstractSet
util.AbstractMap$2 open util.AbstractCollection
util.AbstractMap$SimpleEntry open util.Map$Entry io.Serializable
util.AbstractMap$SimpleImmutableEntry open util.Map$Entry io.Serializable
util.AbstractQueue open util.AbstractCollection util.Queue
util.AbstractSequentialList open util.AbstractList
util.AbstractSet open util.AbstractCollection util.Set
util.ArrayDeque open util.AbstractCollection util.Deque lang.Cloneable io.Serializable
util.ArrayList open util.AbstractList util.List util.RandomAccess lang.Cloneable io.Serializable
util.ArrayList$SubList open util.AbstractList util.RandomAccess
util.Arrays open
util.Arrays$ArrayList open util.AbstractList util.RandomAccess io.Serializable
util.Base64 open
util.Base64$Decoder open
util.Base64$Encoder open
util.BitSet open lang.Cloneable io.Serializable
util.Calendar open io.Serializable lang.Cloneable lang.Comparable
util.Calendar$Builder open
util.Collection interface lang.Iterable
util.Collections open
util.Collections$AsLIFOQueue open util.AbstractQueue util.Queue io.Serializable
util.Collections$CheckedCollection open util.Collection io.Serializable
util.Collections$CheckedList open util.Collections$CheckedCollection util.List
util.Collections$CheckedMap open util.Map io.Serializable
util.Collections$CheckedMap$CheckedEntrySet open util.Set
util.Collections$CheckedNavigableMap open util.Collections$CheckedSortedMap util.NavigableMap io.Serializable
util.Collections$CheckedNavigableSet open util.Collections$CheckedSortedSet util.NavigableSet io.Serializable
util.Collections$CheckedQueue open util.Collections$CheckedCollection util.Queue io.Serializable
util.Collections$CheckedRandomAccessList open util.Collections$CheckedList util.RandomAccess
util.Collections$CheckedSet open util.Collections$CheckedCollection util.Set io.Serializable
util.Collections$CheckedSortedMap open util.Collections$CheckedMap util.SortedMap io.Serializable
util.Collections$CheckedSortedSet open util.Collections$CheckedSet util.SortedSet io.Serializable
util.Collections$CopiesList open util.AbstractList util.RandomAccess io.Serializable
util.Collections$EmptyList open util.AbstractList util.RandomAccess io.Serializable
util.Collections$EmptyMap open util.AbstractMap io.Serializable
util.Collections$EmptySet open util.AbstractSet io.Serializable
util.Collections$SetFromMap open util.AbstractSet util.Set io.Serializable
util.Collections$SingletonList open util.AbstractList util.RandomAccess io.Serializable
util.Collections$SingletonMap open util.AbstractMap io.Serializable
util.Collections$SingletonSet open util.AbstractSet io.Serializable
util.Collections$SynchronizedCollection open util.Collection io.Serializable
util.Collections$SynchronizedList open util.Collections$SynchronizedCollection util.List
util.Collections$SynchronizedMap open util.Map io.Serializable
util.Collections$SynchronizedNavigableMap open util.Collections$SynchronizedSortedMap util.NavigableMap
util.Collections$SynchronizedNavigableSet open util.Collections$SynchronizedSortedSet util.NavigableSet
util.Collections$SynchronizedRandomAccessList open util.Collections$SynchronizedList util.RandomAccess
util.Collections$SynchronizedSet open util.Collections$SynchronizedCollection util.Set
util.Collections$SynchronizedSortedMap open util.Collections$SynchronizedMap util.SortedMap
util.Collections$SynchronizedSortedSet open util.Collections$SynchronizedSet util.SortedSet
util.Collections$UnmodifiableCollection open util.Collection io.Serializable
util.Collections$UnmodifiableList open util.Collections$UnmodifiableCollection util.List
util.Collections$UnmodifiableMap open util.Map io.Serializable
util.Collections$UnmodifiableMap$UnmodifiableEntrySet open util.Collections$UnmodifiableSet
util.Collections$UnmodifiableNavigableMap open util.Collections$UnmodifiableSortedMap util.NavigableMap io.Serializable
util.Collections$UnmodifiableNavigableMap$EmptyNavigableMap open util.Collections$UnmodifiableNavigableMap io.Serializable
util.Collections$UnmodifiableNavigableSet open util.Collections$UnmodifiableSortedSet util.NavigableSet io.Serializable
util.Collections$UnmodifiableNavigableSet$EmptyNavigableSet open util.Collections$UnmodifiableNavigableSet io.Serializable
util.Collections$UnmodifiableRandomAccessList open util.Collections$UnmodifiableList util.RandomAccess
util.Collections$UnmodifiableSet open util.Collections$UnmodifiableCollection util.Set io.Serializable
util.Collections$UnmodifiableSortedMap open util.Collections$UnmodifiableMap util.SortedMap io.Serializable
util.Collections$UnmodifiableSortedSet open util.Collections$UnmodifiableSet util.SortedSet io.Serializable
util.Comparator interface
util.Currency final io.Serializable
util.Date open io.Serializable lang.Cloneable lang.Comparable
util.Deque interface util.Queue
util.Dictionary open
util.DoubleSummaryStatistics open util.function.DoubleConsumer
util.EnumMap open util.AbstractMap io.Serializable lang.Cloneable
util.EnumMap$EntrySet open util.AbstractSet
util.EnumMap$KeySet open util.AbstractSet
util.EnumMap$Values open util.AbstractCollection
util.EnumSet open util.AbstractSet lang.Cloneable io.Serializable
util.Enumeration interface
util.EventListener interface
util.EventListenerProxy open util.EventListener
util.EventObject open io.Serializable
util.Formattable interface
util.FormattableFlags open
util.Formatter final io.Closeable io.Flushable
util.Formatter$BigDecimalLayoutForm enum lang.Enum | SCIENTIFIC DECIMAL_FLOAT
util.GregorianCalendar open util.Calendar
util.HashMap open util.AbstractMap util.Map lang.Cloneable io.Serializable
util.HashMap$EntrySet final util.AbstractSet
util.HashMap$KeySet final util.AbstractSet
util.HashMap$Values final util.AbstractCollection
util.HashSet open util.AbstractSet util.Set lang.Cloneable io.Serializable
util.Hashtable open util.Dictionary util.Map lang.Cloneable io.Serializable
util.Hashtable$EntrySet open util.AbstractSet
util.Hashtable$KeySet open util.AbstractSet
util.Hashtable$ValueCollection open util.AbstractCollection
util.HexFormat final
util.IdentityHashMap open util.AbstractMap util.Map io.Serializable lang.Cloneable
util.IdentityHashMap$EntrySet open util.AbstractSet
util.IdentityHashMap$KeySet open util.AbstractSet
util.IdentityHashMap$Values open util.AbstractCollection
util.ImmutableCollections$AbstractImmutableCollection open util.AbstractCollection
util.ImmutableCollections$AbstractImmutableList open util.ImmutableCollections$AbstractImmutableCollection util.List util.RandomAccess
util.ImmutableCollections$AbstractImmutableMap open util.AbstractMap io.Serializable
util.ImmutableCollections$AbstractImmutableSet open util.ImmutableCollections$AbstractImmutableCollection util.Set
util.ImmutableCollections$List12 final util.ImmutableCollections$AbstractImmutableList io.Serializable
util.ImmutableCollections$ListN final util.ImmutableCollections$AbstractImmutableList io.Serializable
util.ImmutableCollections$Map1 final util.ImmutableCollections$AbstractImmutableMap
util.ImmutableCollections$MapN final util.ImmutableCollections$AbstractImmutableMap
util.ImmutableCollections$MapN$1 open util.AbstractSet
util.ImmutableCollections$Set12 final util.ImmutableCollections$AbstractImmutableSet io.Serializable
util.ImmutableCollections$SetN final util.ImmutableCollections$AbstractImmutableSet io.Serializable
util.ImmutableCollections$SubList final util.ImmutableCollections$AbstractImmutableList util.RandomAccess
util.IntSummaryStatistics open util.function.IntConsumer
util.Iterator interface
util.JumboEnumSet open util.EnumSet
util.LinkedHashMap open util.HashMap util.Map
util.LinkedHashMap$LinkedEntrySet final util.AbstractSet
util.LinkedHashMap$LinkedKeySet final util.AbstractSet
util.LinkedHashMap$LinkedValues final util.AbstractCollection
util.LinkedHashSet open util.HashSet util.Set lang.Cloneable io.Serializable
util.LinkedList open util.AbstractSequentialList util.List util.Deque lang.Cloneable io.Serializable
util.List interface util.Collection
util.ListIterator interface util.Iterator
util.ListResourceBundle open util.ResourceBundle
util.Locale final lang.Cloneable io.Serializable
util.Locale$Builder final
util.Locale$Category enum lang.Enum | DISPLAY FORMAT
util.Locale$FilteringMode enum lang.Enum | AUTOSELECT_FILTERING EXTENDED_FILTERING IGNORE_EXTENDED_RANGES MAP_EXTENDED_RANGES REJECT_EXTENDED_RANGES
util.Locale$IsoCountryCode enum lang.Enum | PART1_ALPHA2 PART1_ALPHA3 PART3
util.Locale$LanguageRange final
util.LongSummaryStatistics open util.function.LongConsumer util.function.IntConsumer
util.Map interface
util.Map$Entry interface
util.NavigableMap interface util.SortedMap
util.NavigableSet interface util.SortedSet
util.Objects final
util.Observable open
util.Observer interface
util.Optional final
util.OptionalDouble final
util.OptionalInt final
util.OptionalLong final
util.PrimitiveIterator interface util.Iterator
util.PrimitiveIterator$OfDouble interface util.PrimitiveIterator
util.PrimitiveIterator$OfInt interface util.PrimitiveIterator
util.PrimitiveIterator$OfLong interface util.PrimitiveIterator
util.PriorityQueue open util.AbstractQueue io.Serializable
util.Properties open util.Hashtable
util.Properties$EntrySet open util.Set
util.PropertyPermission final security.BasicPermission
util.PropertyResourceBundle open util.ResourceBundle
util.Queue interface util.Collection
util.Random open io.Serializable
util.RandomAccess interface
util.RegularEnumSet open util.EnumSet
util.ResourceBundle open
util.ResourceBundle$Control open
util.Scanner final util.Iterator io.Closeable
util.ServiceLoader final lang.Iterable
util.ServiceLoader$Provider interface util.function.Supplier
util.Set interface util.Collection
util.SimpleTimeZone open util.TimeZone
util.SortedMap interface util.Map
util.SortedSet interface util.Set
util.Spliterator interface
util.Spliterator$OfDouble interface util.Spliterator$OfPrimitive
util.Spliterator$OfInt interface util.Spliterator$OfPrimitive
util.Spliterator$OfLong interface util.Spliterator$OfPrimitive
util.Spliterator$OfPrimitive interface util.Spliterator
util.Spliterators final
util.Spliterators$AbstractDoubleSpliterator open util.Spliterator$OfDouble
util.Spliterators$AbstractIntSpliterator open util.Spliterator$OfInt
util.Spliterators$AbstractLongSpliterator open util.Spliterator$OfLong
util.Spliterators$AbstractSpliterator open util.Spliterator
util.SplittableRandom final
util.Stack open util.Vector
util.StringJoiner final
util.StringTokenizer open util.Enumeration
util.TimeZone open io.Serializable lang.Cloneable
util.Timer open
util.TimerTask open lang.Runnable
util.TreeMap open util.AbstractMap util.NavigableMap lang.Cloneable io.Serializable
util.TreeMap$AscendingSubMap final util.TreeMap$NavigableSubMap
util.TreeMap$AscendingSubMap$AscendingEntrySetView final util.TreeMap$NavigableSubMap$EntrySetView
util.TreeMap$DescendingSubMap final util.TreeMap$NavigableSubMap
util.TreeMap$DescendingSubMap$DescendingEntrySetView final util.TreeMap$NavigableSubMap$EntrySetView
util.TreeMap$EntrySet open util.AbstractSet
util.TreeMap$KeySet final util.AbstractSet util.NavigableSet
util.TreeMap$NavigableSubMap open util.AbstractMap util.NavigableMap io.Serializable
util.TreeMap$NavigableSubMap$EntrySetView open util.AbstractSet
util.TreeMap$SubMap open util.AbstractMap util.SortedMap io.Serializable
util.TreeMap$Values open util.AbstractCollection
util.TreeSet open util.AbstractSet util.NavigableSet lang.Cloneable io.Serializable
util.UUID final io.Serializable lang.Comparable
util.Vector open util.AbstractList util.List util.RandomAccess lang.Cloneable io.Serializable
util.WeakHashMap open util.AbstractMap util.Map
util.WeakHashMap$EntrySet open util.AbstractSet
util.WeakHashMap$KeySet open util.AbstractSet
util.WeakHashMap$Values open util.AbstractCollection
util.concurrent.AbstractExecutorService open util.concurrent.ExecutorService
util.concurrent.ArrayBlockingQueue open util.AbstractQueue util.concurrent.BlockingQueue io.Serializable
util.concurrent.BlockingDeque interface util.concurrent.BlockingQueue util.Deque
util.concurrent.BlockingQueue interface util.Queue
util.concurrent.Callable interface
util.concurrent.CompletableFuture open util.concurrent.Future util.concurrent.CompletionStage
util.concurrent.CompletableFuture$AsynchronousCompletionTask interface
util.concurrent.CompletionService interface
util.concurrent.CompletionStage interface
util.concurrent.ConcurrentHashMap open util.AbstractMap util.concurrent.ConcurrentMap io.Serializable
util.concurrent.ConcurrentHashMap$CollectionView open util.Collection io.Serializable
util.concurrent.ConcurrentHashMap$EntrySetView final util.concurrent.ConcurrentHashMap$CollectionView util.Set io.Serializable
util.concurrent.ConcurrentHashMap$KeySetView open util.concurrent.ConcurrentHashMap$CollectionView util.Set io.Serializable
util.concurrent.ConcurrentHashMap$ValuesView final util.concurrent.ConcurrentHashMap$CollectionView util.Collection io.Serializable
util.concurrent.ConcurrentLinkedDeque open util.AbstractCollection util.Deque io.Serializable
util.concurrent.ConcurrentLinkedQueue open util.AbstractQueue util.Queue io.Serializable
util.concurrent.ConcurrentMap interface util.Map
util.concurrent.ConcurrentNavigableMap interface util.concurrent.ConcurrentMap util.NavigableMap
util.concurrent.ConcurrentSkipListMap open util.AbstractMap util.concurrent.ConcurrentNavigableMap lang.Cloneable io.Serializable
util.concurrent.ConcurrentSkipListMap$EntrySet final util.AbstractSet
util.concurrent.ConcurrentSkipListMap$KeySet final util.AbstractSet util.NavigableSet
util.concurrent.ConcurrentSkipListMap$SubMap final util.AbstractMap util.concurrent.ConcurrentNavigableMap io.Serializable
util.concurrent.ConcurrentSkipListMap$Values final util.AbstractCollection
util.concurrent.ConcurrentSkipListSet open util.AbstractSet util.NavigableSet lang.Cloneable io.Serializable
util.concurrent.CopyOnWriteArrayList open util.List util.RandomAccess lang.Cloneable io.Serializable
util.concurrent.CopyOnWriteArrayList$COWSubList open util.List util.RandomAccess
util.concurrent.CopyOnWriteArraySet open util.AbstractSet io.Serializable
util.concurrent.CountDownLatch open
util.concurrent.CountedCompleter open util.concurrent.ForkJoinTask
util.concurrent.CyclicBarrier open
util.concurrent.DelayQueue open util.AbstractQueue util.concurrent.BlockingQueue
util.concurrent.Delayed interface lang.Comparable
util.concurrent.Exchanger open
util.concurrent.Executor interface
util.concurrent.ExecutorCompletionService open util.concurrent.CompletionService
util.concurrent.ExecutorService interface util.concurrent.Executor
util.concurrent.Executors open
util.concurrent.Flow final
util.concurrent.Flow$Processor interface util.concurrent.Flow$Subscriber util.concurrent.Flow$Publisher
util.concurrent.Flow$Publisher interface
util.concurrent.Flow$Subscriber interface
util.concurrent.Flow$Subscription interface
util.concurrent.ForkJoinPool open util.concurrent.AbstractExecutorService
util.concurrent.ForkJoinPool$ForkJoinWorkerThreadFactory interface
util.concurrent.ForkJoinPool$ManagedBlocker interface
util.concurrent.ForkJoinTask open util.concurrent.Future io.Serializable
util.concurrent.ForkJoinWorkerThread open lang.Thread
util.concurrent.Future interface
util.concurrent.FutureTask open util.concurrent.RunnableFuture
util.concurrent.LinkedBlockingDeque open util.AbstractQueue util.concurrent.BlockingDeque io.Serializable
util.concurrent.LinkedBlockingQueue open util.AbstractQueue util.concurrent.BlockingQueue io.Serializable
util.concurrent.LinkedTransferQueue open util.AbstractQueue util.concurrent.TransferQueue io.Serializable
util.concurrent.Phaser open
util.concurrent.PriorityBlockingQueue open util.AbstractQueue util.concurrent.BlockingQueue io.Serializable
util.concurrent.RecursiveAction open util.concurrent.ForkJoinTask
util.concurrent.RecursiveTask open util.concurrent.ForkJoinTask
util.concurrent.RejectedExecutionHandler interface
util.concurrent.RunnableFuture interface lang.Runnable util.concurrent.Future
util.concurrent.RunnableScheduledFuture interface util.concurrent.RunnableFuture util.concurrent.ScheduledFuture
util.concurrent.ScheduledExecutorService interface util.concurrent.ExecutorService
util.concurrent.ScheduledFuture interface util.concurrent.Delayed util.concurrent.Future
util.concurrent.ScheduledThreadPoolExecutor open util.concurrent.ThreadPoolExecutor util.concurrent.ScheduledExecutorService
util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue open util.AbstractQueue util.concurrent.BlockingQueue
util.concurrent.Semaphore open io.Serializable
util.concurrent.SubmissionPublisher open util.concurrent.Flow$Publisher lang.AutoCloseable
util.concurrent.SynchronousQueue open util.AbstractQueue util.concurrent.BlockingQueue io.Serializable
util.concurrent.ThreadFactory interface
util.concurrent.ThreadLocalRandom open util.Random
util.concurrent.ThreadPoolExecutor open util.concurrent.AbstractExecutorService
util.concurrent.ThreadPoolExecutor$AbortPolicy open util.concurrent.RejectedExecutionHandler
util.concurrent.ThreadPoolExecutor$CallerRunsPolicy open util.concurrent.RejectedExecutionHandler
util.concurrent.ThreadPoolExecutor$DiscardOldestPolicy open util.concurrent.RejectedExecutionHandler
util.concurrent.ThreadPoolExecutor$DiscardPolicy open util.concurrent.RejectedExecutionHandler
util.concurrent.TimeUnit enum lang.Enum | NANOSECONDS MICROSECONDS MILLISECONDS SECONDS MINUTES HOURS DAYS
util.concurrent.TransferQueue interface util.concurrent.BlockingQueue
util.concurrent.atomic.AtomicBoolean open io.Serializable
util.concurrent.atomic.AtomicInteger open lang.Number io.Serializable
util.concurrent.atomic.AtomicIntegerArray open io.Serializable
util.concurrent.atomic.AtomicIntegerFieldUpdater open
util.concurrent.atomic.AtomicLong open lang.Number io.Serializable
util.concurrent.atomic.AtomicLongArray open io.Serializable
util.concurrent.atomic.AtomicLongFieldUpdater open
util.concurrent.atomic.AtomicMarkableReference open
util.concurrent.atomic.AtomicReference open io.Serializable
util.concurrent.atomic.AtomicReferenceArray open io.Serializable
util.concurrent.atomic.AtomicReferenceFieldUpdater open
util.concurrent.atomic.AtomicStampedReference open
util.concurrent.atomic.DoubleAccumulator open util.concurrent.atomic.Striped64 io.Serializable
util.concurrent.atomic.DoubleAdder open util.concurrent.atomic.Striped64 io.Serializable
util.concurrent.atomic.LongAccumulator open util.concurrent.atomic.Striped64 io.Serializable
util.concurrent.atomic.LongAdder open util.concurrent.atomic.Striped64 io.Serializable
util.concurrent.atomic.Striped64 open lang.Number
util.function.BiConsumer interface
util.function.BiFunction interface
util.function.BiPredicate interface
util.function.BinaryOperator interface util.function.BiFunction
util.function.BooleanSupplier interface
util.function.Consumer interface
util.function.DoubleBinaryOperator interface
util.function.DoubleConsumer interface
util.function.DoubleFunction interface
util.function.DoublePredicate interface
util.function.DoubleSupplier interface
util.function.DoubleToIntFunction interface
util.function.DoubleToLongFunction interface
util.function.DoubleUnaryOperator interface
util.function.Function interface
util.function.IntBinaryOperator interface
util.function.IntConsumer interface
util.function.IntFunction interface
util.function.IntPredicate interface
util.function.IntSupplier interface
util.function.IntToDoubleFunction interface
util.function.IntToLongFunction interface
util.function.IntUnaryOperator interface
util.function.LongBinaryOperator interface
util.function.LongConsumer interface
util.function.LongFunction interface
util.function.LongPredicate interface
util.function.LongSupplier interface
util.function.LongToDoubleFunction interface
util.function.LongToIntFunction interface
util.function.LongUnaryOperator interface
util.function.ObjDoubleConsumer interface
util.function.ObjIntConsumer interface
util.function.ObjLongConsumer interface
util.function.Predicate interface
util.function.Supplier interface
util.function.ToDoubleBiFunction interface
util.function.ToDoubleFunction interface
util.function.ToIntBiFunction interface
util.function.ToIntFunction interface
util.function.ToLongBiFunction interface
util.function.ToLongFunction interface
util.function.UnaryOperator interface util.function.Function
util.regex.MatchResult interface
util.regex.Matcher final util.regex.MatchResult
util.regex.Pattern final io.Serializable
"""  # noqa: E501
