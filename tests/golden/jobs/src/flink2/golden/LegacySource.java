package golden;

import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;

interface LegacySource<T> extends SourceFunction<T> {}
